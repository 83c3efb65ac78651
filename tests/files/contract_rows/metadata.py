"""Rows of the contract: blocks of metadata, other pictures, and what nobody knows."""
import io
import struct

import numpy as np
from PIL import Image

from tests.files import png_files
from tests.files.contract_rows.rows import Row
from tests.files.contract_rows.sources import (RANDOM, RGB, animation, chunk, exr, hdr, jpeg, pillow, png, tag, tiff, tiff_pages,
                                              webp)
from tests.files.exif_blocks import exif_with, thumbnail_directory
from tests.files.exr_test import attribute

# Blocks that several formats hold

XMP = (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
       b'<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" dc:source="a shoebox"/></rdf:RDF></x:xmpmeta>')
IPTC = b"\x1c\x02\x50\0\x04Anna"  # By-line
PHOTOSHOP = b"8BIM\x04\x0a\0\0" + struct.pack(">I", 1) + b"\1\0"  # CopyrightFlag


def exif_block():
    exif = Image.Exif()
    exif[0x10F] = "Mollusc"
    exif.get_ifd(0x8769)[0x829A] = 0.125
    return exif.tobytes()


def tiff_with_exif():
    """Pillow writes the directory of Exif into the TIFF's own."""
    exif = Image.Exif()
    exif.load(exif_block()[6:])
    stream = io.BytesIO()
    Image.fromarray(RGB).save(stream, "TIFF", exif=exif)
    return stream.getvalue()


def by_exiftool(*names):
    def read(file):
        return file.tag(*names)
    return read


def xmp(file):
    """Of OpenEXR exiftool prints the packet as it is."""
    packet = file.headers()[0].get("xmp", ("", b""))[1] if file.format == "OpenEXR" else b""
    return "a shoebox" if b"a shoebox" in packet else file.tag("XMP-dc:Source")


def resources(data):
    return b"Photoshop 3.0\0" + data


def iptc_resource():
    return b"8BIM\x04\x04\0\0" + struct.pack(">I", len(IPTC)) + IPTC + bytes(len(IPTC) % 2)


# Of one format or two

def time(file):
    return file.tag("PNG:ModifyDate") if file.format == "PNG" else file.tiff_tag(306) if file.format == "TIFF" else None


def loops(file):
    if file.format == "PNG" and file.chunk(b"acTL"):
        return struct.unpack(">I", file.chunk(b"acTL")[4:])[0]
    return struct.unpack("<H", file.chunk(b"ANIM")[4:])[0] if file.format == "WebP" and file.chunk(b"ANIM") else None


def background(file):
    if file.format == "PNG" and file.chunk(b"bKGD"):
        return struct.unpack(">3H", file.chunk(b"bKGD"))
    if file.format == "WebP" and file.chunk(b"ANIM"):
        return tuple(file.chunk(b"ANIM")[2::-1])  # stored as B, G, R, A
    return None


def png_with_background():
    data, header = animation("PNG"), 8 + 25  # the signature and IHDR
    return data[:header] + png_files.chunk(b"bKGD", struct.pack(">3H", 10, 20, 30)) + data[header:]


def webp_with_background():
    data = bytearray(animation("WEBP"))
    at = data.index(b"ANIM") + 8
    data[at:at + 4] = b"\x1e\x14\x0a\xff"
    return bytes(data)


def in_description(words):
    def read(file):
        text = file.tiff_tag(270)
        return words if text and words in text else None
    return read


def text(file):
    return png_files.texts(file.data).get(b"Title") if file.format == "PNG" else None


def is_said_as_text(source, result):
    return png_files.texts(result.data)[b"Comment"][0] == b"a remark" if result.format == "PNG" else True


def comment(file):
    if file.format == "HDR":
        return b"a remark" if b"# a remark" in file.hdr_lines() else None
    return b"".join(file.segments(0xFE)) or None


# Other pictures

def small_picture():
    return pillow("JPEG", RANDOM.integers(0, 256, (32, 40, 3), dtype=np.uint8))


THUMBNAIL = small_picture()
SECOND = small_picture()


def exif_thumbnail():
    return exif_with("<", following_of=thumbnail_directory(THUMBNAIL))


def holds(picture):
    """Whether any of the data of its scan is there."""
    scan = picture[picture.index(b"\xff\xda") + 14:]

    def read(file):
        return any(scan[at:at + 16] in file.data for at in range(0, len(scan) - 16, 16)) or None
    return read


PREVIEW = RANDOM.bytes(4 * 6 * 4)


def thumbnail(file):
    if PREVIEW[:64] in file.data:
        return True
    return holds(THUMBNAIL)(file)


def exr_with(*attributes):
    """Attributes put into the header, behind the first that is there."""
    data = exr()
    return data[:8] + b"".join(attributes) + shifted(data[8:], sum(map(len, attributes)))


def shifted(data, by):
    """The rest of a file of one part whose header has grown: its table of offsets says where chunks begin."""
    at = 0
    while data[at]:
        at = data.index(b"\0", at) + 1
        at = data.index(b"\0", at) + 1
        at += 4 + struct.unpack_from("<i", data, at)[0]
    at += 1
    chunk_rows = 16
    count = -(-RGB.shape[0] // chunk_rows)
    offsets = struct.unpack_from(f"<{count}Q", data, at)
    return data[:at] + struct.pack(f"<{count}Q", *(offset + by for offset in offsets)) + data[at + 8 * count:]


def tiff_with_second_directory(picture):
    """As Exif has it: a JPEG and no size."""
    block = bytearray(tiff())
    at = len(block) + len(block) % 2
    block = block.ljust(at, b"\0")
    entries = [(259, 3, 6), (513, 4, at + 2 + 3 * 12 + 4), (514, 4, len(picture))]
    block += struct.pack("<H", 3) + b"".join(struct.pack("<HHII", number, kind, 1, value) for number, kind, value in entries)
    block += bytes(4) + picture
    first = struct.unpack_from("<I", block, 4)[0]
    count = struct.unpack_from("<H", block, first)[0]
    struct.pack_into("<I", block, first + 2 + 12 * count, at)
    return bytes(block)


def mpf():
    """A table of two pictures; the second lies behind the first."""
    entries = struct.pack(">IIIHH", 0x030000, 1000, 0, 0, 0) + struct.pack(">IIIHH", 0, len(SECOND), 1000, 0, 0)
    directory = struct.pack(">H", 3) + b"\xb0\0\0\7\0\0\0\4" + b"0100" + struct.pack(">HHII", 0xB001, 4, 1, 2) + \
        struct.pack(">HHII", 0xB002, 7, len(entries), 50) + bytes(4)
    return b"MPF\0MM\0*\0\0\0\x08" + directory + entries


TRAILER = b"a letter behind the picture, which no reader shows"


def trailer(file):
    return TRAILER in file.data or None


# Tags

def attribute_of_header(file):
    if file.format == "OpenEXR":
        return b"12b" if any(head.get("shot", ("", b""))[1] == b"12b" for head in file.headers()) else None
    return b"12b" if b"shot=12b" in file.hdr_lines() else None


def known(file):
    return file.chunk(b"oFFs") if file.format == "PNG" else file.tiff_tag(285)


UNKNOWN = b"nobody knows this"

ROWS = {
    "Exif": Row({"PNG": lambda: chunk(b"eXIf", exif_block()[6:]), "JPEG": lambda: jpeg(exif=exif_block()), "TIFF": tiff_with_exif,
                 "WebP": lambda: webp(8, (b"EXIF", exif_block()[6:]))}, by_exiftool("ExifIFD:ExposureTime")),
    "XMP": Row({"PNG": lambda: png(png_files.text(b"iTXt", b"XML:com.adobe.xmp", XMP)),
                "JPEG": lambda: jpeg((0xE1, b"http://ns.adobe.com/xap/1.0/\0" + XMP)), "TIFF": lambda: tag(700, 1, XMP),
                "WebP": lambda: webp(4, (b"XMP ", XMP)), "OpenEXR": lambda: exr({"xmp": XMP.decode()})}, xmp),
    "IPTC": Row({"PNG": lambda: png(png_files.raw_profile(b"iptc", iptc_resource())),
                 "JPEG": lambda: jpeg((0xED, resources(iptc_resource()))), "TIFF": lambda: tag(33723, 7, IPTC)},
                by_exiftool("IPTC:By-line")),
    "Photoshop's resources": Row({"PNG": lambda: png(png_files.raw_profile(b"8bim", PHOTOSHOP)),
                                  "JPEG": lambda: jpeg((0xED, resources(PHOTOSHOP))), "TIFF": lambda: tag(34377, 7, PHOTOSHOP)},
                                 by_exiftool("Photoshop:CopyrightFlag")),
    "texts": Row({"PNG": lambda: png(png_files.text(b"tEXt", b"Title", b"a chart"))}, text),
    "comments": Row({"JPEG": lambda: jpeg((0xFE, b"a remark"))}, comment, becomes=is_said_as_text),
    "the time of the last change": Row({"PNG": lambda: chunk(b"tIME", struct.pack(">HBBBBB", 2026, 11, 27, 1, 2, 3)),
                                        "TIFF": lambda: tiff(datetime="2026:11:27 01:02:03")}, time),
    "how often an animation runs": Row({"PNG": lambda: animation("PNG"), "WebP": lambda: animation("WEBP")}, loops,
                                       only_with="frames of an animation"),
    "the background colour": Row({"PNG": png_with_background, "WebP": webp_with_background}, background,
                                 only_with="frames of an animation"),
    "GeoTIFF and GDAL tags": Row({"TIFF": lambda: tag(33550, 12, (10.0, 10.0, 0.0))}, lambda file: file.tiff_tag(33550)),
    "OME-XML": Row({"TIFF": lambda: tiff_pages((RGB, {"photometric": "rgb", "description": "<?xml version='1.0'?><OME>slide</OME>"}))},
                   in_description("<OME>slide")),
    "ImageJ's description": Row({"TIFF": lambda: tiff(RGB[..., 0].copy(), imagej=True, metadata={"unit": "micron"})},
                                 in_description("unit=micron")),
    "a thumbnail or preview": Row({"PNG": lambda: chunk(b"eXIf", exif_thumbnail()), "JPEG": lambda: jpeg((0xE0, b"JFXX\0\x10" + THUMBNAIL)),
                                   "TIFF": lambda: tiff_with_second_directory(THUMBNAIL),
                                   "WebP": lambda: webp(8, (b"EXIF", exif_thumbnail())),
                                   "OpenEXR": lambda: exr_with(attribute("preview", "preview", struct.pack("<II", 4, 6) + PREVIEW))},
                                  thumbnail, words=("thumbnail", "preview", "Exif (", "Exif left out")),
    "a second picture, a depth or gain map": Row({"JPEG": lambda: jpeg((0xE2, mpf()), trailer=SECOND)}, holds(SECOND)),
    "bytes after the end of the picture": Row({"PNG": lambda: png(trailer=TRAILER), "JPEG": lambda: jpeg(trailer=TRAILER),
                                               "WebP": lambda: webp(trailer=TRAILER), "HDR": lambda: hdr(trailer=TRAILER),
                                               "OpenEXR": lambda: exr() + TRAILER}, trailer),
    "attributes of the header": Row({"OpenEXR": lambda: exr({"shot": "12b"}), "HDR": lambda: hdr(b"shot=12b")}, attribute_of_header),
    "author, device and description": Row({"TIFF": lambda: tiff(extratags=[(315, 2, 0, "Anna", True)])},
                                           lambda file: file.tiff_tag(315),
                                           becomes=lambda source, result: result.tag("IFD0:Artist") == "Anna"),
    "tags and chunks that describe the picture": Row({"PNG": lambda: chunk(b"oFFs", struct.pack(">iiB", -5, 7, 1)),
                                                      "TIFF": lambda: tag(285, 2, "page one")}, known),
    "a block that mollify does not know": Row({"PNG": lambda: chunk(b"prVt", UNKNOWN), "JPEG": lambda: jpeg((0xE5, b"WHAT\0" + UNKNOWN)),
                                               "TIFF": lambda: tag(65000, 7, UNKNOWN), "WebP": lambda: webp(0, (b"OWN ", UNKNOWN))},
                                              lambda file: UNKNOWN in file.data or None,
                                              words=("left out: it means something", "unknown box")),
}
