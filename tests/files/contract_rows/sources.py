"""A small file of each format, with what a row of the contract needs in it."""
import io
import pathlib
import struct
import tempfile

import numpy as np
import OpenEXR
import tifffile
from PIL import Image

from tests.files import png_files
from tests.files.jpeg_test import segment, with_segments
from tests.files.webp_test import encode, join, with_features

RANDOM = np.random.default_rng()
HEIGHT, WIDTH = 16, 24
RGB = RANDOM.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
GREY = RGB[..., 0].copy()
RGBA = RANDOM.integers(1, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)


def png(before=b"", after=b"", trailer=b"", pixels=RGB, depth=8, colour=png_files.RGB, interlaced=False):
    return png_files.image(pixels.reshape(HEIGHT, WIDTH, -1).astype(np.uint16), depth, colour, before, after=after, trailer=trailer,
                           interlaced=interlaced)


def chunk(kind, body):
    return png(png_files.chunk(kind, body))


def pillow(kind, pixels=RGB, mode=None, **options):
    stream = io.BytesIO()
    Image.fromarray(pixels, mode).save(stream, kind, **options)
    return stream.getvalue()


def jpeg(*segments, trailer=b"", pixels=RGB, mode=None, **options):
    return with_segments(pillow("JPEG", pixels, mode, quality=95, **options), *(segment(*each) for each in segments)) + trailer


def tiff(pixels=RGB, **options):
    stream = io.BytesIO()
    tifffile.imwrite(stream, pixels, **({"metadata": None, "photometric": "rgb" if pixels.shape[2:] else "minisblack"} | options))
    return stream.getvalue()


def tiff_pages(*pages):
    """Each page is its pixels and options of tifffile."""
    stream = io.BytesIO()
    with tifffile.TiffWriter(stream) as file:
        for pixels, options in pages:
            file.write(pixels, **({"metadata": None} | options))
    return stream.getvalue()


def tag(number, kind, value):
    """A TIFF with one tag more; `kind` is TIFF's number of a type."""
    count = len(value) if isinstance(value, (tuple, bytes)) else 0 if isinstance(value, str) else 1
    return tiff(extratags=[(number, kind, count, value, True)])


def colours(names="RGB", dtype=np.float16):
    return {name: RANDOM.random((HEIGHT, WIDTH)).astype(dtype) for name in names}


def exr(header=None, channels=None, parts=None):
    """`parts` are pairs of a header and channels."""
    base = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.exr"
        if parts:
            OpenEXR.File([OpenEXR.Part(base | head, each) for head, each in parts]).write(str(path))
        else:
            OpenEXR.File(base | (header or {}), channels or colours()).write(str(path))
        return path.read_bytes()


def webp(flag=0, *chunks, trailer=b"", pixels=RGB):
    """Each chunk is a name and its bytes; a profile comes before the pixels."""
    first, *others = with_features(encode(pixels, lossless=True), flag)
    profiles = [each for each in chunks if each[0] == b"ICCP"]
    return join([first, *profiles, *others, *(each for each in chunks if each not in profiles)]) + trailer


def hdr(*lines, axes=b"-Y %d +X %d", trailer=b""):
    pixels = RANDOM.integers(64, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)
    pixels[..., 3] = 128
    header = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n" + b"".join(line + b"\n" for line in lines)
    return header + b"\n" + axes % (HEIGHT, WIDTH) + b"\n" + b"".join(
        struct.pack(">BBH", 2, 2, WIDTH) + b"".join(bytes([WIDTH]) + row[:, c].tobytes() for c in range(4)) for row in pixels) + trailer


def animation(kind):
    frames = [Image.fromarray(np.roll(RGB, 3 * i, axis=1)) for i in range(3)]
    stream = io.BytesIO()
    options = {"lossless": True} if kind == "WEBP" else {}
    frames[0].save(stream, kind, save_all=True, append_images=frames[1:], duration=[40, 80, 120], loop=3, **options)
    return stream.getvalue()
