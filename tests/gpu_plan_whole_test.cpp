// Planning batches, regions and single channels for GPUs that do not exist: what was chosen, or measured, for another whole.
#include <gtest/gtest.h>

#include <string_view>

#include "vulkan_support.h"

namespace mollify::test {
namespace {

TEST(VulkanPlan, BatchesLieInBuffersAndWalkInFewerPieces) {
  const ImageDesc small{512, 512, PixelFormat::rgba8};
  const auto plan = [&](std::string_view algorithm, const KernelSpec& kernel, std::int32_t batch) {
    PlanOptions options = with(algorithm);
    options.batch = batch;
    return make_plan(spec_of(kernel), small, small, fake_matrix_gpu(), options);
  };
  const auto groups = [](const Plan& p) {
    std::int64_t sum = 0;
    for (const Pass& pass : p.passes) sum += (pass.size.y + pass.tile.y - 1) / pass.tile.y;
    return sum;
  };
  const KernelSpec narrow = Gaussian{{1.0, 1.0}, {}, {}};
  const KernelSpec wide = Gaussian{{10.0, 10.0}, {}, {}};
  const KernelSpec box = Box::of_radius(9, 9);
  for (const auto& [algorithm, kernel] :
       {std::pair{"sep.fused:math=coopmat", narrow}, std::pair{"sep.fused:math=coopmat_direct", narrow},
        std::pair{"sep.fused:exchange=shuffle", narrow}, std::pair{"sep.fused:exchange=shared", narrow}, std::pair{"gauss.decimate", wide},
        std::pair{"box.any:form=column_sums", box}, std::pair{"box.any:form=row_segments", box}, std::pair{"sep.inline_sliding", narrow}}) {
    EXPECT_LT(groups(must(plan(algorithm, kernel, 64))), groups(must(plan(algorithm, kernel, 1)))) << algorithm;
  }
  EXPECT_EQ(must(plan("sep.shared", narrow, 1)).algorithm.options.at("storage"), "image");
  EXPECT_EQ(must(plan("sep.shared", narrow, 2)).algorithm.options.at("storage"), "buffer");
  EXPECT_EQ(plan("gauss.linear", narrow, 2).error().message,
            "gauss.linear cannot do this: each image of a batch would take a dispatch of its own");
  EXPECT_EQ(plan("sep.fused", narrow, 0).error().message, "a batch of 0 images");
}

/// One small image of this sigma is done sooner by its taps, many of them by coarse samples.
TEST(VulkanPlan, BatchesAreRankedAsOneLargeImage) {
  const ImageDesc small{128, 128, PixelFormat::rgba8};
  const auto chosen = [&](std::int32_t batch) {
    PlanOptions options;
    options.batch = batch;
    return must(make_plan(spec_of(Gaussian{{10.0, 10.0}, {}, {}}), small, small, fake_matrix_gpu(), options)).algorithm.id;
  };
  EXPECT_EQ(chosen(1), "sep.fused");
  EXPECT_EQ(chosen(64), "gauss.decimate");
}

/// Pieces fill the device: those of rgba8 would leave r8 one half empty. And lanes that take bytes apart one by one lose from nine taps on.
TEST(VulkanPlan, SingleChannelsAreNotSplitAsFourWere) {
  const DeviceInfo device = fake_h200();
  const auto chosen = [&](PixelFormat format, std::int32_t radius) {
    const ImageDesc desc{4096, 4096, format};
    const BlurSpec spec = spec_of(Gaussian{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}});
    const Options options = must(make_plan(spec, desc, desc, device)).algorithm.options;
    return options.at("math") + ", " + options.at("chunks");
  };
  EXPECT_EQ(chosen(PixelFormat::rgba8, 4), "coopmat_direct, 12");
  EXPECT_EQ(chosen(PixelFormat::r8, 4), "coopmat, 14");
  EXPECT_EQ(chosen(PixelFormat::r8, 2).substr(0, 3), "f32");
}

/// In another form sums round differently, and what is soonest done of a few pixels is not what is of many.
TEST(VulkanPlan, RegionsAndBatchesTakeTheFormsOfTheWhole) {
  const DeviceInfo device = fake_h200();
  const auto forms = [&](const ImageDesc& src, const BlurSpec& spec, std::int32_t batch) {
    PlanOptions options;
    options.batch = batch;
    const ImageDesc dst = destination_desc(spec, src, src.format);
    const AlgorithmChoice choice = must(make_plan(spec, src, dst, device, options)).algorithm;
    std::string text = choice.id;
    for (const char* name : {"form", "math", "exchange", "blur"}) {
      if (choice.options.contains(name)) text += " " + choice.options.at(name);
    }
    return text;
  };
  using enum PixelFormat;
  const Rect small{100, 100, 300, 200};
  for (const PixelFormat format : {rgba8, rgba16f, rgba32f, r8}) {
    for (const KernelSpec& kernel : {KernelSpec(Box::of_radius(16, 16)), KernelSpec(Box::of_radius(64, 64)),
                                     KernelSpec(Gaussian{{1, 1}, {}, {}}), KernelSpec(Gaussian{{10, 10}, {}, {}})}) {
      BlurSpec spec = spec_of(kernel);
      const ImageDesc large{4096, 4096, format};
      const std::string whole = forms(large, spec, 1);
      spec.roi = small;
      EXPECT_EQ(forms(large, spec, 1), whole) << info(format).name;
    }
  }
  EXPECT_EQ(forms({512, 512, rgba8}, spec_of(Box::of_radius(16, 16)), 1), "sep.fused coopmat");
  EXPECT_EQ(forms({512, 512, rgba8}, spec_of(Box::of_radius(16, 16)), 64), "box.any row_segments");
  EXPECT_EQ(forms({512, 512, rgba32f}, spec_of(Gaussian{{10, 10}, {}, {}}), 64), "gauss.decimate f32 upsample");
}

}  // namespace
}  // namespace mollify::test
