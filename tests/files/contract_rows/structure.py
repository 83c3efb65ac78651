"""Rows of the contract: how many pictures, of which channels, in which numbers, stored how."""
import io
import pathlib
import struct
import tempfile

import numpy as np
import OpenEXR
import tifffile

from tests.files import png_files
from tests.files.contract_rows.rows import Row, shapes_of_pages, shapes_of_parts
from tests.files.contract_rows.sources import (GREY, HEIGHT, RANDOM, RGB, RGBA, WIDTH, animation, colours, exr, jpeg, png, tiff, tiff_pages,
                                               webp)
from tests.files.exr_test import attribute, header
from tests.files.tiff_files import write_mixed

# Several pictures

STACK = RANDOM.integers(0, 65536, (5, HEIGHT, WIDTH), dtype=np.uint16)


def several(found):
    return found if found and len(found) > 1 else None


def pages(file):
    return several(shapes_of_pages(file))


def parts(file):
    return several(shapes_of_parts(file))


def frames(file):
    """How many, and for how long each is shown."""
    if file.format not in ("PNG", "WebP"):
        return None
    picture = file.pillow()
    times = []
    for i in range(getattr(picture, "n_frames", 1)):
        picture.seek(i)
        picture.load()
        times.append(picture.info.get("duration"))
    return several(times)


def planes(file):
    """The shape of a stack that has one directory."""
    if file.format != "TIFF":
        return None
    with tifffile.TiffFile(file.path) as tif:
        shape = tif.series[0].shape
        return shape if len(tif.pages) == 1 and len(shape) == 3 and shape[0] == len(STACK) else None


def smaller_copies(file):
    if file.format == "TIFF":
        return [shape for tags, shape in file.directories() if tags.get(254) == 1] or None
    kinds = [head["tiles"][1][8] & 15 for head in file.headers() if "tiles" in head]
    return kinds if any(kinds) else None


def tiff_with_levels():
    return tiff_pages((RGB, {"photometric": "rgb", "subifds": 1}), (RGB[::2, ::2], {"photometric": "rgb", "subfiletype": 1}))


def exr_with_levels():
    """Tiles of 16 x 16 of one channel: levels of 16, 8, 4, 2 and 1."""
    extra = attribute("tiles", "tiledesc", struct.pack("<IIB", 16, 16, 1))
    head = header([("R", 2, 1, 1)], (0, 0, 15, 15), extra=extra, flags=0x200)
    tiles = [RANDOM.random((16 >> level, 16 >> level)).astype(np.float32).tobytes() for level in range(5)]
    at, offsets, body = len(head) + 8 * len(tiles), [], b""
    for level, data in enumerate(tiles):
        offsets.append(at + len(body))
        body += struct.pack("<5i", 0, 0, level, level, len(data)) + data
    return head + struct.pack("<5Q", *offsets) + body


def masks(file):
    return [shape for tags, shape in file.directories() if tags.get(254, 0) & 4] or None


# Channels and their numbers

def further_channels(file):
    """How many channels besides RGB."""
    count = (file.tiff_tag(277) if file.format == "TIFF" else len(file.exr_channels())) - 3
    return count if count > 0 else None


def channel_names(file):
    return sorted(file.exr_channels()) or None


def channel_types(file):
    types = {name: str(dtype) for name, dtype in file.exr_channels().items()}
    if file.format == "TIFF":  # tifffile opens no such files
        types = dict(enumerate(zip(*(str(file.tag(name)).split() for name in ("BitsPerSample", "SampleFormat")))))
    return types if len(set(types.values())) > 1 else None


def tiff_of_several_types():
    """Red and green of bytes, blue of floats."""
    blue = (RGB[..., 2] / 255).astype(np.float32).view(np.uint32)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.tif"
        write_mixed(path, np.dstack([RGB[..., 0], RGB[..., 1], blue]), ["u8", "u8", "f32"])
        return path.read_bytes()


def few_bits(file):
    """Bits of a sample, where they are fewer than 8 or 16."""
    if file.format == "PNG":
        bits = file.data[24]
    elif file.format == "TIFF":
        bits = file.tiff_tag(258)
        bits = bits[0] if isinstance(bits, tuple) else bits
    else:
        return None
    return bits if bits not in (8, 16) else None


def full_scale_of_8_bits(source, result):
    """What was 15 of 15 is 255 of 255, and 1.0."""
    if result.format in ("PNG", "JPEG", "WebP"):
        return np.asarray(result.pillow()).max() >= 250
    return True


def four_bits():
    pixels = GREY // 16
    pixels[:8] = 15
    return pixels


def tiff_of_four_bits():
    """tifffile writes 8 bits only, so that bytes of two numbers each become half as many columns, and the header is changed."""
    pixels = four_bits()
    data = bytearray(tiff(pixels[:, ::2] << 4 | pixels[:, 1::2]))
    for number, value in [(256, WIDTH), (258, 4)]:
        with tifffile.TiffFile(io.BytesIO(bytes(data))) as file:
            struct.pack_into("<H", data, file.pages[0].tags[number].valueoffset, value)
    return bytes(data)


def palette(file):
    if file.format == "PNG":
        return file.chunk(b"PLTE")
    return file.tiff_tag(320) is not None or None if file.format == "TIFF" else None


def tiff_with_palette():
    return tiff(GREY, photometric="palette", colormap=RANDOM.integers(0, 65536, (3, 256), dtype=np.uint16))


def type_of_photometric(number):
    def read(file):
        return number if file.tiff_tag(262) == number else None
    return read


def ink(file):
    if file.format in ("JPEG", "WebP", "PNG"):
        return file.pillow().mode == "CMYK" or None
    return file.tiff_tag(262) == 5 or None


def alpha(unassociated):
    def read(file):
        if file.format in ("PNG", "WebP"):
            return (unassociated and file.pillow().mode in ("RGBA", "LA")) or None
        if file.format == "OpenEXR":
            return (not unassociated and "A" in file.exr_channels()) or None
        if file.format == "TIFF":
            extra = file.tiff_tag(338)
            extra = extra[0] if isinstance(extra, tuple) else extra
            return extra == (2 if unassociated else 1) or None
        return None
    return read


def became_the_other_alpha(unassociated):
    def holds(source, result):
        return result.format in ("JPEG", "HDR") or alpha(unassociated)(result) is True
    return holds


def became_alpha(source, result):
    return result.format in ("JPEG", "HDR") or alpha(result.format != "OpenEXR")(result) is True


def exr_with_alpha():
    channels = colours("RGBA")
    return exr(channels={name: (pixels * channels["A"] if name != "A" else pixels) for name, pixels in channels.items()})


# How pixels are stored

def display_window(file):
    heads = file.headers()
    return (heads[0]["dataWindow"], heads[0]["displayWindow"]) if heads and heads[0]["dataWindow"] != heads[0]["displayWindow"] else None


def exr_with_window():
    return exr({"displayWindow": (np.array([-5, -3], np.int32), np.array([39, 29], np.int32)),
                "dataWindow": (np.array([0, 0], np.int32), np.array([WIDTH - 1, HEIGHT - 1], np.int32))})


def tiles(file):
    if file.format == "TIFF":
        return (file.tiff_tag(322), file.tiff_tag(323)) if file.tiff_tag(322) else None
    heads = file.headers()
    return struct.unpack("<II", heads[0]["tiles"][1][:8]) if heads and "tiles" in heads[0] else None


def exr_with_tiles():
    description = OpenEXR.TileDescription()
    description.xSize = description.ySize = 16
    return exr({"type": OpenEXR.tiledimage, "tiles": description})


def coding(file):
    """What a reader tells of it. Of a PNG it is the filters of its rows and the level, which no reader tells."""
    if file.format == "JPEG":
        picture = file.pillow()
        return picture.quantization, picture.layer
    if file.format == "WebP":
        return file.chunk(b"VP8L") is not None
    if file.format == "TIFF":
        return file.tiff_tag(259), file.tiff_tag(317)
    return file.headers()[0]["compression"] if file.format == "OpenEXR" else None


def jpeg_inside(file):
    return file.tiff_tag(259) == 7 or None


def interlacing(file):
    if file.format == "PNG":
        return file.data[28] == 1 or None
    return (file.format == "JPEG" and file.pillow().info.get("progressive")) or None


ROWS = {
    "pages": Row({"TIFF": lambda: tiff_pages((RGB, {"photometric": "rgb"}), (GREY[:8], {"photometric": "minisblack"}))}, pages,
                 words=("pages",), becomes=lambda source, result: parts(result) == pages(source)),
    "frames of an animation": Row({"PNG": lambda: animation("PNG"), "WebP": lambda: animation("WEBP")}, frames,
                                  words=("frames",), becomes=lambda source, result: len(pages(result) or parts(result)) == 3),
    "planes of a stack": Row({"TIFF": lambda: tiff(STACK, imagej=True, photometric="minisblack", metadata={"axes": "ZYX"}, truncate=True)},
                             planes, words=("planes",), becomes=lambda source, result: len(parts(result)) == len(STACK)),
    "parts": Row({"OpenEXR": lambda: exr(parts=[({"name": name}, colours()) for name in ("one", "two")])}, parts,
                 words=("parts",), becomes=lambda source, result: pages(result) == parts(source)),
    "smaller copies of a picture": Row({"TIFF": tiff_with_levels, "OpenEXR": exr_with_levels}, smaller_copies),
    "a transparency mask": Row({"TIFF": lambda: tiff_pages((RGB, {"photometric": "rgb"}),
                                                           (GREY > 99, {"photometric": "mask", "subfiletype": 4}))}, masks,
                               words=("transparency mask",), becomes=became_alpha),
    "layers and further channels": Row({"TIFF": lambda: tiff(np.dstack([RGB, RGB]), extrasamples=["unspecified"] * 3),
                                        "OpenEXR": lambda: exr(channels=colours("RGB") | colours(["diffuse.R", "diffuse.G"]))},
                                       further_channels),
    "names of channels": Row({"OpenEXR": lambda: exr(channels=colours(["temperature"]))}, channel_names),
    "channels of several types": Row({"OpenEXR": lambda: exr(channels=colours("RG") | colours("B", np.float32)),
                                     "TIFF": tiff_of_several_types}, channel_types),
    "numbers stored in fewer bits": Row({"PNG": lambda: png(pixels=four_bits(), depth=4, colour=png_files.GREY), "TIFF": tiff_of_four_bits},
                                        few_bits, becomes=full_scale_of_8_bits),
    "a palette": Row({"PNG": lambda: png(png_files.chunk(b"PLTE", RANDOM.bytes(768)), pixels=GREY, colour=png_files.PALETTE),
                      "TIFF": tiff_with_palette}, palette, words=("palette",)),
    "grey stored as a negative": Row({"TIFF": lambda: tiff(GREY, photometric="miniswhite")}, type_of_photometric(0)),
    "inks (CMYK)": Row({"JPEG": lambda: jpeg(pixels=RGBA, mode="CMYK"), "TIFF": lambda: tiff(RGBA, photometric="separated")}, ink),
    "CIE L*a*b*": Row({"TIFF": lambda: tiff(photometric="cielab")}, type_of_photometric(8)),
    "unassociated alpha": Row({"PNG": lambda: png(pixels=RGBA, colour=png_files.RGB_ALPHA), "WebP": lambda: webp(0x10, pixels=RGBA),
                               "TIFF": lambda: tiff(RGBA, extrasamples=["unassalpha"])}, alpha(True),
                              words=("alpha becomes associated", "alpha is laid"), becomes=became_the_other_alpha(False)),
    "associated alpha": Row({"TIFF": lambda: tiff(RGBA // 4 + np.uint8([0, 0, 0, 190]), extrasamples=["assocalpha"]),
                             "OpenEXR": exr_with_alpha}, alpha(False),
                            words=("alpha becomes unassociated", "alpha is laid"), becomes=became_the_other_alpha(True)),
    "a picture larger or smaller than its stored pixels": Row({"OpenEXR": exr_with_window}, display_window),
    "tiles": Row({"TIFF": lambda: tiff(tile=(16, 16)), "OpenEXR": exr_with_tiles}, tiles),
    "the kind of compression": Row({"JPEG": lambda: jpeg(subsampling=1), "WebP": webp,
                                    "TIFF": lambda: tiff(compression="lzw", predictor=True),
                                    "OpenEXR": lambda: exr({"compression": OpenEXR.PIZ_COMPRESSION})}, coding),
    "JPEG of any kind inside TIFF": Row({"TIFF": lambda: tiff(compression="jpeg")}, jpeg_inside, words=("inside TIFF (JPEG)",)),
    "interlaced or progressive storage": Row({"PNG": lambda: png(interlaced=True), "JPEG": lambda: jpeg(progressive=True)}, interlacing),
}
