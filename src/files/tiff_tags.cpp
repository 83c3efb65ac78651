#include "files/tiff_tags.h"

#include <algorithm>
#include <array>

namespace mollify::files::tiff {
namespace {

using enum TagUse;

constexpr TagRow known(std::uint16_t tag, std::string_view name) {
  return {tag, name, item, ItemKind::known_tag};
}
constexpr TagRow credit(std::uint16_t tag, std::string_view name) {
  return {tag, name, item, ItemKind::credit};
}
constexpr TagRow geotiff(std::uint16_t tag, std::string_view name) {
  return {tag, name, item, ItemKind::geotiff};
}

// In the order of their numbers.
constexpr std::array kTags = {
    TagRow{254, "NewSubfileType", structure},
    TagRow{255, "SubfileType", structure},
    TagRow{256, "ImageWidth", structure},
    TagRow{257, "ImageLength", structure},
    TagRow{258, "BitsPerSample", structure},
    TagRow{259, "Compression", structure},
    TagRow{262, "PhotometricInterpretation", structure},
    TagRow{266, "FillOrder", structure},
    known(269, "DocumentName"),
    credit(270, "ImageDescription"),
    credit(271, "Make"),
    credit(272, "Model"),
    TagRow{273, "StripOffsets", structure},
    TagRow{274, "Orientation", structure},
    TagRow{277, "SamplesPerPixel", structure},
    TagRow{278, "RowsPerStrip", structure},
    TagRow{279, "StripByteCounts", structure},
    TagRow{280, "MinSampleValue", untrue},
    TagRow{281, "MaxSampleValue", untrue},
    TagRow{282, "XResolution", structure},
    TagRow{283, "YResolution", structure},
    TagRow{284, "PlanarConfiguration", structure},
    known(285, "PageName"),
    known(286, "XPosition"),
    known(287, "YPosition"),
    TagRow{288, "FreeOffsets", elsewhere},
    TagRow{289, "FreeByteCounts", elsewhere},
    TagRow{292, "T4Options", structure},
    TagRow{293, "T6Options", structure},
    TagRow{296, "ResolutionUnit", structure},
    known(297, "PageNumber"),
    TagRow{301, "TransferFunction", item, ItemKind::unknown},
    credit(305, "Software"),
    TagRow{306, "DateTime", item, ItemKind::timestamp},
    credit(315, "Artist"),
    known(316, "HostComputer"),
    TagRow{317, "Predictor", structure},
    known(318, "WhitePoint"),
    known(319, "PrimaryChromaticities"),
    TagRow{320, "ColorMap", structure},
    TagRow{322, "TileWidth", structure},
    TagRow{323, "TileLength", structure},
    TagRow{324, "TileOffsets", structure},
    TagRow{325, "TileByteCounts", structure},
    TagRow{326, "BadFaxLines", structure},
    TagRow{327, "CleanFaxData", structure},
    TagRow{328, "ConsecutiveBadFaxLines", structure},
    TagRow{330, "SubIFDs", directory},
    known(332, "InkSet"),
    known(333, "InkNames"),
    known(334, "NumberOfInks"),
    known(336, "DotRange"),
    known(337, "TargetPrinter"),
    TagRow{338, "ExtraSamples", structure},
    TagRow{339, "SampleFormat", structure},
    TagRow{340, "SMinSampleValue", untrue},
    TagRow{341, "SMaxSampleValue", untrue},
    TagRow{347, "JPEGTables", structure},
    TagRow{400, "GlobalParametersIFD", elsewhere},
    TagRow{433, "Decode", item, ItemKind::known_tag},
    TagRow{512, "JPEGProc", structure},
    TagRow{513, "JPEGInterchangeFormat", structure},
    TagRow{514, "JPEGInterchangeFormatLength", structure},
    TagRow{515, "JPEGRestartInterval", structure},
    TagRow{517, "JPEGLosslessPredictors", structure},
    TagRow{518, "JPEGPointTransforms", structure},
    TagRow{519, "JPEGQTables", structure},
    TagRow{520, "JPEGDCTables", structure},
    TagRow{521, "JPEGACTables", structure},
    TagRow{529, "YCbCrCoefficients", structure},
    TagRow{530, "YCbCrSubSampling", structure},
    TagRow{531, "YCbCrPositioning", structure},
    TagRow{532, "ReferenceBlackWhite", item, ItemKind::unknown},
    TagRow{700, "XMP", item, ItemKind::xmp},
    known(32995, "Matteing"),
    TagRow{32996, "DataType", structure},
    TagRow{32997, "ImageDepth", structure},
    TagRow{32998, "TileDepth", structure},
    known(33300, "PixarImageFullWidth"),
    known(33301, "PixarImageFullLength"),
    known(33302, "PixarTextureFormat"),
    known(33303, "PixarWrapModes"),
    known(33304, "PixarFovCot"),
    known(33305, "PixarMatrixWorldToScreen"),
    known(33306, "PixarMatrixWorldToCamera"),
    credit(33432, "Copyright"),
    geotiff(33550, "ModelPixelScaleTag"),
    TagRow{33628, "MetaMorph UIC1Tag", elsewhere},
    TagRow{33629, "MetaMorph UIC2Tag", elsewhere},
    TagRow{33630, "MetaMorph UIC3Tag", elsewhere},
    TagRow{33631, "MetaMorph UIC4Tag", elsewhere},
    TagRow{33723, "IPTC", item, ItemKind::iptc},
    geotiff(33920, "IntergraphMatrixTag"),
    geotiff(33922, "ModelTiepointTag"),
    geotiff(34264, "ModelTransformationTag"),
    TagRow{34377, "Photoshop", item, ItemKind::photoshop},
    TagRow{34412, "CZ_LSMINFO", elsewhere},
    TagRow{34665, "ExifIFD", directory},
    TagRow{34675, "ICCProfile", item, ItemKind::icc_profile},
    geotiff(34735, "GeoKeyDirectoryTag"),
    geotiff(34736, "GeoDoubleParamsTag"),
    geotiff(34737, "GeoAsciiParamsTag"),
    TagRow{34853, "GPSIFD", directory},
    TagRow{37439, "StoNits", item, ItemKind::known_tag},
    TagRow{37724, "ImageSourceData", item, ItemKind::photoshop},
    TagRow{40965, "InteroperabilityIFD", directory},
    geotiff(42112, "GDAL_METADATA"),
    geotiff(42113, "GDAL_NODATA"),
    TagRow{50674, "LercParameters", structure},
    geotiff(50844, "RPCCoefficientTag"),
    TagRow{50838, "IJMetadataByteCounts", item, ItemKind::imagej},
    TagRow{50839, "IJMetadata", item, ItemKind::imagej},
};

}  // namespace

TagRow tag_row(std::uint16_t tag) {
  const auto found = std::find_if(kTags.begin(), kTags.end(), [tag](const TagRow& each) { return each.tag == tag; });
  return found == kTags.end() ? TagRow{tag, "", item, ItemKind::unknown} : *found;
}

std::string tag_name(std::uint16_t tag) {
  const std::string_view name = tag_row(tag).name;
  return name.empty() ? "tag " + std::to_string(tag) : std::string(name) + " (" + std::to_string(tag) + ")";
}

}  // namespace mollify::files::tiff
