#include "files/jxl_library.h"

namespace mollify::files {

#ifdef MOLLIFY_HAS_JXL
namespace {

#define MOLLIFY_TEXT(x) #x
#define MOLLIFY_LIBRARY(base, major, minor) base ".so." MOLLIFY_TEXT(major) "." MOLLIFY_TEXT(minor)
constexpr const char* kLibrary = MOLLIFY_LIBRARY("libjxl", JPEGXL_MAJOR_VERSION, JPEGXL_MINOR_VERSION);
constexpr const char* kThreadsLibrary = MOLLIFY_LIBRARY("libjxl_threads", JPEGXL_MAJOR_VERSION, JPEGXL_MINOR_VERSION);
#undef MOLLIFY_LIBRARY
#undef MOLLIFY_TEXT

}  // namespace

Jxl::Jxl() : library(kLibrary), threads(kThreadsLibrary) {
  if (!library.is_open()) return;
  library.find(create, "JxlDecoderCreate");
  library.find(destroy, "JxlDecoderDestroy");
  library.find(rewind, "JxlDecoderRewind");
  library.find(subscribe, "JxlDecoderSubscribeEvents");
  library.find(keep_orientation, "JxlDecoderSetKeepOrientation");
  library.find(decompress_boxes, "JxlDecoderSetDecompressBoxes");
  library.find(set_input, "JxlDecoderSetInput");
  library.find(close_input, "JxlDecoderCloseInput");
  library.find(release_input, "JxlDecoderReleaseInput");
  library.find(process, "JxlDecoderProcessInput");
  library.find(basic_info, "JxlDecoderGetBasicInfo");
  library.find(extra_channel_info, "JxlDecoderGetExtraChannelInfo");
  library.find(icc_size, "JxlDecoderGetICCProfileSize");
  library.find(icc, "JxlDecoderGetColorAsICCProfile");
  library.find(frame_header, "JxlDecoderGetFrameHeader");
  library.find(set_image_buffer, "JxlDecoderSetImageOutBuffer");
  library.find(image_size, "JxlDecoderImageOutBufferSize");
  library.find(extra_channel_size, "JxlDecoderExtraChannelBufferSize");
  library.find(set_extra_channel_buffer, "JxlDecoderSetExtraChannelBuffer");
  library.find(box_type, "JxlDecoderGetBoxType");
  library.find(set_box_buffer, "JxlDecoderSetBoxBuffer");
  library.find(release_box_buffer, "JxlDecoderReleaseBoxBuffer");
  library.find(set_runner, "JxlDecoderSetParallelRunner");
  if (!threads.is_open()) return;
  threads.find(run, "JxlThreadParallelRunner");
  threads.find(runner_create, "JxlThreadParallelRunnerCreate");
  threads.find(runner_destroy, "JxlThreadParallelRunnerDestroy");
}

const Jxl& jxl() {
  static const Jxl functions;
  return functions;
}

void check_jxl(JxlDecoderStatus status) {
  if (status != JXL_DEC_SUCCESS) throw FileError("is damaged; libjxl cannot decode it");
}

std::unique_ptr<JxlDecoder, ReleaseJxl> make_jxl_decoder() {
  std::unique_ptr<JxlDecoder, ReleaseJxl> decoder(jxl().create(nullptr));
  if (!decoder) throw std::bad_alloc();
  return decoder;
}

JxlRunner make_jxl_runner(JxlDecoder& decoder, int threads) {
  if (threads <= 1 || !jxl().threads.is_open()) return nullptr;
  JxlRunner runner(jxl().runner_create(nullptr, static_cast<std::size_t>(threads)));
  check_jxl(jxl().set_runner(&decoder, jxl().run, runner.get()));
  return runner;
}

bool has_jxl_library() {
  return jxl().library.is_open();
}
#else
bool has_jxl_library() {
  return false;
}
#endif

}  // namespace mollify::files
