#include <algorithm>
#include <array>

#include "algorithms/algorithm.h"

namespace mollify {
namespace {

constexpr std::array kRegistry = {
    &kBoxAny,
    &kSepFused,
    &kGaussDecimate,
    &kGaussPyramid,
    &kGaussCut,
    &kBoxRunning,
    &kBoxScan,
    &kSepInlineSlidingShared,
    &kSepInlineSliding,
    &kSepInlineShared,
    &kSepInline,
    &kSepSliding,
    &kSepShared,
    &kSepDirect,
    &kGaussRecursive,
    &kGaussHalfRes,
    &kGaussLinear,
    &kGaussLerpTaps,
    &kGaussBoxes,
    &kKawaseDual,
    &kQuad3x3,
    &kBoxSepLinear,
    &kBoxSep,
    &kBoxNxnLinear,
    &kBoxNxn,
    &kMatrixLowrank,
    &kNxnShared,
    &kNxnDirect,
};

constexpr std::array kOnCpus = {&kBoxAny, &kSepFused, &kGaussDecimate, &kGaussPyramid, &kGaussCut, &kNxnDirect};

}  // namespace

std::span<const Algorithm* const> registry() { return kRegistry; }

bool is_gpu_only(const Algorithm& algorithm) { return std::ranges::find(kOnCpus, &algorithm) == kOnCpus.end(); }

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> out;
  for (const Algorithm* algorithm : kRegistry) out.push_back(algorithm->info);
  return out;
}

}  // namespace mollify
