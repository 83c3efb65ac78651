// Files to begin with: written by the library's own writers from random pictures with all that a format holds, and by hand where the
// writers never make such files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/files/mutations.h"

namespace mollify::fuzz {

[[nodiscard]] std::vector<Seed> made_seeds(std::uint64_t seed);

/// TIFF files of few bits and of palettes, PNG files with palettes.
[[nodiscard]] std::vector<Seed> seeds_by_hand(Random& random);

/// Files below 64 KB of the formats that are written, from files and folders.
[[nodiscard]] std::vector<Seed> seeds_of_files(const std::vector<std::string>& paths);

}  // namespace mollify::fuzz
