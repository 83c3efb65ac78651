// mollify/cuda.h: blurs in streams of the caller. What the caller gets wrong and the driver would not report is refused here.
#include <string>
#include <string_view>

#include "backends/cuda/capture.h"
#include "backends/cuda/executor.h"
#include "mollify/cuda.h"

namespace mollify::cuda {
namespace {

Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message), {}};
}

Result<std::shared_ptr<const Prepared>> prepared(const Executable& executable) {
  std::shared_ptr<const Prepared> prepared = prepared_of(Access::impl(executable));
  if (!prepared) return invalid("the executable is not one of the CUDA backend");
  return prepared;
}

/// The bytes that images take, from the first to the last.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Checked {
  Place place;
  Extent extent;
};

Result<Checked> check(std::string_view what, const void* data, std::int64_t row_bytes, std::int64_t image_bytes, const ImageDesc& desc,
                      std::int64_t images) {
  if (data == nullptr) return invalid("the " + std::string(what) + " has no pixels");
  const FormatInfo& format = info(desc.format);
  const std::int64_t row = row_bytes == 0 ? desc.row_payload_bytes() : row_bytes;
  const std::int64_t image = image_bytes == 0 ? row * desc.height : image_bytes;
  const auto address = reinterpret_cast<std::uint64_t>(data);
  const auto component = static_cast<std::uint64_t>(format.component_bytes());
  if ((address | static_cast<std::uint64_t>(row) | static_cast<std::uint64_t>(image)) % component != 0) {
    return invalid("the " + std::string(what) + " begins, or its rows or images are apart, by no multiple of " +
                   std::to_string(format.component_bytes()) + " bytes");
  }
  if (desc.height > 1 && row < desc.row_payload_bytes()) {
    return invalid("rows of the " + std::string(what) + " are " + std::to_string(row) + " bytes apart, fewer than they take");
  }
  const std::int64_t length = row * (desc.height - 1) + desc.row_payload_bytes();
  // Images may lie one after the other, or their rows in turns, as long as none overlap.
  const bool interleaved = image >= desc.row_payload_bytes() && image * (images - 1) + desc.row_payload_bytes() <= row;
  if (images > 1 && image < length && !interleaved) return invalid("the images of the " + std::string(what) + " overlap");
  return Checked{{address, row, image}, {address, address + static_cast<std::uint64_t>(image * (images - 1) + length)}};
}

}  // namespace

Result<ScratchNeeds> scratch_needs(const Executable& executable, std::int64_t images) {
  const Result<std::shared_ptr<const Prepared>> ready = prepared(executable);
  if (!ready) return ready.error();
  if (images < 1) return invalid("there is one image at least, not " + std::to_string(images));
  return ScratchNeeds{(*ready)->scratch_bytes(images), kScratchAlignment};
}

Status enqueue(const Executable& executable, const ConstImages& source, const Images& destination, std::int64_t images,
               const Scratch& scratch, Stream stream) {
  const Result<ScratchNeeds> needs = scratch_needs(executable, images);
  if (!needs) return needs.error();
  const std::shared_ptr<const Prepared> ready = prepared_of(Access::impl(executable));
  const Plan& plan = ready->plan();
  const Result<Checked> from = check("source", source.data, source.row_bytes, source.image_bytes, plan.src, images);
  if (!from) return from.error();
  const Result<Checked> to = check("destination", destination.data, destination.row_bytes, destination.image_bytes, plan.dst, images);
  if (!to) return to.error();
  if (from->extent.begin < to->extent.end && to->extent.begin < from->extent.end) {
    return invalid("source and destination overlap; enqueue() copies neither");
  }
  const auto memory = reinterpret_cast<std::uint64_t>(scratch.memory);
  if (needs->size > 0 && (scratch.memory == nullptr || scratch.size < needs->size || memory % kScratchAlignment != 0)) {
    return invalid("the blur needs " + std::to_string(needs->size) + " bytes of scratch memory at a multiple of " +
                   std::to_string(kScratchAlignment));
  }
  if (Status s = ready->enqueue(from->place, to->place, images, memory, stream); !s) return s;
  return keep_for_graph(ready, stream);
}

}  // namespace mollify::cuda
