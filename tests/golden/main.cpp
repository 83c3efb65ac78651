// Prints what the planner decides for devices that need not be there. tests/golden/golden.py records and compares it.
//
//   mollify_golden list DEVICES        the requests to record of each device of the file, as lines of "ID REQUEST"
//   mollify_golden decide DEVICES      reads such lines and writes "ID REQUEST DECISION" for each, separated by tabs
//   mollify_golden describe ID DEVICE  a device that is there, such as vulkan:0, as lines of such a file
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "golden/decision.h"
#include "golden/devices.h"
#include "golden/requests.h"
#include "mollify/mollify.h"

namespace mollify::golden {
namespace {

int fail(const std::string& message) {
  std::cerr << "mollify_golden: " << message << "\n";
  return 1;
}

int list(const std::string& devices) {
  for (const DescribedDevice& device : read_devices(devices)) {
    for (const std::string& request : requests_of(device.info)) std::cout << device.id << "\t" << request << "\n";
  }
  return 0;
}

int decide(const std::string& path) {
  std::map<std::string, DeviceInfo> devices;
  for (DescribedDevice& device : read_devices(path)) devices.emplace(device.id, std::move(device.info));
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    const auto device = devices.find(line.substr(0, tab));
    if (tab == std::string::npos || device == devices.end()) return fail("no line of a known device and a request: " + line);
    const Result<Request> request = parse_request(std::string_view(line).substr(tab + 1));
    if (!request) return fail(line + ": " + request.error().message);
    std::cout << line << "\t" << decision(*request, device->second) << "\n";
  }
  return 0;
}

int describe_present(const std::string& id, const std::string& name) {
  const Result<Device> device = Device::open(name);
  if (!device) return fail(device.error().message);
  std::cout << describe(id, device->info());
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "list") return list(arguments[1]);
  if (arguments.size() == 2 && arguments[0] == "decide") return decide(arguments[1]);
  if (arguments.size() == 3 && arguments[0] == "describe") return describe_present(arguments[1], arguments[2]);
  return fail("usage: mollify_golden list DEVICES | decide DEVICES | describe ID DEVICE");
}

}  // namespace
}  // namespace mollify::golden

int main(int count, char** arguments) {
  std::ios::sync_with_stdio(false);
  try {
    return mollify::golden::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    return mollify::golden::fail(error.what());
  }
}
