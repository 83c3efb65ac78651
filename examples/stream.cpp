// Blurs a file of raw 8-bit grey pixels that may be larger than memory.
#include <mollify/mollify.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "blur_in_strips.h"

namespace {

int fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return fail("usage: mollify_example_stream SOURCE RESULT WIDTH HEIGHT SIGMA");
  const mollify::ImageDesc desc{.width = std::atoi(argv[3]), .height = std::atoi(argv[4]), .format = mollify::PixelFormat::r8};
  const double sigma = std::atof(argv[5]);
  mollify::BlurSpec spec;
  spec.kernel = mollify::Gaussian{.sigma = {sigma, sigma}};

  const mollify::Result<mollify::Device> device = mollify::Device::open();
  if (!device) return fail(device.error().message);
  const mollify::Result<mollify::Plan> plan = mollify::make_plan(spec, desc, desc, device->info());
  if (!plan) return fail(plan.error().message);
  const mollify::Result<mollify::Executable> executable = device->prepare(*plan);
  if (!executable) return fail(executable.error().message);
  mollify::Result<mollify::Stream> stream = mollify::Stream::create(*executable);
  if (!stream) return fail(stream.error().message);

  std::ifstream in(argv[1], std::ios::binary);
  std::ofstream out(argv[2], std::ios::binary);
  const auto read = [&](const mollify::ImageView& rows, int /*first*/) {
    in.read(static_cast<char*>(rows.data), rows.desc.payload_bytes());
  };
  const auto write = [&](const mollify::ImageView& rows) { out.write(static_cast<const char*>(rows.data), rows.desc.payload_bytes()); };
  constexpr int kStripRows = 512;
  if (mollify::Status status = blur_in_strips(*stream, *plan, kStripRows, read, write); !status) return fail(status.error().message);
  if (!in || !out) return fail("the files cannot be read or written");
  return 0;
}
