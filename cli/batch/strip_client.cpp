#include "batch/strip_client.h"

#include <cstring>
#include <stdexcept>
#include <vector>

namespace mollify::cli {
namespace {

void copy_rows(const ConstImageView& from, const ImageView& to) {
  for (std::int32_t y = 0; y < from.desc.height; ++y) {
    std::memcpy(to.row(y), from.row(y), static_cast<std::size_t>(from.desc.row_payload_bytes()));
  }
}

/// To questions that blurs in strips can always answer.
const Json& answered(const Json& answer) {
  if (answer.contains(kErrorKey)) throw std::runtime_error(error_of(answer[kErrorKey]).message);
  return answer;
}

Status status_of(const Json& answer) {
  return answer.contains(kErrorKey) ? Status(error_of(answer[kErrorKey])) : Status();
}

}  // namespace

StripClient::StripClient(DeviceClient& owner, const Json& prepared, const ImageDesc& src, const ImageDesc& dst)
    : owner_(owner),
      number_(prepared["blur"]),
      outcome_(outcome_of(prepared["outcome"])),
      reading_(prepared["reading"].get<std::string>()),
      src_(src),
      dst_(dst) {}

Result<std::unique_ptr<StripBlur>> StripClient::prepare(DeviceClient& owner, const ImageSpec& spec, const ImageDesc& src,
                                                        const ImageDesc& dst) {
  const Json answer =
      owner.ask({{kStripsKey, StripQuestion::prepare}, {"spec", to_json(spec)}, {"src", to_json(src)}, {"dst", to_json(dst)}}, {});
  if (answer.contains(kErrorKey)) return error_of(answer[kErrorKey]);
  return std::unique_ptr<StripBlur>(new StripClient(owner, answer, src, dst));
}

StripClient::~StripClient() {
  try {
    static_cast<void>(ask(question(StripQuestion::end)));
  } catch (const DeviceGone&) {  // and with it the blur
  }
}

Json StripClient::question(StripQuestion asked) const {
  return {{kStripsKey, asked}, {"blur", number_}};
}

Json StripClient::ask(const Json& question, std::span<const int> descriptors) const {
  return owner_.ask(question, descriptors);
}

std::int64_t StripClient::number(StripQuestion asked, std::int64_t rows) const {
  Json asks = question(asked);
  asks["rows"] = rows;
  return answered(ask(asks))["is"];
}

bool StripClient::open_stream() {
  return answered(ask(question(StripQuestion::open_stream)))["is"];
}

void StripClient::close_stream() {
  static_cast<void>(ask(question(StripQuestion::close_stream)));
}

files::RowRange StripClient::source_rows(files::RowRange rows) const {
  Json asks = question(StripQuestion::source_rows);
  asks["begin"] = rows.begin;
  asks["end"] = rows.end;
  const Json answer = ask(asks);
  return {answered(answer)["begin"], answer["end"]};
}

std::int64_t StripClient::most_source_rows(std::int64_t rows) const {
  return number(StripQuestion::most_source_rows, rows);
}

std::int64_t StripClient::most_new_rows(std::int64_t rows) const {
  return number(StripQuestion::most_new_rows, rows);
}

std::int64_t StripClient::rows_at_once() const {
  return number(StripQuestion::rows_at_once, 0);
}

std::int64_t StripClient::scratch_bytes(std::int64_t rows) const {
  return number(StripQuestion::scratch_bytes, rows) + most_source_rows(rows) * src_.row_payload_bytes() + rows * dst_.row_payload_bytes();
}

Status StripClient::reserve(std::int32_t rows) {
  Json asks = question(StripQuestion::reserve);
  asks["rows"] = rows;
  return status_of(ask(asks));
}

ImageView StripClient::room_in(Shared& shared, const ImageDesc& desc) {
  if (const std::int64_t bytes = desc.payload_bytes(); shared.bytes < bytes) {
    shared = {};  // its memory first
    shared = {owner_.allocate(bytes), bytes};
  }
  return {desc, shared.pixels.get(), static_cast<std::ptrdiff_t>(desc.row_payload_bytes())};
}

Status StripClient::run(const ConstWindow& src, const Window& dst) {
  Json asks = question(StripQuestion::run);
  std::vector<int> blocks;
  const auto add = [&](const char* name, const ImageView& image, std::int32_t x, std::int32_t y) {
    const DeviceClient::Place place = owner_.place_of(image.data);
    asks[name] = {{"block", blocks.size()}, {"image", to_json(SharedImage{image.desc, image.row_bytes, place.offset})}, {"x", x}, {"y", y}};
    blocks.push_back(place.descriptor);
  };
  ImageView made;
  if (src.pixels.desc.height > 0) {
    const ImageView source = room_in(source_, src.pixels.desc);
    copy_rows(src.pixels, source);
    add("src", source, src.x, src.y);
  }
  if (dst.pixels.desc.height > 0) {
    made = room_in(result_, dst.pixels.desc);
    add("dst", made, dst.x, dst.y);
  }
  const Status status = status_of(ask(asks, blocks));
  if (status && dst.pixels.desc.height > 0) copy_rows(made, dst.pixels);
  return status;
}

}  // namespace mollify::cli
