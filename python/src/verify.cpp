#include "verify.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cases/cases.h"
#include "cases/filter.h"
#include "cases/side_by_side.h"
#include "devices.h"
#include "keyboard.h"

namespace mollify::python {
namespace {

using namespace nb::literals;

/// A case whose result is further from the reference than the plan promised, or that broke something else.
struct CaseFailure {
  std::string name;
  std::string message;
  double max_error = 0.0;
  double predicted_error = 0.0;
};

struct Verification {
  std::int64_t passed = 0;
  std::int64_t refused = 0;
  std::vector<CaseFailure> failures;

  [[nodiscard]] bool ok() const { return passed > 0 && failures.empty(); }
};

std::vector<cases::Case> select(const DeviceInfo& device, const std::optional<std::string>& filter, const std::optional<std::string>& name,
                                bool full) {
  if (name) {
    if (filter || full) throw std::invalid_argument("case: it names one case; leave filter and full out");
    Result<cases::Case> named = cases::parse_case(*name);
    if (!named) throw std::invalid_argument("case: " + named.error().message);
    return {*std::move(named)};
  }
  std::vector<cases::Case> selected = full ? cases::all_cases(device) : cases::pairwise_cases(device);
  if (filter) std::erase_if(selected, [&](const cases::Case& each) { return !cases::matches(*filter, cases::name(each)); });
  if (selected.empty()) throw std::invalid_argument("filter: no case has such a name");
  return selected;
}

cases::CaseResult run(const Device& device, const cases::Case& each) {
  try {
    return cases::run_case(device, each);
  } catch (const std::exception& error) {
    return {.outcome = cases::Outcome::failed, .message = std::string("threw ") + error.what(), .plan = {}};
  }
}

Verification verify(const std::optional<std::string>& device_name, const std::optional<std::string>& filter,
                    const std::optional<std::string>& name, bool full, std::optional<std::int32_t> threads) {
  const nb::gil_scoped_release release;
  const Device device = open_device(device_name.value_or("cpu"), threads.value_or(0));
  const std::vector<cases::Case> selected = select(device.info(), filter, name, full);
  Verification out;
  std::mutex mutex;
  obey_keyboard([&](const std::atomic<bool>& stop) {
    // The reference is most of the work and runs on one thread, so the cases run side by side.
    cases::side_by_side(selected.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
      cases::CaseResult result = run(device, selected[i]);
      const std::scoped_lock lock(mutex);
      if (result.outcome == cases::Outcome::pass) ++out.passed;
      if (result.outcome == cases::Outcome::refused) ++out.refused;
      if (result.outcome == cases::Outcome::failed) {
        out.failures.push_back({cases::name(selected[i]), std::move(result.message), result.max_error, result.predicted_error});
      }
      return !stop;
    });
  });
  return out;
}

std::string text_of(const Verification& self) {
  return "<Verification: " + std::to_string(self.passed) + " passed, " + std::to_string(self.refused) + " refused, " +
         std::to_string(self.failures.size()) + " failed>";
}

}  // namespace

void define_verify(nb::module_& module) {
  nb::class_<CaseFailure>(module, "CaseFailure", "A case whose result is not as exact as was promised, or wrong in another way.")
      .def_ro("name", &CaseFailure::name, "The name that verify(case=...) and `mollify verify --case` take.")
      .def_ro("message", &CaseFailure::message, "What is wrong; it names the first bad pixel.")
      .def_ro("max_error", &CaseFailure::max_error, "The largest error, relative to full scale.")
      .def_ro("predicted_error", &CaseFailure::predicted_error, "The bound that was promised.")
      .def("__repr__", [](const CaseFailure& self) { return "<CaseFailure " + self.name + ": " + self.message + ">"; });
  nb::class_<Verification>(module, "Verification", "What verify() found.")
      .def_ro("passed", &Verification::passed, "How many cases are as exact as promised.")
      .def_ro("refused", &Verification::refused, "How many cases the library refuses, with a reason.")
      .def_ro("failures", &Verification::failures, "The cases that failed.")
      .def_prop_ro("ok", &Verification::ok, "Whether cases passed and none failed.")
      .def("__repr__", [](const Verification& self) { return text_of(self); });
  module.def("verify", &verify, "device"_a = nb::none(), nb::kw_only(), "filter"_a = nb::none(), "case"_a = nb::none(), "full"_a = false,
             "threads"_a = nb::none(),
             "Checks the algorithms of a device against a float64 reference on this machine. It takes minutes. filter is a part of the "
             "names of cases, or a pattern with * and ?; case is one name; full takes every combination, which takes hours.");
}

}  // namespace mollify::python
