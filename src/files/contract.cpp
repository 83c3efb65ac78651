#include "files/contract.h"

#include <array>
#include <cstddef>

namespace mollify::files {
namespace {

// Letters stand for PNG, JPEG, TIFF, OpenEXR, WebP, HDR.
constexpr std::array<ContractRow, kItemKinds> kRows = {{
    {ItemKind::pages, "pages", "--K---", "DDKCDD", "as parts of OpenEXR; other formats hold one picture, the first or that of --page"},
    {ItemKind::frames, "frames of an animation", "K---K-", "KDCCKD",
     "as pages or parts, without their times; other formats hold one picture, the first or that of --page"},
    {ItemKind::planes, "planes of a stack", "--K---", "DDKCDD",
     "as parts of OpenEXR; other formats hold one picture, the first or that of --page"},
    {ItemKind::parts, "parts", "---K--", "DDCKDD",
     "as pages of TIFF; other formats hold one picture, the first with colours or that of --page"},
    {ItemKind::levels, "smaller copies of a picture", "--KK--", "DDDDDD", "left out, since they can be made from the picture"},
    {ItemKind::masks, "a transparency mask", "--K---", "CCKCCC", "it becomes unassociated alpha"},
    {ItemKind::layers, "layers and further channels", "--KK--", "DDKKDD", "the format holds grey or colour with one alpha at most"},
    {ItemKind::channel_names, "names of channels", "---K--", "DDD-DD", "the channels keep their order"},
    {ItemKind::channel_types, "channels of several types", "--CK--", "CCCCCC",
     "all become the smallest type that holds the numbers of all"},
    {ItemKind::depth, "numbers stored in fewer bits", "C-C---", "CCCCCC",
     "a blur makes values between them, so they become 8 or 16 bits of full scale"},
    {ItemKind::palette, "a palette", "C-C---", "CCCCCC", "a blur makes colours that are not in it, so it becomes RGB"},
    {ItemKind::white_is_zero, "grey stored as a negative", "--K---", "CCKCCC", "turned into black at zero"},
    {ItemKind::colour_ink, "inks (CMYK)", "-KK---", "CKKCCC", "converted by its profile, or plainly where it has none, to RGB"},
    {ItemKind::colour_lab, "CIE L*a*b*", "--K---", "CCKCCC", "converted to sRGB"},
    {ItemKind::alpha_unassociated, "unassociated alpha", "K-K-K-", "KCKCKC",
     "multiplied into the colours; laid on white or on the colour of --flatten where the format has no alpha"},
    {ItemKind::alpha_associated, "associated alpha", "--KK--", "CCKKCC",
     "colours are divided by it; laid on white or on the colour of --flatten where the format has no alpha"},
    {ItemKind::display_window, "a picture larger or smaller than its stored pixels", "---K--", "CCCKCC",
     "the result is the display window: pixels outside are cut off after the blur, and missing ones are black"},
    {ItemKind::orientation, "orientation", "KKK-KK", "CKKCKC", "the pixels are turned upright"},
    {ItemKind::resolution, "resolution", "KKKKK-", "KKKKKD",
     "WebP says it in Exif, and so does JPEG where JFIF cannot; the format has no field for it"},
    {ItemKind::tiling, "tiles", "--KK--", "DDKKDD", "the format has rows"},
    {ItemKind::coding, "the kind of compression", "KKKKK-", "------", "each format has its own"},
    {ItemKind::jpeg_inside, "JPEG of any kind inside TIFF", "--C---", "------", "it becomes deflate, which loses nothing"},
    {ItemKind::interlacing, "interlaced or progressive storage", "KK----", "------", "each format has its own"},
    {ItemKind::icc_profile, "the colour profile", "KKK-K-", "KKKCKC", "colours become linear light in its primaries or in those of sRGB"},
    {ItemKind::cicp, "coding-independent code points (cICP)", "K-----", "KCCCCC",
     "a profile with that curve and those primaries; linear light"},
    {ItemKind::mastering_display, "mastering display (mDCV)", "K-----", "KDDDDD", "only PNG says it"},
    {ItemKind::content_light, "content light level (cLLI)", "K-----", "KDDDDD", "only PNG says it"},
    {ItemKind::gamma, "gamma (gAMA)", "K-----", "KCCCCC", "a profile with that curve; linear light"},
    {ItemKind::chromaticities, "chromaticities (cHRM)", "K-----", "KCCCCC", "a profile with those primaries; linear light"},
    {ItemKind::light_primaries, "the primaries of linear light", "---K-K", "CCCKCK", "sRGB; TIFF has a profile with those primaries"},
    {ItemKind::srgb_intent, "the statement that colours are sRGB", "K-----", "KDDDDD",
     "what files of the other formats mean where they say nothing"},
    {ItemKind::exif, "Exif", "KKK-K-", "KKKDKD", "the format has no place for it"},
    {ItemKind::xmp, "XMP", "KKKKK-", "KKKKKD", "the format has no place for it"},
    {ItemKind::iptc, "IPTC", "KKK---", "KKKDDD", "the format has no place for it"},
    {ItemKind::photoshop, "Photoshop's resources", "KKK---", "KKKDDD", "the format has no place for them"},
    {ItemKind::text, "texts", "K-----", "KDDDDD", "the format has no place for them"},
    {ItemKind::comment, "comments", "-K----", "CKDDDK", "a text named Comment; the format has no place for them"},
    {ItemKind::timestamp, "the time of the last change", "K-K---", "KCKDCD", "it becomes Exif; the format has no place for it"},
    {ItemKind::loop_count, "how often an animation runs", "K---K-", "KDDDKD", "the result is no animation"},
    {ItemKind::background, "the background colour", "K---K-", "KDDDKD", "the format has no place for it"},
    {ItemKind::geotiff, "GeoTIFF and GDAL tags", "--K---", "DDKDDD", "only TIFF says where a picture lies on the earth"},
    {ItemKind::ome_xml, "OME-XML", "--K---", "DDKDDD", "only TIFF holds it"},
    {ItemKind::imagej, "ImageJ's description", "--K---", "DDKDDD", "only TIFF holds it"},
    {ItemKind::thumbnail, "a thumbnail or preview", "DDDDD-", "DDDDDD", "it shows the picture before the blur"},
    {ItemKind::second_picture, "a second picture, a depth or gain map", "-D----", "DDDDDD", "it shows the picture before the blur"},
    {ItemKind::trailer, "bytes after the end of the picture", "DD-DDD", "DDDDDD", "they may show the picture before the blur"},
    {ItemKind::attribute, "attributes of the header", "---K-K", "DDDDDD", "they mean something in their own format only"},
    {ItemKind::credit, "author, device and description", "--K---", "CCKDCD", "they become Exif; the format has no place for them"},
    {ItemKind::known_tag, "tags and chunks that describe the picture", "K-K---", "DDDDDD", "they mean something in their own format only"},
    {ItemKind::unknown, "a block that mollify does not know", "KKK-K-", "DDDDDD",
     "kept below 64 KB and without a picture inside; --keep-unknown keeps the others of the same format"},
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].kind != static_cast<ItemKind>(i) || kRows[i].same.size() != kWrittenFormats || kRows[i].other.size() != kWrittenFormats) {
      return false;
    }
  }
  return true;
}
static_assert(rows_are_in_order());

Outcome outcome_of(char letter) {
  switch (letter) {
    case 'K':
      return Outcome::kept;
    case 'C':
      return Outcome::converted;
    case 'D':
      return Outcome::dropped;
    case 'R':
      return Outcome::refused;
    default:
      return Outcome::absent;
  }
}

}  // namespace

std::span<const ContractRow> contract() {
  return kRows;
}
const ContractRow& contract_row(ItemKind kind) {
  return kRows[static_cast<std::size_t>(kind)];
}

Outcome outcome(ItemKind kind, FileFormat from, FileFormat to) {
  const ContractRow& row = contract_row(kind);
  return outcome_of((from == to ? row.same : row.other)[static_cast<std::size_t>(to)]);
}

}  // namespace mollify::files
