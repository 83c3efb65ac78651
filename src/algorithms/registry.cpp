#include <array>

#include "algorithms/algorithm.h"

namespace mollify {
namespace {

constexpr std::array kRegistry = {&kBoxAny, &kSepFused,    &kGaussDecimate, &kNxnDirect,
                                 &kQuad3x3, &kBoxNxn, &kBoxNxnLinear, &kBoxSep, &kBoxSepLinear,
                                 &kBoxRunning, &kBoxScan};

}  // namespace

std::span<const Algorithm* const> registry() { return kRegistry; }

std::vector<AlgorithmInfo> algorithms() {
  std::vector<AlgorithmInfo> out;
  for (const Algorithm* algorithm : kRegistry) out.push_back(algorithm->info);
  return out;
}

}  // namespace mollify
