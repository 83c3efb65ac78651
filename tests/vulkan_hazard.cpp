// A mistake on purpose: two copies to the same bytes without a barrier between them. The validation layer must report it,
// and a test that sees the report must fail.
#include "examples/tiny_engine.h"

int main() {
  Engine engine;
  void* data = nullptr;
  const VkBuffer buffer = engine.buffer(4096, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, data);
  const VkBufferCopy copy{0, 2048, 1024};
  engine.run([&](VkCommandBuffer commands) {
    for (int i = 0; i < 2; ++i) engine.CmdCopyBuffer(commands, buffer, buffer, 1, &copy);
  });
}
