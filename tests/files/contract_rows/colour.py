"""Rows of the contract: what colours mean, how a picture is shown, its size on paper."""
import struct
import zlib

from PIL import Image

from tests.files.colour_profiles import matrix_profile
from tests.files.contract_rows.rows import Row
from tests.files.contract_rows.sources import chunk, exr, hdr, jpeg, tiff, webp

PROFILE = matrix_profile(1.8)
OTHER_PRIMARIES = (0.68, 0.32, 0.265, 0.69, 0.15, 0.06, 0.3127, 0.329)  # red, green, blue, white: x and y


# How it is shown

def exif_of(orientation):
    exif = Image.Exif()
    exif[0x112] = orientation
    return exif.tobytes()  # "Exif\0\0" and a TIFF structure


def orientation(file):
    if file.format == "HDR":
        return {b"-Y": None, b"-X": 6}[file.hdr_lines()[-1].split()[0]]
    said = file.tag("IFD0:Orientation")
    return said if said and said != 1 else None


def is_turned(source, result):
    return result.tag("ImageHeight") in (24, "24") or result.tag("ImageSize") == "16 24"


def dots_an_inch(file):
    """x and y, whatever the unit; whole numbers, as JPEG has them."""
    inch = {1: None, 2: 1.0, 3: 2.54, 0: None}
    for group, x, y, unit in [("PNG", "PNG-pHYs:PixelsPerUnitX", "PNG-pHYs:PixelsPerUnitY", "PNG-pHYs:PixelUnits"),
                              ("JPEG", "JFIF:XResolution", "JFIF:YResolution", "JFIF:ResolutionUnit"),
                              ("", "IFD0:XResolution", "IFD0:YResolution", "IFD0:ResolutionUnit")]:
        if x not in file.tags or group not in ("", file.format):
            continue
        scale = 0.0254 if group == "PNG" else {1: 1, 2: 2.54}[file.tags[unit]] if group == "JPEG" else {2: 1, 3: 2.54}[file.tags[unit]]
        return [round(file.tags[x] * scale), round(file.tags[y] * scale)]
    head = file.headers()[0] if file.format == "OpenEXR" else {}
    if "xDensity" not in head:
        return None
    density, aspect = struct.unpack("<f", head["xDensity"][1])[0], struct.unpack("<f", head["pixelAspectRatio"][1])[0]
    return [round(density), round(density * aspect)]


def exif_of_resolution():
    exif = Image.Exif()
    exif[0x11A], exif[0x11B], exif[0x128] = 300.0, 200.0, 2
    return exif.tobytes()[6:]


# What its colours mean

def profile(file):
    """Its bytes where it has one. Pillow opens no TIFF of halves."""
    if file.format == "TIFF":
        return file.tiff_tag(34675)
    return file.pillow().info.get("icc_profile") if file.format in ("PNG", "JPEG", "WebP") else None


def is_said_otherwise(source, result):
    """By a profile, or by colours that became those that such files have."""
    changes = "OpenEXR" in (source.format, result.format) or "HDR" in (source.format, result.format)
    return profile(result) is not None or (changes and any("colour becomes" in message for message in result.messages))


def in_chunk(kind):
    def read(file):
        return file.chunk(kind) if file.format == "PNG" else None
    return read


def primaries(file):
    """Red, green, blue and white, to three digits."""
    numbers = None
    if file.format == "PNG" and file.chunk(b"cHRM"):
        stored = struct.unpack(">8i", file.chunk(b"cHRM"))
        numbers = [n / 1e5 for n in stored[2:] + stored[:2]]
    elif file.format == "OpenEXR" and "chromaticities" in file.headers()[0]:
        numbers = struct.unpack("<8f", file.headers()[0]["chromaticities"][1])
    elif file.format == "HDR":
        lines = [line for line in file.hdr_lines() if line.startswith(b"PRIMARIES=")]
        numbers = [float(n) for n in lines[0].split(b"=")[1].split()] if lines else None
    return numbers and [round(n, 3) for n in numbers]


COLOUR_WORDS = ("colour profile", "colour becomes", "colour is")
ROWS = {
    "orientation": Row({"PNG": lambda: chunk(b"eXIf", exif_of(6)[6:]), "JPEG": lambda: jpeg(exif=exif_of(6)),
                        "TIFF": lambda: tiff(extratags=[(274, 3, 1, 6, True)]), "WebP": lambda: webp(8, (b"EXIF", exif_of(6)[6:])),
                        "HDR": lambda: hdr(axes=b"-X %d -Y %d")},
                       orientation, words=("turned upright",), becomes=is_turned),
    "resolution": Row({"PNG": lambda: chunk(b"pHYs", struct.pack(">IIB", 11811, 7874, 1)), "JPEG": lambda: jpeg(dpi=(300, 200)),
                       "TIFF": lambda: tiff(resolution=(300, 200), resolutionunit="inch"),
                       "WebP": lambda: webp(8, (b"EXIF", exif_of_resolution())),
                       "OpenEXR": lambda: exr({"xDensity": 300.0, "pixelAspectRatio": 200 / 300})}, dots_an_inch),
    "the colour profile": Row({"PNG": lambda: chunk(b"iCCP", b"name\0\0" + zlib.compress(PROFILE)),
                               "JPEG": lambda: jpeg(icc_profile=PROFILE), "TIFF": lambda: tiff(iccprofile=PROFILE),
                               "WebP": lambda: webp(0x20, (b"ICCP", PROFILE))}, profile, words=COLOUR_WORDS, becomes=is_said_otherwise),
    "coding-independent code points (cICP)": Row({"PNG": lambda: chunk(b"cICP", b"\x0c\x08\0\1")}, in_chunk(b"cICP"), words=COLOUR_WORDS,
                                                 becomes=is_said_otherwise),
    "mastering display (mDCV)": Row({"PNG": lambda: chunk(b"mDCV", bytes(range(24)))}, in_chunk(b"mDCV")),
    "content light level (cLLI)": Row({"PNG": lambda: chunk(b"cLLI", bytes(range(8)))}, in_chunk(b"cLLI")),
    "gamma (gAMA)": Row({"PNG": lambda: chunk(b"gAMA", struct.pack(">I", 55556))}, in_chunk(b"gAMA"), words=COLOUR_WORDS,
                        becomes=is_said_otherwise),
    "chromaticities (cHRM)": Row({"PNG": lambda: chunk(b"cHRM", struct.pack(">8I", 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000))},
                                 primaries, words=COLOUR_WORDS, becomes=is_said_otherwise),
    "the primaries of linear light": Row({"OpenEXR": lambda: exr({"chromaticities": OTHER_PRIMARIES}),
                                          "HDR": lambda: hdr(b"PRIMARIES=" + " ".join(map(str, OTHER_PRIMARIES)).encode())}, primaries,
                                         words=COLOUR_WORDS, becomes=is_said_otherwise),
    "the statement that colours are sRGB": Row({"PNG": lambda: chunk(b"sRGB", b"\1")}, in_chunk(b"sRGB")),
}
