// Images of a batch, some of which are on a GPU while the host copies others.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mollify/image.h"
#include "mollify/result.h"

namespace mollify {

/// Starts each image in a slot that is free and finishes them in the same order. What was started is finished, also after a failure.
template <class Slot, class Start, class Finish>
[[nodiscard]] Status run_in_turns(const std::vector<std::unique_ptr<Slot>>& slots, std::span<const ConstImageView> src,
                                  std::span<const ImageView> dst, const Start& start, const Finish& finish) {
  const std::size_t in_flight = slots.size();
  Status status;
  std::size_t started = 0;
  std::size_t finished = 0;
  while (finished < started || (status && started < src.size())) {
    if (status && started < src.size() && started - finished < in_flight) {
      status = start(*slots[started % in_flight], src[started]);
      if (status) ++started;
      continue;
    }
    const Status done = finish(*slots[finished % in_flight], dst[finished]);
    if (status && !done) status = done;
    ++finished;
  }
  return status;
}

}  // namespace mollify
