// Blurs an image of any height in strips. The next strip is read and the last one is written meanwhile.
#include <mollify/mollify.h>

#include <algorithm>
#include <future>
#include <vector>

template <class Read, class Write>
mollify::Status blur_in_strips(mollify::Stream& stream, const mollify::Plan& plan, int most_rows, Read read, Write write) {
  std::vector<std::byte> source[2], result[2];
  const auto strip = [](std::vector<std::byte>& bytes, const mollify::ImageDesc& whole, int rows) {
    bytes.resize(static_cast<std::size_t>(whole.row_payload_bytes() * rows));
    return mollify::ImageView{{whole.width, rows, whole.format}, bytes.data(), whole.row_payload_bytes()};
  };
  const auto read_strip = [&](int i, int first) {  // of the source, from this row on
    const mollify::ImageView rows = strip(source[i], plan.src, std::min(most_rows, plan.src.height - first));
    return std::async(std::launch::async, [rows, first, &read] { return read(rows, first), rows; });
  };
  std::future<mollify::ImageView> reading = read_strip(0, stream.next_source_row());
  std::future<void> writing;
  for (int i = 0; stream.next_row() < plan.dst.height; i = 1 - i) {
    const mollify::ImageView rows = reading.get();
    const int next = stream.next_source_row() + rows.desc.height;
    if (next < plan.src.height) reading = read_strip(1 - i, next);
    const mollify::ImageView made = strip(result[i], plan.dst, stream.ready_rows(rows.desc.height));
    if (mollify::Status status = stream.advance(rows, made); !status) return status;
    if (writing.valid()) writing.get();
    writing = std::async(std::launch::async, [made, &write] { write(made); });
  }
  if (writing.valid()) writing.get();
  return {};
}
