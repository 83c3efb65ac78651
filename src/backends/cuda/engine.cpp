// mollify/cuda.h: blurs in streams of the caller. What the caller gets wrong and the driver would not report is refused here.
#include "backends/cuda/engine.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "backends/cuda/capture.h"
#include "backends/cuda/executor.h"
#include "backends/cuda/kernels/words_shape.h"

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

struct Ends {
  Place from;
  Place to;
};

/// Where the images lie, if they can be blurred there.
Result<Ends> check_ends(const Plan& plan, const ConstImages& source, const Images& destination, std::int64_t images) {
  const Result<Checked> from = check("source", source.data, source.row_bytes, source.image_bytes, plan.src, images);
  if (!from) return from.error();
  const Result<Checked> to = check("destination", destination.data, destination.row_bytes, destination.image_bytes, plan.dst, images);
  if (!to) return to.error();
  if (from->extent.begin < to->extent.end && to->extent.begin < from->extent.end) {
    return invalid("source and destination overlap; enqueue() copies neither");
  }
  return Ends{from->place, to->place};
}

Result<CUdeviceptr> check_scratch(const ScratchNeeds& needs, const Scratch& scratch) {
  const auto memory = reinterpret_cast<std::uint64_t>(scratch.memory);
  if (needs.size > 0 && (scratch.memory == nullptr || scratch.size < needs.size || memory % kScratchAlignment != 0)) {
    return invalid("the blur needs " + std::to_string(needs.size) + " bytes of scratch memory at a multiple of " +
                   std::to_string(kScratchAlignment));
  }
  return memory;
}

/// Copies in the stream without waiting for the device.
Status copy_in_stream(const Context& context, CUdeviceptr to, std::span<const std::byte> bytes, CUstream stream) {
  const Current current(context);
  constexpr std::size_t kAtOnce = std::size_t{64} << 10;  // which the driver takes from any memory before it returns
  for (; !bytes.empty(); to += kAtOnce, bytes = bytes.subspan(std::min(kAtOnce, bytes.size()))) {
    const CUresult r = context.cu().MemcpyHtoDAsync(to, bytes.data(), std::min(kAtOnce, bytes.size()), stream);
    if (r != CUDA_SUCCESS) return to_error(context.cu(), r, "copying weights to the GPU");
  }
  return {};
}

/// The same by launches that have the bytes as parameters, so that a graph which holds them needs no memory of the host.
Status write_words(const Context& context, CUfunction function, CUdeviceptr to, std::span<const std::byte> bytes, CUstream stream) {
  const Current current(context);
  while (!bytes.empty()) {
    Words words;
    const std::span<const std::byte> some = bytes.first(std::min(sizeof words.word, bytes.size()));
    words.to = to;
    words.count = static_cast<std::uint32_t>(some.size() / sizeof words.word[0]);
    std::memcpy(words.word, some.data(), some.size());
    void* parameters[] = {&words};
    const unsigned blocks = (words.count + kWordsThreads - 1) / kWordsThreads;
    const CUresult r = context.cu().LaunchKernel(function, blocks, 1, 1, kWordsThreads, 1, 1, 0, stream, parameters, nullptr);
    if (r != CUDA_SUCCESS) return to_error(context.cu(), r, "writing weights to the GPU");
    to += some.size();
    bytes = bytes.subspan(some.size());
  }
  return {};
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
  const Result<Ends> ends = check_ends(ready->plan(), source, destination, images);
  if (!ends) return ends.error();
  const Result<CUdeviceptr> memory = check_scratch(*needs, scratch);
  if (!memory) return memory.error();
  if (Status s = ready->enqueue(ends->from, ends->to, images, *memory, stream); !s) return s;
  return keep_for_graph(ready, stream);
}

Status enqueue_each(const LaunchesOfEach& launches, const WeightsOfEach& weights, const ConstImages& source, const Images& destination,
                    const Scratch& scratch, Stream stream) {
  if (weights.groups.empty()) return {};
  const Prepared& first = *launches.forms.front();
  const Result<Ends> ends = check_ends(first.plan(), source, destination, weights.planes);
  if (!ends) return ends.error();
  const Result<CUdeviceptr> memory = check_scratch(weights.scratch, scratch);
  if (!memory) return memory.error();
  const Result<bool> captured = is_captured(*first.context(), stream);
  if (!captured) return captured.error();
  const Context& context = *first.context();
  if (Status s = *captured ? write_words(context, launches.write_words, *memory, weights.tables, stream)
                           : copy_in_stream(context, *memory, weights.tables, stream);
      !s) {
    return s;
  }
  for (const WeightsOfEach::Group& group : weights.groups) {
    const std::shared_ptr<const Prepared>& form = launches.forms[group.form];
    const CUdeviceptr each = *memory + static_cast<CUdeviceptr>(group.first) * sizeof(TapsOfImage);
    if (Status s = form->enqueue_each(ends->from, ends->to, group.count, each, *memory, stream); !s) return s;
    if (*captured) {
      if (Status s = keep_for_graph(form, stream); !s) return s;
    }
  }
  return {};
}

}  // namespace mollify::cuda
