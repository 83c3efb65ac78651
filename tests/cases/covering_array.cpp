#include "cases/covering_array.h"

#include <numeric>
#include <optional>
#include <utility>

#include "cases/random.h"

namespace mollify::cases {
namespace {

enum class State : std::uint8_t { forbidden, uncovered, covered };

/// The state of every pair of values of every two axes.
class PairTable {
 public:
  PairTable(std::span<const std::size_t> sizes, const PairAllowed& allowed) {
    for (const std::size_t size : sizes) {
      first_.push_back(values_);
      values_ += size;
    }
    states_.assign(values_ * values_, State::forbidden);
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      for (std::size_t b = a + 1; b < sizes.size(); ++b) {
        for (std::size_t i = 0; i < sizes[a]; ++i) {
          for (std::size_t j = 0; j < sizes[b]; ++j) {
            if (allowed(a, i, b, j)) set(a, i, b, j, State::uncovered);
          }
        }
      }
    }
  }

  [[nodiscard]] State state(std::size_t a, std::size_t i, std::size_t b, std::size_t j) const {
    return states_[index(a, i, b, j)];
  }
  void set(std::size_t a, std::size_t i, std::size_t b, std::size_t j, State state) {
    states_[index(a, i, b, j)] = state;
    states_[index(b, j, a, i)] = state;
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t a, std::size_t i, std::size_t b, std::size_t j) const {
    return (first_[a] + i) * values_ + first_[b] + j;
  }

  std::vector<std::size_t> first_;  // row and column of the first value of an axis
  std::size_t values_ = 0;
  std::vector<State> states_;
};

constexpr std::size_t kOpen = SIZE_MAX;

/// Pairs that `value` on `axis` would newly cover, or nothing where it may not stand beside the values already there.
std::optional<std::size_t> gain(const PairTable& table, const std::vector<std::size_t>& row, std::size_t axis,
                                std::size_t value) {
  std::size_t pairs = 0;
  for (std::size_t other = 0; other < row.size(); ++other) {
    if (other == axis || row[other] == kOpen) continue;
    const State state = table.state(axis, value, other, row[other]);
    if (state == State::forbidden) return std::nullopt;
    pairs += state == State::uncovered ? 1 : 0;
  }
  return pairs;
}

/// Fills the open axes in random order, each with the value that covers most; false if an axis has none.
bool complete(const PairTable& table, std::span<const std::size_t> sizes, std::vector<std::size_t>& row,
              Random& random) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (const std::size_t axis : order) {
    if (row[axis] != kOpen) continue;
    std::optional<std::size_t> best_gain;
    std::vector<std::size_t> best;
    for (std::size_t value = 0; value < sizes[axis]; ++value) {
      const auto pairs = gain(table, row, axis, value);
      if (!pairs || (best_gain && *pairs < *best_gain)) continue;
      if (!best_gain || *pairs > *best_gain) best.clear();
      best_gain = pairs;
      best.push_back(value);
    }
    if (best.empty()) return false;
    row[axis] = random.pick(best);
  }
  return true;
}

void cover(PairTable& table, const std::vector<std::size_t>& row) {
  for (std::size_t a = 0; a < row.size(); ++a) {
    for (std::size_t b = a + 1; b < row.size(); ++b) table.set(a, row[a], b, row[b], State::covered);
  }
}

}  // namespace

std::vector<std::vector<std::size_t>> covering_array(std::span<const std::size_t> axis_sizes,
                                                     const PairAllowed& allowed, std::uint64_t seed) {
  PairTable table(axis_sizes, allowed);
  Random random(seed);
  std::vector<std::vector<std::size_t>> rows;
  for (std::size_t a = 0; a < axis_sizes.size(); ++a) {
    for (std::size_t b = a + 1; b < axis_sizes.size(); ++b) {
      for (std::size_t i = 0; i < axis_sizes[a]; ++i) {
        for (std::size_t j = 0; j < axis_sizes[b]; ++j) {
          if (table.state(a, i, b, j) != State::uncovered) continue;
          std::vector<std::size_t> row(axis_sizes.size(), kOpen);
          row[a] = i;
          row[b] = j;
          if (!complete(table, axis_sizes, row, random)) continue;
          cover(table, row);
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

}  // namespace mollify::cases
