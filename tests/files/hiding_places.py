"""Files in which one picture hides in a known place, and the search for it, also in deflate, base64 and digits."""
import base64
import re
import struct
import zlib

import numpy as np

from tests.files import png_files
from tests.files.contract_rows.metadata import exr_with, tiff_with_second_directory
from tests.files.contract_rows.sources import RANDOM, RGB, chunk, exr, hdr, jpeg, pillow, png, tag, tiff, tiff_pages, webp
from tests.files.exif_blocks import exif_with, notes, strips_directory, thumbnail_directory
from tests.files.exr_test import attribute

PICTURE = pillow("JPEG", RANDOM.integers(0, 256, (32, 40, 3), dtype=np.uint8))
SCAN = PICTURE[PICTURE.index(b"\xff\xda") + 14:]  # what comes before is alike in all files
IN_BASE64 = base64.b64encode(PICTURE)

# Blocks


def packet(body):
    return (b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
            b'<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:xmpGImg="http://ns.adobe.com/xap/1.0/g/img/" '
            b'xmlns:GImage="http://ns.google.com/photos/1.0/image/" xmlns:GDepth="http://ns.google.com/photos/1.0/depthmap/" '
            b'xmlns:my="http://example.com/my/">' + body + b"</rdf:Description></rdf:RDF></x:xmpmeta>")


PACKETS = [packet(body % IN_BASE64) for body in (
    b"<xmp:Thumbnails><rdf:Alt><rdf:li rdf:parseType='Resource'><xmpGImg:image>%s</xmpGImg:image></rdf:li></rdf:Alt></xmp:Thumbnails>",
    b"<GImage:Data>%s</GImage:Data>", b"<GDepth:Data>%s</GDepth:Data>", b"<my:own>%s</my:own>")]


def resource(number, data):
    return b"8BIM" + struct.pack(">HHI", number, 0, len(data)) + data + bytes(len(data) % 2)


RESOURCES = [resource(number, bytes(28) + PICTURE) for number in (1033, 1036)] + [resource(4000, PICTURE)]
IPTC = b"\x1c\2\xca" + struct.pack(">H", len(PICTURE)) + PICTURE
NOTES = [exif_with("<", note_of=note) for note in notes(PICTURE, "<").values()]
THUMBNAILS = [exif_with(order, following_of=make(PICTURE)) for order in "<>" for make in (thumbnail_directory, strips_directory)]
COMMENTS = [exif_with("<", comment=comment) for comment in (PICTURE, b"ASCII\0\0\0" + IN_BASE64)] + [exif_with("<") + PICTURE]


def tiff_with_exif(number, value):
    """A directory of Exif with one tag, behind the pixels."""
    def with_directory_at(offset):
        return tiff(extratags=[(34665, 4, 1, offset, True)])
    at = len(with_directory_at(0))
    at += at % 2
    return with_directory_at(at).ljust(at, b"\0") + struct.pack("<HHHIII", 1, number, 7, len(value), at + 18, 0) + value


def nikon_note():
    """Whose offsets count from its own beginning, so that it may lie anywhere."""
    block = notes(PICTURE, "<")["nikon"]
    exif = exif_with("<", note_of=block)
    begin = exif.index(b"Nikon\0")
    return exif[begin:]


def in_exif(blocks):
    return {"PNG": [chunk(b"eXIf", each) for each in blocks], "JPEG": [jpeg((0xE1, b"Exif\0\0" + each)) for each in blocks],
            "WebP": [webp(8, (b"EXIF", each)) for each in blocks]}


def in_resources(blocks):
    return {"PNG": [png(png_files.raw_profile(b"8bim", each)) for each in blocks],
            "JPEG": [jpeg((0xED, b"Photoshop 3.0\0" + each)) for each in blocks], "TIFF": [tag(34377, 7, each) for each in blocks]}


def smaller_copies():
    """The pixels of a copy are those of the picture that hides, without a code around them."""
    copy = np.frombuffer(SCAN, np.uint8, 8 * 12 * 3).reshape(8, 12, 3)
    return [tiff_pages((RGB, {"photometric": "rgb", "subifds": 1}), (copy, {"photometric": "rgb", "subfiletype": 1})),
            tiff_pages((RGB, {"photometric": "rgb"}), (copy, {"photometric": "rgb", "subfiletype": 1}))]


def exr_string(name, text):
    return exr_with(attribute(name, "string", text))


# By the names of the list in the code.
HIDING = {
    "the thumbnail of Exif": in_exif(THUMBNAILS),
    "previews in maker notes": in_exif(NOTES) | {"TIFF": [tiff_with_exif(0x927C, nikon_note())]},
    "comments and gaps of Exif": in_exif(COMMENTS) | {"TIFF": [tiff_with_exif(0x9286, b"ASCII\0\0\0" + PICTURE)]},
    "pictures in XMP": {"PNG": [png(png_files.text(b"iTXt", b"XML:com.adobe.xmp", each, is_compressed=packed))
                                for each in PACKETS for packed in (False, True)],
                        "JPEG": [jpeg((0xE1, b"http://ns.adobe.com/xap/1.0/\0" + each)) for each in PACKETS],
                        "TIFF": [tag(700, 1, each) for each in PACKETS], "WebP": [webp(4, (b"XMP ", each)) for each in PACKETS],
                        "OpenEXR": [exr({"xmp": each.decode()}) for each in PACKETS]},
    "Photoshop's resources": in_resources(RESOURCES),
    "IPTC's preview": {"PNG": [png(png_files.raw_profile(b"iptc", resource(1028, IPTC)))],
                       "JPEG": [jpeg((0xED, b"Photoshop 3.0\0" + resource(1028, IPTC)))], "TIFF": [tag(33723, 7, IPTC)]},
    "Photoshop's layers": {"TIFF": [tag(37724, 7, b"Adobe Photoshop Document Data Block\0" + PICTURE)]},
    "JFIF and JFXX": {"JPEG": [jpeg((0xE0, b"JFXX\0\x10" + PICTURE)), jpeg((0xE0, b"JFXX\0\x13\x10\x10" + PICTURE[-768:]))]},
    "MPF and gain maps": {"JPEG": [jpeg((0xE2, b"MPF\0MM\0*\0\0\0\x08\0\0\0\0\0\0"), trailer=PICTURE),
                                   jpeg((0xE2, b"urn:iso:std:iso:ts:21496:-1\0" + PICTURE), trailer=PICTURE)]},
    "a directory with a JPEG alone": {"TIFF": [tiff_with_second_directory(PICTURE)]},
    "smaller copies of the picture": {"TIFF": smaller_copies()},
    "a preview in the header": {"OpenEXR": [exr_with(attribute("preview", "preview", struct.pack("<II", 16, 12) + PICTURE[-768:]))]},
    "texts, comments and attributes": {
        "PNG": [png(png_files.text(kind, b"Comment", IN_BASE64)) for kind in (b"tEXt", b"zTXt", b"iTXt")] +
               [png(png_files.text(b"iTXt", b"Comment", IN_BASE64, is_compressed=True))],
        "JPEG": [jpeg((0xFE, each)) for each in (PICTURE, IN_BASE64)],
        "TIFF": [tag(315, 2, IN_BASE64.decode()), tag(285, 2, IN_BASE64.decode()), tag(316, 2, base64.encodebytes(PICTURE).decode()),
                 tiff(description=b"ImageJ=1.53\nInfo=" + IN_BASE64), tag(50839, 1, PICTURE),
                 tiff(description=b"<OME><BinData>" + IN_BASE64 + b"</BinData></OME>")],
        "OpenEXR": [exr_string("note", IN_BASE64), exr_with(attribute("blob", "mine", PICTURE))],
        "HDR": [hdr(b"NOTE=" + IN_BASE64)]},
    "blocks that mollify does not know": {
        "PNG": [chunk(b"prVt", each) for each in (PICTURE, IN_BASE64)] + [png(png_files.raw_profile(b"mine", PICTURE))],
        "JPEG": [jpeg((0xE5, b"WHAT\0" + each)) for each in (PICTURE, IN_BASE64)],
        "TIFF": [tag(65000, 7, each) for each in (PICTURE, IN_BASE64)],
        "WebP": [webp(0, (b"OWN ", each)) for each in (PICTURE, IN_BASE64)]},
    "bytes after the end of the picture": {
        "PNG": [png(trailer=PICTURE)], "JPEG": [jpeg(trailer=PICTURE), jpeg(trailer=b"\0\0\0\x18ftypmp42" + bytes(12) + PICTURE)],
        "TIFF": [tiff() + PICTURE], "OpenEXR": [exr() + PICTURE], "WebP": [webp(trailer=PICTURE)], "HDR": [hdr(trailer=PICTURE)]},
}

# The search

PIECE = 16
PIECES = [SCAN[at:at + PIECE] for at in range(0, len(SCAN) - PIECE, 5)]


def inflated(data):
    """What each deflate stream with a header of zlib holds."""
    for match in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
        unpacking = zlib.decompressobj()
        try:
            text = unpacking.decompress(data[match.start():], 1 << 20)
        except zlib.error:
            continue
        if len(text) > PIECE:
            yield text


def written_in_base64(data):
    for run in re.finditer(rb"[A-Za-z0-9+/_\-\r\n ]{40,}", data):
        digits = re.sub(rb"[\r\n ]", b"", run.group()).translate(bytes.maketrans(b"-_", b"+/"))
        for first in range(4):
            whole = digits[first:first + (len(digits) - first) // 4 * 4]
            yield base64.b64decode(whole)


def written_in_digits(data):
    for run in re.finditer(rb"[0-9a-fA-F\r\n ]{64,}", data):
        digits = re.sub(rb"[\r\n ]", b"", run.group())
        for first in range(2):
            yield bytes.fromhex(digits[first:first + (len(digits) - first) // 2 * 2].decode())


def holds_the_picture(data, depth=2):
    """Whether 16 bytes of it in a row are anywhere, packed twice at most."""
    if any(piece in data for piece in PIECES):
        return True
    if depth == 0:
        return False
    return any(holds_the_picture(each, depth - 1) for unpack in (inflated, written_in_base64, written_in_digits) for each in unpack(data))
