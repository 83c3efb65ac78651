// The process that owns the GPU: it opens the device once, and blurs for all workers of a batch. Under --device auto it chooses, and opens
// the GPU when that is chosen first.
#pragma once

#include "args.h"
#include "batch/wire.h"
#include "blur_file.h"

namespace mollify::cli {

/// Blurs until the batch and all workers have closed their ends. A worker that dies costs nobody else anything.
void run_device_owner(Wire& batch, const BlurRequest& request, const DeviceArgs& device);

}  // namespace mollify::cli
