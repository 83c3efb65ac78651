#include "cases/covering_array.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cases/random.h"

namespace mollify::cases {
namespace {

using Row = std::vector<std::size_t>;

/// Which pairs of values of every two axes no row holds yet.
class PairTable {
 public:
  PairTable(std::span<const std::size_t> sizes, std::size_t leading) {
    for (const std::size_t size : sizes) {
      first_.push_back(values_);
      values_ += size;
    }
    missing_.assign(values_ * values_, false);
    for (std::size_t a = 0; a < std::min(leading, sizes.size()); ++a) {
      for (std::size_t b = a + 1; b < sizes.size(); ++b) {
        for (std::size_t i = 0; i < sizes[a]; ++i) {
          for (std::size_t j = 0; j < sizes[b]; ++j) set(a, i, b, j, true);
        }
      }
    }
  }

  [[nodiscard]] bool is_missing(std::size_t a, std::size_t i, std::size_t b, std::size_t j) const {
    return missing_[(first_[a] + i) * values_ + first_[b] + j];
  }
  void set(std::size_t a, std::size_t i, std::size_t b, std::size_t j, bool missing) {
    missing_[(first_[a] + i) * values_ + first_[b] + j] = missing;
    missing_[(first_[b] + j) * values_ + first_[a] + i] = missing;
  }

  /// Missing pairs that `value` on `axis` would make beside the values of the row.
  [[nodiscard]] std::size_t gain(const Row& row, std::size_t axis, std::size_t value) const {
    std::size_t pairs = 0;
    for (std::size_t other = 0; other < row.size(); ++other) {
      if (other != axis && row[other] != kOpen && is_missing(axis, value, other, row[other])) ++pairs;
    }
    return pairs;
  }
  void cover(const Row& row) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) set(a, row[a], b, row[b], false);
    }
  }

 private:
  std::vector<std::size_t> first_;  // row and column of the first value of an axis
  std::size_t values_ = 0;
  std::vector<bool> missing_;
};

void shuffle(std::vector<std::size_t>& items, Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

std::vector<std::size_t> numbers_to(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// Fills the open axes in random order, each with the allowed value that makes most missing pairs.
void complete(const PairTable& table, std::span<const std::size_t> sizes, const RowAllowed& allowed, Row& row, Random& random) {
  std::vector<std::size_t> axes = numbers_to(sizes.size());
  shuffle(axes, random);
  for (const std::size_t axis : axes) {
    if (row[axis] != kOpen) continue;
    std::vector<std::size_t> values = numbers_to(sizes[axis]);
    shuffle(values, random);
    std::vector<std::size_t> gains;
    for (std::size_t value = 0; value < sizes[axis]; ++value) gains.push_back(table.gain(row, axis, value));
    std::stable_sort(values.begin(), values.end(), [&](std::size_t a, std::size_t b) { return gains[a] > gains[b]; });
    for (const std::size_t value : values) {
      row[axis] = value;
      if (allowed(row)) break;
    }
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> covering_array(std::span<const std::size_t> axis_sizes, std::size_t leading,
                                                     const RowAllowed& allowed, std::uint64_t seed) {
  PairTable table(axis_sizes, leading);
  Random random(seed);
  std::vector<Row> rows;
  if (!allowed(Row(axis_sizes.size(), kOpen))) return rows;
  for (std::size_t a = 0; a < axis_sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < axis_sizes.size(); ++b) {
      for (std::size_t i = 0; i < axis_sizes[a]; ++i) {
        for (std::size_t j = 0; j < axis_sizes[b]; ++j) {
          if (!table.is_missing(a, i, b, j)) continue;
          Row row(axis_sizes.size(), kOpen);
          row[a] = i;
          row[b] = j;
          if (!allowed(row)) continue;
          complete(table, axis_sizes, allowed, row, random);
          table.cover(row);
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

}  // namespace mollify::cases
