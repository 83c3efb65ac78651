#include "batch/owner_process.h"

#include <fmt/format.h>
#include <poll.h>

#include <array>

#include "failure.h"

namespace mollify::cli {

Wire OwnerProcess::connect() {
  auto [worker, owner] = make_wire();
  process_.send({{"worker", true}}, std::array{owner.descriptor()});  // where it has ended meanwhile, the worker will notice
  return std::move(worker);
}

OwnerProcess::Said OwnerProcess::receive() {
  const std::optional<Json> message = process_.receive();
  if (!message && !is_ready_) fail(fmt::format("the process that owns the GPU {} before it could work", process_.wait()));
  if (!message) return {.has_ended = true};
  if (message->contains("failed")) throw Failure{(*message)["exit_code"], (*message)["failed"]};
  is_ready_ = true;
  return {.warning = (*message)["ready"]};
}

std::string OwnerProcess::end() {
  constexpr int kPatience = 2000;  // milliseconds
  pollfd end{process_.descriptor(), 0, 0};
  ::poll(&end, 1, kPatience);
  if ((end.revents & POLLHUP) == 0) process_.kill();
  return "the process that owns the GPU " + process_.wait();
}

}  // namespace mollify::cli
