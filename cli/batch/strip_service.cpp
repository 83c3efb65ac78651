#include "batch/strip_service.h"

#include <sys/mman.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "batch/device_messages.h"
#include "batch/mapped.h"

namespace mollify::cli {
namespace {

Json answer_of(const Status& status) {
  if (!status) return {{kErrorKey, to_json(status.error())}};
  return Json::object();
}

/// One side of a strip: rows in a block of the worker's memory, or none.
class Side {
 public:
  Side(const Json& question, const char* name, const std::vector<Descriptor>& blocks, int protection) {
    if (!question.contains(name)) return;
    const Json& side = question[name];
    mapped_.emplace(blocks.at(side["block"].get<std::size_t>()), protection);
    window_ = {mapped_->view(shared_image_of(side["image"])), side["x"], side["y"]};
  }
  [[nodiscard]] const Window& window() const { return window_; }

 private:
  std::optional<Mapped> mapped_;
  Window window_{};
};

}  // namespace

Json StripService::prepare(const Json& question, DeviceBlurrer& blurrer) {
  const ImageDesc src = image_desc_of(question["src"]), dst = image_desc_of(question["dst"]);
  Result<std::unique_ptr<StripBlur>> blur = blurrer.prepare_strips(image_spec_of(question["spec"]), src, dst, StripsFor::memory);
  if (!blur) return {{kErrorKey, to_json(blur.error())}};
  Json answer{{"blur", next_}, {"outcome", to_json((*blur)->outcome())}, {"reading", (*blur)->reading()}};
  blurs_.emplace(next_++, *std::move(blur));
  return answer;
}

Json StripService::answer(const Json& question, const std::vector<Descriptor>& blocks, DeviceBlurrer& blurrer) {
  const auto asked = question[kStripsKey].get<StripQuestion>();
  if (asked == StripQuestion::prepare) return prepare(question, blurrer);
  const auto found = blurs_.find(question["blur"].get<int>());
  if (found == blurs_.end()) throw std::invalid_argument("no such blur in strips");
  StripBlur& blur = *found->second;
  const auto rows = [&] { return question["rows"].get<std::int64_t>(); };
  switch (asked) {
    case StripQuestion::prepare:
      break;
    case StripQuestion::open_stream:
      return {{"is", blur.open_stream()}};
    case StripQuestion::close_stream:
      blur.close_stream();
      return Json::object();
    case StripQuestion::source_rows: {
      const files::RowRange source = blur.source_rows({question["begin"], question["end"]});
      return {{"begin", source.begin}, {"end", source.end}};
    }
    case StripQuestion::most_source_rows:
      return {{"is", blur.most_source_rows(rows())}};
    case StripQuestion::most_new_rows:
      return {{"is", blur.most_new_rows(rows())}};
    case StripQuestion::rows_at_once:
      return {{"is", blur.rows_at_once()}};
    case StripQuestion::scratch_bytes:
      return {{"is", blur.scratch_bytes(rows())}};
    case StripQuestion::reserve:
      return answer_of(blur.reserve(static_cast<std::int32_t>(rows())));
    case StripQuestion::run: {
      const Side from(question, "src", blocks, PROT_READ), to(question, "dst", blocks, PROT_READ | PROT_WRITE);
      const Window& src = from.window();
      return answer_of(blur.run({src.pixels, src.x, src.y}, to.window()));
    }
    case StripQuestion::end:
      blurs_.erase(found);
      return Json::object();
  }
  throw std::invalid_argument("no question about a blur in strips");
}

}  // namespace mollify::cli
