// The pixels of one page: which channels are blurred together, in which types, and what is done to colours around that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blur_file.h"
#include "files/numbers.h"
#include "files/result.h"
#include "image_blur.h"

namespace mollify::cli {

/// The page of the source with the zeros around it.
[[nodiscard]] files::Page grown_page(const files::PageWork& work);

class PageBlur {
 public:
  PageBlur(std::string path, ImageBlurrer& blurrer, const BlurRequest& request, const files::PageWork& work, BlurReport& report);
  PageBlur(const PageBlur&) = delete;
  PageBlur& operator=(const PageBlur&) = delete;
  ~PageBlur();

  /// What is blurred: the page of the source, or that grown as the result is.
  [[nodiscard]] const files::Page& source() const { return source_; }
  /// All of the source to all of work.blurred; after prepare_strips() the rows that source_rows() names to some of its rows, and where
  /// is_stream() from top to bottom.
  void run(const files::PagePixels& src, const files::PagePixels& dst);
  /// Asks only whether and how the page would be blurred.
  void plan();

  /// Fails where the page cannot be blurred in strips.
  [[nodiscard]] Status prepare_strips(StripsFor purpose);
  /// Behind it: from here on strips come from top to bottom, and need less of the source. False where they cannot.
  bool open_streams();
  /// Whether strips need only the rows of the source that those before them did not need.
  [[nodiscard]] bool is_stream() const { return is_stream_; }
  /// How far it is, where it is one of this process. All parts of the page are as far as each other.
  [[nodiscard]] const Stream& stream() const;
  /// From here on strips are windows, which take longer. They need less memory where strips are low.
  void close_streams();
  /// Rows that a stream makes at once: lower strips wait for each other.
  [[nodiscard]] std::int64_t rows_at_once() const;
  /// The rows of the source that these rows of the result need.
  [[nodiscard]] files::RowRange source_rows(files::RowRange rows) const;
  /// How many these are at most, for so many rows of the result.
  [[nodiscard]] std::int64_t most_source_rows(std::int64_t rows) const;
  /// The most rows of each buffer for strips of the source, while strips of the result have up to so many rows. Windows share rows, and so
  /// they share one buffer. The strips of a stream take turns with two, so that one can be read meanwhile.
  [[nodiscard]] std::vector<std::int64_t> source_buffers(std::int64_t rows) const;
  /// Bytes that a strip of so many rows takes in addition to its source and its result, at most.
  [[nodiscard]] std::int64_t strip_scratch_bytes(std::int64_t rows) const;
  /// Allocates what strips of up to so many rows need.
  void reserve_strips(std::int32_t rows);

  /// Bytes that a whole page takes in addition to its source and its result, at most.
  [[nodiscard]] static std::int64_t scratch_bytes(const files::PageWork& work);

 private:
  struct Part;
  struct Request;
  void run_part(Part& part, const files::PagePixels& src, const files::PagePixels& dst);
  void run_by_floats(const files::PagePixels& src, const files::PagePixels& dst);
  void blur(Part& part, const ImageView& src, std::int32_t src_row, const ImageView& dst, std::int32_t dst_row);
  void copy_kept(const files::PagePixels& src, const files::PagePixels& dst) const;
  void take(const BlurOutcome& outcome);
  template <class T>
  T value_of(Result<T> result) const;
  void add_parts();
  void say_cpu(const Part& part, const std::string& reason);
  [[nodiscard]] Request request_for(const Part& part) const;
  [[nodiscard]] ImageSpec spec_for(const Part& part, double unit) const;
  [[nodiscard]] bool takes(PixelFormat src, PixelFormat dst, const ImageSpec& spec) const;
  [[nodiscard]] bool is_whole(const Part& part) const;
  [[nodiscard]] int result_channel(int source_channel) const;

  std::string path_;
  ImageBlurrer& blurrer_;
  const BlurRequest& request_;
  const files::PageWork& work_;
  BlurReport& report_;
  files::Page source_;
  std::vector<Part> parts_;
  bool is_stream_ = false;
};

}  // namespace mollify::cli
