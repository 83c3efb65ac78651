// Other libraries that blur, timed beside mollify on the same case, the same memory and the same number of threads.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cases/cases.h"
#include "mollify/mollify.h"

namespace mollify::bench {

/// Nanoseconds of some runs, and of copies of the image between them where the peer made any.
struct PeerTurn {
  std::vector<double> blur_ns;
  std::vector<double> copy_ns{};
};

/// One case as a peer runs it: everything but the blur itself is done already.
struct PeerRun {
  std::string function;  ///< of the peer: "GaussianBlur"
  Options options;       ///< what it was called with that the case does not say
  std::string note;      ///< where the peer computes something slightly different; empty if it does not
  std::function<Status(const ConstImageView& src, const ImageView& dst)> run;
  /// For a peer in another process or on another device: some runs on noise of its own, where its images are, by its own
  /// clock.
  std::function<Result<PeerTurn>()> turn{};
  /// What it does at the border where it cannot do what the case says; it is then compared with this.
  std::optional<Border> border{};
};

struct Peer {
  std::string name;  ///< with its version: "opencv 4.6.0"
  /// An error of code `unsupported` says in one line what the peer cannot do.
  std::function<Result<PeerRun>(const cases::Case& c, int threads)> prepare;
  bool on_gpu = false;  ///< it takes its turns beside GPUs, else beside the CPU
};

/// All that are built in or found on the machine; none where no peer was found.
[[nodiscard]] std::span<const Peer> peers();

/// What a peer really computes, found on about a megapixel at most: what a filter computes does not depend on how many pixels there are.
struct PeerCheck {
  double max_error = 0.0;                  ///< of its result on random pixels, in the units of Accuracy
  std::optional<double> realized_sigma{};  ///< Gaussians: of its answer to a step, along x; of 8 bits within a percent
  double seconds = 0.0;                    ///< that the case would take, by the time of that result and the number of pixels
};
/// `threads` as `run` was prepared with: some libraries have one number for all that they do.
[[nodiscard]] Result<PeerCheck> check_peer(const Peer& peer, const PeerRun& run, const cases::Case& c, int threads);

/// None where there is no NPP or no NVIDIA GPU.
[[nodiscard]] std::vector<Peer> npp_peers();

/// What each module of a peer defines, for the tool of the same build. The module stays loaded.
inline constexpr const char* kMakePeer = "mollify_make_peer";
using MakePeer = void(Peer& peer);

}  // namespace mollify::bench
