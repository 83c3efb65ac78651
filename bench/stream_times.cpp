// Times a stream beside one run on the whole image and beside independent windows, from host memory to host memory:
//   mollify_stream_times DEVICE CASE [ROWS [ROUNDS]]
// The case is as `mollify verify` names it. Strips have ROWS rows; 0 or nothing: four times the kernel's height. The ways take turns.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases/cases.h"
#include "mollify/mollify.h"

namespace {

using mollify::ConstImageView;
using mollify::Image;
using mollify::ImageView;
using mollify::Rect;

template <class T>
T must(mollify::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

void must(const mollify::Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}

struct Seconds {
  double wall = 0.0, processors = 0.0;
};

template <class Work>
Seconds timed(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t processors = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          static_cast<double>(std::clock() - processors) / CLOCKS_PER_SEC};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// One way to blur the image: what its rounds took, and what preparing it for an image took.
struct Way {
  const char* name;
  std::vector<double> wall{}, processors{}, preparing{};

  void add(const Seconds& seconds, double prepared) {
    wall.push_back(seconds.wall);
    processors.push_back(seconds.processors);
    preparing.push_back(prepared);
  }
  void print(const Way& whole) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < wall.size(); ++i) ratios.push_back(wall[i] / whole.wall[i]);
    std::printf("  %-8s %9.3f ms, %9.3f ms of processors, %9.3f ms to prepare; %.3f of one run\n", name, 1e3 * median(wall),
                1e3 * median(processors), 1e3 * median(preparing), median(ratios));
  }
};

Rect rows_of(const mollify::ImageDesc& desc, std::int32_t first, std::int32_t rows) {
  return {0, first, desc.width, rows};
}

mollify::PlanOptions options_of(const mollify::cases::Case& c) {
  mollify::PlanOptions options;
  if (!c.algorithm.id.empty()) options.algorithm = c.algorithm;
  return options;
}

class Comparison {
 public:
  Comparison(const mollify::Device& device, const mollify::cases::Case& c)
      : plan_(must(mollify::make_plan(c.spec, c.src, c.dst, device.info(), options_of(c)))),
        executable_(must(device.prepare(plan_))),
        src_(must(Image::create(c.src))),
        whole_(must(Image::create(c.dst))),
        made_(must(Image::create(c.dst))) {
    const std::int64_t bytes = src_.desc().row_payload_bytes();
    for (std::int32_t y = 0; y < c.src.height; ++y) {
      for (std::int64_t i = 0; i < bytes; ++i) src_.view().row(y)[i] = static_cast<std::byte>((i * 7 + y * 13 + (i * y >> 5)) & 0x3F);
    }
  }

  void run(std::int32_t rows, int rounds) {
    const mollify::Reach& reach = plan_.reach.y;
    if (rows == 0) rows = static_cast<std::int32_t>(4 * (reach.before + 1 + reach.after));
    std::printf("%s on %s: strips of %d rows, %d rounds\n", to_string(plan_.algorithm).c_str(), plan_.device.name.c_str(), rows, rounds);
    Way whole{"one run"}, stream{"stream"}, windows{"windows"};
    for (int round = -1; round < rounds; ++round) {  // the first one is not counted
      const auto take = [&](Way& way, const auto& prepare, const auto& work) {
        double prepared = timed(prepare).wall;
        const Seconds seconds = timed(work);
        if (round >= 0) way.add(seconds, prepared);
      };
      std::unique_ptr<mollify::Workspace> of_whole, of_windows;
      std::unique_ptr<mollify::Stream> one;
      take(
          whole, [&] { of_whole = std::make_unique<mollify::Workspace>(must(executable_.make_workspace(mollify::Batches::no))); },
          [&] { must(executable_.run(src_.view(), whole_.view(), *of_whole)); });
      of_whole.reset();
      take(
          stream, [&] { one = std::make_unique<mollify::Stream>(must(mollify::Stream::create(executable_))); },
          [&] { run_stream(*one, rows); });
      check("stream");
      take(
          windows,
          [&] {
            of_windows = std::make_unique<mollify::Workspace>(must(executable_.make_workspace({plan_.dst.width, rows})));
            make_window(*of_windows, 0, rows);
            make_window(*of_windows, rows, rows);  // of another shape
          },
          [&] {
            for (std::int32_t y = 0; y < plan_.dst.height; y += rows) make_window(*of_windows, y, rows);
          });
      check("windows");
    }
    for (const Way* way : {&whole, &stream, &windows}) way->print(whole);
  }

 private:
  void run_stream(mollify::Stream& stream, std::int32_t rows) {
    while (stream.next_row() < plan_.dst.height) {
      const std::int32_t given = std::min(rows, plan_.src.height - stream.next_source_row());
      const std::int32_t ready = stream.ready_rows(given);
      const ConstImageView from = crop(ConstImageView(src_.view()), rows_of(plan_.src, stream.next_source_row(), given));
      must(stream.advance(from, crop(made_.view(), rows_of(plan_.dst, stream.next_row(), ready))));
    }
  }

  void make_window(mollify::Workspace& workspace, std::int32_t y, std::int32_t rows) {
    const Rect place = rows_of(plan_.dst, y, std::min(rows, plan_.dst.height - y));
    if (place.height <= 0) return;
    const mollify::ConstWindow all{src_.view(), 0, 0};
    must(executable_.run({&all, 1}, {crop(made_.view(), place), 0, y}, workspace));
  }

  void check(const char* way) {
    for (std::int32_t y = 0; y < plan_.dst.height; ++y) {
      const std::byte *made = made_.view().row(y), *expected = whole_.view().row(y);
      const std::int64_t bytes = plan_.dst.row_payload_bytes();
      if (!std::equal(made, made + bytes, expected))
        throw std::runtime_error(std::string(way) + ": other bits in row " + std::to_string(y));
      std::fill_n(made_.view().row(y), bytes, std::byte{});
    }
  }

  mollify::Plan plan_;
  mollify::Executable executable_;
  Image src_, whole_, made_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 5) {
    std::fprintf(stderr, "usage: mollify_stream_times DEVICE CASE [ROWS [ROUNDS]]\n");
    return 2;
  }
  try {
    constexpr int kRounds = 9;
    const mollify::Device device = must(mollify::Device::open(argv[1]));
    Comparison(device, must(mollify::cases::parse_case(argv[2])))
        .run(argc > 3 ? std::atoi(argv[3]) : 0, argc > 4 ? std::atoi(argv[4]) : kRounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mollify_stream_times: %s\n", error.what());
    return 1;
  }
  return 0;
}
