// Directories that libtiff is shown in place of those that it refuses or takes otherwise, see View.
#pragma once

#include <cstdint>
#include <span>

#include "files/codec.h"
#include "files/tiff_pages.h"

namespace mollify::files::tiff {

/// A file with one directory of grey pixels, whose strips and tiles are those of a page: all of them, or those of a plane where the page is
/// seen by planes. It lies in front of the bytes of the file.
class SubstituteSource final : public ByteSource {
 public:
  SubstituteSource(ByteSource& file, const PageOfFile& page, int plane);

  [[nodiscard]] std::int64_t size() const override { return shift() + file_.size(); }
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) override;

  [[nodiscard]] static std::int64_t directory() { return kHeaderBytes; }
  /// How far the bytes of the file lie behind where they are in the file.
  [[nodiscard]] std::int64_t shift() const { return static_cast<std::int64_t>(front_.size()); }

 private:
  static constexpr std::int64_t kHeaderBytes = 16;
  ByteSource& file_;
  Bytes front_;
};

}  // namespace mollify::files::tiff
