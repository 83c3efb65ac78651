#include "backends/cuda/pipeline.h"

#include <algorithm>
#include <array>

#include "backends/cuda/drafts.h"
#include "base/gpu_images.h"

namespace mollify::cuda {
namespace {

constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;  // of one launch

std::int64_t image_bytes_of(const ImageDesc& intermediate) {
  return (intermediate.payload_bytes() + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
}

/// Reads the arguments and makes the draft of them.
template <class Given, auto kMake>
Result<Draft> make(const Plan& plan, const Pass& pass, Tables& tables) {
  const Result<Given> given = read_arguments<Given>(pass, kStorageConstant);
  if (!given) return given.error();
  return kMake(plan, pass, *given, tables);
}

struct KernelRow {
  std::string_view id;
  Result<Draft> (*make)(const Plan&, const Pass&, Tables&);
};
constexpr std::array kKernels = {
    KernelRow{"box_along", make<BoxArguments, box_along>},
    KernelRow{"box_any", make<BoxArguments, box_any>},
    KernelRow{"box_blocks", make<BoxBlocksArguments, box_blocks>},
    KernelRow{"box_columns", make<BoxPassArguments, box_columns>},
    KernelRow{"box_down", make<BoxArguments, box_down>},
    KernelRow{"box_rows", make<BoxPassArguments, box_rows>},
    KernelRow{"box_segments", make<BoxSegmentsArguments, box_segments>},
    KernelRow{"gauss_decimate", make<DecimateArguments, gauss_decimate>},
    KernelRow{"gauss_grid", make<GridBlurArguments, gauss_grid>},
    KernelRow{"gauss_grid_columns", make<GridBlurArguments, gauss_grid_columns>},
    KernelRow{"gauss_grid_matrix", make<GridMatrixArguments, gauss_grid_matrix>},
    KernelRow{"gauss_grid_rows", make<GridBlurArguments, gauss_grid_rows>},
    KernelRow{"gauss_grid_tile", make<GridBlurArguments, gauss_grid_tile>},
    KernelRow{"gauss_matrix", make<DecimateMatrixArguments, gauss_matrix>},
    KernelRow{"gauss_spans", make<DecimateArguments, gauss_spans>},
    KernelRow{"gauss_strips", make<StripsArguments, gauss_strips>},
    KernelRow{"gauss_upsample", make<CoarseGridArguments, gauss_upsample>},
    KernelRow{"gauss_upsample_matrix", make<UpsampleMatrixArguments, gauss_upsample_matrix>},
    KernelRow{"nxn_direct", make<FloatArguments, nxn_direct>},
    KernelRow{"sep_columns", make<ColumnsArguments, sep_columns>},
    KernelRow{"sep_fused", make<NoArguments, sep_fused>},
    KernelRow{"sep_matrix", make<MatrixArguments, sep_matrix>},
    KernelRow{"sep_rows", make<FloatArguments, sep_rows>},
    KernelRow{"sep_scatter", make<SumsArguments, sep_scatter>},
    KernelRow{"sep_warps", make<SumsArguments, sep_warps>},
};

Shared& shared_arguments(Arguments& arguments) {
  return std::visit([](auto& a) -> Shared& { return a; }, arguments);
}

/// Adds the address of the tables to a place among them.
void move_tables(Arguments& arguments, CUdeviceptr tables) {
  if (auto* fused = std::get_if<SepFused>(&arguments)) fused->taps += tables;
  if (auto* matrix = std::get_if<SepMatrix>(&arguments)) {
    matrix->outside_pixel += tables;
    matrix->starts += tables;
    matrix->taps_x += tables;
    matrix->taps_y += tables;
  }
  if (auto* decimate = std::get_if<GaussDecimate>(&arguments)) decimate->splines += tables;
  if (auto* decimate = std::get_if<GaussMatrix>(&arguments)) {
    decimate->outside_pixel += tables;
    decimate->splines += tables;
  }
  if (auto* strips = std::get_if<GaussStrips>(&arguments)) {
    strips->splines += tables;
    strips->taps += tables;
  }
  if (auto* upsample = std::get_if<GaussUpsample>(&arguments)) upsample->splines += tables;
  if (auto* upsample = std::get_if<GaussUpsampleMatrix>(&arguments)) {
    upsample->splines += tables;
    upsample->starts += tables;
  }
  if (auto* grid = std::get_if<GaussGrid>(&arguments)) grid->taps += tables;
  if (auto* pass = std::get_if<SepPass>(&arguments)) pass->taps += tables;
  if (auto* matrix = std::get_if<NxnDirect>(&arguments)) matrix->weights += tables;
}

void set_place(Pixels& images, const Place& place, const FormatInfo& format) {
  images.data = place.data;
  images.row_bytes = place.row_bytes;
  images.image_bytes = place.image_bytes;
  const auto four = static_cast<std::uint64_t>(4 * format.component_bytes());
  images.is_aligned =
      (place.data | static_cast<std::uint64_t>(place.row_bytes) | static_cast<std::uint64_t>(place.image_bytes)) % four == 0;
}

}  // namespace

std::vector<std::string> kernel_ids() {
  std::vector<std::string> ids;
  for (const KernelRow& row : kKernels) ids.emplace_back(row.id);
  return ids;
}

namespace {

/// Whether the kernel waits by itself for those before it: see turns.cuh. Drivers that compile it themselves do so without that.
bool waits_by_itself(const Functions& cu, CUfunction function) {
  constexpr int kFirst = 90;  // compute capability, times ten
  int version = 0;
  return cu.FuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_PTX_VERSION, function) == CUDA_SUCCESS && version >= kFirst;
}

}  // namespace

Result<std::shared_ptr<const Prepared>> Prepared::create(const Plan& plan, std::shared_ptr<Context> context, Weights weights) {
  std::shared_ptr<Prepared> prepared(new Prepared(plan, std::move(context)));
  if (Status s = prepared->prepare(weights); !s) return s.error();
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

Status Prepared::prepare(Weights weights) {
  const Current current(*context_);
  const Functions& cu = context_->cu();
  Tables tables;
  for (const Pass& pass : plan_.passes) {
    const auto row = std::ranges::find(kKernels, pass.kernel, &KernelRow::id);
    if (row == kKernels.end()) return Error{ErrorCode::unsupported, "the CUDA backend has no kernel " + pass.kernel, {}};
    const bool is_of_each = weights == Weights::of_each;
    Result<Draft> draft = is_of_each && pass.kernel == "sep_scatter" ? make<SumsArguments, sep_scatter_each>(plan_, pass, tables)
                          : is_of_each && pass.kernel == "sep_warps" ? make<SumsArguments, sep_warps_each>(plan_, pass, tables)
                                                                     : row->make(plan_, pass, tables);
    if (!draft) return draft.error();
    const Result<CUfunction> function = context_->kernel(draft->module, draft->function);
    if (!function) return function.error();
    draft->launch.function = *function;
    if (const CUresult r = cu.FuncSetAttribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               static_cast<int>(plan_.device.gpu.shared_bytes));
        r != CUDA_SUCCESS) {
      return to_error(cu, r, "asking for shared memory");
    }
    draft->launch.waits = !launches_.empty() && waits_by_itself(cu, *function);
    launches_.push_back(std::move(draft->launch));
  }
  const std::vector<std::byte>& bytes = tables.bytes();
  Result<Memory> memory = Memory::allocate(context_, Memory::Kind::device, static_cast<std::int64_t>(bytes.size()));
  if (!memory) return memory.error();
  tables_ = std::move(*memory);
  if (const CUresult r = context_->upload(tables_.device(), bytes.data(), bytes.size()); r != CUDA_SUCCESS) {
    return to_error(cu, r, "copying weights to the GPU");
  }
  for (Launch& launch : launches_) move_tables(launch.arguments, tables_.device());
  return {};
}

std::int64_t Prepared::scratch_bytes(std::int64_t images) const {
  std::int64_t bytes = 0;
  for (const ImageDesc& desc : plan_.intermediates) bytes += images * image_bytes_of(desc);
  return bytes;
}

Status Prepared::enqueue(const Place& source, const Place& destination, std::int64_t images, CUdeviceptr scratch, CUstream stream) const {
  const Current current(*context_);
  const auto place_of = [&](const Binding& binding) {
    if (binding.kind == Binding::Kind::source) return source;
    if (binding.kind == Binding::Kind::destination) return destination;
    CUdeviceptr begin = scratch;
    for (std::int32_t i = 0; i < binding.index; ++i) {
      begin += static_cast<CUdeviceptr>(images * image_bytes_of(plan_.intermediates[static_cast<std::size_t>(i)]));
    }
    const ImageDesc& desc = plan_.intermediates[static_cast<std::size_t>(binding.index)];
    return Place{begin, desc.row_payload_bytes(), image_bytes_of(desc)};
  };
  for (const Launch& launch : launches_) {
    Arguments arguments = launch.arguments;
    Shared& shared = shared_arguments(arguments);
    set_place(shared.source, place_of(launch.source), info(desc_of(plan_, launch.source).format));
    set_place(shared.destination, place_of(launch.destination), info(desc_of(plan_, launch.destination).format));
    Pixels* const auxiliary = launch.auxiliary ? &std::get<BoxSlide>(arguments).blocks : nullptr;
    if (auxiliary != nullptr) set_place(*auxiliary, place_of(*launch.auxiliary), info(desc_of(plan_, *launch.auxiliary).format));
    const std::int64_t blocks = std::int64_t{shared.blocks_across} * shared.blocks_down;
    const std::int64_t at_once = std::max<std::int64_t>(kMostBlocks / blocks, 1);
    for (std::int64_t first = 0; first < images; first += at_once) {
      const std::int64_t count = std::min(at_once, images - first);
      if (Status s = start(launch, arguments, count, stream); !s) return s;
      shared.source.data += static_cast<std::uint64_t>(count * shared.source.image_bytes);
      shared.destination.data += static_cast<std::uint64_t>(count * shared.destination.image_bytes);
      if (auxiliary != nullptr) auxiliary->data += static_cast<std::uint64_t>(count * auxiliary->image_bytes);
    }
  }
  return {};
}

Status Prepared::enqueue_each(const Place& source, const Place& destination, std::int64_t images, CUdeviceptr each, CUdeviceptr taps,
                              CUstream stream) const {
  const Current current(*context_);
  const Launch& launch = launches_.front();
  Arguments arguments = launch.arguments;
  const auto start_all = [&](auto& own) -> Status {
    set_place(own.source, source, info(plan_.src.format));
    set_place(own.destination, destination, info(plan_.dst.format));
    own.taps = taps;
    own.each = each;
    const std::int64_t at_once = std::max<std::int64_t>(kMostBlocks / (std::int64_t{own.blocks_across} * own.blocks_down), 1);
    for (std::int64_t first = 0; first < images; first += at_once) {
      if (Status s = start(launch, arguments, std::min(at_once, images - first), stream); !s) return s;
      own.each += static_cast<std::uint64_t>(at_once) * sizeof(TapsOfImage);
    }
    return {};
  };
  if (auto* sums = std::get_if<SepSumsEach>(&arguments)) return start_all(*sums);
  return start_all(std::get<SepFused>(arguments));
}

Status Prepared::start(const Launch& launch, Arguments& arguments, std::int64_t images, CUstream stream) const {
  const Shared& shared = shared_arguments(arguments);
  const std::int64_t blocks = std::int64_t{shared.blocks_across} * shared.blocks_down * images;
  void* parameters[] = {std::visit([](auto& a) -> void* { return &a; }, arguments)};
  CUlaunchAttribute early{};
  early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  early.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.blockDimX = launch.threads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = launch.shared_bytes;
  config.hStream = stream;
  config.attrs = &early;
  config.numAttrs = launch.waits ? 1 : 0;
  const CUresult r = context_->cu().LaunchKernelEx(&config, launch.function, parameters, nullptr);
  return r == CUDA_SUCCESS ? Status() : Status(to_error(context_->cu(), r, "launching a kernel"));
}

}  // namespace mollify::cuda
