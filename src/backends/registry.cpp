#include <array>

#include "backends/backend.h"
#include "backends/cpu/context.h"

namespace mollify {
namespace {

constexpr std::array kBackends = {
    BackendInfo{Backend::cpu, cpu::list_devices, cpu::open_device},
};

}  // namespace

std::span<const BackendInfo> backends() { return kBackends; }

}  // namespace mollify
