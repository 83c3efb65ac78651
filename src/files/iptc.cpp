// IPTC records (IIM): a marker, the numbers of record and data set, a length, the value.
#include "files/metadata.h"

namespace mollify::files {
namespace {

constexpr std::uint8_t kMarker = 0x1C;
constexpr std::size_t kLongLength = 0x8000;  // the length of the length follows

struct DataSet {
  std::uint8_t record = 0;
  std::uint8_t number = 0;
  std::size_t value = 0;
  std::size_t end = 0;
};

std::optional<DataSet> data_set_at(const Bytes& iptc, std::size_t at) {
  if (iptc.size() - at < 5 || iptc[at] != kMarker) return std::nullopt;
  DataSet set = {iptc[at + 1], iptc[at + 2], at + 5, 0};
  std::size_t size = static_cast<std::size_t>(iptc[at + 3]) << 8 | iptc[at + 4];
  if (size >= kLongLength) {
    const std::size_t digits = size - kLongLength;
    if (digits > 4 || iptc.size() - set.value < digits) return std::nullopt;
    size = 0;
    for (std::size_t i = 0; i < digits; ++i) size = size << 8 | iptc[set.value++];
  }
  if (size > iptc.size() - set.value) return std::nullopt;
  set.end = set.value + size;
  return set;
}

/// The preview of the object and what describes it, and the object itself.
bool is_preview(const DataSet& set) {
  return (set.record == 2 && set.number >= 200 && set.number <= 202) || set.record == 7 || set.record == 8 || set.record == 9;
}

}  // namespace

bool correct_iptc(Bytes& iptc, Messages& messages) {
  Bytes kept;
  std::size_t at = 0;
  while (at < iptc.size() && iptc[at] == kMarker) {
    const std::optional<DataSet> set = data_set_at(iptc, at);
    if (!set) return false;
    const std::span<const std::uint8_t> value = std::span(iptc).subspan(set->value, set->end - set->value);
    if (is_preview(*set) || holds_picture(value)) {
      messages.add("a preview in the IPTC metadata is removed");
    } else {
      kept.insert(kept.end(), iptc.begin() + static_cast<std::ptrdiff_t>(at), iptc.begin() + static_cast<std::ptrdiff_t>(set->end));
    }
    at = set->end;
  }
  for (std::size_t i = at; i < iptc.size(); ++i) {
    if (iptc[i] != 0) return false;
    kept.push_back(0);  // padding stays
  }
  iptc = std::move(kept);
  return true;
}

}  // namespace mollify::files
