#include "algorithms/registry.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "mollify/build.h"

// A row of what a build leaves out has no algorithm: its object file is not there.
#ifdef MOLLIFY_VULKAN
#define MOLLIFY_OF_GPUS(algorithm) BuildPart::gpus, &algorithm
#else
#define MOLLIFY_OF_GPUS(algorithm) BuildPart::gpus, nullptr
#endif
#if defined(MOLLIFY_VULKAN) && defined(MOLLIFY_TECHNIQUES)
#define MOLLIFY_TECHNIQUE(algorithm) BuildPart::techniques, &algorithm
#else
#define MOLLIFY_TECHNIQUE(algorithm) BuildPart::techniques, nullptr
#endif

namespace mollify {
namespace {

constexpr std::array kRows = {
    RegistryRow{"box.any", BuildPart::library, &kBoxAny},
    RegistryRow{"sep.fused", BuildPart::library, &kSepFused},
    RegistryRow{"gauss.decimate", BuildPart::library, &kGaussDecimate},
    RegistryRow{"gauss.pyramid", BuildPart::library, &kGaussPyramid},
    RegistryRow{"gauss.cut", BuildPart::library, &kGaussCut},
    RegistryRow{"box.running", MOLLIFY_OF_GPUS(kBoxRunning)},
    RegistryRow{"box.scan", MOLLIFY_TECHNIQUE(kBoxScan)},
    RegistryRow{"sep.inline_sliding_shared", MOLLIFY_TECHNIQUE(kSepInlineSlidingShared)},
    RegistryRow{"sep.inline_sliding", MOLLIFY_TECHNIQUE(kSepInlineSliding)},
    RegistryRow{"sep.inline_shared", MOLLIFY_TECHNIQUE(kSepInlineShared)},
    RegistryRow{"sep.inline", MOLLIFY_TECHNIQUE(kSepInline)},
    RegistryRow{"sep.sliding", MOLLIFY_TECHNIQUE(kSepSliding)},
    RegistryRow{"sep.shared", MOLLIFY_TECHNIQUE(kSepShared)},
    RegistryRow{"sep.direct", MOLLIFY_OF_GPUS(kSepDirect)},
    RegistryRow{"gauss.recursive", MOLLIFY_TECHNIQUE(kGaussRecursive)},
    RegistryRow{"gauss.half_res", MOLLIFY_TECHNIQUE(kGaussHalfRes)},
    RegistryRow{"gauss.linear", MOLLIFY_TECHNIQUE(kGaussLinear)},
    RegistryRow{"gauss.lerp_taps", MOLLIFY_TECHNIQUE(kGaussLerpTaps)},
    RegistryRow{"gauss.boxes", MOLLIFY_TECHNIQUE(kGaussBoxes)},
    RegistryRow{"kawase.dual", MOLLIFY_TECHNIQUE(kKawaseDual)},
    RegistryRow{"quad.3x3", MOLLIFY_TECHNIQUE(kQuad3x3)},
    RegistryRow{"box.sep_linear", MOLLIFY_TECHNIQUE(kBoxSepLinear)},
    RegistryRow{"box.sep", MOLLIFY_TECHNIQUE(kBoxSep)},
    RegistryRow{"box.nxn_linear", MOLLIFY_TECHNIQUE(kBoxNxnLinear)},
    RegistryRow{"box.nxn", MOLLIFY_TECHNIQUE(kBoxNxn)},
    RegistryRow{"matrix.lowrank", MOLLIFY_OF_GPUS(kMatrixLowrank)},
    RegistryRow{"nxn.shared", MOLLIFY_OF_GPUS(kNxnShared)},
    RegistryRow{"nxn.direct", BuildPart::library, &kNxnDirect},
};

/// Of all that is left out: techniques run on GPUs only.
#ifdef MOLLIFY_VULKAN
constexpr std::string_view kWhyAbsent = "built without the published techniques; CMake's -DMOLLIFY_TECHNIQUES=ON adds them";
#else
constexpr std::string_view kWhyAbsent = "built without a GPU backend, CMake's -DMOLLIFY_VULKAN=ON adds it";
#endif

}  // namespace

std::span<const RegistryRow> registry_rows() {
  return kRows;
}

std::span<const Algorithm* const> registry() {
  struct Built {
    std::array<const Algorithm*, kRows.size()> algorithms{};
    std::size_t count = 0;
  };
  static const Built built = [] {  // nothing to destroy: blurs while the program ends find it
    Built out;
    for (const RegistryRow& row : kRows) {
      if (row.algorithm != nullptr) out.algorithms[out.count++] = row.algorithm;
    }
    return out;
  }();
  return std::span(built.algorithms).first(built.count);
}

bool is_gpu_only(const Algorithm& algorithm) {
  return std::ranges::find(kRows, &algorithm, &RegistryRow::algorithm)->part != BuildPart::library;
}

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> out;
  for (const Algorithm* algorithm : registry()) out.push_back(algorithm->info);
  return out;
}

std::vector<AbsentAlgorithm> absent_algorithms() {
  std::vector<AbsentAlgorithm> out;
  for (const RegistryRow& row : kRows) {
    if (row.algorithm == nullptr) out.push_back({row.id, kWhyAbsent});
  }
  return out;
}

}  // namespace mollify
