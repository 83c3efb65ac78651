// Peers written in Python, in a process of their own that lab/peers/peers.py runs in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/peers/peer.h"

namespace mollify::lab {

/// Starts `python` and gives the peers that its libraries make for the device; none where it has none of them. The process
/// ends with the last of them. An Error says why there is no such process.
[[nodiscard]] Result<std::vector<bench::Peer>> python_peers(const std::string& python, const DeviceInfo& device);

}  // namespace mollify::lab
