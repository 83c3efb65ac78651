#include "pass_arguments_support.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace mollify::test {

Plan PassCase::plan(const Device& device) const {
  BlurSpec spec;
  spec.kernel = kernel;
  PlanOptions options;
  options.algorithm = *parse_algorithm(algorithm);
  Result<Plan> made = make_plan(spec, image, image, device.info(), options);
  if (!made) throw std::runtime_error(algorithm + ": " + made.error().message);
  return std::move(*made);
}

void expect_refused(const Device& device, Plan plan, std::size_t place, const std::string& name, const std::function<void(Pass&)>& change) {
  Pass& pass = plan.passes.at(place);
  change(pass);
  const Result<Executable> made = device.prepare(plan);
  ASSERT_FALSE(made) << pass.kernel << ", " << name;
  EXPECT_EQ(made.error().code, ErrorCode::internal) << made.error().message;
  EXPECT_NE(made.error().message.find(pass.kernel), std::string::npos) << made.error().message;
  EXPECT_NE(made.error().message.find(name), std::string::npos) << made.error().message;
}

std::set<std::string> expect_exact_arguments(const Device& device, const Plan& plan) {
  const Result<Executable> right = device.prepare(plan);
  EXPECT_TRUE(right) << right.error().message;
  std::set<std::string> kernels;
  for (std::size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.passes[i];
    kernels.insert(pass.kernel);
    expect_refused(device, plan, i, "more", [](Pass& p) { p.constants["more"] = 0; });
    expect_refused(device, plan, i, "more", [](Pass& p) { p.parameters["more"] = 0.0; });
    for (const auto& [name, value] : pass.constants) {
      if (name != "storage") expect_refused(device, plan, i, name, [&](Pass& p) { p.constants.erase(p.constants.find(name)); });
    }
    for (const auto& [name, value] : pass.parameters) {
      expect_refused(device, plan, i, name, [&](Pass& p) { p.parameters.erase(p.parameters.find(name)); });
    }
  }
  return kernels;
}

}  // namespace mollify::test
