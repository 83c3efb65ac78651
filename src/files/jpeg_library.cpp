#include "files/jpeg_library.h"

#include <jerror.h>

#include <algorithm>
#include <array>
#include <string>

namespace mollify::files::jpeg {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 17;
/// Some cameras put a few bytes between the last pixel and the next marker. More is damage, and so is one byte before
/// a restart marker: there the decoder has lost its place among the codes, and what it decoded is not the picture.
constexpr int kMostExtraneousBytes = 16;

std::string message_of(j_common_ptr info) {
  std::array<char, JMSG_LENGTH_MAX> text{};
  info->err->format_message(info, text.data());
  return text.data();
}

[[noreturn]] void fail_decoding(j_common_ptr info) {
  throw FileError("is a damaged JPEG: " + message_of(info));
}
[[noreturn]] void fail_encoding(j_common_ptr info) {
  throw FileError("cannot be written as JPEG: " + message_of(info));
}
void print_nothing(j_common_ptr) {}
void start_nothing(j_decompress_ptr) {}
void start_nothing(j_compress_ptr) {}

bool is_restart(int marker) {
  return marker >= JPEG_RST0 && marker <= JPEG_RST0 + 7;
}

bool is_harmless(const jpeg_error_mgr& errors) {
  const int code = errors.msg_code;
  if (code == JWRN_EXTRANEOUS_DATA) return errors.msg_parm.i[0] <= kMostExtraneousBytes && !is_restart(errors.msg_parm.i[1]);
  return code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR || code == JWRN_NOT_SEQUENTIAL;
}

}  // namespace

Decoder::Decoder(ByteSource& source, const Patch& patch, Messages& messages) {
  info_.err = jpeg_std_error(&errors_);
  errors_.messages = &messages;
  errors_.error_exit = fail_decoding;
  errors_.output_message = print_nothing;
  errors_.emit_message = on_message;
  jpeg_create_decompress(&info_);
  input_.source = &source;
  input_.patch = patch;
  input_.init_source = start_nothing;
  input_.term_source = start_nothing;
  input_.fill_input_buffer = fill;
  input_.skip_input_data = skip;
  input_.resync_to_restart = jpeg_resync_to_restart;
  input_.buffer.resize(kBufferBytes);
  info_.src = &input_;
}

void Decoder::on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // traces
  if (!is_harmless(*info->err)) fail_decoding(info);
  static_cast<Errors*>(info->err)->messages->add("libjpeg says of the file: " + message_of(info));
}

boolean Decoder::fill(j_decompress_ptr info) {
  Input& input = *static_cast<Input*>(info->src);
  const std::size_t count = input.source->read_at(input.offset, input.buffer);
  if (count == 0) throw FileError("is cut off");
  for (int i = 0; i < 2; ++i) {
    const std::int64_t at = input.patch.offset + i - input.offset;
    if (input.patch.offset < 0 || at < 0 || at >= static_cast<std::int64_t>(count)) continue;
    input.buffer[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(input.patch.value >> (8 - 8 * i));
  }
  input.offset += static_cast<std::int64_t>(count);
  input.next_input_byte = input.buffer.data();
  input.bytes_in_buffer = count;
  return TRUE;
}

void Decoder::skip(j_decompress_ptr info, long count) {
  Input& input = *static_cast<Input*>(info->src);
  if (count <= 0) return;
  const std::size_t here = std::min(static_cast<std::size_t>(count), input.bytes_in_buffer);
  input.next_input_byte += here;
  input.bytes_in_buffer -= here;
  input.offset += count - static_cast<std::int64_t>(here);
}

Encoder::Encoder(ByteSink& sink) {
  info_.err = jpeg_std_error(&errors_);
  errors_.error_exit = fail_encoding;
  errors_.output_message = print_nothing;
  jpeg_create_compress(&info_);
  output_.sink = &sink;
  output_.init_destination = start_nothing;
  output_.empty_output_buffer = empty;
  output_.term_destination = finish;
  output_.buffer.resize(kBufferBytes);
  output_.next_output_byte = output_.buffer.data();
  output_.free_in_buffer = output_.buffer.size();
  info_.dest = &output_;
}

boolean Encoder::empty(j_compress_ptr info) {
  Output& output = *static_cast<Output*>(info->dest);
  output.sink->write_at(output.offset, output.buffer);
  output.offset += static_cast<std::int64_t>(output.buffer.size());
  output.next_output_byte = output.buffer.data();
  output.free_in_buffer = output.buffer.size();
  return TRUE;
}

void Encoder::finish(j_compress_ptr info) {
  Output& output = *static_cast<Output*>(info->dest);
  output.sink->write_at(output.offset, std::span(output.buffer).first(output.buffer.size() - output.free_in_buffer));
}

std::int64_t coefficient_bytes(const jpeg_component_info* components, int count, std::int64_t width, std::int64_t height) {
  int widest = 1;
  int highest = 1;
  for (int c = 0; c < count; ++c) {
    widest = std::max(widest, components[c].h_samp_factor);
    highest = std::max(highest, components[c].v_samp_factor);
  }
  const std::int64_t units = ((width + 8 * widest - 1) / (8 * widest)) * ((height + 8 * highest - 1) / (8 * highest));
  std::int64_t blocks = 0;
  for (int c = 0; c < count; ++c) blocks += units * components[c].h_samp_factor * components[c].v_samp_factor;
  return blocks * static_cast<std::int64_t>(sizeof(JBLOCK));
}

}  // namespace mollify::files::jpeg
