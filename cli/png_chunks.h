// What OpenImageIO writes into PNG files besides what it is asked for.
#pragma once

#include <OpenImageIO/filesystem.h>

#include <cstdint>
#include <string>

namespace mollify::cli {

/// Hands a PNG file on as it is written, without the texts of OpenImageIO's own attributes, which it takes for
/// metadata, and without an offset of zero. The attributes cannot be left out instead: the writer derives the chunks
/// that say the colour space from them. Texts in UTF-8 are marked as such.
class PngChunkFilter final : public OIIO::Filesystem::IOProxy {
 public:
  explicit PngChunkFilter(OIIO::Filesystem::IOProxy& file) : IOProxy(file.filename(), Write), file_(file) {}

  const char* proxytype() const override { return "mollify"; }
  size_t write(const void* data, size_t size) override;
  size_t size() const override { return file_.size(); }

 private:
  void pass_on(size_t bytes);

  OIIO::Filesystem::IOProxy& file_;
  std::string pending_;             ///< of a chunk that is not complete
  bool has_signature_ = false;      ///< the bytes before the first chunk have been written
  bool has_reached_image_ = false;  ///< what follows is kept as it is
};

}  // namespace mollify::cli
