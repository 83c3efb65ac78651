// What goes wrong with one file, as the one line that ends it.
#pragma once

#include <fmt/format.h>

#include <new>
#include <string>

#include "failure.h"
#include "files/codec.h"
#include "files/memory_limit.h"

namespace mollify::cli {

/// What `work` returns. What it throws becomes a Failure that begins with the file's name.
template <class Work>
auto with_name_of_file(const std::string& in, const Work& work) {
  try {
    return work();
  } catch (const files::MemoryError& error) {
    fail_for_memory(fmt::format("{}: {}; --memory sets how much", in, error.what()));
  } catch (const files::FileError& error) {
    fail(fmt::format("{}: {}", in, error.what()));
  } catch (const std::bad_alloc&) {
    fail_for_memory(fmt::format("{}: not enough memory", in));
  }
}

}  // namespace mollify::cli
