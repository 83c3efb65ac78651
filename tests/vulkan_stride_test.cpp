// Every n-th pixel of a blur on a GPU, as the reference has it, and by windows with the bits of the whole.
#include <algorithm>
#include <string>
#include <string_view>

#include "stride_support.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

class GpuAlgorithmWithStride : public testing::TestWithParam<std::string> {};

TEST_P(GpuAlgorithmWithStride, KeepsItsPromise) {
  expect_promise_with_strides(GetParam(), {gpu()}, 20);
}

TEST_P(GpuAlgorithmWithStride, HasTheBitsOfTheWholeOnWindows) {
  expect_same_bits_on_windows_with_strides(GetParam(), {gpu()}, 8);
}

INSTANTIATE_TEST_SUITE_P(VulkanStrides, GpuAlgorithmWithStride, testing::Values("sep.fused", "box.any", "gauss.decimate"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// Rows wait until a step of them can be slid along: however many come in a step, and wherever the destination begins.
TEST(VulkanStrides, RowsOfBoxesThatWaitAreAllMade) {
  for (const std::string_view rows : {"1", "2", "4"}) {
    for (const std::string_view stride : {"1x2", "2x3", "1x5@4", "3@1x7@9", "1x16@30"}) {
      for (const std::string_view image : {"rgba8", "rgba32f"}) {
        expect_case_passes("box.any:form=column_sums,rows_in_flight=" + std::string(rows) + ",chunks=3/90x131/" + std::string(image) +
                           "/box:radius=4x3/mirror/roi=80x120+7+11/stride=" + std::string(stride));
      }
    }
  }
}

// Of a row of the source, each tap has its sum, however many rows are filtered in a step and pixels by a lane.
TEST(VulkanStrides, TapsFindTheirSums) {
  for (const std::string_view options : {"rows_in_flight=1", "rows_in_flight=4,chunks=3", "pixels_per_thread=2,rows_in_flight=2"}) {
    for (const std::string_view kernel : {"gaussian:sigma=0.4x0.4", "gaussian:sigma=3x1", "box:radius=0x9"}) {
      for (const std::string_view stride : {"1x2", "2@1x3", "5@4x1", "3@1x7@9", "16@30"}) {
        expect_case_passes("sep.fused:exchange=shared," + std::string(options) + "/90x131/rgba8/" + std::string(kernel) +
                           "/mirror/roi=80x120+7+11/stride=" + std::string(stride));
      }
    }
  }
}

// Of sums of floats that a number beyond the range spoils, the last row that is made of a band tells where.
TEST(VulkanStrides, SumsThatAreSpoiledAreMended) {
  for (const std::string_view stride : {"2", "3x5", "16@31", "1x16@1", "16x1"}) {
    for (const std::string_view content : {"outliers", "bad"}) {
      expect_case_passes("box.any:form=column_sums/400x300/rgba32f/box:radius=4x9/mirror/stride=" + std::string(stride) + "/" +
                         std::string(content));
    }
  }
}

TEST(VulkanStrides, KernelsOfAllPixelsRefuseThem) {
  BlurSpec spec = kSpec;
  spec.stride = {{2, 0}, {2, 0}};
  const auto refusal = [&](std::string_view algorithm) {
    return message_of(make_plan(spec, kDesc, destination_desc(spec, kDesc, kDesc.format), fake_gpu(false), with(algorithm)));
  };
  EXPECT_EQ(refusal("sep.fused"), "no error");
  EXPECT_EQ(refusal("sep.fused:exchange=shuffle"), "sep.fused cannot do this: only exchange=shared takes a stride");
  EXPECT_EQ(refusal("nxn.direct"), "nxn.direct cannot do this: it does not take a stride");
  EXPECT_EQ(refusal("gauss.decimate:factor=2,write_pixels=4"),
            "gauss.decimate cannot do this: destinations of every n-th pixel are written one by one");
  spec.kernel = Box::of_radius(9, 9);
  EXPECT_EQ(refusal("box.any:form=column_sums"), "no error");
  EXPECT_EQ(refusal("box.any:form=row_segments"), "box.any cannot do this: the form row_segments writes all pixels of a region");
}

}  // namespace
}  // namespace mollify::test
