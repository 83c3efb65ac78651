// Reads a file and writes all that the readers found into another, without a blur and without the contract: for tests of the codecs.
//   mollify_copy_file IN OUT [QUALITY] [pixels] [threads]
// "pixels" leaves the items out, where the format of the result has no place for them; "threads" reads and writes by four.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <span>
#include <string_view>

#include "files/codec.h"

using namespace mollify::files;

namespace {

const char* role_of(const Channel& channel) {
  constexpr const char* kRoles[] = {"colour", "alpha", "data", "kept"};
  return kRoles[static_cast<std::size_t>(channel.role)];
}

struct CopyOptions {
  ReadOptions read;
  WriteOptions write;
  bool only_pixels = false;
};

CopyOptions parse(std::span<char* const> words) {
  CopyOptions options;
  for (const std::string_view word : words) {
    if (word == "pixels") {
      options.only_pixels = true;
    } else if (word == "threads") {
      options.read.threads = options.write.threads = 4;
    } else {
      options.write.quality = std::atoi(word.data());
    }
  }
  return options;
}

void copy(const char* in, const char* out, const CopyOptions& options) {
  const auto format = format_of_name(out);
  if (!format) throw FileError("no format is written under this name");
  const std::unique_ptr<Reader> reader = open_reader(open_source(in, 1 << 28), options.read);
  Document document = reader->document();
  document.format = *format;
  for (const Item& item : document.items)
    std::printf("item %d %s, %zu bytes\n", static_cast<int>(item.kind), item.name.c_str(), item.data.size());
  Document wanted = document;
  if (options.only_pixels) {
    wanted.items.clear();
    for (Page& page : wanted.pages) page.items.clear();
  }
  MemorySink sink;
  const std::unique_ptr<Writer> writer = make_writer(*format, sink, wanted, options.write);
  for (std::size_t i = 0; i < document.pages.size(); ++i) {
    const Page& page = document.pages[i];
    std::printf("page %zu: %dx%d, %zu channels, orientation %d\n", i, page.width, page.height, page.channels.size(), page.orientation);
    for (const Item& item : page.items)
      std::printf("item %d %s, %zu bytes\n", static_cast<int>(item.kind), item.name.c_str(), item.data.size());
    for (const Channel& channel : page.channels) std::printf("channel %s, %s\n", channel.name.c_str(), role_of(channel));
    const std::int32_t most_rows = std::min(37, page.height);  // no multiple of tiles or blocks
    Bytes rows(static_cast<std::size_t>(page.row_bytes() * most_rows));
    for (std::int32_t y = 0; y < page.height; y += most_rows) {
      const std::int32_t count = std::min(most_rows, page.height - y);
      reader->read_rows(static_cast<int>(i), y, count, rows.data(), page.row_bytes());
      writer->write_rows(static_cast<int>(i), y, count, rows.data(), page.row_bytes());
    }
  }
  writer->finish();
  for (const Messages* messages : {&reader->messages(), &writer->messages()}) {
    for (const std::string& message : messages->all()) std::printf("%s\n", message.c_str());
  }
  std::ofstream(out, std::ios::binary)
      .write(reinterpret_cast<const char*>(sink.bytes().data()), static_cast<std::streamsize>(sink.bytes().size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  try {
    copy(argv[1], argv[2], parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(3)));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
