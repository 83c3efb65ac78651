#include "files/tiff_library.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

#include "files/tiff_codestream.h"

namespace mollify::files::tiff {
namespace {

// Some of libtiff's functions complain where no handle is known.
void silence_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    TIFFSetErrorHandler(nullptr);
    TIFFSetWarningHandler(nullptr);
  });
}

struct Complaints {
  std::string error;
  std::string loss;  ///< a warning that means that pixels are lost
};

std::string formatted(const char* format, va_list arguments) {
  std::array<char, 300> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string line(text.data());
  while (!line.empty() && (line.back() == '.' || line.back() == '\n')) line.pop_back();
  return line;
}

int keep_error(TIFF*, void* complaints, const char*, const char* format, va_list arguments) {
  std::string& error = static_cast<Complaints*>(complaints)->error;
  if (error.empty()) error = formatted(format, arguments);
  return 1;
}

// Decoders of faxes and of JPEG fill in what is missing, and only warn.
bool means_loss(std::string_view warning) {
  constexpr std::array<std::string_view, 7> kWords = {"Premature",  "premature",  "Corrupt",         "corrupt",
                                                      "not enough", "Not enough", "extraneous bytes"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return warning.find(word) != std::string_view::npos; });
}

int keep_warning(TIFF*, void* complaints, const char*, const char* format, va_list arguments) {
  std::string& loss = static_cast<Complaints*>(complaints)->loss;
  if (const std::string warning = formatted(format, arguments); loss.empty() && means_loss(warning)) loss = warning;
  return 1;
}

using Options = std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)>;

Options open_options(Complaints& complaints, std::int64_t most_bytes_at_once) {
  Options options(TIFFOpenOptionsAlloc(), TIFFOpenOptionsFree);
  if (!options) throw std::bad_alloc();
  if (most_bytes_at_once > 0) TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), most_bytes_at_once);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_error, &complaints);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), keep_warning, &complaints);
  return options;
}

// What libtiff's C code must not be left by is kept, and thrown behind it.
template <typename State, typename Function>
auto guarded(State& state, Function&& function, decltype(function()) failed) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    if (!state.thrown) state.thrown = std::current_exception();
    return failed;
  }
}

[[noreturn]] void fail(const Complaints& complaints, std::string_view action) {
  const std::string& why = complaints.error.empty() ? complaints.loss : complaints.error;
  throw FileError(std::string(action) + (why.empty() ? "" : ": " + why));
}

toff_t moved(toff_t position, toff_t end, toff_t offset, int whence) {
  return whence == SEEK_SET ? offset : whence == SEEK_CUR ? position + offset : end + offset;
}

int no_map(thandle_t, void**, toff_t*) {
  return 0;
}
void no_unmap(thandle_t, void*, toff_t) {}
int no_close(thandle_t) {
  return 0;
}

}  // namespace

struct LibraryReader::State {
  ByteSource& source;
  Complaints complaints{};
  std::exception_ptr thrown{};
  toff_t position = 0;
  bool is_cut_off = false;
};

LibraryReader::LibraryReader(ByteSource& source, std::int64_t most_bytes_at_once) : state_(new State{.source = source}) {
  silence_library();
  const auto read = [](thandle_t handle, void* into, tmsize_t count) -> tmsize_t {
    State& state = *static_cast<State*>(handle);
    return guarded(
        state,
        [&]() -> tmsize_t {
          const std::size_t wanted = static_cast<std::size_t>(count);
          const std::size_t got =
              state.source.read_at(static_cast<std::int64_t>(state.position), {static_cast<std::uint8_t*>(into), wanted});
          state.position += got;
          state.is_cut_off |= got < wanted;
          return static_cast<tmsize_t>(got);
        },
        -1);
  };
  const auto write = [](thandle_t, void*, tmsize_t) -> tmsize_t { return -1; };
  const auto seek = [](thandle_t handle, toff_t offset, int whence) -> toff_t {
    State& state = *static_cast<State*>(handle);
    return state.position = moved(state.position, static_cast<toff_t>(state.source.size()), offset, whence);
  };
  const auto size = [](thandle_t handle) -> toff_t { return static_cast<toff_t>(static_cast<State*>(handle)->source.size()); };
  const Options options = open_options(state_->complaints, most_bytes_at_once);
  // The mode: the header only, no mapped memory, no strips cut into pieces.
  handle_ = TIFFClientOpenExt("", "rhmc", state_.get(), read, write, seek, no_close, size, no_map, no_unmap, options.get());
  if (handle_ == nullptr) fail(state_->complaints, "cannot be read");
}

LibraryReader::~LibraryReader() {
  TIFFClose(handle_);
}

void LibraryReader::open_directory(std::int64_t offset) {
  const bool opened = TIFFSetSubDirectory(handle_, static_cast<toff_t>(offset)) == 1;
  if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
  if (!opened) fail(state_->complaints, "has a page that cannot be read");
  state_->complaints = {};
  state_->is_cut_off = false;
}

void LibraryReader::check(bool succeeded) {
  if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
  if (succeeded && state_->complaints.error.empty() && state_->complaints.loss.empty()) return;
  fail(state_->complaints, state_->is_cut_off ? "is cut off" : "is damaged");
}

struct LibraryWriter::State {
  ByteSink& sink;
  Complaints complaints{};
  std::exception_ptr thrown{};
  toff_t position = 0;
  bool is_muted = true;  ///< while libtiff writes headers and directories, which are not its part
};

LibraryWriter::LibraryWriter(ByteSink& sink, bool big_endian) : state_(new State{.sink = sink}) {
  silence_library();
  const auto read = [](thandle_t, void*, tmsize_t) -> tmsize_t { return -1; };
  const auto write = [](thandle_t handle, void* from, tmsize_t count) -> tmsize_t {
    State& state = *static_cast<State*>(handle);
    return guarded(
        state,
        [&]() -> tmsize_t {
          const auto bytes = static_cast<std::size_t>(count);
          if (!state.is_muted) state.sink.write_at(static_cast<std::int64_t>(state.position), {static_cast<std::uint8_t*>(from), bytes});
          state.position += bytes;
          return count;
        },
        -1);
  };
  const auto seek = [](thandle_t handle, toff_t offset, int whence) -> toff_t {
    State& state = *static_cast<State*>(handle);
    return state.position = moved(state.position, static_cast<toff_t>(state.sink.size()), offset, whence);
  };
  const auto size = [](thandle_t handle) -> toff_t { return static_cast<toff_t>(static_cast<State*>(handle)->sink.size()); };
  const Options options = open_options(state_->complaints, 0);
  handle_ =
      TIFFClientOpenExt("", big_endian ? "w8b" : "w8l", state_.get(), read, write, seek, no_close, size, no_map, no_unmap, options.get());
  if (handle_ == nullptr) fail(state_->complaints, "cannot be written");
  state_->is_muted = false;
}

LibraryWriter::~LibraryWriter() {
  state_->is_muted = true;
  TIFFCleanup(handle_);
}

void LibraryWriter::check(bool succeeded) {
  if (state_->thrown) std::rethrow_exception(std::exchange(state_->thrown, nullptr));
  if (!succeeded) fail(state_->complaints, "cannot be written");
}

bool has_predictor(int compression) {
  constexpr std::array kAll = {COMPRESSION_LZW, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE, COMPRESSION_ZSTD, COMPRESSION_LZMA};
  return std::ranges::find(kAll, compression) != kAll.end();
}

bool codes_bytes(int compression) {
  return has_predictor(compression) || compression == COMPRESSION_NONE || compression == COMPRESSION_PACKBITS;
}

bool is_supported(int compression) {
  return compression > 0 && compression <= 0xffff && TIFFIsCODECConfigured(static_cast<std::uint16_t>(compression)) == 1;
}

std::string compression_name(int compression) {
  struct Row {
    int number;
    std::string_view name;
  };
  constexpr std::array kMore = {Row{34892, "lossy DNG JPEG"}, Row{65000, "Eastman Kodak"}};
  for (const Row& each : kMore) {
    if (each.number == compression) return std::string(each.name);
  }
  if (const std::string_view name = jpeg_name_of(compression); !name.empty()) return std::string(name);
  const TIFFCodec* codec = TIFFFindCODEC(static_cast<std::uint16_t>(compression));
  return codec == nullptr ? "unknown (" + std::to_string(compression) + ")" : codec->name;
}

}  // namespace mollify::files::tiff
