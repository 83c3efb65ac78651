#include "bench/peers/peer.h"

#include <vector>

namespace mollify::bench {

std::span<const Peer> peers() {
  static const std::vector<Peer> all{
#ifdef MOLLIFY_HAVE_OPENCV
      opencv_peer(),
#endif
#ifdef MOLLIFY_HAVE_LIBVIPS
      libvips_peer(),
#endif
  };
  return all;
}

}  // namespace mollify::bench
