#include "files/tiff_encoder.h"

#include <algorithm>
#include <cstring>

#include "files/memory_limit.h"

namespace mollify::files::tiff {

PageEncoder::PageEncoder(ByteSink& sink, const Page& page, const PageLayout& layout, bool big_endian, const WriteOptions& options)
    : page_(page), layout_(layout), library_(sink, big_endian) {
  set_up(options);
  strile_bytes_ = layout.strile_row_bytes() * layout.strile_rows;
  const std::int64_t band_bytes = strile_bytes_ * across() * layout.planes();
  MemoryLimit(options.memory_bytes).take(band_bytes, layout.tiled ? "a row of tiles" : "a strip");
  band_.resize(static_cast<std::size_t>(band_bytes));
}

void PageEncoder::write(std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
  for (std::int32_t i = 0; i < count; ++i, from += row_bytes) {
    gather(from);
    ++row_;
    if (row_ % layout_.strile_rows == 0 || row_ == page_.height) encode();
  }
}

PageEncoder::Places PageEncoder::places() const {
  TIFF* handle = library_.handle();
  const std::uint32_t striles = layout_.tiled ? TIFFNumberOfTiles(handle) : TIFFNumberOfStrips(handle);
  Places places;
  for (std::uint32_t i = 0; i < striles; ++i) {
    places.offsets.push_back(TIFFGetStrileOffset(handle, i));
    places.counts.push_back(TIFFGetStrileByteCount(handle, i));
  }
  return places;
}

void PageEncoder::set_up(const WriteOptions& options) {
  const int unit = layout_.is_complex ? 2 : 1;
  library_.set(TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(page_.width));
  library_.set(TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(page_.height));
  library_.set(TIFFTAG_BITSPERSAMPLE, layout_.sample.bits * unit);
  library_.set(TIFFTAG_SAMPLESPERPIXEL, layout_.samples / unit);
  library_.set(TIFFTAG_SAMPLEFORMAT, sample_format(layout_));
  library_.set(TIFFTAG_PLANARCONFIG, layout_.planar ? PLANARCONFIG_SEPARATE : PLANARCONFIG_CONTIG);
  // Of YCbCr libtiff would make blocks.
  library_.set(TIFFTAG_PHOTOMETRIC, layout_.photometric == PHOTOMETRIC_YCBCR ? PHOTOMETRIC_RGB : layout_.photometric);
  if (layout_.reverses_bits) library_.set(TIFFTAG_FILLORDER, FILLORDER_LSB2MSB);
  library_.set(TIFFTAG_COMPRESSION, layout_.compression);
  if (layout_.predictor != 1) library_.set(TIFFTAG_PREDICTOR, layout_.predictor);
  const bool is_deflate = layout_.compression == COMPRESSION_ADOBE_DEFLATE || layout_.compression == COMPRESSION_DEFLATE;
  if (is_deflate && options.compression) library_.set(TIFFTAG_ZIPQUALITY, *options.compression);
  if (layout_.compression == COMPRESSION_WEBP) library_.set(TIFFTAG_WEBP_LOSSLESS, 1);
  if (layout_.tiled) {
    library_.set(TIFFTAG_TILEWIDTH, layout_.strile_width);
    library_.set(TIFFTAG_TILELENGTH, layout_.strile_rows);
  } else {
    library_.set(TIFFTAG_ROWSPERSTRIP, layout_.strile_rows);
  }
}

void PageEncoder::gather(const std::uint8_t* from) {
  if (layout_.photometric == PHOTOMETRIC_CIELAB) {
    row_copy_.assign(from, from + page_.row_bytes());
    swap_lab_signs(layout_.type, row_copy_.data(), page_.width, layout_.samples);
    from = row_copy_.data();
  }
  const std::int64_t row = row_ % layout_.strile_rows;
  const auto size = static_cast<std::size_t>(bytes_of(layout_.type));
  for (int plane = 0; plane < layout_.planes(); ++plane) {
    for (std::int64_t tile = 0; tile < across(); ++tile) {
      const std::int64_t x = tile * layout_.strile_width;
      const std::int64_t width = std::min<std::int64_t>(layout_.strile_width, page_.width - x);
      const std::uint8_t* pixels = from + (x * layout_.samples + plane) * static_cast<std::int64_t>(size);
      if (layout_.planar) {
        plane_row_.resize(static_cast<std::size_t>(width) * size);
        for (std::int64_t i = 0; i < width; ++i) {
          std::memcpy(plane_row_.data() + static_cast<std::size_t>(i) * size, pixels + static_cast<std::size_t>(i * layout_.samples) * size,
                      size);
        }
        pixels = plane_row_.data();
      }
      std::uint8_t* to = band_.data() + (plane * across() + tile) * strile_bytes_ + row * layout_.strile_row_bytes();
      pack_samples(layout_.sample, layout_.type, pixels, width * layout_.strile_samples(), to);
    }
  }
}

void PageEncoder::encode() {
  TIFF* handle = library_.handle();
  const auto first_row = static_cast<std::uint32_t>((row_ - 1) / layout_.strile_rows * layout_.strile_rows);
  const std::int64_t rows = row_ - first_row;
  for (int plane = 0; plane < layout_.planes(); ++plane) {
    for (std::int64_t tile = 0; tile < across(); ++tile) {
      std::uint8_t* data = band_.data() + (plane * across() + tile) * strile_bytes_;
      const auto x = static_cast<std::uint32_t>(tile * layout_.strile_width);
      tmsize_t done = 0;
      if (layout_.tiled) {
        done =
            TIFFWriteEncodedTile(handle, TIFFComputeTile(handle, x, first_row, 0, static_cast<std::uint16_t>(plane)), data, strile_bytes_);
      } else {
        const tmsize_t bytes = rows * layout_.strile_row_bytes();
        done = TIFFWriteEncodedStrip(handle, TIFFComputeStrip(handle, first_row, static_cast<std::uint16_t>(plane)), data, bytes);
      }
      library_.check(done >= 0);
    }
  }
  // What lies beyond the picture in the next tiles is 0. To the right of it nothing is ever written.
  const bool is_overwritten = layout_.sample.bits == 8 * bytes_of(layout_.type) && page_.height - row_ >= layout_.strile_rows;
  if (!is_overwritten) std::fill(band_.begin(), band_.end(), std::uint8_t{0});
}

}  // namespace mollify::files::tiff
