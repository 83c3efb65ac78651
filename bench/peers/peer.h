// Other libraries that blur, timed beside mollify on the same case, the same memory and the same number of threads.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "mollify/mollify.h"
#include "cases/cases.h"

namespace mollify::bench {

/// One case as a peer runs it: everything but the blur itself is done already.
struct PeerRun {
  std::string function;  ///< of the peer: "GaussianBlur"
  Options options;       ///< what it was called with that the case does not say
  std::string note;      ///< where the peer computes something slightly different; empty if it does not
  std::function<Status(const ConstImageView& src, const ImageView& dst)> run;
};

struct Peer {
  std::string name;  ///< with its version: "opencv 4.6.0"
  /// An error of code `unsupported` says in one line what the peer cannot do.
  Result<PeerRun> (*prepare)(const cases::Case& c, int threads);
};

/// All that are built in; none where no peer was found.
[[nodiscard]] std::span<const Peer> peers();

#ifdef MOLLIFY_HAVE_OPENCV
[[nodiscard]] Peer opencv_peer();
#endif

}  // namespace mollify::bench
