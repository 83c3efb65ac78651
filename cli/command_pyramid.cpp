// mollify pyramid: a picture of any size and its smaller copies, in one tiled TIFF.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "commands.h"
#include "failure.h"
#include "files/codec.h"
#include "machine.h"
#include "message.h"
#include "pyramid_file.h"
#include "temporary_files.h"

namespace mollify::cli {
namespace {

constexpr const char* kPyramidFooter = R"(Examples:
  mollify pyramid scan.tif slide.ome.tif                   SubIFDs, as OME-TIFF has them
  mollify pyramid map.tif cog.tif --overviews              pages behind the picture, as GeoTIFF has them
  mollify pyramid huge.tif out.tif --memory 512M --compression 6

Level n is the Gaussian of sigma S * sqrt((4^n - 1) / 3) of the picture itself, taken at the centres
of blocks of 2^n x 2^n pixels and rounded once. The picture is read once, in strips.)";

struct PyramidArgs {
  std::string in, out;
  std::optional<int> levels, page, compression;
  double sigma = 0.7;
  int tile = 256;
  std::optional<std::string> memory;
  bool overviews = false, force = false, quiet = false;
  DeviceArgs device;
};

PyramidRequest request_of(const PyramidArgs& args) {
  constexpr double kLeast = 0.1, kMost = 100.0;
  if (!(args.sigma >= kLeast && args.sigma <= kMost)) fail(fmt::format("--gaussian {}: is {} to {}", args.sigma, kLeast, kMost));
  if (args.tile % 16 != 0) fail(fmt::format("--tile {}: is a multiple of 16", args.tile));
  PyramidRequest request;
  request.levels = args.levels;
  request.sigma = args.sigma;
  request.tile = args.tile;
  request.as_overviews = args.overviews;
  request.page = args.page;
  request.compression = args.compression;
  request.replaces = args.force;
  request.memory_bytes = args.memory ? parse_bytes(*args.memory, "--memory") : free_memory() / 2;
  request.shows_progress = !args.quiet;
  return request;
}

void run(const PyramidArgs& args) {
  require_name(args.in, "IN");
  require_name(args.out, "OUT");
  const PyramidRequest request = request_of(args);
  const std::optional<files::FileFormat> format = files::format_of_name(args.out);
  if (format.value_or(files::FileFormat::tiff) != files::FileFormat::tiff)
    fail(fmt::format("{}: a pyramid is a TIFF; use the extension .tif", args.out));
  DeviceArgs device_args = args.device;
  if (device_args.device == kAutoDevice) device_args.device = kCpuDevice;  // no other makes pyramids
  Device device = open_device(device_args);
  const bool leaves_to_cpu = device.info().backend != Backend::cpu;
  if (leaves_to_cpu) {
    device_args.device = kCpuDevice;
    device = open_device(device_args);
  }
  remove_left_overs(folder_of(args.out));
  const PyramidReport report = make_pyramid(args.in, args.out, request, device);
  if (args.quiet) return;
  if (leaves_to_cpu) fmt::print("{}: its pyramid was made on the CPU, as all are\n", args.in);
  for (const std::string& note : report.blur.notes) fmt::print("{}: {}\n", args.in, message_line(note));
  constexpr double kMilliseconds = 1e3;
  fmt::print("{}: {}x{} and {} smaller copies down to {}x{}; error at most {:.2g}\n", args.out, report.width, report.height, report.levels,
             report.top_width, report.top_height, report.blur.predicted_error);
  fmt::print("  read {:.1f} ms, blur {:.1f} ms, write {:.1f} ms\n", report.blur.read_seconds * kMilliseconds,
             report.blur.blur_seconds * kMilliseconds, report.blur.write_seconds * kMilliseconds);
}

}  // namespace

void add_pyramid(Command& app) {
  const auto args = std::make_shared<PyramidArgs>();
  Command command = app.add_command("pyramid", "Write a picture and its smaller copies into one tiled BigTIFF");
  command.add_option("IN", args->in, "A file with one picture, of any size and of any format that 'mollify blur' reads").required();
  command.add_option("OUT", args->out, "The TIFF").required();
  command.add_option("--levels", args->levels, "Smaller copies [until no side has more than 256 pixels]").in_range(0, 30).type_name("N");
  command.add_option("--gaussian", args->sigma, "Sigma of each level, in the pixels of the level that is twice as large")
      .type_name("S")
      .show_default();
  command.add_flag("--overviews", args->overviews,
                   "The copies are pages behind the picture, in the order of a cloud-optimised GeoTIFF, instead of SubIFDs (OME-TIFF)");
  command.add_option("--tile", args->tile, "Side of the tiles, a multiple of 16").in_range(16, 4096).type_name("N").show_default();
  command.add_option("--compression", args->compression, "0: none; 1 (fast) to 9 (small): deflate [as the source]")
      .in_range(0, 9)
      .type_name("N");
  command.add_option("--page", args->page, "Take this page of the source; the first is 1 [the only one]")
      .in_range(1, 1 << 30)
      .type_name("N");
  command.add_option("--memory", args->memory, "That may be taken, as in 512M or 2G [half of what is free]").type_name("SIZE");
  command.add_flag("--force", args->force, "Replace OUT if it exists");
  add_device_options(command, args->device);
  command.add_flag("--quiet", args->quiet, "Print nothing but errors");
  command.set_footer(kPyramidFooter);
  command.on_run([args] { run(*args); });
}

}  // namespace mollify::cli
