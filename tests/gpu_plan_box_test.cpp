// Planning box.any for GPUs that do not exist: which form and which sums, and what is refused.
#include <gtest/gtest.h>

#include "vulkan_support.h"

namespace mollify::test {
namespace {

/// Without the last one of floats, which sums anew what is not finite.
std::vector<Pass> fast_passes(const Plan& plan) {
  std::vector<Pass> passes = plan.passes;
  if (passes.back().kernel == "box_mend") passes.pop_back();
  return passes;
}

TEST(VulkanPlan, BoxesSumInTheNarrowestThatHolds) {
  struct Expected {
    PixelFormat format;
    double radius_x, radius_y;
    std::string_view form, sums;
  };
  using enum PixelFormat;
  for (const Expected& e : {Expected{rgba8, 9, 128, "column_sums", "u16x2"},   Expected{rgba8, 9, 129, "column_sums", "u32"},
                            Expected{r8, 9, 9, "column_sums", "u32"},          Expected{rgba16, 1, 1, "column_sums", "u32"},
                            Expected{rgba16, 127, 128, "column_sums", "u32"},  Expected{rgba16, 128, 128, "column_sums", "f32"},
                            Expected{rgba8, 2.5, 3, "column_sums", "f32"},     Expected{rgba32f, 3, 3, "column_sums", "f32"},
                            Expected{rgba32f, 3, 400, "column_sums", "f32x2"}, Expected{rgba8, 9, 129, "four_corner", "u16x2"},
                            Expected{rgba8, 2052, 2052, "four_corner", "f32"}, Expected{r8, 2000, 9, "four_corner", "u32"},
                            Expected{rgba16, 127, 128, "four_corner", "u32"},  Expected{rgba16, 128, 128, "four_corner", "f32"},
                            Expected{r32f, 64, 64, "four_corner", "f32"},      Expected{rgba8, 100, 128, "row_segments", "u16x2"},
                            Expected{rgba8, 63, 129, "row_segments", "u32"},   Expected{rgb8, 64, 9, "row_segments", "u16x2"},
                            Expected{rg8, 127, 9, "row_segments", "u16x2"},    Expected{r8, 9, 9, "row_segments", "u32"},
                            Expected{rgba16, 63, 128, "row_segments", "u32"},  Expected{rg16, 64, 200, "row_segments", "u32"},
                            Expected{rgba16f, 9, 9, "row_segments", "f32"}}) {
    const ImageDesc desc{4096, 4096, e.format};
    const std::string algorithm = "box.any:form=" + std::string(e.form);
    const Result<Plan> plan = make_plan(spec_of(Box::of_radius(e.radius_x, e.radius_y)), desc, desc, fake_gpu(false), with(algorithm));
    ASSERT_TRUE(plan.ok()) << message_of(plan);
    EXPECT_EQ(plan->algorithm.options.at("sums"), e.sums) << e.form << " " << info(e.format).name << " " << e.radius_x << "x" << e.radius_y;
    // What it resolved to, asked for, is the same plan.
    const Plan again = must(make_plan(plan->spec, desc, desc, fake_gpu(false), with(to_string(plan->algorithm))));
    EXPECT_EQ(again.passes, plan->passes);
  }
}

TEST(VulkanPlan, BoxesByCornersSayWhatTheyCannotDo) {
  const auto error = [](std::string_view algorithm, PixelFormat format, const Box& box, const DeviceInfo& device) {
    const ImageDesc desc{4096, 4096, format};
    return message_of(make_plan(spec_of(box), desc, desc, device, with(algorithm)));
  };
  const std::string cannot = "box.any cannot do this: ";
  const Box box = Box::of_radius(9, 9);
  EXPECT_EQ(error("box.any:form=four_corner", PixelFormat::rgba8, Box::of_radius(9, 2.5), fake_gpu(false)),
            cannot + "the form four_corner is for windows of whole pixels");
  EXPECT_EQ(error("box.any:form=four_corner,storage=image", PixelFormat::rgba8, box, fake_gpu(false)),
            cannot + "the form four_corner reads pixels from buffers only");
  EXPECT_EQ(error("box.any:form=four_corner,sums=f32x2", PixelFormat::rgba32f, box, fake_gpu(false)),
            cannot + "sums of two floats are for the form columns");
  EXPECT_EQ(error("box.any:form=four_corner,lanes_per_row=2", PixelFormat::rgba8, box, fake_gpu(false)),
            cannot + "the option lanes_per_row is for the form column_sums");
  EXPECT_EQ(error("box.any:form=four_corner,threads=60", PixelFormat::rgba8, box, fake_gpu(false)),
            cannot + "groups of 60 threads are no number of subgroups of 8");
  DeviceInfo device = fake_gpu(false);
  device.gpu.shuffle_operations = false;
  EXPECT_EQ(error("box.any:form=four_corner", PixelFormat::rgba8, box, device),
            cannot + "the device's compute shaders cannot shuffle among lanes");
  // Where one form cannot do it, the others are asked.
  const ImageDesc desc{4096, 4096, PixelFormat::rgba8};
  const auto form = [&](double radius, const DeviceInfo& on) {
    const BlurSpec spec = spec_of(Box::of_radius(radius, radius));
    return must(make_plan(spec, desc, desc, on, with("box.any"))).algorithm.options.at("form");
  };
  EXPECT_EQ(form(600, fake_gpu(false)), "four_corner");
  EXPECT_EQ(form(9.5, fake_gpu(false)), "column_sums");
  EXPECT_EQ(form(9, device), "column_sums");
}

TEST(VulkanPlan, BoxesBySegmentsSayWhatTheyCannotDo) {
  const auto planned = [](std::string_view options, const BlurSpec& spec, const ImageDesc& src, const ImageDesc& dst,
                          const DeviceInfo& device = fake_gpu(false)) {
    return message_of(make_plan(spec, src, dst, device, with("box.any:form=row_segments" + std::string(options))));
  };
  const auto error = [&](std::string_view options, PixelFormat format, const Box& box) {
    const ImageDesc desc{4096, 4096, format};
    return planned(options, spec_of(box), desc, desc);
  };
  const std::string cannot = "box.any cannot do this: ";
  const Box box = Box::of_radius(9, 9);
  EXPECT_EQ(error("", PixelFormat::rgba8, box), "no error");
  EXPECT_EQ(error("", PixelFormat::rgba8, Box::of_radius(9, 2.5)), cannot + "the form row_segments is for windows of whole pixels");
  EXPECT_EQ(error(",storage=buffer", PixelFormat::rgba8, box), "no error");
  EXPECT_EQ(error(",storage=image", PixelFormat::rgba8, box), cannot + "the form row_segments reads pixels from buffers only");
  EXPECT_EQ(error(",sums=f32x2", PixelFormat::rgba32f, box), cannot + "sums of two floats are for the form columns");
  EXPECT_EQ(error(",sums=u16x2", PixelFormat::rgba8, Box::of_radius(9, 129)), cannot + "sums of 259 rows would not fit into 16 bits");
  EXPECT_EQ(error(",lanes_per_row=2", PixelFormat::rgba8, box), cannot + "the option lanes_per_row is for the form column_sums");
  EXPECT_EQ(error(",threads=60", PixelFormat::rgba8, box), cannot + "groups of 60 threads are no number of subgroups of 8");
  EXPECT_EQ(error(",threads=64,rows_in_flight=5", PixelFormat::rgba8, box), cannot + "64 threads cannot share out 5 rows of rgba8");
  EXPECT_EQ(error(",rows_in_flight=1", PixelFormat::rgb16f, box), cannot + "128 threads cannot share out 1 rows of rgb16f")
      << "six words are no number of sums";
  EXPECT_EQ(error(",threads=64", PixelFormat::rgba8, Box::of_radius(125, 9)),
            cannot + "a window of 251 columns reaches further than the 256 columns of a group");
  EXPECT_EQ(error(",threads=64", PixelFormat::rgba8, Box::of_radius(124, 9)), "no error");
  EXPECT_EQ(error(",rows_in_flight=16,threads=256", PixelFormat::rgba32f, Box::of_radius(64, 9)),
            cannot + "it would need 292112 bytes of shared memory, the device has 32768");
  const ImageDesc bytes{640, 480, PixelFormat::rgba8};
  EXPECT_EQ(planned("", spec_of(box), bytes, bytes), "no error");
  EXPECT_EQ(planned(",pixels_per_thread=3", spec_of(box), bytes, bytes),
            cannot + "3 columns of a thread are no whole number of the 2 that it fetches at once");
  EXPECT_EQ(planned("", spec_of(box), bytes, {640, 480, PixelFormat::rgba32f}),
            cannot + "the form row_segments writes the format that it reads");
  BlurSpec spec = spec_of(box);
  spec.transfer = TransferFunction::srgb;
  EXPECT_EQ(planned("", spec, bytes, bytes), cannot + "the form row_segments sums pixels as they are stored");
  DeviceInfo device = fake_gpu(false);
  device.gpu.shuffle_operations = false;
  EXPECT_EQ(planned("", spec_of(box), bytes, bytes, device), cannot + "the device's compute shaders cannot shuffle among lanes");
  device = fake_gpu(false);
  std::erase(device.kernels, "box_row_segments");
  EXPECT_EQ(planned("", spec_of(box), bytes, bytes, device), cannot + "the vulkan backend has no kernel box_row_segments");
}

TEST(VulkanPlan, OnlyRowsOfSegmentsTakePixelsPerThread) {
  const ImageDesc desc{640, 480, PixelFormat::rgba8};
  const auto error = [&](std::string_view form) {
    return message_of(
        make_plan(spec_of(Box::of_radius(9, 9)), desc, desc, fake_gpu(false), with("box.any:pixels_per_thread=4" + std::string(form))));
  };
  EXPECT_EQ(error(""), "no error");
  for (const char* form : {",form=four_corner", ",form=column_sums"}) {
    EXPECT_EQ(error(form), "box.any cannot do this: the option pixels_per_thread is for the form row_segments");
  }
}

/// First windows of so many rows are read, or follow from cells of another pass.
TEST(VulkanPlan, SegmentsBeginHighWindowsWithCells) {
  using enum PixelFormat;
  for (const PixelFormat format : {rgba8, rgb8, r16, rgba16f, r32f, rg32f, rgb32f}) {
    const int most = format == r32f || format == rg32f ? 64 : 160;
    for (const int rows : {most, most + 1}) {
      const ImageDesc desc{2048, 2048, format};
      BlurSpec spec = spec_of(Box::of_size({9, rows}, {4, rows / 2}));
      spec.accuracy.max_error = 0.01;
      const Plan plan = must(make_plan(spec, desc, desc, fake_gpu(false), with("box.any:form=row_segments")));
      const bool has_cells = rows > most;
      EXPECT_EQ(fast_passes(plan).back().constants.at("has_block_sums"), has_cells ? 1 : 0) << info(format).name << " " << rows;
      EXPECT_EQ(fast_passes(plan).size(), has_cells ? 2U : 1U);
      EXPECT_EQ(plan.intermediates.size(), has_cells ? 1U : 0U);
    }
  }
}

/// To the code, as far as f32 can tell: what is allowed then is less than bytes are rounded by.
TEST(VulkanPlan, LongCodesAreExactByCornersAndSegments) {
  const ImageDesc desc{4096, 4096, PixelFormat::rgba16};
  BlurSpec spec = spec_of(Box::of_radius(100, 60));
  spec.accuracy.max_error = 0.0;
  for (const char* algorithm : {"box.any:form=four_corner", "box.any:form=row_segments"}) {
    const Result<Plan> plan = make_plan(spec, desc, desc, fake_gpu(false), with(algorithm));
    EXPECT_TRUE(plan.ok()) << algorithm << ": " << message_of(plan);
  }
}

/// Bands of floats are cut shorter where the error asks for it.
TEST(VulkanPlan, BandsOfSegmentsOfFloatsFollowFromTheError) {
  const auto pieces = [](double max_error) {
    const ImageDesc desc{4096, 4096, PixelFormat::r32f};
    BlurSpec spec = spec_of(Box::of_radius(16, 16));
    spec.accuracy.max_error = max_error;
    const Plan plan = must(make_plan(spec, desc, desc, fake_gpu(false), with("box.any:form=row_segments")));
    EXPECT_LE(plan.predicted_error, max_error);
    return std::stoi(plan.algorithm.options.at("chunks"));
  };
  EXPECT_GT(pieces(1e-5), pieces(1e-3));
}

TEST(VulkanPlan, TheFormOfABoxFollowsFromItsRadiusAndItsPixels) {
  const auto chosen = [&](double radius, PixelFormat format) {
    const ImageDesc desc{4096, 4096, format};
    const BlurSpec spec = spec_of(Box::of_radius(radius, radius));
    DeviceInfo device = fake_gpu(false);
    device.name = "NVIDIA H200";
    device.gpu.subgroup_size = 32;
    device.gpu.shared_bytes = 48 << 10;
    device.gpu.max_buffer_bytes = std::int64_t{1} << 30;
    const AlgorithmChoice choice = must(make_plan(spec, desc, desc, device)).algorithm;
    return choice.options.contains("form") ? choice.id + " by " + choice.options.at("form") : choice.id;
  };
  using enum PixelFormat;
  for (const double radius : {4, 8, 16, 32, 64}) EXPECT_EQ(chosen(radius, rgba8), "box.any by row_segments") << radius;
  for (const double radius : {96, 128, 129, 300, 600}) EXPECT_EQ(chosen(radius, rgba8), "box.any by four_corner") << radius;
  for (const PixelFormat format : {rg8, rgb8, r16, r16f, rg16, rg16f}) {
    for (const double radius : {4, 8}) EXPECT_EQ(chosen(radius, format), "box.any by row_segments") << info(format).name << " " << radius;
  }
  for (const PixelFormat format : {r8, r16f}) EXPECT_EQ(chosen(64, format), "box.any by row_segments") << info(format).name;
  for (const PixelFormat format : {rgba16, rgba16f, r8}) EXPECT_EQ(chosen(9, format), "box.any by row_segments") << info(format).name;
  for (const double radius : {16, 32}) EXPECT_EQ(chosen(radius, rgba32f), "box.any by row_segments") << radius;
  for (const PixelFormat format : {rgb8, rgb16, rgb16f, rgb32f, rgba32f}) {
    EXPECT_EQ(chosen(64, format), "box.any by four_corner") << info(format).name;
  }
  for (const PixelFormat format : {rg8, rgba16, rgba16f}) EXPECT_EQ(chosen(128, format), "box.any by four_corner") << info(format).name;
  EXPECT_EQ(chosen(64, rgba16f), "box.any by row_segments");
  for (const double radius : {96, 128}) EXPECT_EQ(chosen(radius, rgba16), "box.any by four_corner") << radius;
  EXPECT_EQ(chosen(64, rgba16), "box.any by row_segments");
  EXPECT_EQ(chosen(256, r16f), "box.any by four_corner");
  for (const PixelFormat format : {rg8, rg16, rg16f, rg32f, rgb8}) {
    EXPECT_EQ(chosen(192, format), "box.any by four_corner") << info(format).name;
  }
  for (const double radius : {4, 16}) EXPECT_EQ(chosen(radius, rg32f), "box.any by row_segments") << radius;
}

/// Measured on an H200: what walks of corners and of columns take grows with windows where nothing hides it.
TEST(VulkanPlan, SmallBoxesOfBytesAreSummedBySegments) {
  const DeviceInfo device = fake_h200();
  for (const std::int32_t size : {512, 1024}) {
    const ImageDesc desc{size, size, PixelFormat::rgba8};
    const Plan plan = must(make_plan(spec_of(Box::of_radius(64, 64)), desc, desc, device, with("box.any")));
    EXPECT_EQ(plan.algorithm.options.at("form"), "row_segments") << size;
  }
}

/// On an H200 what is left over for a second round takes as long as the first.
TEST(VulkanPlan, WalksOfBoxesAreAsManyAsRunAtOnce) {
  const DeviceInfo device = fake_h200();
  struct Expected {
    std::string_view algorithm;
    PixelFormat format;
    double radius;
    double threads_at_once;  // of a processor
    double rounds;
  };
  using enum PixelFormat;
  for (const Expected& e :
       {Expected{"box.any:form=row_segments", rgba8, 16, 512, 1}, Expected{"box.any:form=row_segments", rgba8, 64, 384, 1},
        Expected{"box.any:form=row_segments", rgba8, 128, 512, 1}, Expected{"box.any:form=row_segments", rgba16f, 16, 256, 1},
        Expected{"box.any:form=row_segments", r8, 16, 768, 1}, Expected{"box.any:form=row_segments", r8, 32, 768, 1},
        Expected{"box.any:form=row_segments", r8, 128, 768, 1}, Expected{"box.any:form=four_corner", rgba8, 128, 768, 1},
        Expected{"box.any:form=four_corner", rgba16f, 128, 768, 2}, Expected{"box.any:form=four_corner", r32f, 128, 1024, 1},
        Expected{"box.any:form=column_sums", rgba32f, 16, 1024, 2}}) {
    const ImageDesc desc{4096, 4096, e.format};
    const BlurSpec spec = spec_of(Box::of_radius(e.radius, e.radius));
    const Pass pass = fast_passes(must(make_plan(spec, desc, desc, device, with(std::string(e.algorithm))))).back();
    const double rounds = groups_a_processor(pass, device) * pass.group.x / e.threads_at_once;
    EXPECT_LE(rounds, e.rounds) << e.algorithm << ", radius " << e.radius;
    EXPECT_GT(rounds, 0.9 * e.rounds) << e.algorithm << ", radius " << e.radius;
  }
}

/// As measured on an H200.
TEST(VulkanPlan, GroupsOfSegmentsFollowFromTheWindow) {
  const DeviceInfo device = fake_h200();
  const auto group = [&](PixelFormat format, double radius) {
    const ImageDesc desc{4096, 4096, format};
    const Plan plan = must(make_plan(spec_of(Box::of_radius(radius, radius)), desc, desc, device, with("box.any:form=row_segments")));
    const auto& options = plan.algorithm.options;
    return options.at("threads") + " threads of " + options.at("pixels_per_thread") + ", " + options.at("rows_in_flight");
  };
  using enum PixelFormat;
  for (const double radius : {4, 16, 32}) {
    EXPECT_EQ(group(rgba8, radius), "128 threads of 2, 8") << radius;
    EXPECT_EQ(group(rgba16f, radius), radius < 6 ? "128 threads of 2, 4" : "128 threads of 2, 8")
        << "what leaves stays in the second cache";
  }
  for (const PixelFormat format : {rgba8, rgba16f}) {
    EXPECT_EQ(group(format, 64), "128 threads of 4, 4") << "half of what 128 of 2 read would be for two strips";
  }
  EXPECT_EQ(group(rgba16, 64), "128 threads of 2, 4");
  EXPECT_EQ(group(rgba8, 128), "256 threads of 4, 4");
  EXPECT_EQ(group(r8, 16), "128 threads of 4, 4") << "more rows gain nothing";
  for (const PixelFormat format : {r16, r16f, r32f}) EXPECT_EQ(group(format, 16), "256 threads of 2, 8") << info(format).name;
  for (const PixelFormat format : {rg16, rg16f}) EXPECT_EQ(group(format, 16), "128 threads of 2, 8") << info(format).name;
  EXPECT_EQ(group(rg32f, 16), "128 threads of 2, 4");
  EXPECT_EQ(group(rg8, 16), "128 threads of 4, 8");
  EXPECT_EQ(group(rg8, 96), "256 threads of 4, 4") << "of 8 rows a processor runs half as many groups";
  EXPECT_EQ(group(rgba32f, 16), "128 threads of 4, 2");
  for (const double radius : {96, 128}) EXPECT_EQ(group(r8, radius), "256 threads of 4, 8") << "a row's lanes are of one subgroup";
}

TEST(VulkanPlan, WindowsMayBeAsLongAsTheirSideOfTheImage) {
  const ImageDesc desc{16384, 64, PixelFormat::rgba8};
  const auto planned = [&](const Box& box) { return make_plan(spec_of(box), desc, desc, fake_gpu(false)); };
  EXPECT_TRUE(planned(Box::of_radius(3000, 1)).ok());
  EXPECT_TRUE(planned(Box::of_radius(30000, 2000)).ok());
  EXPECT_TRUE(planned(Box::of_radius(1, 3000)).ok()) << "taps that fold to the height";
}

TEST(VulkanPlan, BoxesRefuseSumsThatDoNotHoldThem) {
  const auto error = [](std::string_view algorithm, PixelFormat format, const Box& box) {
    const ImageDesc desc{4096, 4096, format};
    return message_of(make_plan(spec_of(box), desc, desc, fake_gpu(false), with(algorithm)));
  };
  const std::string cannot = "box.any cannot do this: ";
  EXPECT_EQ(error("box.any:form=column_sums,sums=u16x2", PixelFormat::rgba8, Box::of_radius(9, 129)),
            cannot + "sums over 259 pixels exceed 16 bits");
  EXPECT_EQ(error("box.any:sums=u16x2", PixelFormat::rgba16, Box::of_radius(0, 0)),
            cannot + "pixels of 16 bits leave no room for sums in 16");
  EXPECT_EQ(error("box.any:sums=u16x2", PixelFormat::r8, Box::of_radius(9, 9)), cannot + "one channel needs no second half of a word");
  EXPECT_EQ(error("box.any:sums=u32", PixelFormat::rgba16, Box::of_radius(128, 128)), cannot + "sums over 257x257 pixels exceed 32 bits");
  EXPECT_EQ(error("box.any:sums=u32", PixelFormat::rgba8, Box::of_radius(1.5, 1)), cannot + "integer sums need a whole radius");
  EXPECT_EQ(error("box.any:sums=u32", PixelFormat::rgba16f, Box::of_radius(1, 1)), cannot + "integer sums need an integer format");
  EXPECT_EQ(error("box.any:form=column_sums", PixelFormat::r8, Box::of_radius(512, 1)),
            cannot + "a window of 1025 columns reaches further than the 1024 threads of a group");
  EXPECT_EQ(error("box.any:threads=64,rows_in_flight=16,lanes_per_row=8", PixelFormat::r8, Box::of_radius(1, 1)),
            cannot + "128 sliding lanes are more than the 64 threads of a group");
  EXPECT_EQ(error("box.any:accumulator=f64", PixelFormat::rgba8, Box::of_radius(1, 1)),
            cannot + "option accumulator is not for the vulkan backend");
  EXPECT_EQ(error("box.any:form=column_sums,pixels_per_thread=4", PixelFormat::r8, Box::of_radius(1, 1)),
            cannot + "the option pixels_per_thread is for the form row_segments");
}

}  // namespace
}  // namespace mollify::test
