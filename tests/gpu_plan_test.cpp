// Planning for GPUs that do not exist: what is refused, and why.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "algorithms/registry.h"
#include "base/gpu_images.h"
#include "cases/axes.h"
#include "vulkan_support.h"

namespace mollify::test {
namespace {

std::string refusal(const DeviceInfo& device, std::string_view algorithm, const ImageDesc& desc = kDesc) {
  return message_of(make_plan(kSpec, desc, desc, device, with(algorithm)));
}

std::string storage_of(const DeviceInfo& device, const ImageDesc& desc = kDesc) {
  const Result<Plan> plan = make_plan(kSpec, desc, desc, device, with("nxn.direct"));
  return plan ? plan->algorithm.options.at("storage") : message_of(plan);
}

TEST(VulkanPlan, ImagesWhereTheFormatHasThemElseBuffers) {
  EXPECT_EQ(storage_of(fake_gpu(false)), "image");
  EXPECT_EQ(storage_of(fake_gpu(false), {61, 47, PixelFormat::rgb8}), "buffer");
  EXPECT_EQ(refusal(fake_gpu(false), kStorages[0], {61, 47, PixelFormat::rgb8}),
            "nxn.direct cannot do this: the device reads no images of format rgb8");
}

/// A library without them does whatever one with them does.
TEST(VulkanPlan, NothingNeedsAPublishedTechnique) {
  for (const DeviceInfo& device : {fake_gpu(false), fake_gpu(true), fake_matrix_gpu(), fake_h200()}) {
    for (const std::string_view name : {"auto/1920x1080/r16f-r16/gaussian:sigma=9x14,radius=27x42/mirror+constant",
                                        "auto/100x75/rgba16f-rgba32f/gaussian:sigma=30x22,radius=90x66/wrap+clamp/premultiply",
                                        "auto/128x20/rg8-rg16f/gaussian:sigma=12x9,truncate=4/clamp+wrap/max_error=0/premultiply/srgb",
                                        "auto/64x64/rgba8/matrix:size=3x3,anchor=1x1,weights=1_2_3_4_9_4_3_2_1/clamp",
                                        "auto/4096x4096/rgba16-rgba32f/box:radius=2100.5x5000/reflect+wrap/max_error=0.01",
                                        "auto/4096x4096/rg8/box:radius=2100.5x5000/constant+reflect/max_error=0.5/premultiply"}) {
      const cases::Case c = must(cases::parse_case(name));
      ASSERT_TRUE(cases::plan_of(c, device).ok()) << device.name << ", " << name;
      const auto can = [&](const RegistryRow& row) {
        cases::Case asked = c;
        asked.algorithm.id = row.id;
        return row.part != BuildPart::techniques && cases::plan_of(asked, device).ok();
      };
      EXPECT_TRUE(std::ranges::any_of(registry_rows(), can)) << device.name << ", " << name;
    }
  }
}

TEST(CudaPlan, PublishedTechniquesRunOnVulkan) {
  const Result<Plan> plan = make_plan(kSpec, kDesc, kDesc, fake_cuda());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  std::size_t techniques = 0;
  for (const Refusal& refusal : plan->refusals) {
    techniques += refusal.reason == "a published technique, which runs on Vulkan" ? 1 : 0;
  }
  const auto count = std::ranges::count_if(registry(), [](const Algorithm* algorithm) { return is_gpu_only(*algorithm); });
  EXPECT_GT(count, 0);
  EXPECT_EQ(techniques, static_cast<std::size_t>(count));
}

TEST(VulkanPlan, WithoutSmallStorageThereAreNoBuffers) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.small_storage = false;
  EXPECT_EQ(storage_of(device), "image");
  EXPECT_EQ(refusal(device, kStorages[1]),
            "nxn.direct cannot do this: the device has no 8- and 16-bit numbers in buffers, or cannot round to the nearest f16");
  EXPECT_EQ(storage_of(device, {61, 47, PixelFormat::rgb8}),
            "nxn.direct cannot do this: the device has no 8- and 16-bit numbers in buffers, or cannot round to the nearest f16");
}

TEST(VulkanPlan, WithoutStorageImagesThereAreNoImages) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.storage_formats = 0;
  EXPECT_EQ(storage_of(device), "buffer");
  EXPECT_EQ(refusal(device, kStorages[0]), "nxn.direct cannot do this: the device writes no images of format rgba8");
}

TEST(VulkanPlan, LongImagesAreBuffers) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.max_image_length = 60;
  EXPECT_EQ(storage_of(device), "buffer");
  EXPECT_EQ(refusal(device, kStorages[0]), "nxn.direct cannot do this: an image is longer than the 60 pixels of the device");
}

/// Images that one binding cannot see are images where they can be, and else buffers, of which windows pass by.
TEST(VulkanPlan, ImagesLargerThanABindingAreImagesOrRunInWindows) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.max_buffer_bytes = 1000;
  EXPECT_EQ(storage_of(device), "image");
  device.gpu.max_image_length = 60;
  EXPECT_EQ(storage_of(device), "buffer");
}

TEST(VulkanPlan, GroupsFitTheDevice) {
  EXPECT_EQ(refusal(fake_gpu(false), "nxn.direct:group=64x32"),
            "nxn.direct cannot do this: the device has no work groups of 64x32 threads");
  for (const std::string text : {"16", "0x4", "-1x4", "16x", "4x4x4", "16x16 "}) {
    EXPECT_NE(refusal(fake_gpu(false), "nxn.direct:group=" + text).find("two sizes such as 16x16"), std::string::npos) << text;
  }
}

TEST(VulkanPlan, DispatchesHaveNoMoreGroupsThanTheDeviceTakes) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.max_group_count = {4, 2};  // 61x47 in groups of 16x16 are 4x3
  EXPECT_EQ(refusal(device, "nxn.direct"),
            "nxn.direct cannot do this: it would need more work groups than the device takes in one dispatch");
  EXPECT_EQ(refusal(device, "nxn.direct:group=16x32"), "no error");
}

TEST(VulkanPlan, NothingRoundedIsDividedByAFloatAlphaThatMayPassThroughZero) {
  const Taps sharpening{{{-0.3, 1.6, -0.3}, 1}, {{-0.3, 1.6, -0.3}, 1}, Normalization::none};
  const auto plan = [&](std::string_view algorithm, PixelFormat dst, AlphaMode alpha, double max_error) {
    BlurSpec spec = spec_of(sharpening);
    spec.alpha = alpha;
    spec.accuracy.max_error = max_error;
    return make_plan(spec, kDesc, {kDesc.width, kDesc.height, dst}, fake_gpu(false), with(algorithm));
  };
  for (const std::string_view algorithm : {"sep.direct:intermediate=rgba16f", "sep.shared:cache=f16", "sep.sliding:cache=f16",
                                           "sep.inline:cache=f16", "sep.inline_shared:cache=f16", "nxn.shared:cache=f16",
                                           "nxn.shared:cache=unorm8", "nxn.shared:packing=packed", "nxn.direct:packing=packed"}) {
    EXPECT_EQ(message_of(plan(algorithm, PixelFormat::rgba16f, AlphaMode::premultiply, 0.05)),
              std::string(algorithm.substr(0, algorithm.find(':'))) +
                  " cannot do this: the kernel has negative weights; "
                  "dividing float colours by their alpha would magnify a reduced precision");
    EXPECT_TRUE(plan(algorithm, PixelFormat::rgba8, AlphaMode::premultiply, 0.05).ok()) << algorithm;
    EXPECT_TRUE(plan(algorithm, PixelFormat::rgba16f, AlphaMode::ignore, 0.05).ok()) << algorithm;
  }
  const Plan direct = must(plan("sep.direct", PixelFormat::rgba16f, AlphaMode::premultiply, 0.05));
  EXPECT_EQ(direct.algorithm.options.at("intermediate"), "rgba32f");
  for (const std::string_view algorithm : {"sep.shared", "sep.inline", "nxn.shared"}) {
    const Plan chosen = must(plan(algorithm, PixelFormat::rgba16f, AlphaMode::premultiply, 0.05));
    EXPECT_EQ(chosen.algorithm.options.at("cache"), "f32") << algorithm;
  }
}

/// An alpha that a code rounds to nothing leaves what float sums forgot, and so do colours.
TEST(VulkanPlan, FloatSumsOfCodesAreNotDividedByTheirAlpha) {
  const auto plan = [&](std::string_view algorithm, PixelFormat dst, AlphaMode alpha) {
    BlurSpec spec = spec_of(Box::of_radius(2, 2));
    spec.alpha = alpha;
    spec.accuracy.max_error = 0.05;
    return make_plan(spec, kDesc, {kDesc.width, kDesc.height, dst}, fake_gpu(false), with(algorithm));
  };
  for (const std::string id : {"box.running", "box.scan"}) {
    EXPECT_EQ(message_of(plan(id + ":intermediate=rgba8", PixelFormat::rgba32f, AlphaMode::premultiply)),
              id + " cannot do this: float sums of codes that are divided by their alpha have no bounded error as float colours");
    EXPECT_TRUE(plan(id + ":intermediate=rgba8", PixelFormat::rgba8, AlphaMode::premultiply).ok()) << id;
    EXPECT_TRUE(plan(id + ":intermediate=rgba8", PixelFormat::rgba32f, AlphaMode::ignore).ok()) << id;
    EXPECT_EQ(must(plan(id, PixelFormat::rgba32f, AlphaMode::premultiply)).algorithm.options.at("intermediate"), "rgba32f") << id;
  }
  // Where they lie goes by what they are in the end.
  DeviceInfo device = fake_gpu(false);
  device.gpu.storage_formats &= ~(1U << static_cast<unsigned>(PixelFormat::rgba32f));
  BlurSpec spec = spec_of(Box::of_radius(2, 2));
  spec.alpha = AlphaMode::premultiply;
  spec.accuracy.max_error = 0.05;
  const Plan images = must(make_plan(spec, kDesc, {kDesc.width, kDesc.height, PixelFormat::rgba16f}, device, with("box.running")));
  EXPECT_EQ(images.algorithm.options.at("storage"), "buffer");
}

TEST(VulkanPlan, ImagesThatCannotHoldTheIntermediateAreBuffers) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.storage_formats &= ~(1U << static_cast<unsigned>(PixelFormat::rgba16));
  for (const std::string_view algorithm : {"sep.direct", "sep.shared", "sep.sliding", "gauss.lerp_taps", "box.sep"}) {
    const BlurSpec spec = spec_of(algorithm == "box.sep" ? KernelSpec(Box::of_radius(2, 2)) : kSpec.kernel);
    const Plan plan = must(make_plan(spec, kDesc, kDesc, device, with(std::string(algorithm) + ":intermediate=rgba16")));
    EXPECT_EQ(plan.algorithm.options.at("storage"), "buffer") << algorithm;
    for (const Pass& pass : plan.passes) EXPECT_EQ(pass.constants.at("storage"), 0) << algorithm;
  }
}

TEST(VulkanPlan, RunningSumsAndRecursionsAssumeFinitePixels) {
  const ImageDesc floats{61, 47, PixelFormat::rgba32f};
  for (const std::string_view algorithm : {"gauss.boxes", "gauss.recursive", "box.running"}) {
    BlurSpec spec = spec_of(algorithm.starts_with("box") ? KernelSpec(Box::of_radius(2, 2)) : kSpec.kernel);
    spec.accuracy.max_error = 0.1;
    EXPECT_EQ(must(make_plan(spec, floats, floats, fake_gpu(false), with(algorithm))).assumption, "finite pixels");
    EXPECT_EQ(must(make_plan(spec, kDesc, kDesc, fake_gpu(false), with(algorithm))).assumption, "");
  }
}

/// Each image in flight has staging, images of its own on the device, and intermediates.
TEST(VulkanPlan, ScratchIsThatOfTheImagesInFlight) {
  BlurSpec gaussian = spec_of(kSpec.kernel);
  BlurSpec box = spec_of(Box::of_radius(1, 1));
  gaussian.accuracy.max_error = box.accuracy.max_error = 0.5;
  std::set<std::string_view> planned;
  const ImageDesc large{8192, 4096, PixelFormat::rgba8};  // 256 MiB in and out
  const ImageDesc odd{131, 47, PixelFormat::rgba8};
  for (const AlgorithmInfo& algorithm : algorithms()) {
    // What has no plan for a Gaussian has one for a box.
    const bool takes_gaussians = make_plan(gaussian, kDesc, kDesc, fake_gpu(false), with(algorithm.id)).ok();
    const BlurSpec& spec = takes_gaussians ? gaussian : box;
    for (const ImageDesc& desc : {kDesc, odd, large}) {
      const Result<Plan> plan = make_plan(spec, desc, desc, fake_gpu(false), with(algorithm.id));
      if (!plan) continue;
      planned.insert(algorithm.id);
      std::int64_t intermediates = 0;
      for (const ImageDesc& between : plan->intermediates) intermediates += between.payload_bytes();
      EXPECT_EQ(plan->intermediate_bytes, intermediates) << algorithm.id;
      const bool has_gaps = desc == odd && plan->passes.front().constants.at("storage") == 0;
      const std::int64_t bytes = has_gaps ? 144 * 4 * 47 : desc.payload_bytes();
      EXPECT_EQ(plan->scratch_bytes, (desc == large ? 1 : 2) * (4 * bytes + intermediates)) << algorithm.id;
      // The source is copied to the device in any case.
      const Plan in_place = must(make_plan(spec, desc, desc, fake_gpu(false), with(algorithm.id, Overlap::in_place)));
      EXPECT_EQ(in_place.scratch_bytes, plan->scratch_bytes) << algorithm.id;
      EXPECT_EQ(in_place.moved_bytes, plan->moved_bytes) << algorithm.id;
    }
  }
  EXPECT_TRUE(planned.contains("box.nxn_linear")) << "which has no option for storage";
}

/// Not those of the whole source, or plans of small regions would say that they take as long as large images.
TEST(VulkanPlan, RegionsMoveTheirOwnBytes) {
  const ImageDesc desc{2048, 2048, PixelFormat::rgba8};
  const ImageDesc part{16, 16, desc.format};
  for (const char* algorithm :
       {"sep.fused", "sep.direct", "box.any:form=column_sums", "box.any:form=row_segments", "box.any:form=four_corner", "box.running",
        "box.sep", "gauss.decimate", "gauss.boxes", "gauss.linear", "gauss.half_res", "kawase.dual"}) {
    const bool is_box = std::string_view(algorithm).starts_with("box");
    BlurSpec spec = is_box ? spec_of(Box::of_radius(3, 3)) : spec_of(Gaussian{{4, 4}, {}, {}});
    spec.accuracy.max_error = 0.5;
    const Plan whole = must(make_plan(spec, desc, desc, fake_gpu(false), with(algorithm)));
    spec.roi = Rect{300, 300, part.width, part.height};
    const Plan region = must(make_plan(spec, desc, part, fake_gpu(false), with(algorithm)));
    EXPECT_LT(region.moved_bytes, whole.moved_bytes / 100) << algorithm;
    EXPECT_LT(region.predicted_seconds, whole.predicted_seconds / 2) << algorithm;
  }
}

TEST(VulkanPlan, RowsOfBuffersBeginWhereWordsDo) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto row = [](std::int32_t width, PixelFormat format, std::int32_t height = 8) {
    return buffer_row_bytes({width, height, format}, kMost);
  };
  EXPECT_EQ(row(1921, PixelFormat::r8), 1936);
  EXPECT_EQ(row(1921, PixelFormat::rgb8), 1936 * 3);
  EXPECT_EQ(row(129, PixelFormat::rgb16), 144 * 6);
  EXPECT_EQ(row(1920, PixelFormat::rgba32f), 1920 * 16) << "without gaps where there need be none";
  EXPECT_EQ(row(3, PixelFormat::rgb8), 9) << "would be gaps for the most part";
  EXPECT_EQ(row(1021, PixelFormat::r8, 1024), 1024);
  EXPECT_EQ(row(1021, PixelFormat::r8, 1026), 1021) << "no binding would see all of it";
}

TEST(VulkanPlan, SharedMemoryIsNotExceeded) {
  DeviceInfo small = fake_gpu(false);
  small.gpu.shared_bytes = 16 << 10;
  DeviceInfo none = fake_gpu(false);
  none.gpu.shared_bytes = 0;
  int refused = 0;
  for (const AlgorithmInfo& algorithm : algorithms()) {
    for (const KernelSpec& kernel : sample_kernels()) {
      const BlurSpec spec = spec_of(kernel);
      const auto plan = [&](const DeviceInfo& device) { return make_plan(spec, kDesc, kDesc, device, with(algorithm.id)); };
      if (!plan(fake_gpu(false))) continue;
      for (const DeviceInfo& device : {small, none}) {
        const Result<Plan> here = plan(device);
        if (here) continue;
        ++refused;
        EXPECT_NE(here.error().message.find("shared memory, the device has " + std::to_string(device.gpu.shared_bytes)), std::string::npos)
            << here.error().message;
      }
    }
  }
  RecordProperty("refused", refused);
}

TEST(VulkanPlan, FusedSumsOfFloatsReachARadiusOf32) {
  const auto planned = [](std::int32_t radius) {
    const ImageDesc desc{4096, 4096, PixelFormat::rgba32f};
    const Gaussian whole{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}};
    return make_plan(spec_of(whole), desc, desc, fake_gpu(false), with("sep.fused:exchange=shared"));
  };
  const Result<Plan> plan = planned(32);
  ASSERT_TRUE(plan.ok()) << message_of(plan);
  EXPECT_EQ(plan->passes.size(), 1U);
  EXPECT_EQ(plan->algorithm.options.at("pixels_per_thread"), "2");
  EXPECT_EQ(message_of(planned(33)), "sep.fused cannot do this: the kernel has 67x67 taps, more than 65 on an axis");
}

TEST(VulkanPlan, GridsWithKernelsOfMoreThan65TapsAreBlurredInPasses) {
  const auto planned = [](double sigma, std::string_view blur) {
    const std::string algorithm = "gauss.decimate:factor=2,support=4" + std::string(blur);
    return make_plan(spec_of(Gaussian{{sigma, sigma}, {}, {}}), kDesc, kDesc, fake_gpu(false), with(algorithm));
  };
  for (const std::string_view blur : {"", ",blur=tiles", ",blur=upsample"}) {
    EXPECT_TRUE(planned(11.0, blur).ok()) << message_of(planned(11.0, blur)) << blur;
  }
  EXPECT_EQ(must(planned(20.0, "")).algorithm.options.at("blur"), "passes");
  EXPECT_EQ(must(planned(20.0, "")).passes.size(), 4U);
  EXPECT_EQ(must(planned(11.0, ",blur=passes")).passes[1].kernel, "sep_direct");
  for (const std::string_view blur : {",blur=tiles", ",blur=upsample"}) {
    EXPECT_NE(message_of(planned(20.0, blur)).find("taps, more than 65 on an axis"), std::string::npos) << message_of(planned(20.0, blur));
  }
  EXPECT_EQ(message_of(planned(20.0, ",group=64x4")),
            "gauss.decimate cannot do this: the options step_rows, samples_per_thread, group and coarse_rows are not for blur=passes");
}

/// Where sep.fused finds neighbours for a Gaussian of this radius, or why it refuses.
std::string neighbours_of(std::int32_t radius, PixelFormat format, std::string_view algorithm = "sep.fused",
                          std::optional<double> max_error = {}) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.subgroup_size = 32;
  BlurSpec spec = spec_of(Gaussian{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}});
  spec.accuracy.max_error = max_error;
  const ImageDesc desc{2000, 1500, format};
  const Result<Plan> plan = make_plan(spec, desc, desc, device, with(algorithm));
  if (!plan) return message_of(plan);
  return plan->algorithm.options.at("exchange") + " " + plan->algorithm.options.at("math");
}

TEST(VulkanPlan, LanesLendEachOtherPixelsWhereThatIsFaster) {
  EXPECT_EQ(neighbours_of(1, PixelFormat::rgba8), "shuffle half");
  EXPECT_EQ(neighbours_of(1, PixelFormat::rgba8, "sep.fused", 1e-5), "shuffle f32");
  EXPECT_EQ(neighbours_of(2, PixelFormat::rgba16f), "shuffle f32");
  EXPECT_EQ(neighbours_of(12, PixelFormat::rgba32f), "shared f32");
  EXPECT_EQ(neighbours_of(2, PixelFormat::rgba16f, "sep.fused", 0.1), "shuffle f32") << "sums of large halves overflow";
  EXPECT_EQ(neighbours_of(1, PixelFormat::rgba8, "sep.fused:exchange=shared"), "shared f32");
  const std::string cannot = "sep.fused cannot do this: ";
  EXPECT_EQ(neighbours_of(1, PixelFormat::rgba8, "sep.fused:math=half"), "shuffle half");
  EXPECT_EQ(neighbours_of(2, PixelFormat::rgb8, "sep.fused:math=half"), "shuffle half");
  EXPECT_EQ(neighbours_of(1, PixelFormat::rgba16, "sep.fused:math=half"),
            cannot + "sums of f16 are for integers of 8 bits and for two or four channels of f16");
  EXPECT_EQ(neighbours_of(4, PixelFormat::rgba8, "sep.fused:math=half"),
            cannot + "its error of up to 0.00072 is above the allowed 0.00049");
  EXPECT_EQ(neighbours_of(9, PixelFormat::rgba8, "sep.fused:math=half,pixels_per_thread=1", 0.5),
            cannot + "sums of f16 err by a quarter of a code and more with these taps");
  EXPECT_EQ(neighbours_of(1, PixelFormat::r8, "sep.fused:exchange=shuffle,pixels_per_thread=2"),
            cannot + "spans of 2 r8 are no whole words of 32 bits");
  EXPECT_EQ(neighbours_of(20, PixelFormat::rgba32f, "sep.fused:exchange=shuffle"),
            cannot + "the taps reach further than the lanes of a subgroup");
  EXPECT_EQ(neighbours_of(9, PixelFormat::rgba8, "sep.fused:exchange=shuffle,pixels_per_thread=4"),
            cannot + "sums of 19 rows, 4 pixels wide, do not fit into registers");
  EXPECT_EQ(neighbours_of(1, PixelFormat::rgba8, "sep.fused:exchange=shuffle,threads=48"),
            cannot + "groups are whole subgroups: threads are a multiple of 32");
}

TEST(VulkanPlan, SumsOfCodesInHalvesNeedSymmetricTapsThatKeepTheirRange) {
  const ImageDesc desc{640, 480, PixelFormat::rgba8};
  const auto refused = [&](const AxisTaps& taps) {
    return message_of(make_plan(spec_of(Taps{taps, taps, Normalization::none}), desc, desc, fake_gpu(false), with("sep.fused:math=half")));
  };
  const AxisTaps uneven{{0.5, 0.3, 0.2}, 1}, sharp{{-0.1, 1.2, -0.1}, 1}, bright{{0.4, 0.4, 0.4}, 1};
  const std::string cannot = "sep.fused cannot do this: ";
  EXPECT_EQ(refused(uneven), cannot + "sums of codes in f16 are for symmetric kernels");
  for (const AxisTaps& taps : {sharp, bright}) {
    EXPECT_EQ(refused(taps), cannot + "sums of f16 are for weights of codes that are not negative and sum to one");
  }
}

TEST(VulkanPlan, ImagesAreNoLongerThanShadersCanReckonWith) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.max_buffer_bytes = 4294967295LL;
  device.gpu.max_group_count = {INT32_MAX, INT32_MAX};
  const auto refusal = [&](std::int32_t length) {
    const ImageDesc strip{length, 1, PixelFormat::r8};
    const Result<Plan> plan = make_plan(spec_of(Box::of_radius(1, 1)), strip, strip, device, with("sep.fused:storage=buffer"));
    return plan ? std::string() : message_of(plan);
  };
  EXPECT_EQ(refusal(1 << 29), "");
  EXPECT_EQ(refusal((1 << 29) + 1), "sep.fused cannot do this: an image is longer than 536870912 pixels");
}

TEST(VulkanPlan, GroupsOfFixedSizeFitTheDevice) {
  DeviceInfo device = fake_gpu(false);
  device.gpu.max_group_invocations = 128;
  for (const char* algorithm : {"kawase.dual", "gauss.half_res"}) {
    BlurSpec spec = spec_of(Gaussian{{5, 5}, {}, {}});
    spec.accuracy.max_error = 0.5;
    EXPECT_EQ(message_of(make_plan(spec, kDesc, kDesc, device, with(algorithm))),
              std::string(algorithm) + " cannot do this: the device has no work groups of 16x16 threads");
  }
}

/// What is taken for granted of the pixels holds for a constant border as well.
TEST(VulkanPlan, BordersKeepToWhatIsAssumedOfPixels) {
  const auto planned = [](const char* algorithm, PixelFormat format, double value) {
    BlurSpec spec = spec_of(Gaussian{{1.0, 1.0}, {{2, 2}}, {}}, BorderMode::constant);
    spec.border.value.fill(value);
    spec.accuracy.max_error = 0.5;
    const ImageDesc desc{640, 480, format};
    const Result<Plan> plan = make_plan(spec, desc, desc, fake_gpu(false), with(algorithm));
    return plan ? plan->assumption : message_of(plan);
  };
  const std::string halves = "pixels within +-32752, since sums in f16 overflow", range = "pixels within +-65504, the range of f16";
  EXPECT_EQ(planned("sep.fused:math=half", PixelFormat::rgba16f, -32752.0), halves);
  EXPECT_EQ(planned("sep.fused:math=half", PixelFormat::rgba16f, -32768.0),
            "sep.fused cannot do this: the border is beyond what it is for: " + halves);
  EXPECT_EQ(planned("sep.shared:cache=f16", PixelFormat::rgba32f, 65504.0), range);
  EXPECT_EQ(planned("sep.shared:cache=f16", PixelFormat::rgba32f, 65505.0),
            "sep.shared cannot do this: the border is beyond what it is for: " + range);
}

/// Errors of floats are relative to what all weights make of the largest pixel: a kernel of smaller weights is no more exact.
TEST(VulkanPlan, ErrorsOfHalvesDoNotShrinkWithTheWeights) {
  const ImageDesc desc{1024, 1024, PixelFormat::rgba16f};
  const auto error = [&](std::string_view algorithm, double scale) {
    BlurSpec spec;
    std::vector<double> weights = must(make_plan(spec_of(Gaussian{{2, 2}, PerAxis<std::int32_t>{6, 6}, {}}), desc, desc, fake_matrix_gpu(),
                                                 with("sep.fused:exchange=shared")))
                                      .passes[0]
                                      .taps.x.weights;
    Taps taps{{weights, 6}, {weights, 6}, Normalization::none};
    for (double& w : taps.y.weights) w *= scale;
    spec.kernel = taps;
    spec.accuracy.max_error = 1.0;
    return must(make_plan(spec, desc, desc, fake_matrix_gpu(), with(algorithm))).predicted_error;
  };
  for (const char* algorithm : {"sep.fused:math=coopmat,split=1", "sep.fused:math=coopmat,split=2", "sep.fused:math=coopmat_direct",
                                "sep.fused:math=half,pixels_per_thread=1"}) {
    const double of_one = error(algorithm, 1.0);
    EXPECT_GT(of_one, 0.0);
    for (const double scale : {0.25, 0.0625, 4.0, 1024.0}) {
      EXPECT_GE(error(algorithm, scale), 0.99 * of_one) << algorithm << ", times " << scale;
      if (scale > 1.0) {
        EXPECT_NEAR(error(algorithm, scale), of_one, 0.05 * of_one) << algorithm << ", times " << scale;
      }
    }
  }
}

TEST(VulkanPlan, LinearLightOfIntegersIsWithinReach) {
  for (const PixelFormat format : {PixelFormat::r8, PixelFormat::rgb16, PixelFormat::rgba16}) {
    for (const double sigma : {0.8, 2.0, 6.0, 40.0}) {
      BlurSpec spec = spec_of(Gaussian{{sigma, sigma}, {}, {}});
      spec.transfer = TransferFunction::srgb;
      if (info(format).channels == 4) spec.alpha = AlphaMode::premultiply;
      const ImageDesc desc{1920, 1080, format};
      const Result<Plan> plan = make_plan(spec, desc, desc, fake_gpu(false), {});
      EXPECT_TRUE(plan.ok()) << message_of(plan) << ", sigma " << sigma;
    }
  }
}

TEST(VulkanPlan, WalksOfLanesTakeWholeRounds) {
  const DeviceInfo device = fake_h200();
  for (const PixelFormat format : {PixelFormat::rgba8, PixelFormat::rgba16f}) {
    for (const std::int32_t radius : {1, 2, 3}) {
      const ImageDesc desc{4096, 4096, format};
      const Gaussian gaussian{{radius / 3.0, radius / 3.0}, {{radius, radius}}, {}};
      const Pass pass = must(make_plan(spec_of(gaussian), desc, desc, device, with("sep.fused:exchange=shuffle"))).passes[0];
      const double rounds = groups_a_processor(pass, device) * pass.group.x / 1024.0;
      EXPECT_LE(rounds, std::round(rounds)) << info(format).name << ", radius " << radius;
      EXPECT_GT(rounds, 0.9 * std::round(rounds)) << info(format).name << ", radius " << radius;
    }
  }
}

/// Pixels of four halves under three and five taps have three rows on their way where that divides what a walk reads.
TEST(VulkanPlan, RowsOnTheirWayDivideThoseOfAWalk) {
  const DeviceInfo device = fake_matrix_gpu();
  for (const std::int32_t radius : {1, 2}) {
    bool has_three = false, has_two = false;
    for (std::int32_t height = 1000; height < 5000; height += 100) {
      const ImageDesc desc{2048, height, PixelFormat::rgba16f};
      const Gaussian gaussian{{radius / 3.0, radius / 3.0}, PerAxis<std::int32_t>{radius, radius}, {}};
      const Plan plan = must(make_plan(spec_of(gaussian), desc, desc, device, with("sep.fused:exchange=shuffle,math=f32")));
      const bool is_divided = (plan.passes[0].constants.at("chunk_rows") + 2 * radius) % 3 == 0;
      EXPECT_EQ(plan.algorithm.options.at("rows_in_flight"), is_divided ? "3" : "2") << height << ", radius " << radius;
      (is_divided ? has_three : has_two) = true;
    }
    EXPECT_TRUE(has_three && has_two) << radius;
  }
}

TEST(VulkanPlan, WithoutKernelsEveryAlgorithmRefuses) {
  DeviceInfo device = fake_gpu(false);
  device.kernels.clear();
  const Result<Plan> plan = make_plan(kSpec, kDesc, kDesc, device);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().reasons.size(), algorithms().size());
}

}  // namespace
}  // namespace mollify::test
