#include "files/plugins.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace mollify::files {
namespace {

Bytes whole_file(ByteSource& source, std::int64_t most_bytes) {
  if (source.size() > most_bytes) throw FileError("has " + std::to_string(source.size()) + " bytes, more than may be used to read it");
  return read_exactly(source, 0, source.size());
}

}  // namespace

SharedLibrary::SharedLibrary(const char* name) : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}

void* SharedLibrary::address_of(const char* name) const {
  void* const address = ::dlsym(handle_, name);
  if (address == nullptr) throw FileError("needs another version of " + name_ + " than is installed: it has no " + name);
  return address;
}

bool is_read_by_plugin(std::string_view ending) {
  struct Row {
    std::string_view ending;
    bool (*is_installed)();
  };
  constexpr std::array kRows = {Row{".heic", has_heif_library}, Row{".heif", has_heif_library}, Row{".hif", has_heif_library},
                                Row{".avif", has_avif_library}, Row{".jxl", has_jxl_library}};
  return std::ranges::any_of(kRows, [&](const Row& row) { return row.ending == ending && row.is_installed(); });
}

void throw_not_installed(FileFormat format, const char* package, const char* command) {
  throw FileError("is a file of " + std::string(name_of(format)) + ", which is read where the library " + package +
                  " is installed; or convert it: " + command);
}

QuietStandardError::QuietStandardError() {
  static std::mutex mutex;
  lock_ = std::unique_lock(mutex);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  saved_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (saved_ >= 0) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

QuietStandardError::~QuietStandardError() {
  if (saved_ < 0) return;
  ::dup2(saved_, STDERR_FILENO);
  ::close(saved_);
}

void scale_to_u16(std::uint16_t* numbers, std::size_t count, int bits) {
  const std::uint32_t full = (1U << bits) - 1;
  constexpr std::uint32_t kFull = 65535;
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<std::uint16_t>((std::min<std::uint32_t>(numbers[i], full) * kFull + full / 2) / full);
  }
}

DecodedReader::DecodedReader(std::unique_ptr<ByteSource> source, const ReadOptions& options)
    : bytes_(whole_file(*source, options.memory_bytes)), options_(options) {}

void DecodedReader::read_rows(int page, std::int32_t y, std::int32_t count, std::uint8_t* into, std::ptrdiff_t row_bytes) {
  const std::int64_t row = document_.pages[static_cast<std::size_t>(page)].row_bytes();
  if (page != decoded_page_) {
    const Page& described = document_.pages[static_cast<std::size_t>(page)];
    // Decoders keep a picture as 32-bit numbers, once or twice, besides what they hand out.
    constexpr double kWorkBytes = 24;
    const double needed = static_cast<double>(bytes_.size()) + static_cast<double>(described.width) * described.height *
                                                                   (static_cast<double>(described.pixel_bytes()) + kWorkBytes);
    constexpr double kMiB = 1 << 20;
    if (needed > static_cast<double>(options_.memory_bytes)) {
      throw FileError("needs " + std::to_string(static_cast<std::int64_t>(needed / kMiB) + 1) +
                      " MiB to be decoded, more than may be used");
    }
    pixels_.resize(static_cast<std::size_t>(row * described.height));
    const QuietStandardError quiet;
    decode(page, pixels_);
    decoded_page_ = page;
  }
  for (std::int32_t i = 0; i < count; ++i) {
    std::memcpy(into + i * row_bytes, pixels_.data() + (y + i) * row, static_cast<std::size_t>(row));
  }
}

Page& DecodedReader::add_page(std::int64_t width, std::int64_t height, NumberType type, ColourModel model, AlphaKind alpha) {
  constexpr std::int64_t kMost = 1 << 30;
  if (width < 1 || height < 1 || width > kMost || height > kMost) throw FileError("has no valid size");
  Page page;
  page.width = static_cast<std::int32_t>(width);
  page.height = static_cast<std::int32_t>(height);
  page.model = model;
  page.alpha = alpha;
  for (const char* name : model == ColourModel::grey ? std::vector{"Y"} : std::vector{"R", "G", "B"}) page.channels.push_back({name, type});
  if (alpha != AlphaKind::none) page.channels.push_back({"A", type, ChannelRole::alpha});
  document_.pages.push_back(std::move(page));
  return document_.pages.back();
}

void DecodedReader::add_item(ItemKind kind, std::string name, Bytes data) {
  document_.items.push_back({.kind = kind, .name = std::move(name), .data = std::move(data)});
}

void DecodedReader::add_exif(Bytes data) {
  constexpr std::size_t kDistance = 4;
  if (data.size() < kDistance) return messages_.add("Exif that is too short is left out");
  const std::size_t distance = std::size_t{data[0]} << 24 | std::size_t{data[1]} << 16 | std::size_t{data[2]} << 8 | data[3];
  if (distance > data.size() - kDistance) return messages_.add("Exif without a beginning is left out");
  data.erase(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(kDistance + distance));
  add_item(ItemKind::exif, "Exif", std::move(data));
}

}  // namespace mollify::files
