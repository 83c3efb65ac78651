#include "lab/results.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace mollify::lab {
namespace {

Error file_error(const std::string& path, const std::string& what) {
  return {ErrorCode::invalid_argument, path + ": " + what, {}};
}

Error system_error(const std::string& path, const std::string& what) {
  return file_error(path, what + (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

bool is_record(const Json& json) {
  return json.is_object() && json.contains("case") && json["case"].is_string();
}

struct Contents {
  std::vector<Json> records;
  std::uintmax_t whole_bytes = 0;  ///< up to the end of the last whole line
  std::string rest;                ///< of a last line that was cut off
  bool lacks_line_end = false;     ///< the last record's
};

Result<Contents> read_contents(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) return system_error(path, "cannot read");
  Contents contents;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    Json json = Json::parse(line);
    if (file.eof() && !is_record(json)) {  // no line end: the writer was killed in the middle
      contents.rest = std::move(line);
      break;
    }
    contents.lacks_line_end = file.eof();
    contents.whole_bytes += line.size() + (file.eof() ? 0 : 1);
    if (line.empty()) continue;
    if (!is_record(json)) return file_error(path, "line " + std::to_string(number) + " is no record of the lab");
    contents.records.push_back(std::move(json));
  }
  return contents;
}

std::string text_of(const Json& record, const char* field) {
  const Json* found = record.find(field);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

int count_of(const Json& record, const char* field) {
  const Json* found = record.find(field);
  return found != nullptr && found->is_integer() ? found->get<int>() : 1;
}

}  // namespace

std::string key_of(const std::string& case_name, const std::string& device, int threads, const std::string& peer,
                   const std::string& cpu_target) {
  return case_name + '\n' + device + '\n' + std::to_string(threads) + '\n' + peer + '\n' + cpu_target;
}

std::string key_of(const Json& record) {
  const int batch = count_of(record, "batch");
  const bool on_cpu = text_of(record, "backend") == "cpu";
  const std::string target = on_cpu ? text_of(record.value("environment", Json::object()), "highway_target") : "";
  return key_of(text_of(record, "case"), text_of(record, "device"), count_of(record, "threads"), text_of(record, "peer"), target) +
         (batch > 1 ? '\n' + std::to_string(batch) : "");
}

Result<std::vector<Json>> read_results(const std::string& path) {
  Result<Contents> contents = read_contents(path);
  if (!contents) return contents.error();
  return std::move(contents->records);
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<FileLock> FileLock::take(const std::string& path) {
  FileLock lock;
  lock.descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (lock.descriptor_ < 0) return system_error(path, "cannot write");
  // Not every file system knows of locks; without them it is as if nobody else were there.
  const bool is_taken = ::flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (is_taken) return file_error(path, "another mollify is adding to it");
  return lock;
}

Result<Results> Results::open(const std::string& path, Resume resume) {
  Results results;
  results.path_ = path;
  std::error_code ignored;
  const bool is_device = std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
  if (!is_device) {  // which any number may write to
    Result<FileLock> lock = FileLock::take(path);
    if (!lock) return lock.error();
    results.lock_ = std::move(*lock);
  }
  if (std::filesystem::is_regular_file(path, ignored) && !std::filesystem::is_empty(path, ignored)) {
    const Result<Contents> contents = read_contents(path);
    if (!contents) return contents.error();
    if (contents->records.empty() && !contents->rest.starts_with("{\"")) return file_error(path, "is no file of the lab");
    if (resume == Resume::no) {
      return file_error(
          path, "holds " + std::to_string(contents->records.size()) + " records already; --resume goes on with it, or name another file");
    }
    for (const Json& record : contents->records) results.done_.insert(key_of(record));
    if (!contents->rest.empty()) results.cut_to_ = contents->whole_bytes;
    results.ends_in_a_line_ = contents->lacks_line_end;
  }
  errno = 0;
  results.file_.open(path, std::ios::app | std::ios::binary);
  if (!results.file_) return system_error(path, "cannot write");
  return results;
}

Status Results::add(const Json& record) {
  if (cut_to_) {
    std::error_code failed;
    std::filesystem::resize_file(path_, *cut_to_, failed);
    if (failed) return file_error(path_, "cannot remove the line that was cut off: " + failed.message());
    cut_to_.reset();
  }
  errno = 0;
  if (ends_in_a_line_) file_ << '\n';
  ends_in_a_line_ = false;
  file_ << record.dump() << '\n';
  file_.flush();
  if (!file_) return system_error(path_, "cannot write");
  done_.insert(key_of(record));
  return {};
}

}  // namespace mollify::lab
