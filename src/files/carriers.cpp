#include "files/carriers.h"

#include <array>

namespace mollify::files {
namespace {

// Letters stand for PNG, JPEG, TIFF, OpenEXR, WebP, HDR.
constexpr std::array kCarriers = {
    Carrier{"the thumbnail of Exif", "XX--X-", "its directory is unlinked, and its bytes become zeros"},
    Carrier{"previews in maker notes", "XXX-X-",
            "their bytes become zeros; every other byte stays where it is, so that the notes stay valid"},
    Carrier{"comments and gaps of Exif", "XXX-X-", "the bytes of a picture become zeros"},
    Carrier{"pictures in XMP", "XXXXX-", "thumbnails, GImage, GDepth, containers of further pictures and pictures in base64 are removed"},
    Carrier{"Photoshop's resources", "XXX---", "thumbnails and other pictures are removed"},
    Carrier{"IPTC's preview", "XXX---", "removed"},
    Carrier{"Photoshop's layers", "--X---", "dropped with a message"},
    Carrier{"JFIF and JFXX", "-X----", "their thumbnails are dropped with a message"},
    Carrier{"MPF and gain maps", "-X----", "dropped with a message"},
    Carrier{"a directory with a JPEG alone", "--X---", "dropped with a message"},
    Carrier{"smaller copies of the picture", "--X---", "blurred as the picture is"},
    Carrier{"a preview in the header", "---X--", "dropped with a message"},
    Carrier{"texts, comments and attributes", "XXXX-X", "dropped with a message where they hold a picture"},
    Carrier{"blocks that mollify does not know", "XXX-X-",
            "dropped where they hold the signature of a picture or a video, also in base64, or 64 KB and more"},
    Carrier{"bytes after the end of the picture", "XXXXXX", "dropped with a message; a TIFF has no end, so they go without one"},
};

}  // namespace

std::span<const Carrier> carriers() {
  return kCarriers;
}

}  // namespace mollify::files
