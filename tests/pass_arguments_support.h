// What passes tell their kernels must be exactly what these take, on every backend.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "mollify/mollify.h"

namespace mollify::test {

/// A plan that must be there.
struct PassCase {
  std::string algorithm;
  KernelSpec kernel;
  ImageDesc image;
  [[nodiscard]] Plan plan(const Device& device) const;
};

/// `change` of the pass at this place must make an internal error that names this argument.
void expect_refused(const Device& device, Plan plan, std::size_t place, const std::string& name, const std::function<void(Pass&)>& change);

/// The device takes the plan, but not with an argument of a pass more or less. Returns the kernels of its passes.
[[nodiscard]] std::set<std::string> expect_exact_arguments(const Device& device, const Plan& plan);

}  // namespace mollify::test
