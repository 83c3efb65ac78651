#include "files/jpeg_structure.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace mollify::files::jpeg {
namespace {

constexpr std::size_t kFirstMarker = 2;  // after SOI

bool has_no_payload(int marker) {
  return marker == 0x01 || (marker >= kRst0 && marker <= kEoi);
}
bool is_frame(int marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}
int big16(const std::uint8_t* p) {
  return p[0] << 8 | p[1];
}

/// Goes from marker to marker, through a window of the source.
class MarkerCursor {
 public:
  MarkerCursor(ByteSource& source, std::int64_t offset) : source_(source), offset_(offset) {}
  [[nodiscard]] std::int64_t offset() const { return offset_; }
  void skip(std::int64_t count) { offset_ += count; }

  /// The next marker that is no restart marker, with the cursor just behind it; none at the end of the source.
  std::optional<int> next() {
    while (find_ff()) {
      ++offset_;
      const int code = peek();
      if (code < 0) break;
      if (code == 0xFF) continue;  // a fill byte
      ++offset_;
      if (code == 0 || code == 0x01 || (code >= kRst0 && code <= kRst7)) continue;
      return code;
    }
    return std::nullopt;
  }

  /// The payload of the segment whose length field is next.
  Bytes payload() {
    const std::int64_t size = payload_size();
    Bytes bytes = read_exactly(source_, offset_, size);
    offset_ += size;
    return bytes;
  }
  void skip_payload() { offset_ += payload_size(); }

 private:
  std::int64_t payload_size() {
    const Bytes field = read_exactly(source_, offset_, 2);
    const int length = big16(field.data());
    if (length < 2) throw FileError("is a damaged JPEG: a segment has an impossible length");
    offset_ += 2;
    return length - 2;
  }

  int peek() {
    if (!load()) return -1;
    return window_[static_cast<std::size_t>(offset_ - start_)];
  }
  bool find_ff() {
    while (load()) {
      const std::uint8_t* from = window_.data() + (offset_ - start_);
      const std::size_t count = filled_ - static_cast<std::size_t>(offset_ - start_);
      if (const void* found = std::memchr(from, 0xFF, count)) {
        offset_ += static_cast<const std::uint8_t*>(found) - from;
        return true;
      }
      offset_ += static_cast<std::int64_t>(count);
    }
    return false;
  }
  /// Makes the window hold the byte at the cursor.
  bool load() {
    if (offset_ >= start_ && offset_ < start_ + static_cast<std::int64_t>(filled_)) return true;
    start_ = offset_;
    filled_ = source_.read_at(start_, window_);
    return filled_ > 0;
  }

  ByteSource& source_;
  std::int64_t offset_;
  std::int64_t start_ = 0;
  std::size_t filled_ = 0;
  std::array<std::uint8_t, 65536> window_{};
};

[[noreturn]] void fail_damaged(const char* what) {
  throw FileError(std::string("is a damaged JPEG: ") + what);
}

class StructureReader {
 public:
  StructureReader(ByteSource& source, std::int64_t memory_bytes) : cursor_(source, kFirstMarker), memory_left_(memory_bytes) {}

  Structure read() {
    for (;;) {
      const std::optional<int> marker = cursor_.next();
      if (!marker) throw FileError("is cut off: the end of the picture is missing");
      if (*marker == kEoi) break;
      if (*marker == kSoi) throw FileError("is cut off: another picture begins before its end");
      if (!has_no_payload(*marker)) take(*marker);
    }
    check_complete();
    set_restart();
    result_.end = cursor_.offset();
    return std::move(result_);
  }

 private:
  void take(int marker) {
    if (is_frame(marker)) return take_frame(marker);
    if (marker == kDhp) throw FileError("is a hierarchical JPEG; mollify reads baseline and progressive ones");
    if (marker == kDqt) return take_tables();
    if (marker == kSos) return take_scan();
    if (marker == kDri) return take_restart();
    if (marker == kDnl) return take_late_height();
    if ((marker >= kApp0 && marker <= kApp15) || marker == kCom) return take_segment(marker);
    cursor_.skip_payload();
  }

  void take_segment(int marker) {
    Bytes payload = cursor_.payload();
    memory_left_ -= static_cast<std::int64_t>(payload.size() + sizeof(Segment));
    if (memory_left_ < 0) throw FileError("holds more metadata than the memory that may be used for it");
    result_.segments.push_back({static_cast<std::uint8_t>(marker), std::move(payload)});
  }

  static void refuse_unknown_process(int marker, int precision) {
    constexpr std::string_view kRead = "; mollify reads baseline and progressive JPEG of 8 bits";
    const auto refuse = [&](const std::string& what) { throw FileError("is " + what + std::string(kRead)); };
    if (marker > kJpg) refuse("a JPEG with arithmetic coding");
    if (marker == 0xC3) refuse("a lossless JPEG");
    if (marker > 0xC4) refuse("a hierarchical JPEG");
    if (precision != 8) refuse("a JPEG of " + std::to_string(precision) + " bits");
  }

  void take_frame(int marker) {
    if (!tables_of_.empty()) fail_damaged("it has two frames");
    const std::int64_t start = cursor_.offset() + 2;
    const Bytes frame = cursor_.payload();
    if (frame.size() < 6) fail_damaged("its frame header is too short");
    refuse_unknown_process(marker, frame[0]);
    const std::size_t count = frame[5];
    if (frame.size() != 6 + 3 * count || count == 0) fail_damaged("its frame header is inconsistent");
    result_.coding.progressive = marker == kSof2;
    result_.height = big16(&frame[1]);
    result_.width = big16(&frame[3]);
    result_.height_offset = start + 1;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* c = &frame[6 + 3 * i];
      result_.coding.components.push_back({.id = c[0], .h = c[1] >> 4, .v = c[1] & 15, .table = c[2]});
    }
    tables_of_.resize(count);
    precisions_.assign(count, Precisions{});
    for (Precisions& each : precisions_) each.fill(-1);
  }

  void take_tables() {
    static constexpr std::array<std::uint8_t, 64> kNatural = {
        0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
        35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
    const Bytes bytes = cursor_.payload();
    for (std::size_t at = 0; at < bytes.size();) {
      const bool wide = bytes[at] >> 4 != 0;
      const std::size_t slot = bytes[at] & 15;
      if (slot >= current_.size() || bytes.size() - at < (wide ? 129U : 65U)) fail_damaged("a quantisation table is too short");
      ++at;
      for (const std::uint8_t place : kNatural) {
        current_[slot][place] = static_cast<std::uint16_t>(wide ? big16(&bytes[at]) : bytes[at]);
        at += wide ? 2 : 1;
      }
    }
  }

  /// A component has the table that was in its slot when its first scan began.
  void take_scan() {
    const Bytes scan = cursor_.payload();
    const std::size_t count = scan.empty() ? 0 : scan[0];
    if (count == 0 || scan.size() != 4 + 2 * count) fail_damaged("a scan header is inconsistent");
    const int first = scan[1 + 2 * count];
    const int last = std::min<int>(scan[2 + 2 * count], 63);
    std::vector<bool> in_scan(tables_of_.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t c = find_component(scan[1 + 2 * i], in_scan);
      in_scan[c] = true;
      const auto slot = static_cast<std::size_t>(result_.coding.components[c].table);
      if (slot >= current_.size()) fail_damaged("a component has no quantisation table");
      if (!tables_of_[c]) tables_of_[c] = current_[slot];
      if (!result_.coding.progressive) {
        precisions_[c].fill(0);
        continue;
      }
      for (int k = first; k <= last; ++k) precisions_[c][static_cast<std::size_t>(k)] = static_cast<std::int8_t>(scan[3 + 2 * count] & 15);
    }
  }
  [[nodiscard]] std::size_t find_component(int id, const std::vector<bool>& taken) const {
    for (std::size_t c = 0; c < taken.size(); ++c) {
      if (!taken[c] && result_.coding.components[c].id == id) return c;
    }
    fail_damaged("a scan names a component that the frame does not have");
  }

  void take_restart() {
    const Bytes bytes = cursor_.payload();
    if (bytes.size() != 2) fail_damaged("a restart interval is inconsistent");
    result_.coding.restart_interval = std::max(result_.coding.restart_interval, big16(bytes.data()));
  }

  void take_late_height() {
    const Bytes bytes = cursor_.payload();
    if (bytes.size() != 2 || result_.height != 0) return;
    result_.height = big16(bytes.data());
    result_.has_late_height = true;
  }

  void check_complete() {
    if (tables_of_.empty()) fail_damaged("it holds no picture");
    if (result_.width == 0 || result_.height == 0) fail_damaged("its picture has no pixels");
    std::vector<std::array<std::uint16_t, 64>>& tables = result_.coding.tables;
    for (std::size_t c = 0; c < tables_of_.size(); ++c) {
      const bool complete = std::all_of(precisions_[c].begin(), precisions_[c].end(), [](int bits) { return bits == 0; });
      if (!tables_of_[c] || !complete) throw FileError("is cut off: scans of the picture are missing");
      auto found = std::find(tables.begin(), tables.end(), *tables_of_[c]);
      if (found == tables.end()) found = tables.insert(tables.end(), *tables_of_[c]);
      result_.coding.components[c].table = static_cast<int>(found - tables.begin());
    }
  }

  /// Restart intervals of whole rows are said in rows, which outlives another width.
  void set_restart() {
    JpegCoding& coding = result_.coding;
    int widest = 1;
    for (const JpegCoding::Component& each : coding.components) widest = std::max(widest, each.h);
    const int unit = coding.components.size() == 1 ? 8 : 8 * widest;
    const int per_row = (result_.width + unit - 1) / unit;
    if (coding.restart_interval % per_row != 0) return;
    coding.restart_rows = coding.restart_interval / per_row;
    coding.restart_interval = 0;
  }

  using Table = std::array<std::uint16_t, 64>;
  using Precisions = std::array<std::int8_t, 64>;  ///< bits still missing of each coefficient; -1: all
  MarkerCursor cursor_;
  std::int64_t memory_left_;
  Structure result_;
  std::array<Table, 4> current_{};
  std::vector<std::optional<Table>> tables_of_;  ///< of each component
  std::vector<Precisions> precisions_;           ///< of each component
};

}  // namespace

Structure read_structure(ByteSource& source, std::int64_t memory_bytes) {
  return StructureReader(source, memory_bytes).read();
}

std::int64_t end_of_picture(ByteSource& source, std::int64_t offset) {
  MarkerCursor cursor(source, offset + static_cast<std::int64_t>(kFirstMarker));
  while (const std::optional<int> marker = cursor.next()) {
    if (*marker == kEoi) return cursor.offset();
    if (has_no_payload(*marker)) continue;
    if (source.size() - cursor.offset() < 2) break;
    cursor.skip_payload();
  }
  return source.size();
}

}  // namespace mollify::files::jpeg
