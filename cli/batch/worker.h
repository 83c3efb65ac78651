// The other side of a batch: the process that reads, blurs and writes files, one after the other.
#pragma once

#include <string_view>

#include "args.h"
#include "blur_file.h"

namespace mollify::cli {

/// Works until the batch closes its end. `descriptors` is the value of the hidden option.
void run_worker(std::string_view descriptors, const BlurRequest& request, const DeviceArgs& device);

}  // namespace mollify::cli
