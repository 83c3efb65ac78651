// Executable::run() allocates nothing of its own: operator new of this program counts.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "support.h"

namespace {

std::atomic<std::int64_t> allocations = 0;
std::atomic<std::int64_t> held_bytes = 0;
std::atomic<std::int64_t> most_held_bytes = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (memory == nullptr) throw std::bad_alloc();
  const auto usable = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t held = held_bytes.fetch_add(usable, std::memory_order_relaxed) + usable;
  for (std::int64_t most = most_held_bytes; held > most && !most_held_bytes.compare_exchange_weak(most, held);) continue;
  return memory;
}

void released(void* memory) {
  held_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  released(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  released(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  released(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  released(memory);
}

namespace mollify::test {
namespace {

TEST(Allocation, TheCounterCounts) {
  const std::int64_t before = allocations;
  std::vector<int> numbers(100);
  EXPECT_EQ(allocations, before + 1) << numbers.size();
}

/// If there is such a plan; the kernels that took part are added to `seen`.
void expect_no_allocation(const BlurSpec& spec, const ImageDesc& desc, const PlanOptions& options, std::set<std::string>& seen) {
  const Result<Plan> plan = make_plan(spec, desc, desc, cpu(1).info(), options);
  if (!plan.ok()) return;
  for (const Pass& pass : plan->passes) seen.insert(pass.kernel);
  const Executable executable = cpu(1).prepare(*plan).value();
  Workspace workspace = executable.make_workspace().value();
  Pixels src = Pixels::random(desc);
  Pixels dst(desc);
  const ImageView to = options.overlap == Overlap::in_place ? src.view() : dst.view();
  const std::int64_t before = allocations;
  const bool ok = executable.run(src.view(), to, workspace).ok();
  const std::int64_t after = allocations;
  EXPECT_TRUE(ok);
  EXPECT_EQ(after - before, 0) << to_string(plan->algorithm) << " on " << info(desc.format).name;
}

TEST(Allocation, ARunOnWindowsAllocatesNothing) {
  const ImageDesc desc{123, 77, PixelFormat::rgba8};
  const Pixels src = Pixels::random(desc);
  Pixels dst(desc);
  for (const char* way : {"sep.fused", "gauss.decimate:passes=1", "gauss.decimate:passes=2"}) {
    const BlurSpec spec = spec_of(Gaussian{{8, 8}, {}, {}}, BorderMode::wrap);
    const Executable executable = prepared(spec, desc, {desc.format, parse_algorithm(way).value(), 1});
    Workspace workspace = executable.make_workspace(PerAxis{40, 30}).value();
    const ConstWindow whole{src.view(), 0, 0};
    const Window made{crop(dst.view(), {0, 50, 40, 27}), 0, 50};
    const std::int64_t before = allocations;
    const bool ok = executable.run(std::span(&whole, 1), made, workspace).ok();
    const std::int64_t after = allocations;
    EXPECT_TRUE(ok);
    EXPECT_EQ(after - before, 0) << way;
  }
}

TEST(Allocation, AStreamAllocatesNothingOnceItKeepsWhatItNeeds) {
  constexpr std::int32_t kRows = 60;
  const ImageDesc desc{123, 600, PixelFormat::rgba8};
  const Pixels src = Pixels::random(desc);
  Pixels dst(desc);
  for (const char* way : {"sep.fused", "gauss.decimate:passes=1", "gauss.decimate:passes=2", "gauss.pyramid"}) {
    const BlurSpec spec = spec_of(Gaussian{{8, 8}, {}, {}});
    Stream stream = Stream::create(prepared(spec, desc, {desc.format, parse_algorithm(way).value(), 1})).value();
    std::int64_t before = 0;
    bool ok = true;
    for (std::int32_t y = 0; y + kRows < desc.height; y += kRows) {  // the last strip of the destination is higher
      if (y == 4 * kRows) before = allocations;
      const ImageView made = crop(dst.view(), {0, stream.next_row(), desc.width, stream.ready_rows(kRows)});
      ok = ok && stream.advance(crop(src.view(), {0, y, desc.width, kRows}), made).ok();
    }
    const std::int64_t after = allocations;
    EXPECT_TRUE(ok);
    EXPECT_EQ(after - before, 0) << way;
  }
}

/// Of a stream that makes the image in strips of so many rows, each as soon as its last row of the source is there.
void expect_memory_as_said(const BlurSpec& spec, const ImageDesc& desc, const char* way, std::int32_t rows) {
  const Executable executable = prepared(spec, desc, {desc.format, parse_algorithm(way).value(), 2});
  const Pixels src = Pixels::random(desc);
  Pixels dst(desc);
  const std::int64_t before = held_bytes;
  most_held_bytes = before;
  Stream stream = Stream::create(executable).value();
  const std::int64_t said = stream.memory_bytes(rows);
  for (std::int32_t y = 0; y < desc.height; y += rows) {
    const std::int32_t made = std::min(rows, desc.height - y);
    const Rect taken{0, stream.next_source_row(), desc.width, stream.needed_source_rows(made)};
    const ConstImageView strip = taken.height > 0 ? crop(src.view(), taken) : ConstImageView{{desc.width, 0, desc.format}, nullptr, 0};
    ASSERT_TRUE(stream.advance(strip, crop(dst.view(), {0, y, desc.width, made})).ok());
  }
  constexpr std::int64_t kObjects = 20'000;
  const std::int64_t taken = most_held_bytes - before;
  EXPECT_LE(taken, said + kObjects) << way << " in strips of " << rows;
  EXPECT_LE(said, 3 * taken + kObjects) << way << " in strips of " << rows;
}

TEST(Allocation, AStreamTakesTheMemoryThatItSays) {
  const ImageDesc desc{700, 1300, PixelFormat::rgba8};
  for (const char* way : {"sep.fused", "gauss.decimate:passes=1", "gauss.decimate:passes=2", "gauss.pyramid", "box.any"}) {
    const KernelSpec kernel = std::string(way) == "box.any" ? KernelSpec(Box::of_radius(9, 50)) : KernelSpec(Gaussian{{20, 20}, {}, {}});
    for (const std::int32_t rows : {1, 60, 700}) {
      for (const BorderMode mode : {BorderMode::clamp, BorderMode::mirror}) expect_memory_as_said(spec_of(kernel, mode), desc, way, rows);
    }
  }
}

TEST(Allocation, RunAllocatesNothing) {
  std::vector<KernelSpec> kernels = sample_kernels();
  kernels.emplace_back(Gaussian{{20, 20}, {}, {}});
  kernels.emplace_back(Gaussian{{10, 10}, {{30, 30}}, {}});
  std::set<std::string> seen;
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::r16, PixelFormat::rgb16f, PixelFormat::rg32f}) {
    for (const KernelSpec& kernel : kernels) {
      for (const Overlap overlap : {Overlap::none, Overlap::in_place}) {
        for (const TransferFunction transfer : {TransferFunction::none, TransferFunction::srgb}) {
          const ImageDesc desc{123, 77, format};
          BlurSpec spec = spec_of(kernel);
          if (info(format).channels == 2) spec.alpha = AlphaMode::premultiply;
          spec.transfer = transfer;
          for (const AlgorithmInfo& algorithm : algorithms()) {
            expect_no_allocation(spec, desc, {AlgorithmChoice{std::string(algorithm.id), {}}, overlap}, seen);
          }
        }
      }
    }
  }
  for (const char* way : {"gauss.decimate:passes=1", "gauss.decimate:passes=2"}) {
    const BlurSpec spec = spec_of(Gaussian{{20, 20}, {}, {}});
    expect_no_allocation(spec, {123, 77, PixelFormat::rgba8}, {parse_algorithm(way).value(), Overlap::none}, seen);
  }
  for (const std::string& kernel : cpu(1).info().kernels) EXPECT_TRUE(seen.contains(kernel)) << kernel << " has not run";
}

}  // namespace
}  // namespace mollify::test
