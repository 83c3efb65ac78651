#include "files/codec.h"

namespace mollify::files {

std::unique_ptr<Reader> open_heif(std::unique_ptr<ByteSource>, const ReadOptions&) { throw FileError("cannot be read yet"); }
std::unique_ptr<Reader> open_avif(std::unique_ptr<ByteSource>, const ReadOptions&) { throw FileError("cannot be read yet"); }
std::unique_ptr<Reader> open_jxl(std::unique_ptr<ByteSource>, const ReadOptions&) { throw FileError("cannot be read yet"); }

}  // namespace mollify::files
