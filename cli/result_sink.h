// Where the tool writes results: into a file that appears when it is complete, or into one that is open.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "atomic_file.h"
#include "files/codec.h"

namespace mollify::cli {

class ResultSink : public files::ByteSink {
 public:
  virtual void commit() {}
};

/// A file that appears under its name when it is complete.
class FileSink final : public ResultSink {
 public:
  FileSink(const std::string& path, bool replaces) : file_(path, replaces) {}
  [[nodiscard]] std::int64_t size() const override { return static_cast<std::int64_t>(file_.size()); }
  void write_at(std::int64_t offset, std::span<const std::uint8_t> bytes) override;
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) override;
  void commit() override { file_.commit(); }

 private:
  AtomicFile file_;
};

/// A file that is open.
class OpenFileSink final : public ResultSink {
 public:
  OpenFileSink(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  [[nodiscard]] std::int64_t size() const override;
  void write_at(std::int64_t offset, std::span<const std::uint8_t> bytes) override;
  [[nodiscard]] std::size_t read_at(std::int64_t offset, std::span<std::uint8_t> into) override;

 private:
  std::string name_;
  int descriptor_;
};

}  // namespace mollify::cli
