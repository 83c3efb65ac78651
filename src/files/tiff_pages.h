// From directories to pages: what each directory holds, how its samples are stored, and how directories belong together.
#pragma once

#include <optional>
#include <vector>

#include "files/tiff_samples.h"
#include "files/tiff_structure.h"

namespace mollify::files::tiff {

/// Of which libtiff decodes the strips and tiles of a page. It refuses directories whose samples differ, takes all planes for equally
/// large, and knows no YCbCr with further samples. There it is shown a directory of grey pixels instead, see tiff_substitute.h. Of some
/// compressions it knows nothing, see tiff_codestream.h.
enum class View : std::uint8_t {
  directory,  ///< of the file's
  samples,    ///< of the same samples
  bytes,      ///< of the bytes of pixels whose samples differ
  planes,     ///< of each plane by itself
  none,       ///< strips and tiles are pictures by themselves, which other libraries decode
};

/// How the pixels of a page lie in the file.
struct Layout {
  std::int64_t directory = 0;  ///< its offset
  SampleLayout sample;
  std::vector<MixedSample> mixed;  ///< of each sample, where they differ
  int samples = 1;                 ///< of a pixel as stored; a complex number is two
  int compression = 1;
  bool planar = false;
  int plane_samples = 1;  ///< of a pixel in one plane: the two halves of a complex number
  bool tiled = false;
  bool reverses_bits = false;
  std::uint32_t strile_width = 0, strile_rows = 0;  ///< of a tile or a strip; `strile` is libtiff's word for both
  Conversion conversion = Conversion::none;
  Palette palette;
  YCbCr ycbcr;
  View view = View::directory;
  bool packs_blocks = false;                 ///< YCbCr whose chrominances are subsampled and not decoded by libtiff
  double fill = 0.0;                         ///< of tiles that a sparse file leaves out
  std::optional<std::int64_t> plane_offset;  ///< of a plane behind the only directory: where its pixels begin
  std::int64_t plane_shift = 0;              ///< of a plane of MetaMorph: how far its strips lie behind those of the first

  /// Of a sample of a pixel, as it is unpacked.
  [[nodiscard]] NumberType type_of(int index) const {
    return mixed.empty() ? number_type(sample) : mixed[static_cast<std::size_t>(index)].type;
  }
  /// Of the first samples of a pixel, unpacked.
  [[nodiscard]] std::int64_t bytes_of_samples(int count) const;
  [[nodiscard]] std::int64_t stored_pixel_bytes() const { return bytes_of_samples(samples); }
  [[nodiscard]] int planes() const { return planar ? samples / plane_samples : 1; }
  [[nodiscard]] int strile_samples() const { return planar ? plane_samples : samples; }
  /// How the samples of a plane are stored.
  [[nodiscard]] SampleLayout sample_of_plane(int plane) const {
    return mixed.empty() ? sample : mixed[static_cast<std::size_t>(plane)].stored;
  }
  /// Planes of chrominances with fewer pixels.
  [[nodiscard]] bool has_small_planes() const { return planar && ycbcr.h * ycbcr.v > 1; }
  /// How many pixels of the page a pixel of a plane stands for.
  [[nodiscard]] PerAxis<int> pixels_of_plane(int plane) const {
    return has_small_planes() && (plane == 1 || plane == 2) ? PerAxis<int>{ycbcr.h, ycbcr.v} : PerAxis<int>{1, 1};
  }
  /// Of a strip or a tile as libtiff decodes it.
  [[nodiscard]] std::int64_t strile_row_bytes(int plane = 0) const;
  [[nodiscard]] std::int64_t widest_strile_row_bytes() const;
  /// Strips and tiles without compression are read without libtiff, which would hold whole ones.
  [[nodiscard]] bool reads_directly() const;
};

struct PageOfFile {
  Page page;
  Layout layout;
};
struct Inventory {
  std::vector<PageOfFile> pages;
  std::vector<Item> items;  ///< of the whole file
};
/// All pages of a file. Throws FileError for what cannot be read truly, and where the inventory would need more than `memory_bytes`.
[[nodiscard]] Inventory take_inventory(const StructureReader& file, std::int64_t memory_bytes, Messages& messages);

/// One page, without its place among the others.
[[nodiscard]] PageOfFile describe_page(const StructureReader& file, const DirectoryPlace& directory, Messages& messages);
/// The fields of a directory that do not say how pixels are stored.
[[nodiscard]] std::vector<Item> items_of(const StructureReader& file, const DirectoryPlace& directory, Messages& messages);

}  // namespace mollify::files::tiff
