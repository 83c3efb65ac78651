// Image writers write through this, so a full disk is noticed whether or not the writer of that format looks.
#pragma once

#include <OpenImageIO/filesystem.h>

#include "atomic_file.h"

namespace mollify::cli {

/// An AtomicFile as OpenImageIO's writers take files.
class FileProxy final : public OIIO::Filesystem::IOProxy {
 public:
  FileProxy(const std::string& path, AtomicFile& file) : IOProxy(path, Write), file_(file) {}

  const char* proxytype() const override { return "mollify"; }
  size_t read(void* data, size_t size) override { return moved(file_.read(data, size, m_pos)); }
  size_t write(const void* data, size_t size) override { return moved(file_.write(data, size, m_pos)); }
  size_t pread(void* data, size_t size, std::int64_t offset) override { return file_.read(data, size, offset); }
  size_t pwrite(const void* data, size_t size, std::int64_t offset) override { return file_.write(data, size, offset); }
  size_t size() const override { return file_.size(); }

 private:
  size_t moved(size_t bytes) {
    m_pos += static_cast<std::int64_t>(bytes);
    return bytes;
  }

  AtomicFile& file_;
};

}  // namespace mollify::cli
