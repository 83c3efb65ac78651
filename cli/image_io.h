// Image files through OpenImageIO, with everything in them: all pages, parts and mip levels, any number of channels,
// stored numbers untouched. Anything that a format cannot keep is a Failure.
#pragma once

#include <OpenImageIO/imageio.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "atomic_file.h"
#include "file_proxy.h"
#include "png_chunks.h"

namespace mollify::cli {

/// One image of a file: a page, a part, or a mip level of one.
struct Part {
  int subimage = 0;
  int mip_level = 0;
  OIIO::ImageSpec spec;
};

/// Pixels of one part, channels interleaved, each in its own type.
using PixelBytes = std::unique_ptr<std::byte[]>;
[[nodiscard]] PixelBytes allocate_pixels(std::size_t bytes);

/// Settings of OpenImageIO for the whole program; call once before the first file.
void set_up_image_io(int threads);

/// Whether the name ends like that of an image of the formats that the tool is for. More can be read when named.
[[nodiscard]] bool has_image_extension(const std::string& path);

class ImageReader {
 public:
  explicit ImageReader(const std::string& path);

  /// "png", "tiff", "openexr"
  [[nodiscard]] std::string format_name() const { return input_->format_name(); }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// All channels converted to `type`, or each in its own with OIIO::TypeUnknown.
  [[nodiscard]] PixelBytes read(const Part& part, OIIO::TypeDesc type = OIIO::TypeUnknown);

 private:
  std::string path_;
  std::unique_ptr<OIIO::ImageInput> input_;
  std::vector<Part> parts_;
};

/// Which image format a file name asks for, and what that format can hold.
class OutputFormat {
 public:
  explicit OutputFormat(const std::string& path);
  [[nodiscard]] std::string name() const { return output_->format_name(); }
  [[nodiscard]] bool supports(const char* feature) const { return output_->supports(feature) != 0; }
  /// Whether colour is stored without being multiplied by alpha. TIFF can do either and keeps what the source does.
  [[nodiscard]] bool stores_unassociated_alpha(bool source_does) const;
  /// Whether colour in files of this format is always linear, or always sRGB, so that they cannot say otherwise.
  [[nodiscard]] bool is_always_linear() const { return name() == "openexr" || name() == "hdr"; }
  [[nodiscard]] bool is_always_srgb() const { return name() == "jpeg" || name() == "webp"; }
  /// Whether viewers are told that the picture is stored turned. Only OpenImageIO looks for that in OpenEXR files.
  [[nodiscard]] bool keeps_orientation() const { return name() == "jpeg" || name() == "tiff" || name() == "webp"; }

 private:
  std::unique_ptr<OIIO::ImageOutput> output_;
};

class ImageWriter {
 public:
  /// Throws Failure when the format cannot hold all of the parts as they are. `replaces`: what has that name by then.
  ImageWriter(const std::string& path, std::vector<Part> parts, bool replaces);
  ~ImageWriter();
  ImageWriter(const ImageWriter&) = delete;
  ImageWriter& operator=(const ImageWriter&) = delete;
  /// In the order of the parts.
  void write(const Part& part, const PixelBytes& pixels);
  /// Until then nothing exists under the path.
  void commit();

 private:
  void open(const Part& part);
  [[noreturn]] void fail_writing();

  std::string path_;
  std::vector<Part> parts_;
  AtomicFile file_;
  FileProxy proxy_;
  PngChunkFilter png_file_;
  std::unique_ptr<OIIO::ImageOutput> output_;
  bool is_first_ = true;
};

}  // namespace mollify::cli
