"""What a test of one row of the contract is made of."""
import dataclasses
import io
import pathlib
import struct
from collections.abc import Callable

import OpenEXR
import tifffile
from PIL import Image

from tests.files import png_files, webp_test
from tests.files.exr_test import attributes_of
from tests.files.jpeg_test import segments

ENDINGS = {"PNG": "png", "JPEG": "jpg", "TIFF": "tif", "OpenEXR": "exr", "WebP": "webp", "HDR": "hdr"}


@dataclasses.dataclass
class File:
    """A source or a result, read by libraries that know nothing of mollify. `tags` are those that exiftool prints."""
    path: pathlib.Path
    format: str
    tags: dict
    messages: list = dataclasses.field(default_factory=list)  # of the tool, about a result

    @property
    def data(self):
        return self.path.read_bytes()

    def tag(self, *names):
        """The first of the names that exiftool knows, of any group where the name has none."""
        for name in names:
            for key, value in self.tags.items():
                if key == name or key.split(":")[-1] == name:
                    return value
        return None

    def chunk(self, kind):
        """Of a PNG or a WebP."""
        if self.format not in ("PNG", "WebP"):
            return None
        return dict((png_files if self.format == "PNG" else webp_test).chunks(self.data)[0]).get(kind)

    def segments(self, marker, begin=b""):
        """The payloads of a JPEG's segments."""
        if self.format != "JPEG":
            return []
        return [payload for number, payload in segments(self.data) if number == marker and payload.startswith(begin)]

    def directories(self):
        """The pages of a TIFF, each its tags and its shape, with those in SubIFDs behind their page."""
        if self.format != "TIFF":
            return []
        found = []
        with tifffile.TiffFile(self.path) as file:
            for page in file.pages:
                for each in [page, *(page.pages or [])]:
                    found.append(({tag.code: tag.value for tag in each.tags.values()}, each.shape))
        return found

    def tiff_tag(self, number):
        return self.directories()[0][0].get(number) if self.format == "TIFF" else None

    def headers(self):
        """The attributes of each part of an OpenEXR file: {name: (type, bytes)}."""
        if self.format != "OpenEXR":
            return []
        data = self.data
        return attributes_of(data, multi_part=bool(struct.unpack_from("<I", data, 4)[0] & 0x1000))

    def exr_channels(self):
        """{name: dtype} of the first part."""
        if self.format != "OpenEXR":
            return {}
        return {name: c.pixels.dtype for name, c in OpenEXR.File(str(self.path), separate_channels=True).channels().items()}

    def hdr_lines(self):
        """Those of the header, the one of the size last."""
        if self.format != "HDR":
            return []
        head, body = self.data.split(b"\n\n", 1)
        return head.split(b"\n") + [body.split(b"\n", 1)[0]]

    def pillow(self):
        return Image.open(io.BytesIO(self.data))


@dataclasses.dataclass
class Row:
    """`sources` make a file that holds the thing, for each format that can hold it.

    `read` gives what a file has of the thing, None where it has nothing: it must be the same in the result where the contract says "kept",
    and another or none where it says "dropped" or "converted". `becomes` looks at what became of it in a result of another kind.
    Each message about it has one of the `words`, the name of the row where there are none. `only_with` is the row of something that comes
    along with it: where that is refused, so is the file.
    """
    sources: dict[str, Callable[[], bytes]]
    read: Callable[[File], object]
    words: tuple[str, ...] = ()
    becomes: Callable[[File, File], bool] | None = None
    only_with: str = ""


def shapes_of_parts(file):
    if file.format != "OpenEXR":
        return None
    parts = OpenEXR.File(str(file.path), separate_channels=True).parts
    return [next(iter(part.channels.values())).pixels.shape[:2] for part in parts]


def shapes_of_pages(file):
    """Of the full pictures."""
    return [shape[:2] for tags, shape in file.directories() if not tags.get(254)]
