// What is costly to work out and asked for again and again, by whoever plans: kept by key, for all threads.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace mollify {

/// Copies of values: use pointers to const for large ones. When `limit` are known, all are forgotten. Static ones are made by `new` and
/// never destroyed, since static objects of others may still blur.
template <class Key, class Value>
class Remembered {
 public:
  explicit Remembered(std::size_t limit) : limit_(limit) {}

  [[nodiscard]] std::optional<Value> find(const Key& key) const {
    const std::scoped_lock lock(mutex_);
    const auto known = values_.find(key);
    if (known == values_.end()) return std::nullopt;
    return std::optional<Value>(std::in_place, known->second);  // which may be an optional itself
  }

  void put(const Key& key, Value value) {
    const std::scoped_lock lock(mutex_);
    if (values_.size() >= limit_) values_.clear();
    values_.insert_or_assign(key, std::move(value));
  }

  /// What `make()` gives, which runs outside the lock: two threads may make the same at once.
  template <class Make>
  [[nodiscard]] Value get(const Key& key, const Make& make) {
    if (std::optional<Value> known = find(key)) return *std::move(known);
    Value fresh = make();
    put(key, fresh);
    return fresh;
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::map<Key, Value> values_;
};

}  // namespace mollify
