#include "files/tiff_encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "files/memory_limit.h"

namespace mollify::files::tiff {

PageEncoder::PageEncoder(ByteSink& sink, const Page& page, const PageLayout& layout, bool big_endian, const WriteOptions& options)
    : sink_(sink), page_(page), layout_(layout), library_(sink, big_endian), is_direct_(writes_directly(big_endian)) {
  strile_bytes_ = layout.strile_row_bytes() * layout.strile_rows;
  if (is_direct_) return;
  set_up(options);
  const std::int64_t band_bytes = strile_bytes_ * across() * layout.planes();
  MemoryLimit(options.memory_bytes).take(band_bytes, layout.tiled ? "a row of tiles" : "a strip");
  band_.resize(static_cast<std::size_t>(band_bytes));
}

void PageEncoder::write(std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
  if (is_direct_) {
    while (count > 0) {
      const std::int64_t left = layout_.strile_rows - row_ % layout_.strile_rows;
      const auto rows = static_cast<std::int32_t>(std::min<std::int64_t>(count, left));
      write_directly(rows, from, row_bytes);
      row_ += rows;
      count -= rows;
      from += rows * row_bytes;
    }
    return;
  }
  for (std::int32_t i = 0; i < count; ++i, from += row_bytes) {
    gather(from);
    ++row_;
    if (row_ % layout_.strile_rows == 0 || row_ == page_.height) encode();
  }
}

// Whether a tile holds the pixels as the page does.
bool PageEncoder::writes_directly(bool big_endian) const {
  const bool is_packed = layout_.sample.bits == 8 * bytes_of(layout_.type) && !layout_.reverses_bits;
  const bool is_in_order = bytes_of(layout_.type) == 1 || big_endian == (std::endian::native == std::endian::big);
  return layout_.compression == COMPRESSION_NONE && layout_.tiled && !layout_.planar && is_packed && is_in_order &&
         layout_.photometric != PHOTOMETRIC_CIELAB;
}

void PageEncoder::write_directly(std::int32_t count, const std::uint8_t* from, std::ptrdiff_t row_bytes) {
  const std::int64_t tile_row = layout_.strile_row_bytes(), pixel = static_cast<std::int64_t>(page_.pixel_bytes());
  if (row_ % layout_.strile_rows == 0) {
    const std::int64_t begin = sink_.size();
    for (std::int64_t tile = 0; tile < across(); ++tile) {
      direct_.offsets.push_back(static_cast<std::uint64_t>(begin + tile * strile_bytes_));
      direct_.counts.push_back(static_cast<std::uint64_t>(strile_bytes_));
    }
    constexpr std::array<std::uint8_t, 1> kLast{};
    sink_.write_at(begin + across() * strile_bytes_ - 1, kLast);  // what is never written is 0
  }
  band_.resize(static_cast<std::size_t>(count * tile_row));
  for (std::int64_t tile = 0; tile < across(); ++tile) {
    const std::int64_t x = tile * layout_.strile_width;
    const std::int64_t bytes = std::min<std::int64_t>(layout_.strile_width, page_.width - x) * pixel;
    for (std::int32_t y = 0; y < count; ++y) {
      std::uint8_t* to = band_.data() + y * tile_row;
      std::memcpy(to, from + y * row_bytes + x * pixel, static_cast<std::size_t>(bytes));
      std::memset(to + bytes, 0, static_cast<std::size_t>(tile_row - bytes));
    }
    const std::uint64_t place = direct_.offsets[direct_.offsets.size() - static_cast<std::size_t>(across() - tile)];
    sink_.write_at(static_cast<std::int64_t>(place) + row_ % layout_.strile_rows * tile_row, band_);
  }
}

PageEncoder::Places PageEncoder::places() const {
  if (is_direct_) return direct_;
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
