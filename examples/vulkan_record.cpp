// A blur inside somebody else's Vulkan: their device, images, buffers and command buffers, mollify's dispatches.
//   mollify_example_vulkan_record      exits with 1 where the result is not what the CPU makes of the same image
#include <mollify/mollify.h>
#include <mollify/vulkan.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tiny_engine.h"

namespace vk = mollify::vulkan;

template <class T>
T must(mollify::Result<T> result) {
  if (result) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags kTransfer = VK_PIPELINE_STAGE_TRANSFER_BIT;

struct Barrier {
  VkPipelineStageFlags from, to;
  VkAccessFlags written, needed;
};

void memory_barrier(const Engine& engine, VkCommandBuffer commands, const Barrier& b) {
  const VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, b.written, b.needed};
  engine.CmdPipelineBarrier(commands, b.from, b.to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void image_barrier(const Engine& engine, VkCommandBuffer commands, VkImage image, const Barrier& b, VkImageLayout old_layout,
                   VkImageLayout new_layout) {
  const VkImageMemoryBarrier barrier{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                     nullptr,
                                     b.written,
                                     b.needed,
                                     old_layout,
                                     new_layout,
                                     VK_QUEUE_FAMILY_IGNORED,
                                     VK_QUEUE_FAMILY_IGNORED,
                                     image,
                                     {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
  engine.CmdPipelineBarrier(commands, b.from, b.to, 0, 0, nullptr, 0, nullptr, 1, &barrier);
}

int main() {
  Engine engine;
  const mollify::ImageDesc desc{200, 120, mollify::PixelFormat::rgba8};
  const auto bytes = static_cast<VkDeviceSize>(desc.payload_bytes());
  mollify::BlurSpec spec;
  spec.kernel = mollify::Gaussian{{1.5, 1.5}, {}, {}};

  // A small image made by code, and room for the result behind it; 256 is as much alignment as any device asks for.
  const VkDeviceSize after = (bytes + 255) / 256 * 256;
  void* mapped = nullptr;
  const VkBuffer buffer = engine.buffer(
      after + bytes, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, mapped);
  auto* const pixels = static_cast<std::uint8_t*>(mapped);
  for (VkDeviceSize i = 0; i < bytes; ++i) pixels[i] = static_cast<std::uint8_t>(i / 4 % 17 * 15 ^ i / 4000 * 31);

  VkImageView source_view = VK_NULL_HANDLE;
  VkImageView result_view = VK_NULL_HANDLE;
  const VkImage source = engine.image(desc, VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT, source_view);
  const VkImage result = engine.image(desc, VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, result_view);

  VkQueryPoolCreateInfo query_info{};
  query_info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  query_info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  query_info.queryCount = 2;
  VkQueryPool queries = VK_NULL_HANDLE;
  must(engine.CreateQueryPool(engine.lent.device, &query_info, nullptr, &queries));
  engine.undo.emplace_back([&engine, queries] { engine.DestroyQueryPool(engine.lent.device, queries, nullptr); });

  // What the CPU makes of it, to compare with.
  std::vector<std::uint8_t> expected(bytes);
  const mollify::ConstImageView before{desc, pixels, desc.row_payload_bytes()};
  const mollify::ImageView expected_view{desc, expected.data(), desc.row_payload_bytes()};
  const mollify::Device cpu = must(mollify::Device::open("cpu"));
  const mollify::Plan cpu_plan = must(make_plan(spec, desc, desc, cpu.info()));
  const mollify::Executable cpu_blur = must(cpu.prepare(cpu_plan));
  mollify::Workspace workspace = must(cpu_blur.make_workspace());
  if (!cpu_blur.run(before, expected_view, workspace)) return 1;

  // Once: the device is lent to mollify. Everything made of it must go before it does.
  const mollify::Device device = must(vk::adopt(engine.lent));

  struct Outcome {
    double milliseconds;
    double difference;  // largest, of full scale
    double promised;    // by both plans, with the rounding of both results
  };
  const auto blur = [&](const char* algorithm, const vk::Resource& from, const vk::Resource& to) -> Outcome {
    // When the blur changes: a plan and what it needs. Plans for images and plans for buffers differ in an option.
    mollify::PlanOptions options;
    options.algorithm = must(mollify::parse_algorithm(algorithm));
    const mollify::Plan plan = must(make_plan(spec, desc, desc, device.info(), options));
    const mollify::Executable executable = must(device.prepare(plan));
    // When images change: what binds the blur to them. Scratch memory for what passes leave for one another is the
    // recorder's own; scratch_needs() says how much to lend it instead.
    const vk::Recorder recorder = must(vk::Recorder::create(executable, from, to));
    const bool uses_images = std::holds_alternative<vk::ImageResource>(from);

    std::fill_n(pixels + after, bytes, std::uint8_t{0});
    engine.run([&](VkCommandBuffer commands) {  // each frame
      engine.CmdResetQueryPool(commands, queries, 0, 2);
      const VkBufferImageCopy up{0, 0, 0, {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, {}, {200, 120, 1}};
      const VkBufferImageCopy down{after, 0, 0, {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1}, {}, {200, 120, 1}};
      if (uses_images) {
        image_barrier(engine, commands, source, {VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, kTransfer, 0, VK_ACCESS_TRANSFER_WRITE_BIT},
                      VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        engine.CmdCopyBufferToImage(commands, buffer, source, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &up);
        // Owed to mollify: what was written to the source is visible to compute shaders, the layouts are as promised.
        image_barrier(engine, commands, source, {kTransfer, kCompute, VK_ACCESS_TRANSFER_WRITE_BIT, VK_ACCESS_SHADER_READ_BIT},
                      VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
        image_barrier(engine, commands, result, {VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, kCompute, 0, VK_ACCESS_SHADER_WRITE_BIT},
                      VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
      }

      recorder.record(commands, queries, 0);

      // mollify's last word is a write by a compute shader: who reads it next says so.
      if (uses_images) {
        memory_barrier(engine, commands, {kCompute, kTransfer, VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_TRANSFER_READ_BIT});
        engine.CmdCopyImageToBuffer(commands, result, VK_IMAGE_LAYOUT_GENERAL, buffer, 1, &down);
      }
      memory_barrier(engine, commands,
                     {kCompute | kTransfer, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                      VK_ACCESS_HOST_READ_BIT});
    });

    std::array<std::uint64_t, 2> ticks{};
    must(engine.GetQueryPoolResults(engine.lent.device, queries, 0, 2, sizeof ticks, ticks.data(), sizeof ticks[0],
                                    VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
    int difference = 0;
    for (VkDeviceSize i = 0; i < bytes; ++i) difference = std::max(difference, std::abs(pixels[after + i] - expected[i]));
    return {static_cast<double>(ticks[1] - ticks[0]) * engine.properties.limits.timestampPeriod * 1e-6, difference / 255.0,
            cpu_plan.predicted_error + plan.predicted_error + 1.0 / 255.0};
  };

  const Outcome images = blur("nxn.direct:storage=image", vk::ImageResource{source_view, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL},
                              vk::ImageResource{result_view, VK_IMAGE_LAYOUT_GENERAL});
  const Outcome buffers = blur("nxn.direct:storage=buffer", vk::BufferResource{buffer, 0, 0}, vk::BufferResource{buffer, after, 0});
  const bool ok = images.difference <= images.promised && buffers.difference <= buffers.promised;
  std::printf("%s: %s; images in %.2f ms, buffers in %.2f ms, at most %.0f steps of 8 bits from the CPU's result\n", ok ? "right" : "WRONG",
              engine.properties.deviceName, images.milliseconds, buffers.milliseconds,
              255.0 * std::max(images.difference, buffers.difference));
  return ok ? 0 : 1;
}
