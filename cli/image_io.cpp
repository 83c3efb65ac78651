#include "image_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "failure.h"
#include "metadata.h"
#include "webp.h"

namespace mollify::cli {
namespace {

// libpng and others print their complaints, which OpenImageIO reports as well. While one of these exists, nothing
// reaches stderr; the tool's own lines are printed when none does.
class QuietLibraries {
 public:
  QuietLibraries() : stderr_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (stderr_ >= 0 && nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) ::close(nowhere);
  }
  ~QuietLibraries() {
    if (stderr_ < 0) return;
    ::dup2(stderr_, STDERR_FILENO);
    ::close(stderr_);
  }
  QuietLibraries(const QuietLibraries&) = delete;
  QuietLibraries& operator=(const QuietLibraries&) = delete;

 private:
  int stderr_;
};

std::string flattened(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// OpenImageIO tells a missing file, a folder and a foreign format apart badly; the system does it well.
void require_readable_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail(fmt::format("{}: {}", path, std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) fail(fmt::format("{}: is a folder", path));
  if (status.st_size == 0 && S_ISREG(status.st_mode)) fail(fmt::format("{}: is empty", path));
}

[[noreturn]] void fail_reading(const std::string& path, const std::string& reason) {
  const std::string why = flattened(reason);
  fail(fmt::format("{}: cannot be read{}{}", path, why.empty() ? "" : ": ", why));
}

std::unique_ptr<OIIO::ImageInput> open_input(const std::string& path, bool raw_colour) {
  OIIO::ImageSpec hints;
  hints.attribute("oiio:UnassociatedAlpha", 1);  // colour as stored: the blur multiplies, in float
  if (raw_colour) hints.attribute("oiio:RawColor", 1);
  auto input = OIIO::ImageInput::open(path, &hints);
  if (!input) fail_reading(path, OIIO::geterror());
  // A progressive JPEG that is cut off opens all the same. Of other formats these may be mere warnings.
  if (input->has_error() && input->format_name() == std::string_view("jpeg")) fail_reading(path, input->geterror());
  return input;
}

// What OpenImageIO is told the pixels are. TypeUnknown, "each as in the file", spoils the last tiles of a TIFF row.
OIIO::TypeDesc native_type(const OIIO::ImageSpec& spec) {
  return spec.channelformats.empty() ? spec.format : OIIO::TypeUnknown;
}

// OpenImageIO takes the four inks for red, green, blue and alpha.
void name_inks(OIIO::ImageSpec& spec) {
  constexpr std::array kInks = {"C", "M", "Y", "K"};
  if (spec.nchannels < static_cast<int>(kInks.size())) return;
  std::copy(kInks.begin(), kInks.end(), spec.channelnames.begin());
  if (spec.alpha_channel < static_cast<int>(kInks.size())) spec.alpha_channel = -1;
}

// libtiff, which converts Lab, mirrors the pixels as the file asks for, but does not swap rows and columns. What the
// file says is corrected to what is left to do.
void correct_orientation(OIIO::ImageSpec& spec) {
  constexpr int kTiffLab = 8;
  constexpr std::array kLeft = {1, 1, 1, 1, 5, 7, 5, 7};
  if (spec.get_int_attribute("tiff:PhotometricInterpretation") != kTiffLab) return;
  const int said = spec.get_int_attribute("Orientation");
  if (said >= 1 && said <= std::ssize(kLeft)) spec.attribute("Orientation", kLeft[said - 1]);
}

void require_plain_image(const std::string& path, const OIIO::ImageSpec& spec) {
  if (spec.deep) fail(fmt::format("{}: deep images cannot be blurred", path));
  if (spec.depth > 1) fail(fmt::format("{}: volumes cannot be blurred", path));
}

// OpenImageIO has writers for more formats. Those lose what these keep: depth, metadata, or the image itself.
bool is_written(const std::string& format) {
  constexpr std::array kWritten = {"png", "jpeg", "tiff", "openexr", "webp", "hdr"};
  return std::find(kWritten.begin(), kWritten.end(), format) != kWritten.end();
}

}  // namespace

PixelBytes allocate_pixels(std::size_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

void set_up_image_io(int threads) {
  register_webp();
  OIIO::attribute("threads", threads);
  OIIO::attribute("tiff:half", 1);  // half stays half instead of growing to float
}

bool has_image_extension(const std::string& path) {
  constexpr std::array kKnown = {".png", ".jpg", ".jpeg", ".jpe", ".tif", ".tiff", ".exr", ".webp", ".hdr"};
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kKnown.begin(), kKnown.end(), extension) != kKnown.end();
}

ImageReader::ImageReader(const std::string& path) : path_(path) {
  require_readable_file(path);
  const QuietLibraries quiet;
  input_ = open_input(path, false);
  // Ink is blurred as ink: converted to RGB it would lose its colours and its profile.
  if (holds_ink(input_->spec())) input_ = open_input(path, true);
  for (int subimage = 0; input_->seek_subimage(subimage, 0); ++subimage) {
    // All levels, the seek past the last of which fails.
    for (int level = 0; input_->seek_subimage(subimage, level); ++level) {
      require_plain_image(path, input_->spec());
      parts_.push_back({subimage, level, input_->spec()});
      if (holds_ink(input_->spec())) name_inks(parts_.back().spec);
      correct_orientation(parts_.back().spec);
    }
    static_cast<void>(input_->geterror());
  }
  // The seek past the end fails, too; a TIFF that is cut off before a later page says this.
  const std::string reason = input_->geterror();
  if (parts_.empty() || reason.starts_with("Failed to read directory")) fail_reading(path, reason);
}

PixelBytes ImageReader::read(const Part& part, OIIO::TypeDesc type) {
  const QuietLibraries quiet;
  const bool native = type == OIIO::TypeUnknown;
  const std::size_t pixel_bytes =
      native ? part.spec.pixel_bytes(true) : type.size() * static_cast<std::size_t>(part.spec.nchannels);
  PixelBytes pixels = allocate_pixels(part.spec.image_pixels() * pixel_bytes);
  const OIIO::TypeDesc as = native ? native_type(part.spec) : type;
  if (!input_->read_image(part.subimage, part.mip_level, 0, part.spec.nchannels, as, pixels.get())) {
    fail_reading(path_, input_->geterror());
  }
  // Some readers fill in what a cut-off file lacks, and only leave a message.
  if (input_->has_error()) fail_reading(path_, input_->geterror());
  return pixels;
}

OutputFormat::OutputFormat(const std::string& path) : output_(OIIO::ImageOutput::create(path)) {
  if (output_ && is_written(name())) return;
  static_cast<void>(OIIO::geterror());
  fail(fmt::format("{}: no image format is written under this extension; use .png .jpg .tif .exr .webp or .hdr", path));
}

bool OutputFormat::stores_unassociated_alpha(bool source_does) const {
  if (name() == "tiff") return source_does;
  return name() != "openexr";
}

ImageWriter::ImageWriter(const std::string& path, std::vector<Part> parts, bool replaces)
    : path_(path),
      parts_(std::move(parts)),
      file_(path, replaces),
      proxy_(path, file_),
      png_file_(proxy_),
      output_(OIIO::ImageOutput::create(path)) {
  const bool many = std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.subimage > 0; });
  const bool mips = std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.mip_level > 0; });
  const std::string format = output_->format_name();
  if (many && !output_->supports("multiimage")) {
    fail(fmt::format("{}: {} files hold one image, the source has {}", path_, format, parts_.back().subimage + 1));
  }
  // TIFF textures keep their mip levels as further pages.
  if (mips && !output_->supports("mipmap") && format != "tiff") {
    fail(fmt::format("{}: {} files cannot hold mip levels", path_, format));
  }
  // The TIFF writer of OpenImageIO 2.4 loses pages and tiles through a proxy. It notices a full disk by itself.
  if (format == "png") {
    output_->set_ioproxy(&png_file_);
  } else if (format != "tiff") {
    output_->set_ioproxy(&proxy_);
  }
  const QuietLibraries quiet;
  try {
    open(parts_.front());
  } catch (const Failure&) {
    output_.reset();
    throw;
  }
}

ImageWriter::~ImageWriter() {
  const QuietLibraries quiet;  // a writer that is given up complains of what it lacks
  output_.reset();
}

void ImageWriter::fail_writing() {
  file_.find_reason();
  file_.check();
  fail(fmt::format("{}: cannot be written: {}", path_, flattened(output_->geterror())));
}

void ImageWriter::open(const Part& part) {
  const bool first = std::exchange(is_first_, false);
  const std::string& name = file_.temporary_path();
  bool opened = false;
  if (first && output_->supports("multiimage") && !output_->supports("appendsubimage")) {
    std::vector<OIIO::ImageSpec> subimages;  // OpenEXR writes all headers before the first pixel
    for (const Part& p : parts_) {
      if (p.mip_level == 0) subimages.push_back(p.spec);
    }
    opened = subimages.size() > 1 ? output_->open(name, static_cast<int>(subimages.size()), subimages.data())
                                  : output_->open(name, part.spec);
  } else if (first) {
    opened = output_->open(name, part.spec);
  } else if (part.mip_level > 0 && output_->supports("mipmap")) {
    opened = output_->open(name, part.spec, OIIO::ImageOutput::AppendMIPLevel);
  } else {
    opened = output_->open(name, part.spec, OIIO::ImageOutput::AppendSubimage);
  }
  if (!opened) fail_writing();

  const OIIO::ImageSpec& actual = output_->spec();
  const std::string format = output_->format_name();
  const bool drops_alpha = part.spec.alpha_channel >= 0 && !output_->supports("alpha");
  if (drops_alpha || actual.nchannels != part.spec.nchannels) {
    fail(fmt::format("{}: {} files cannot hold {} channels{}", path_, format, part.spec.nchannels,
                     part.spec.alpha_channel >= 0 ? " with alpha" : ""));
  }
  for (int c = 0; c < part.spec.nchannels; ++c) {
    if (actual.channelformat(c) != part.spec.channelformat(c)) {
      fail(fmt::format("{}: {} files cannot hold {} numbers; another --format converts them", path_, format,
                       part.spec.channelformat(c).c_str()));
    }
  }
}

void ImageWriter::write(const Part& part, const PixelBytes& pixels) {
  const QuietLibraries quiet;
  const bool already_open = part.subimage == parts_.front().subimage && part.mip_level == parts_.front().mip_level;
  if (!already_open) open(part);
  if (!output_->write_image(native_type(part.spec), pixels.get())) fail_writing();
}

void ImageWriter::commit() {
  const QuietLibraries quiet;
  if (!output_->close()) fail_writing();
  output_.reset();
  file_.check();
  if (file_.size() == 0) fail(fmt::format("{}: cannot be written: nothing came of it", path_));
  file_.commit();
}

}  // namespace mollify::cli
