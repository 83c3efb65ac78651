// Devices, what they prepare, and what that refuses.
#include <gtest/gtest.h>

#include <string>

#include "support.h"

namespace mollify::test {
namespace {

TEST(Device, OpensByNameAndRefusesOthersByName) {
  EXPECT_TRUE(Device::open("cpu").ok());
  EXPECT_TRUE(Device::open("auto").ok());
  const Result<Device> none = Device::open("abacus");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("abacus"), std::string::npos);
  EXPECT_FALSE(Device::open("cpu", {-1}).ok());
  EXPECT_EQ(Device::open("cpu", {3})->info().threads, 3);
}

TEST(Device, EveryListedOneOpens) {
  ASSERT_FALSE(list_devices().empty());
  for (const DeviceEntry& entry : list_devices()) {
    const Result<Device> device = Device::open(entry.open_name);
    ASSERT_TRUE(device.ok()) << entry.open_name;
    EXPECT_EQ(device->info().name, entry.info.name);
  }
}

TEST(Device, AKernelThatItLacksIsAnError) {
  const ImageDesc desc{64, 48, PixelFormat::rgba8};
  Plan plan = *make_plan(spec_of(Box::of_radius(1, 1)), desc, desc, cpu().info());
  plan.passes.front().kernel = "warp_drive";
  const Result<Executable> executable = cpu().prepare(plan);
  ASSERT_FALSE(executable.ok());
  EXPECT_NE(executable.error().message.find("warp_drive"), std::string::npos) << executable.error().message;
}

TEST(Executable, RefusesTheWorkspaceOfAnother) {
  const ImageDesc small{8, 8, PixelFormat::r8};
  const ImageDesc large{300, 300, PixelFormat::rgba32f};
  const Executable executable = prepared(spec_of(Gaussian{{9, 9}, {}, {}}), large, {large.format, {}, 2});
  Workspace foreign = prepared(spec_of(Box::of_radius(1, 1)), small, {small.format, {}, 2}).make_workspace().value();
  const Pixels src = Pixels::random(large);
  Pixels out(large);
  const auto error = [&](Workspace& workspace) {
    const Status status = executable.run(src.view(), out.view(), workspace);
    return status ? "no error" : status.error().message;
  };
  EXPECT_EQ(error(foreign), "the workspace was made for another executable");
  Workspace own = Executable(executable).make_workspace().value();  // a copy is the same executable
  EXPECT_EQ(error(own), "no error");
  const Workspace taken = std::move(own);
  EXPECT_EQ(error(own), "the workspace was made for another executable");
}

TEST(Executable, AndItsDeviceStayWhatTheyAreWhenMovedFrom) {
  const ImageDesc desc{8, 8, PixelFormat::r8};
  Device device = Device::open("cpu", {.threads = 2}).value();
  const Device taken_device = std::move(device);
  EXPECT_EQ(device.info(), taken_device.info());
  const Plan plan = make_plan(spec_of(Box::of_radius(1, 1)), desc, desc, device.info()).value();
  Executable executable = *device.prepare(plan);
  const Executable taken = std::move(executable);
  Workspace workspace = *executable.make_workspace();  // out of the result, which holds what cannot be copied
  const Pixels src = Pixels::random(desc);
  Pixels out(desc);
  EXPECT_TRUE(executable.run(src.view(), out.view(), workspace).ok());
  EXPECT_TRUE(taken.run(src.view(), out.view(), workspace).ok());
}

TEST(Executable, RefusesImagesOfAnotherShape) {
  const BlurSpec spec = spec_of(Box::of_radius(1, 1));
  const Executable executable = prepared(spec, {8, 8, PixelFormat::r8}, {PixelFormat::r8, {}, 2});
  Workspace workspace = executable.make_workspace().value();
  Pixels right({8, 8, PixelFormat::r8});
  Pixels wrong({8, 7, PixelFormat::r8});
  Pixels out({8, 8, PixelFormat::r8});
  EXPECT_TRUE(executable.run(right.view(), out.view(), workspace).ok());
  EXPECT_FALSE(executable.run(wrong.view(), out.view(), workspace).ok());
  EXPECT_FALSE(executable.run(right.view(), wrong.view(), workspace).ok());
  ConstImageView null = right.view();
  null.data = nullptr;
  EXPECT_FALSE(executable.run(null, out.view(), workspace).ok());
}

}  // namespace
}  // namespace mollify::test
