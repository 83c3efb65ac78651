// Files that are not complete yet. Their names say which process writes them, so that those of processes that were killed can be told
// from those that are being written.
#pragma once

#include <sys/types.h>

#include <string>

namespace mollify::cli {

/// A name in this folder that nobody has: ".mollify-PID-RANDOM".
[[nodiscard]] std::string temporary_name(const std::string& folder);

/// A file in this folder that goes with its descriptor; -1 where there can be none, and errno says why.
[[nodiscard]] int open_without_name(const std::string& folder);

/// Whoever writes a temporary file holds this lock on it, which ends with the process, however it ends.
void lock_temporary(int descriptor);

/// Removes those of one process, which has ended.
void remove_temporaries_of(pid_t process, const std::string& folder);
/// Removes those of all processes that have ended.
void remove_left_overs(const std::string& folder);

/// The folder of the file that this path leads to.
[[nodiscard]] std::string folder_of(const std::string& path);
/// A link is followed: the file that it leads to, unless that leads nowhere.
[[nodiscard]] std::string follow_links(const std::string& path);

}  // namespace mollify::cli
