#include "bench/peers/peer.h"

#include <vector>

namespace mollify::bench {

std::span<const Peer> peers() {
  static const std::vector<Peer> all = [] {
    std::vector<Peer> found = npp_peers();
#ifdef MOLLIFY_HAVE_LIBVIPS
    found.insert(found.begin(), libvips_peer());
#endif
#ifdef MOLLIFY_HAVE_OPENCV
    found.insert(found.begin(), opencv_peer());
#endif
    return found;
  }();
  return all;
}

}  // namespace mollify::bench
