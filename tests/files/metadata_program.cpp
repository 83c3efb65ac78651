// The functions of files/metadata.h for tests: a block on standard input, the result on standard output, messages on standard error.
//   mollify_metadata exif|xmp|iptc|photoshop [ORIENTATION WIDTH HEIGHT]     0 leaves a number as it is
//   mollify_metadata picture|orientation|resolution
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>

#include "files/metadata.h"

using namespace mollify::files;

namespace {

constexpr int kRefused = 3;

int write(const Bytes& bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return 0;
}

void write_part(const char* name, const std::optional<Bytes>& part) {
  if (!part) return;
  std::fprintf(stderr, "%s %zu\n", name, part->size());
}

int split(const Bytes& block, Messages& messages) {
  const PhotoshopParts parts = split_photoshop(block, messages);
  write_part("iptc", parts.iptc);
  write_part("icc", parts.icc_profile);
  write_part("exif", parts.exif);
  write_part("xmp", parts.xmp);
  return write(join_photoshop(parts.rest, parts.iptc.value_or(Bytes{})));
}

int answer(const std::string& what, Bytes& block, const Corrections& corrections, Messages& messages) {
  if (what == "exif") return correct_exif(block, corrections, messages) ? write(block) : kRefused;
  if (what == "xmp") return correct_xmp(block, corrections, messages) ? write(block) : kRefused;
  if (what == "iptc") return correct_iptc(block, messages) ? write(block) : kRefused;
  if (what == "photoshop") return split(block, messages);
  if (what == "picture") std::printf("%d\n", holds_picture(block) ? 1 : 0);
  if (what == "orientation") std::printf("%d\n", exif_orientation(block).value_or(0));
  if (what == "resolution") {
    const Resolution none = {.x = 0, .y = 0, .unit = Resolution::Unit::none};
    const Resolution got = exif_resolution(block).value_or(none);
    std::printf("%g %g %d\n", got.x, got.y, static_cast<int>(got.unit));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  Bytes block((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  Corrections corrections;
  const auto number = [&](int at, std::optional<std::int32_t>& into) {
    const int value = argc > at ? std::atoi(argv[at]) : 0;
    if (value > 0) into = value;
  };
  number(2, corrections.orientation);
  number(3, corrections.width);
  number(4, corrections.height);
  Messages messages;
  const int result = answer(argv[1], block, corrections, messages);
  for (const std::string& message : messages.all()) std::fprintf(stderr, "%s\n", message.c_str());
  return result;
}
