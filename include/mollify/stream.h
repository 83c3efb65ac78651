// Images larger than memory, in strips from top to bottom: a Stream keeps what strips share.
#pragma once

#include <cstdint>
#include <memory>

#include "mollify/device.h"
#include "mollify/image.h"
#include "mollify/result.h"

namespace mollify {

/// Blurs one image that passes by in strips. Strips of the source have its whole width and follow each other from top to bottom, and so do
/// those of the destination. They may have any heights. The result has the bits that Executable::run() gives the whole image.
///
/// A stream keeps what the next strip needs: sums, filtered rows, coarse rows, and rows of the source. Nothing is computed twice, and the
/// caller may use the memory of a strip again as soon as advance() has returned. So another thread can read the next strip of the source
/// meanwhile, and a third one can write the last strip of the destination. Only one thread may use a stream at a time.
///
/// On a GPU it makes windows of some megabytes, whatever the strips: rows become ready many at a time, and up to two windows later than on
/// a CPU. Then the source of the next rows is on the device already, and their blur is under way. Nothing crosses the bus twice.
class Stream {
 public:
  /// A stream of one image. It allocates scratch memory that grows with the width of the image, and on a GPU that of a few windows. Fails
  /// with ErrorCode::out_of_memory, and with ErrorCode::unsupported if the plan cannot run on windows, or if its border wraps down the
  /// image: then the first rows of the destination need the last ones of the source.
  [[nodiscard]] static Result<Stream> create(const Executable& executable);
  /// Moves the stream. The one moved from can only be destroyed or assigned to.
  Stream(Stream&&) noexcept;
  /// Moves the stream. The one moved from can only be destroyed or assigned to.
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// The row of the source that the next strip of it begins with. At first that is the first row that any result depends on, which is not 0
  /// if the plan has a region that lies further down.
  [[nodiscard]] std::int32_t next_source_row() const;
  /// The row of the destination that the next strip of it begins with; plan().dst.height when all is made.
  [[nodiscard]] std::int32_t next_row() const;
  /// How many more rows of the destination can be made when so many more rows of the source have been given.
  [[nodiscard]] std::int32_t ready_rows(std::int32_t source_rows) const;
  /// How many more rows of the source must be given, so that so many more rows of the destination can be made.
  [[nodiscard]] std::int32_t needed_source_rows(std::int32_t rows) const;

  /// The most bytes that the stream takes while strips of the destination have up to so many rows, and each comes with the rows of the
  /// source that needed_source_rows() asks for and no others. The caller's strips are not among them.
  [[nodiscard]] std::int64_t memory_bytes(std::int32_t rows) const;

  /// Takes the next rows of the source and makes the next rows of the destination, at most those that are ready. Either may have no rows.
  /// The strips must not share bytes: strips of the source that come later are not read yet, so results cannot take their place.
  ///
  /// It allocates only to keep more rows of the source, or of a coarse grid, than it had to keep before. If a strip of the destination has
  /// fewer rows than are ready, the stream keeps the rows of the source that the others need. After an error of code
  /// ErrorCode::invalid_argument the stream is as it was before. After any other the strip is unfinished, and every further call fails.
  [[nodiscard]] Status advance(const ConstImageView& source, const ImageView& destination, const RunControl& control = {});

 private:
  class State;
  explicit Stream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace mollify
