// Reads a file and writes all that the readers found into another, without a blur and without the contract: for tests of the codecs.
//   mollify_copy_file IN OUT [QUALITY]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "files/codec.h"

using namespace mollify::files;

namespace {

void copy(const char* in, const char* out, const WriteOptions& options) {
  const auto format = format_of_name(out);
  if (!format) throw FileError("no format is written under this name");
  const std::unique_ptr<Reader> reader = open_reader(open_source(in, 1 << 28), {});
  Document document = reader->document();
  document.format = *format;
  for (const std::string& message : reader->messages().all()) std::printf("%s\n", message.c_str());
  for (const Item& item : document.items) std::printf("item %d %s, %zu bytes\n", static_cast<int>(item.kind), item.name.c_str(), item.data.size());
  MemorySink sink;
  const std::unique_ptr<Writer> writer = make_writer(*format, sink, document, options);
  for (std::size_t i = 0; i < document.pages.size(); ++i) {
    const Page& page = document.pages[i];
    std::printf("page %zu: %dx%d, %zu channels\n", i, page.width, page.height, page.channels.size());
    for (const Item& item : page.items) std::printf("item %d %s, %zu bytes\n", static_cast<int>(item.kind), item.name.c_str(), item.data.size());
    constexpr std::int32_t kRows = 37;  // no multiple of tiles or blocks
    Bytes rows(static_cast<std::size_t>(page.row_bytes()) * kRows);
    for (std::int32_t y = 0; y < page.height; y += kRows) {
      const std::int32_t count = std::min(kRows, page.height - y);
      reader->read_rows(static_cast<int>(i), y, count, rows.data(), page.row_bytes());
      writer->write_rows(static_cast<int>(i), y, count, rows.data(), page.row_bytes());
    }
  }
  writer->finish();
  for (const std::string& message : writer->messages().all()) std::printf("%s\n", message.c_str());
  std::ofstream(out, std::ios::binary).write(reinterpret_cast<const char*>(sink.bytes().data()), static_cast<std::streamsize>(sink.bytes().size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    WriteOptions options;
    if (argc > 3) options.quality = std::atoi(argv[3]);
    copy(argv[1], argv[2], options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
