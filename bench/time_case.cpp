#include "bench/time_case.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "bench/buffers.h"
#include "bench/copy.h"
#include "bench/gpu_timing.h"
#include "bench/peers/peer.h"

namespace mollify::bench {
namespace {

struct PreparedPeer {
  std::string name;
  PeerRun run;
};

std::vector<PreparedPeer> prepare_peers(const cases::Case& c, int threads, std::vector<std::string>& notes) {
  std::vector<PreparedPeer> prepared;
  for (const Peer& peer : peers()) {
    Result<PeerRun> run = peer.prepare(c, threads);
    if (!run) {
      notes.push_back(peer.name + " left out: " + run.error().message);
      continue;
    }
    if (!run->note.empty()) notes.push_back(peer.name + ": " + run->note);
    prepared.push_back({peer.name, std::move(run).value()});
  }
  return prepared;
}

Result<cases::CaseResult> verify(const Device& device, const cases::Case& c) {
  cases::CaseResult verified = cases::run_case(device, c);
  switch (verified.outcome) {
    case cases::Outcome::pass:
      return verified;
    case cases::Outcome::refused:
      return Error{ErrorCode::unsupported, "not timed: " + verified.message, {}};
    case cases::Outcome::failed:
      break;
  }
  return Error{ErrorCode::internal, "not timed, since it is wrong: " + verified.message, {}};
}

}  // namespace

Result<Timing> time_case(const Device& device, const cases::Case& c, const TimingOptions& options) {
  const Result<cases::CaseResult> verified = verify(device, c);
  if (!verified) return verified.error();
  const Plan& plan = *verified->plan;

  const Result<Executable> executable = device.prepare(plan);
  if (!executable) return executable.error();
  if (plan.device.backend != Backend::cpu) return time_on_gpu(*executable, *verified, c, options);
  Result<Workspace> workspace = executable->make_workspace();
  if (!workspace) return workspace.error();
  const Sharing sharing = c.layout == cases::Layout::in_place ? Sharing::in_place : Sharing::separate;
  const Result<BufferRing> ring = BufferRing::create(plan.src, plan.dst, sharing, plan.device.llc_bytes);
  if (!ring) return ring.error();

  const int threads = plan.device.threads;
  const Copier copier(threads);
  // Half of the traffic is reading, half is writing, also where source and destination differ in size.
  const auto copy_bytes = static_cast<std::size_t>(plan.min_bytes / 2);
  Timing timing;
  std::vector<PreparedPeer> prepared_peers;
  if (options.peers == Peers::all) prepared_peers = prepare_peers(c, threads, timing.notes);

  std::vector<Candidate> candidates;
  candidates.push_back(
      {"mollify", [&](std::size_t pair) { return executable->run((*ring)[pair].src, (*ring)[pair].dst, *workspace); }});
  for (const CopyMethod method : kCopyMethods) {
    candidates.push_back({std::string(name(method)), [&, method](std::size_t pair) -> Status {
                            copier.run(method, (*ring)[pair].first, (*ring)[pair].second, copy_bytes);
                            return {};
                          }});
  }
  for (const PreparedPeer& peer : prepared_peers) {
    candidates.push_back(
        {peer.name, [&](std::size_t pair) { return peer.run.run((*ring)[pair].src, (*ring)[pair].dst); }});
  }

  const Result<std::vector<Statistics>> measured =
      measure(candidates, {.seconds = options.seconds, .pairs = ring->size()});
  if (!measured) return measured.error();

  const std::span<const Statistics> copies = std::span(*measured).subspan(1, kCopyMethods.size());
  const std::span<const Statistics> peer_times = std::span(*measured).subspan(1 + kCopyMethods.size());
  Record record{.case_name = cases::name(c),
                .algorithm = plan.algorithm.id,
                .options = plan.algorithm.options,
                .backend = std::string(name(plan.device.backend)),
                .device = plan.device.name,
                .spec = plan.spec,
                .src = plan.src,
                .dst = plan.dst,
                .threads = threads,
                .time_ns = measured->front(),
                .copy_ns = std::ranges::min(copies, {}, &Statistics::median).median,
                .end_to_end_ns = std::nullopt,
                .nothing_ns = std::nullopt,
                .min_bytes = plan.min_bytes,
                .max_error = verified->max_error,
                .predicted_error = plan.predicted_error,
                .peer = std::nullopt};
  timing.records.push_back(record);
  for (std::size_t i = 0; i < prepared_peers.size(); ++i) {
    record.algorithm = prepared_peers[i].run.function;
    record.options = prepared_peers[i].run.options;
    record.time_ns = peer_times[i];
    record.max_error = record.predicted_error = std::nullopt;
    record.peer = prepared_peers[i].name;
    timing.records.push_back(record);
  }
  return timing;
}

}  // namespace mollify::bench
