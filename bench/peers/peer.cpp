#include "bench/peers/peer.h"

#include <dlfcn.h>

#include <vector>

namespace mollify::bench {
namespace {

// Nothing where the module, or a library that it needs, is not installed.
void add_module(const char* name, std::vector<Peer>& found) {
  void* module = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) return;
  auto* make = reinterpret_cast<MakePeer*>(dlsym(module, kMakePeer));
  if (make != nullptr) make(found.emplace_back());
}

}  // namespace

std::span<const Peer> peers() {
  static const std::vector<Peer> all = [] {
    std::vector<Peer> found;
    add_module("libmollify_peer_opencv.so", found);
    add_module("libmollify_peer_libvips.so", found);
    for (Peer& peer : npp_peers()) found.push_back(std::move(peer));
    return found;
  }();
  return all;
}

}  // namespace mollify::bench
