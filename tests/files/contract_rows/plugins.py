"""Files of the formats that are read by libraries opened at run time: what rows of the contract make of them.

`SOURCES` are makers of files for a row and a format. Each holds what the PNG file of that row holds, but for `cICP`, whose last byte says
that all numbers are used.
"""
import io
import pathlib
import struct
import subprocess
import tempfile

import imagecodecs
import numpy as np
import tifffile
from PIL import Image

from tests.files.contract_rows import colour, metadata
from tests.files.contract_rows.sources import RGB, RGBA

ENDINGS = {"HEIF": "heic", "AVIF": "avif", "JPEG XL": "jxl"}


def heif(pixels=RGB, tags=(), options=(), **tiff):
    """By vips, with tags by exiftool."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.heic"
        tifffile.imwrite(path.with_suffix(".tif"), pixels, photometric="rgb", **tiff)
        subprocess.run(["vips", "heifsave", path.with_suffix(".tif"), path, *options], check=True, capture_output=True)
        if tags:
            subprocess.run(["exiftool", "-q", "-n", "-overwrite_original", *tags, path], check=True)
        return path.read_bytes()


def avif(pixels=RGB, **options):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "AVIF", quality=95, **options)
    return stream.getvalue()


def animated_avif():
    frames = [Image.fromarray(np.roll(RGB, 3 * i, axis=1)) for i in range(3)]
    stream = io.BytesIO()
    frames[0].save(stream, "AVIF", save_all=True, append_images=frames[1:], duration=[40, 80, 120])
    return stream.getvalue()


def jxl(*boxes, pixels=RGB, **options):
    """Each box is its name and its bytes; Exif begins with how far its structure is."""
    def box(kind, data):
        return struct.pack(">I", 8 + len(data)) + kind + data

    stream = imagecodecs.jpegxl_encode(pixels, lossless=True, **options)
    if not boxes:
        return stream
    start = box(b"JXL ", b"\r\n\x87\n") + box(b"ftyp", b"jxl \0\0\0\0jxl ")
    return start + b"".join(box(*each) for each in boxes) + box(b"jxlc", stream)


def wide(bits):
    """Half of it is white."""
    pixels = RGB.astype(np.uint16) << 8
    pixels[:8] = 65535
    return pixels >> (16 - bits)


SOURCES = {
    "Exif": {"HEIF": lambda: heif(tags=["-EXIF:ExposureTime=0.125"]), "AVIF": lambda: avif(exif=metadata.exif_block()),
             "JPEG XL": lambda: jxl((b"Exif", bytes(4) + metadata.exif_block()[6:]))},
    "XMP": {"HEIF": lambda: heif(tags=["-XMP-dc:Source=a shoebox"]), "AVIF": lambda: avif(xmp=metadata.XMP),
            "JPEG XL": lambda: jxl((b"xml ", metadata.XMP))},
    "orientation": {"AVIF": lambda: avif(exif=colour.exif_of(6))},
    "the colour profile": {"HEIF": lambda: heif(iccprofile=colour.PROFILE), "AVIF": lambda: avif(icc_profile=colour.PROFILE)},
    "coding-independent code points (cICP)": {"AVIF": lambda: imagecodecs.avif_encode(RGB, level=95, primaries=12, transfer=8, matrix=0)},
    "unassociated alpha": {"HEIF": lambda: heif(RGBA, extrasamples=["unassalpha"]), "AVIF": lambda: avif(RGBA),
                           "JPEG XL": lambda: jxl(pixels=RGBA)},
    "numbers stored in fewer bits": {"HEIF": lambda: heif(wide(16), options=["--bitdepth", "10"]),
                                     "AVIF": lambda: imagecodecs.avif_encode(wide(10), level=95, bitspersample=10),
                                     "JPEG XL": lambda: jxl(pixels=wide(12), bitspersample=12)},
    "frames of an animation": {"AVIF": animated_avif},
    "a thumbnail or preview": {"JPEG XL": lambda: jxl((b"Exif", bytes(4) + metadata.exif_thumbnail()))},
    "a block that mollify does not know": {"JPEG XL": lambda: jxl((b"what", metadata.UNKNOWN))},
}
