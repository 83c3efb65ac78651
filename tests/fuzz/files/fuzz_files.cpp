// Mutants of image files through the tool's path from a file to a file: no crash, no hang, no half file, no allocation beyond the limit.
//
//   mollify_fuzz_files [--seconds N] [--mutants N] [--seed S] [--format NAME] [--only N] [--save FOLDER] [FILE or FOLDER ...]
//   mollify_fuzz_files --write FOLDER [--mutants N] ...
//
// Mutant N of a seed is the same in every run with the same files. Mutants run in child processes, some hundreds in each, so that one that
// crashes ends its child only; it is saved, and `--only N` runs it again in this process. With --write the mutants become files for
// fuzz_tool.py, and none runs.
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "files/codec.h"
#include "fuzz/files/child.h"
#include "fuzz/files/heap_meter.h"
#include "fuzz/files/seeds.h"
#include "fuzz/files/trial.h"

namespace mollify::fuzz {
namespace {

using files::FileFormat;

struct Arguments {
  std::uint64_t seconds = 0;  ///< 0: until all mutants have run
  std::uint64_t mutants = 1'000'000;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> only;
  std::optional<FileFormat> format;
  std::string save;   ///< a folder for mutants with findings
  std::string write;  ///< a folder for all mutants
  std::vector<std::string> files;
};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view key = argv[i];
    if (!key.starts_with("--")) {
      arguments.files.emplace_back(key);
      continue;
    }
    if (++i == argc) return std::nullopt;
    const std::string_view word = argv[i];
    const auto number = number_of(word);
    if (key == "--save") {
      arguments.save = word;
    } else if (key == "--write") {
      arguments.write = word;
    } else if (key == "--format") {
      arguments.format = files::format_of_name("." + std::string(word));
      if (!arguments.format) return std::nullopt;
    } else if (!number) {
      return std::nullopt;
    } else if (key == "--seconds") {
      arguments.seconds = *number;
    } else if (key == "--mutants") {
      arguments.mutants = *number;
    } else if (key == "--seed") {
      arguments.seed = *number;
    } else if (key == "--only") {
      arguments.only = *number;
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

/// All mutants of one run. They are numbered through the formats: 0 is a PNG file, 1 a JPEG file, and so on, unless one format is asked
/// for.
class Mutants {
 public:
  explicit Mutants(const Arguments& arguments) : seed_(arguments.seed), only_(arguments.format), by_format_(files::kWrittenFormats) {
    for (Seed& each : made_seeds(seed_)) add(std::move(each));
    for (Seed& each : seeds_of_files(arguments.files)) add(std::move(each));
  }

  [[nodiscard]] FileFormat format_of(std::uint64_t number) const {
    return only_.value_or(static_cast<FileFormat>(number % by_format_.size()));
  }
  [[nodiscard]] Random random_of(std::uint64_t number) const {
    return Random((seed_ << 32) + 6 * number + static_cast<std::uint64_t>(format_of(number)));
  }
  [[nodiscard]] Bytes make(std::uint64_t number, Random& random) const {
    return mutant(by_format_[static_cast<std::size_t>(format_of(number))], random);
  }
  [[nodiscard]] std::string seeds_text() const {
    std::string text;
    for (std::size_t i = 0; i < by_format_.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(by_format_[i].size()) + " " + std::string(files::name_of(static_cast<FileFormat>(i)));
    }
    return text;
  }

 private:
  void add(Seed seed) { by_format_[static_cast<std::size_t>(seed.format)].push_back(std::move(seed)); }

  std::uint64_t seed_;
  std::optional<FileFormat> only_;
  std::vector<std::vector<Seed>> by_format_;
};

/// To its own format, and to any.
Outcome run_mutant(const Mutants& mutants, std::uint64_t number, Trial& trial) {
  Random random = mutants.random_of(number);
  const Bytes data = mutants.make(number, random);
  const Outcome outcome = trial.run(data, mutants.format_of(number), random);
  const auto other = static_cast<FileFormat>(random.below(files::kWrittenFormats));
  static_cast<void>(trial.run(data, other, random));
  return outcome;
}

struct Tally {
  std::uint64_t mutants = 0;
  std::uint64_t blurred = 0;
  std::uint64_t findings = 0;
};

class Run {
 public:
  explicit Run(const Arguments& arguments) : arguments_(arguments), mutants_(arguments), tallies_(files::kWrittenFormats) {}

  int all() {
    constexpr std::uint64_t kChunk = 300, kMostFindings = 100;
    std::printf("seeds: %s\n", mutants_.seeds_text().c_str());
    const Clock::time_point start = Clock::now();
    std::uint64_t next = 0, findings = 0;
    while (next < arguments_.mutants && findings < kMostFindings && !is_over(start)) {
      const Chunk chunk = run_chunk(next, std::min(kChunk, arguments_.mutants - next),
                                    [&](std::uint64_t number, Trial& trial) { return run_mutant(mutants_, number, trial); });
      for (std::uint64_t number = next; number < chunk.next; ++number) {
        Tally& tally = tallies_[static_cast<std::size_t>(mutants_.format_of(number))];
        tally.mutants += 1;
        tally.blurred += chunk.blurred[number - next] ? 1 : 0;
      }
      heap_peak_ = std::max(heap_peak_, chunk.heap_peak);
      if (!chunk.finding.empty()) {
        ++findings;
        tell(chunk);
      }
      next = chunk.next;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    for (std::size_t i = 0; i < tallies_.size(); ++i) {
      if (tallies_[i].mutants == 0) continue;
      std::printf("%-8s %8llu mutants, %8llu blurred to their own format, %llu findings\n",
                  std::string(files::name_of(static_cast<FileFormat>(i))).c_str(), static_cast<unsigned long long>(tallies_[i].mutants),
                  static_cast<unsigned long long>(tallies_[i].blurred), static_cast<unsigned long long>(tallies_[i].findings));
    }
    std::printf("%llu mutants of seed %llu in %.0f s, at most %lld MB allocated, %llu findings\n", static_cast<unsigned long long>(next),
                static_cast<unsigned long long>(arguments_.seed), seconds, static_cast<long long>(heap_peak_ >> 20),
                static_cast<unsigned long long>(findings));
    return findings == 0 && has_blurred_each() ? 0 : 1;
  }

  int write_all() {
    for (std::uint64_t number = 0; number < arguments_.mutants; ++number) write(number, arguments_.write);
    return 0;
  }

  /// In this process, without a limit of time, for a debugger.
  int only(std::uint64_t number) {
    if (!arguments_.save.empty()) write(number, arguments_.save);
    const TemporaryFolder folder;
    Trial trial(folder.path());
    try {
      const bool is_blurred = run_mutant(mutants_, number, trial) == Outcome::blurred;
      if (has_leaks()) throw Finding("memory that was not freed");
      std::printf("%s\n", is_blurred ? "blurred" : "refused");
      return 0;
    } catch (const Finding& finding) {
      std::printf("FAILED %s\n", finding.what());
      return 1;
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_over(Clock::time_point start) const {
    return arguments_.seconds != 0 && Clock::now() - start > std::chrono::seconds(arguments_.seconds);
  }

  /// Mutants that are all refused at once would find nothing.
  [[nodiscard]] bool has_blurred_each() const {
    constexpr std::uint64_t kEnough = 100;
    for (const Tally& tally : tallies_) {
      if (tally.mutants >= kEnough && tally.blurred == 0) return false;
    }
    return true;
  }

  void tell(const Chunk& chunk) {
    tallies_[static_cast<std::size_t>(mutants_.format_of(chunk.at))].findings += 1;
    const std::string path = save(chunk.at, chunk.report);
    std::printf("FAILED mutant %llu of seed %llu, %s: %s\n", static_cast<unsigned long long>(chunk.at),
                static_cast<unsigned long long>(arguments_.seed), path.c_str(), chunk.finding.c_str());
    if (!chunk.report.empty()) std::printf("%s\n", chunk.report.substr(0, 3000).c_str());
    std::fflush(stdout);
  }

  [[nodiscard]] std::string name_of(std::uint64_t number) const {
    return std::string(files::name_of(mutants_.format_of(number))) + "-" + std::to_string(arguments_.seed) + "-" + std::to_string(number);
  }

  /// The mutant as a file of the folder.
  std::string write(std::uint64_t number, const std::string& folder) {
    std::filesystem::create_directories(folder);
    Random random = mutants_.random_of(number);
    const Bytes data = mutants_.make(number, random);
    const std::string path = folder + "/" + name_of(number);
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    return path;
  }

  /// The mutant and the report about it, where a folder is given for them.
  std::string save(std::uint64_t number, const std::string& report) {
    if (arguments_.save.empty()) return name_of(number);
    const std::string path = write(number, arguments_.save);
    if (!report.empty()) std::ofstream(path + ".txt") << report;
    return path;
  }

  const Arguments& arguments_;
  Mutants mutants_;
  std::vector<Tally> tallies_;
  std::int64_t heap_peak_ = 0;
};

}  // namespace
}  // namespace mollify::fuzz

int main(int argc, char** argv) {
  const auto arguments = mollify::fuzz::parse(argc, argv);
  if (!arguments) {
    std::fprintf(stderr,
                 "usage: mollify_fuzz_files [--seconds N] [--mutants N] [--seed S] [--format png|jpg|tif|exr|webp|hdr] [--only N] "
                 "[--save FOLDER] [--write FOLDER] [FILE or FOLDER ...]\n");
    return 2;
  }
  mollify::fuzz::Run run(*arguments);
  if (!arguments->write.empty()) return run.write_all();
  return arguments->only ? run.only(*arguments->only) : run.all();
}
