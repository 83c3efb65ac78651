// How fast the clocks of the device run at the moment, where the system tells.
#pragma once

#include <memory>
#include <string>

#include "json/json.h"
#include "mollify/plan.h"

namespace mollify::lab {

/// Reads what can be read without privileges; null where nothing can. CPU: {"cpu_mhz"}. NVIDIA GPUs, through the driver's
/// own library: {"sm_mhz", "memory_mhz", "celsius", "watts"}.
class Clocks {
 public:
  explicit Clocks(const DeviceInfo& device);
  ~Clocks();
  Clocks(const Clocks&) = delete;
  Clocks& operator=(const Clocks&) = delete;
  [[nodiscard]] Json read() const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;
  Backend backend_;
};

}  // namespace mollify::lab
