// The smallest program that blurs: one image in memory, one call.
#include <mollify/mollify.h>

#include <cstdio>
#include <vector>

int main() {
  const mollify::ImageDesc desc{.width = 640, .height = 480, .format = mollify::PixelFormat::r8};
  std::vector<unsigned char> before(640 * 480), after(640 * 480);
  before[240 * 640 + 320] = 255;  // one white pixel

  mollify::BlurSpec spec;
  spec.kernel = mollify::Gaussian{.sigma = {2.0, 2.0}};
  const mollify::Status status = mollify::blur({desc, before.data(), 640}, {desc, after.data(), 640}, spec);
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return 1;
  }
  std::printf("255 became %d\n", after[240 * 640 + 320]);  // 255 / (2 pi sigma^2), rounded: 10
}
