"""What the tool makes of whole files, read back by Pillow, tifffile and exiftool."""
import base64
import io
import json
import os
import struct
import subprocess
import time
import unittest

import numpy as np
import tifffile
from PIL import Image

from tests.files import png_files as png
from tests.files.blurring import TOOL, FolderTest

RANDOM = np.random.default_rng()


def exiftool(path, *tags):
    done = subprocess.run(["exiftool", "-j", "-n", "-G1", *tags, path], capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)[0]


class ToolTest(FolderTest):
    def run_tool(self, source, result, *options):
        """The box of one pixel changes nothing."""
        kernel = () if "--box" in options or "--gaussian" in options else ("--box", "0")
        return subprocess.run([TOOL, "blur", self.path(source), self.path(result), *kernel, "--force", *map(str, options)],
                              capture_output=True, text=True, timeout=120)

    def blur(self, source, result, *options):
        """What the tool said."""
        done = self.run_tool(source, result, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr + done.stdout

    def fails(self, source, result, *options):
        done = self.run_tool(source, result, *options)
        self.assertEqual(done.returncode, 1, done.stderr + done.stdout)
        return done.stderr

    def pixels(self, shape, dtype="u1"):
        return RANDOM.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)

    def image(self, name, shape=(40, 60, 3), **options):
        pixels = self.pixels(shape)
        Image.fromarray(pixels).save(self.path(name), **options)
        return pixels


class Damaged(ToolTest):
    def test_more_channels_than_a_page_may_have(self):
        tifffile.imwrite(self.path("a.tif"), self.pixels((4097, 2, 3)), photometric="minisblack", planarconfig="separate", metadata=None)
        self.assertIn("4097 channels, more than the 4096", self.fails("a.tif", "b.tif"))


class SameBytes(ToolTest):
    """No clock is in a result, and nothing else that differs between runs."""

    def test_of_two_runs(self):
        exif = Image.Exif()
        exif[306] = "2020:01:02 03:04:05"
        xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description ' \
              b'xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:ModifyDate="2020-01-02T03:04:05"/></rdf:RDF></x:xmpmeta>'
        self.image("source.png", exif=exif.tobytes())
        self.image("source.webp", exif=exif.tobytes(), xmp=xmp, lossless=True)
        results = {}
        for run, epoch in enumerate((None, "1", "2000000000")):
            if run:
                time.sleep(1.1)  # clocks in files count seconds
            environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
            if epoch:
                environment["SOURCE_DATE_EPOCH"] = epoch
            for source in ("source.png", "source.webp"):
                for ending in ("png", "jpg", "tif", "exr", "webp", "hdr"):
                    result = self.path(f"{run}.{ending}")
                    subprocess.run([TOOL, "blur", self.path(source), result, "--gaussian", "2", "--force"], check=True, capture_output=True,
                                   env=environment, timeout=60)
                    results.setdefault((source, ending), set()).add(result.read_bytes())
        for case, contents in results.items():
            with self.subTest(case=case):
                self.assertEqual(len(contents), 1)


class Metadata(ToolTest):
    def test_xmp_that_comes_twice(self):
        packet = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/></x:xmpmeta>'
        xmp = png.text(b"iTXt", b"XML:com.adobe.xmp", packet)
        pixels = self.pixels((20, 30, 3))
        raw_profile = b"\nxmp\n%8d\n%s\n" % (len(packet), packet.hex().encode())
        before = xmp + png.text(b"tEXt", b"Raw profile type xmp", raw_profile)
        self.path("a.png").write_bytes(png.image(pixels, 8, png.RGB, before=before))
        for result in ("b.png", "b.jpg", "b.tif", "b.webp"):
            self.assertIn("which counts", self.blur("a.png", result))

    def test_planes_whose_text_is_left_out_become_pages(self):
        stack = self.pixels((3, 20, 30), "u2")
        jpeg = io.BytesIO()
        Image.fromarray(self.pixels((8, 8, 3))).save(jpeg, "JPEG")
        thumbnail = base64.b64encode(jpeg.getvalue()).decode()
        tifffile.imwrite(self.path("a.tif"), stack[0], description=f"ImageJ=1.53\nimages=3\nInfo={thumbnail}\n", metadata=None)
        with open(self.path("a.tif"), "ab") as file:
            file.write(stack[1:].tobytes())
        self.assertIn("left out", self.blur("a.tif", "b.tif"))
        with tifffile.TiffFile(self.path("b.tif")) as file:
            np.testing.assert_array_equal(np.stack([page.asarray() for page in file.pages]), stack)

    def test_a_region_that_a_page_lacks(self):
        """The line names the page, which may be a small picture behind the one that was meant."""
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            for shape in ((40, 60), (20, 30)):
                file.write(self.pixels(shape), photometric="minisblack", metadata=None)
        said = self.fails("a.tif", "b.tif", "--roi", "40x30+5+5")
        self.assertIn("--roi 40x30+5+5 is not inside the 30x20 pixels of page 2; --page N takes another alone", said)
        self.blur("a.tif", "b.tif", "--roi", "40x30+5+5", "--page", 1)
        said = self.fails("a.tif", "b.tif", "--roi", "70x30+5+5", "--page", 1)
        self.assertIn("is not inside the 60x40 pixels of page 1", said)

    def test_the_shape_that_tifffile_writes_is_true_of_the_region(self):
        stack = self.pixels((12, 40, 50), "u2")
        tifffile.imwrite(self.path("a.tif"), stack, photometric="minisblack", truncate=True)
        self.blur("a.tif", "b.tif", "--roi", "20x10+5+7")
        with tifffile.TiffFile(self.path("b.tif")) as file:
            self.assertEqual(file.pages[0].description, '{"shape": [12, 10, 20], "truncated": true}')
            np.testing.assert_array_equal(file.asarray(), stack[:, 7:17, 5:25])

    PANORAMA = ["-XMP-GPano:FullPanoWidthPixels=200", "-XMP-GPano:FullPanoHeightPixels=100", "-XMP-GPano:CroppedAreaImageWidthPixels=120",
                "-XMP-GPano:CroppedAreaImageHeightPixels=80", "-XMP-GPano:CroppedAreaLeftPixels=20", "-XMP-GPano:CroppedAreaTopPixels=10"]

    def panorama(self, name):
        done = exiftool(self.path(name), "-XMP-GPano:all")
        return [done.get(f"XMP-GPano:{key}Pixels") for key in ("FullPanoWidth", "CroppedAreaImageWidth", "CroppedAreaImageHeight",
                                                               "CroppedAreaLeft", "CroppedAreaTop")]

    def test_a_panorama_is_true_of_the_region(self):
        self.image("a.jpg")  # half as large as the panorama says
        subprocess.run(["exiftool", "-q", "-overwrite_original", *self.PANORAMA, self.path("a.jpg")], check=True)
        self.blur("a.jpg", "b.jpg")
        self.assertEqual(self.panorama("b.jpg"), [200, 120, 80, 20, 10])
        self.blur("a.jpg", "b.jpg", "--roi", "30x20+10+5")
        self.assertEqual(self.panorama("b.jpg"), [200, 60, 40, 40, 20])

    def test_places_of_faces_and_subjects(self):
        self.image("a.jpg")
        subprocess.run(["exiftool", "-q", "-overwrite_original", "-RegionName=Anna", "-RegionType=Face", "-RegionAreaX=0.5",
                        "-RegionAreaY=0.5", "-RegionAreaW=0.1", "-RegionAreaH=0.1", "-RegionAreaUnit=normalized", "-SubjectArea=20 15 4 4",
                        "-SubjectLocation=2 2", self.path("a.jpg")], check=True)
        self.blur("a.jpg", "b.jpg")
        tags = exiftool(self.path("b.jpg"))
        places = (tags["XMP-mwg-rs:RegionName"], tags["ExifIFD:SubjectArea"], tags["ExifIFD:SubjectLocation"])
        self.assertEqual(places, ("Anna", "20 15 4 4", "2 2"))
        said = self.blur("a.jpg", "b.jpg", "--roi", "30x20+10+5")
        tags = exiftool(self.path("b.jpg"))
        self.assertNotIn("XMP-mwg-rs:RegionName", tags)
        self.assertEqual(tags["ExifIFD:SubjectArea"], "10 10 4 4")
        self.assertNotIn("ExifIFD:SubjectLocation", tags)
        self.assertIn("faces", said)
        self.assertIn("subject", said)

    def test_chunks_that_depend_on_the_pixels(self):
        data = png.image(self.pixels((3, 4, 3)), 8, png.RGB, png.chunk(b"saFe", b"1") + png.chunk(b"unSA", b"2"))
        self.path("a.png").write_bytes(data)
        said = self.blur("a.png", "b.png")
        found = dict(png.chunks(self.path("b.png").read_bytes())[0])
        self.assertEqual(found[b"saFe"], b"1")
        self.assertNotIn(b"unSA", found)
        self.assertIn("unSA", said)
        self.blur("a.png", "b.png", "--keep-unknown")
        self.assertEqual(dict(png.chunks(self.path("b.png").read_bytes())[0])[b"unSA"], b"2")

    def test_photoshop_blocks_lose_their_pictures_only(self):
        def block(number, data):
            return b"8BIM" + struct.pack(">H", number) + b"\0\0" + struct.pack(">I", len(data)) + data + b"\0" * (len(data) % 2)
        stream = io.BytesIO()
        Image.fromarray(self.pixels((20, 20, 3))).save(stream, "JPEG")
        other, iptc = block(1026, b"layers"), block(1028, b"\x1c\2\x50\0\4Anna")
        tifffile.imwrite(self.path("a.tif"), self.pixels((9, 9)), metadata=None,
                         extratags=[(34377, 1, None, other + block(1036, bytes(28) + stream.getvalue()) + iptc, True)])
        said = self.blur("a.tif", "b.tif")
        self.assertEqual(bytes(tifffile.TiffFile(self.path("b.tif")).pages[0].tags[34377].value), other + iptc)
        self.assertIn("thumbnail", said)
        profile = png.raw_profile(b"8bim", block(1036, bytes(28) + stream.getvalue()) + other + iptc)
        self.path("a.png").write_bytes(png.image(self.pixels((3, 4, 3)), 8, png.RGB, profile))
        self.blur("a.png", "b.png")
        self.assertEqual(png.raw_profiles(self.path("b.png").read_bytes()), {b"8bim": other, b"iptc": iptc})

    def test_orientation_of_heif_is_that_of_its_pixels(self):
        """libheif turns the pixels, so that Exif has to say that they are upright."""
        self.image("a.png")
        subprocess.run(["vips", "heifsave", "a.png", "a.heic", "--Q", "90"], cwd=self.folder, check=True, capture_output=True)
        subprocess.run(["exiftool", "-q", "-overwrite_original", "-Orientation#=6", "-Artist=Anna", self.path("a.heic")], check=True)
        self.assertEqual(exiftool(self.path("a.heic"))["IFD0:Orientation"], 6)
        for result in ("b.jpg", "b.png", "b.tif", "b.webp"):
            self.blur("a.heic", result)
            tags = exiftool(self.path(result))
            self.assertEqual((tags["IFD0:Artist"], tags.get("IFD0:Orientation", 1)), ("Anna", 1), result)


class Messages(ToolTest):
    def test_resolutions_that_are_none(self):
        for zeroed, hidden in (((282,), ()), ((282, 283), ()), ((), (283,))):
            tifffile.imwrite(self.path("a.tif"), self.pixels((9, 9)), metadata=None, resolution=(300, 300))
            data = bytearray(self.path("a.tif").read_bytes())
            for tag, at in entries(data).items():
                if tag in zeroed:
                    struct.pack_into("<I", data, struct.unpack_from("<I", data, at + 8)[0], 0)
                if tag in hidden:
                    struct.pack_into("<H", data, at, 65000)
            self.path("a.tif").write_bytes(data)
            self.assertIn("resolution was left out", self.blur("a.tif", "b.tif"))

    def resolution(self, name):
        """Along x. Without a unit JFIF says nothing of it."""
        tags = exiftool(self.path(name))
        if tags.get("JFIF:ResolutionUnit"):
            return tags["JFIF:XResolution"]
        places = ("IFD0:XResolution", "PNG-pHYs:PixelsPerUnitX", "OpenEXR:XResolution")
        return next((float(tags[place]) for place in places if place in tags), None)

    def test_resolutions_beyond_what_a_format_holds(self):
        """PNG has whole dots per metre up to 2^31 - 1, JFIF whole numbers up to 65535, and Exif fractions."""
        held = {300: {"png": 11811, "jpg": 300, "webp": 300}, 1e9: {"jpg": 1e9, "webp": 1e9}, 1e-3: {"jpg": 1e-3, "webp": 1e-3},
                72.5: {"png": 2854, "jpg": 72.5, "webp": 72.5}, 0.1: {"png": 4, "jpg": 0.1, "webp": 0.1}}
        for asked, results in held.items():
            tifffile.imwrite(self.path("a.tif"), self.pixels((9, 9)), metadata=None, resolution=(asked, asked))
            for ending in ("png", "jpg", "webp", "exr", "tif"):
                said = self.blur("a.tif", "b." + ending)
                found = self.resolution("b." + ending)
                self.assertEqual("PNG files cannot hold these numbers" in said, found is None, (asked, ending, said))
                if found is not None:
                    self.assertAlmostEqual(found / results.get(ending, asked), 1, 5)
                self.assertEqual("becomes 4 x 4 dots per metre" in said, (asked, ending) == (0.1, "png"), said)

    def test_pixels_that_are_not_square(self):
        """Half as wide as high: twice as many along x."""
        data = png.image(self.pixels((9, 9, 3)), 8, png.RGB, png.chunk(b"pHYs", struct.pack(">IIB", 2, 1, 0)))
        self.path("a.png").write_bytes(data)
        self.blur("a.png", "b.exr")
        self.assertEqual(exiftool(self.path("b.exr"))["OpenEXR:PixelAspectRatio"], 0.5)
        self.assertNotIn("pixelAspectRatio", self.blur("b.exr", "c.png"))
        tags = exiftool(self.path("c.png"))
        self.assertEqual(tags["PNG-pHYs:PixelsPerUnitX"], 2 * tags["PNG-pHYs:PixelsPerUnitY"])
        self.blur("b.exr", "c.exr")
        self.assertEqual(exiftool(self.path("c.exr"))["OpenEXR:PixelAspectRatio"], 0.5)

    def test_indices_without_a_colour(self):
        indices = self.pixels((9, 9)) | 1
        indices[0, 0] = 200
        colours = self.pixels((3, 256), "u2")
        tifffile.imwrite(self.path("a.tif"), indices, photometric="palette", colormap=colours, metadata=None)
        shorten_palette(self.path("a.tif"), 100)
        self.assertIn("without a colour", self.blur("a.tif", "b.tif"))
        self.assertEqual(tifffile.imread(self.path("b.tif"))[0, 0].tolist(), [0, 0, 0])
        data = png.image(indices[..., None] // 2, 8, png.PALETTE, png.chunk(b"PLTE", bytes(range(1, 31))))
        self.path("a.png").write_bytes(data)
        self.assertIn("without a colour", self.blur("a.png", "b.png"))

    def test_an_orientation_that_does_not_exist(self):
        tifffile.imwrite(self.path("a.tif"), self.pixels((9, 9)), metadata=None, extratags=[(274, 3, 1, 9, True)])
        self.assertIn("orientation 9", self.blur("a.tif", "b.tif"))


def entries(data):
    """Where the entries of the first directory of a little-endian TIFF lie, by tag."""
    at, = struct.unpack_from("<I", data, 4)
    count, = struct.unpack_from("<H", data, at)
    return {struct.unpack_from("<H", data, at + 2 + 12 * i)[0]: at + 2 + 12 * i for i in range(count)}


def shorten_palette(path, colours):
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, entries(data)[320] + 4, 3 * colours)
    path.write_bytes(data)


if __name__ == "__main__":
    unittest.main()
