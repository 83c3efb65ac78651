#include "files/codec.h"

namespace mollify::files {

std::unique_ptr<Reader> open_webp(std::unique_ptr<ByteSource>, const ReadOptions&) { throw FileError("cannot be read yet"); }
std::unique_ptr<Writer> make_webp_writer(ByteSink&, const Document&, const WriteOptions&) { throw FileError("cannot be written yet"); }

}  // namespace mollify::files
