// Executable::run() allocates nothing of its own: operator new of this program counts.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "support.h"

namespace {

std::atomic<std::int64_t> allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace mollify::test {
namespace {

TEST(Allocation, TheCounterCounts) {
  const std::int64_t before = allocations;
  std::vector<int> numbers(100);
  EXPECT_EQ(allocations, before + 1) << numbers.size();
}

TEST(Allocation, RunAllocatesNothing) {
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::r16, PixelFormat::rgb16f, PixelFormat::rg32f}) {
    for (const KernelSpec& kernel : sample_kernels()) {
      for (const Overlap overlap : {Overlap::none, Overlap::in_place}) {
        const ImageDesc desc{123, 77, format};
        BlurSpec spec = spec_of(kernel);
        if (info(format).channels == 2) spec.alpha = AlphaMode::premultiply;
        spec.transfer = TransferFunction::srgb;
        for (const AlgorithmInfo& algorithm : algorithms()) {
          const AlgorithmChoice choice{std::string(algorithm.id), {}};
          const Result<Plan> plan = make_plan(spec, desc, desc, cpu(1).info(), {choice, overlap});
          if (!plan.ok()) continue;
          const Executable executable = cpu(1).prepare(*plan).value();
          Workspace workspace = executable.make_workspace().value();
          Pixels src = Pixels::random(desc);
          Pixels dst(desc);
          const ImageView to = overlap == Overlap::in_place ? src.view() : dst.view();
          const std::int64_t before = allocations;
          const bool ok = executable.run(src.view(), to, workspace).ok();
          const std::int64_t after = allocations;
          EXPECT_TRUE(ok);
          EXPECT_EQ(after - before, 0) << algorithm.id << " on " << info(format).name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mollify::test
