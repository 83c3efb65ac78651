#include <array>

#include "algorithms/algorithm.h"

namespace mollify {
namespace {

constexpr std::array kRegistry = {
    &kBoxAny,        &kSepFused,    &kGaussDecimate,  &kNxnDirect,  &kGaussBoxes,    &kGaussHalfRes,
    &kGaussLerpTaps, &kGaussLinear, &kGaussRecursive, &kKawaseDual, &kMatrixLowrank,
};

}  // namespace

std::span<const Algorithm* const> registry() { return kRegistry; }

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> out;
  for (const Algorithm* algorithm : kRegistry) out.push_back(algorithm->info);
  return out;
}

}  // namespace mollify
