// libjxl's functions, found where it is installed.
#pragma once

#include "files/plugins.h"

#if __has_include(<jxl/decode.h>) && __has_include(<jxl/version.h>) && __has_include(<jxl/thread_parallel_runner.h>)
#define MOLLIFY_HAS_JXL
#include <jxl/decode.h>
#include <jxl/thread_parallel_runner.h>
#include <jxl/version.h>

#include <memory>

namespace mollify::files {

struct Jxl {
  Jxl();
  SharedLibrary library;
  SharedLibrary threads;
  decltype(::JxlDecoderCreate)* create = nullptr;
  decltype(::JxlDecoderDestroy)* destroy = nullptr;
  decltype(::JxlDecoderRewind)* rewind = nullptr;
  decltype(::JxlDecoderSubscribeEvents)* subscribe = nullptr;
  decltype(::JxlDecoderSetKeepOrientation)* keep_orientation = nullptr;
  decltype(::JxlDecoderSetDecompressBoxes)* decompress_boxes = nullptr;
  decltype(::JxlDecoderSetInput)* set_input = nullptr;
  decltype(::JxlDecoderCloseInput)* close_input = nullptr;
  decltype(::JxlDecoderReleaseInput)* release_input = nullptr;
  decltype(::JxlDecoderProcessInput)* process = nullptr;
  decltype(::JxlDecoderGetBasicInfo)* basic_info = nullptr;
  decltype(::JxlDecoderGetExtraChannelInfo)* extra_channel_info = nullptr;
  decltype(::JxlDecoderGetICCProfileSize)* icc_size = nullptr;
  decltype(::JxlDecoderGetColorAsICCProfile)* icc = nullptr;
  decltype(::JxlDecoderGetFrameHeader)* frame_header = nullptr;
  decltype(::JxlDecoderSetImageOutBuffer)* set_image_buffer = nullptr;
  decltype(::JxlDecoderImageOutBufferSize)* image_size = nullptr;
  decltype(::JxlDecoderExtraChannelBufferSize)* extra_channel_size = nullptr;
  decltype(::JxlDecoderSetExtraChannelBuffer)* set_extra_channel_buffer = nullptr;
  decltype(::JxlDecoderGetBoxType)* box_type = nullptr;
  decltype(::JxlDecoderSetBoxBuffer)* set_box_buffer = nullptr;
  decltype(::JxlDecoderReleaseBoxBuffer)* release_box_buffer = nullptr;
  decltype(::JxlDecoderSetParallelRunner)* set_runner = nullptr;
  decltype(::JxlThreadParallelRunner)* run = nullptr;
  decltype(::JxlThreadParallelRunnerCreate)* runner_create = nullptr;
  decltype(::JxlThreadParallelRunnerDestroy)* runner_destroy = nullptr;
};

[[nodiscard]] const Jxl& jxl();

struct ReleaseJxl {
  void operator()(JxlDecoder* decoder) const { jxl().destroy(decoder); }
};
struct ReleaseJxlRunner {
  void operator()(void* runner) const { jxl().runner_destroy(runner); }
};
using JxlRunner = std::unique_ptr<void, ReleaseJxlRunner>;

/// A decoder, and the threads that it runs in; none where one is wanted.
[[nodiscard]] std::unique_ptr<JxlDecoder, ReleaseJxl> make_jxl_decoder();
[[nodiscard]] JxlRunner make_jxl_runner(JxlDecoder& decoder, int threads);
/// FileError where it is another.
void check_jxl(JxlDecoderStatus status);

}  // namespace mollify::files
#endif
