// Changes to files: of single bits and bytes, of ranges, and of the structures that a format is made of.
#pragma once

#include <span>

#include "cases/random.h"
#include "files/document.h"

namespace mollify::fuzz {

using cases::Random;
using files::Bytes;

struct Seed {
  files::FileFormat format = files::FileFormat::png;
  Bytes data;
};

/// Changes that know nothing of formats: bits, bytes, numbers, ranges, the end.
void change_bytes(Bytes& data, Random& random);

/// Changes to chunks, segments, attributes, lines or directory entries. Checksums and sizes are mostly made right again, so that readers go
/// on. `other` is a file from which pieces are taken. False where the file does not have the structure of its format.
[[nodiscard]] bool change_structure(files::FileFormat format, Bytes& data, const Bytes& other, Random& random);

/// One to several changes of either kind to a seed, or pieces of two of them. Of a format's seeds any may be taken.
[[nodiscard]] Bytes mutant(std::span<const Seed> seeds, Random& random);

}  // namespace mollify::fuzz
