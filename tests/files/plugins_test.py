"""HEIF, AVIF and JPEG XL through mollify_copy_file into PNG and OpenEXR: files of vips, Pillow and imagecodecs."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import imagecodecs
import numpy as np
import OpenEXR
import tifffile
from PIL import Image

from tests.files.blurring import TOOL

COPY = os.path.abspath(os.environ.get("MOLLIFY_COPY_FILE", "build/dev/mollify_copy_file"))
XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/></x:xmpmeta>"


def exif(tag, value):
    return b"II*\0\x08\0\0\0\x01\0" + struct.pack("<HHII", tag, 3, 1, value) + b"\0\0\0\0"


class PluginsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        random = np.random.default_rng()
        y, x = np.mgrid[0:48, 0:64]
        phase = random.random(3) * 6
        self.pixels = np.stack([128 + 90 * np.sin(x / 9.0 + phase[0]), 128 + 90 * np.cos(y / 7.0 + phase[1]),
                                128 + 90 * np.sin((x + y) / 11.0 + phase[2])], -1)
        self.alpha = np.clip(4.0 * x, 0, 255)[..., None]

    def make(self, name, *command, pixels=None, wide=False):
        pixels = self.pixels if pixels is None else pixels
        data = np.rint(pixels * 257).astype(np.uint16) if wide else np.rint(pixels).astype(np.uint8)
        extra = {"extrasamples": ["unassalpha"]} if data.shape[-1] == 4 else {}
        tifffile.imwrite(self.folder / "in.tif", data, photometric="rgb", **extra)
        subprocess.run(["vips", command[0], "in.tif", name, *command[1:]], cwd=self.folder, check=True, capture_output=True)
        return data

    def copy(self, source, result="out.png", *words):
        done = subprocess.run([COPY, self.folder / source, self.folder / result, *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.text = done.stdout
        if result.endswith(".png"):
            return imagecodecs.png_decode((self.folder / result).read_bytes())
        return None

    # HEIF

    def test_heif(self):
        self.make("a.heic", "heifsave", "--Q", "95")
        got = self.copy("a.heic")
        self.assertEqual((got.shape, got.dtype), ((48, 64, 3), np.uint8))
        self.assertLess(np.abs(got - self.pixels).mean(), 1.5)

    def test_heif_with_alpha(self):
        self.make("a.heic", "heifsave", "--Q", "95", pixels=np.concatenate([self.pixels, self.alpha], -1))
        got = self.copy("a.heic")
        self.assertLess(np.abs(got[..., 3:] - self.alpha).max(), 8)
        self.assertLess(np.abs(got[..., :3] - self.pixels).mean(), 1.5)

    def test_heif_of_ten_and_twelve_bits(self):
        for bits in (10, 12):
            self.make("a.heic", "heifsave", "--Q", "98", "--bitdepth", str(bits), wide=True)
            got = self.copy("a.heic")
            self.assertEqual(got.dtype, np.uint16)
            self.assertLess(np.abs(got / 257.0 - self.pixels).mean(), 0.6, bits)

    def test_heif_of_the_full_range(self):
        """White is white: 4095 of 12 bits is 65535."""
        self.make("a.heic", "heifsave", "--lossless", "--bitdepth", "12", wide=True, pixels=np.full((16, 16, 3), 255.0))
        self.assertGreaterEqual(self.copy("a.heic").min(), 65535 - 33)

    # AVIF

    def save_avif(self, name, pixels, **options):
        Image.fromarray(np.rint(pixels).astype(np.uint8)).save(self.folder / name, quality=98, subsampling="4:4:4", **options)

    def test_avif(self):
        self.save_avif("a.avif", self.pixels, exif=exif(0x128, 3), xmp=XMP)
        got = self.copy("a.avif")
        self.assertLess(np.abs(got - self.pixels).mean(), 1.5)
        self.assertIn("item", self.text)
        with Image.open(self.folder / "out.png") as image:
            self.assertEqual(image.getexif()[0x128], 3)
            self.assertEqual(image.info["xmp"], XMP)

    def test_avif_with_alpha(self):
        self.save_avif("a.avif", np.concatenate([self.pixels, self.alpha], -1))
        got = self.copy("a.avif")
        self.assertLess(np.abs(got[..., 3:] - self.alpha).max(), 8)
        self.assertLess(np.abs(got[..., :3] - self.pixels).mean(), 1.5)

    def test_avif_of_grey(self):
        (self.folder / "a.avif").write_bytes(imagecodecs.avif_encode(np.rint(self.pixels[..., 0]).astype(np.uint8), level=98))
        got = self.copy("a.avif")
        self.assertEqual(got.ndim, 2)
        self.assertLess(np.abs(got - self.pixels[..., 0]).mean(), 1.5)

    def test_avif_orientations(self):
        """Pillow turns Exif's orientation into irot and imir; pages say it again."""
        for orientation in range(1, 9):
            self.save_avif("a.avif", self.pixels, exif=exif(0x112, orientation))
            self.copy("a.avif")
            self.assertIn(f"orientation {orientation}", self.text)

    def test_avif_sequence(self):
        frames = [Image.fromarray(np.rint(p).astype(np.uint8)) for p in (self.pixels, 255 - self.pixels, self.pixels / 2)]
        frames[0].save(self.folder / "a.avif", save_all=True, append_images=frames[1:], duration=[100, 250, 40], quality=98)
        self.copy("a.avif")
        with Image.open(self.folder / "out.png") as image:
            self.assertEqual(image.n_frames, 3)
            for i, (duration, want) in enumerate(((100, self.pixels), (250, 255 - self.pixels), (40, self.pixels / 2))):
                image.seek(i)
                self.assertEqual(round(image.info["duration"]), duration)
                self.assertLess(np.abs(np.asarray(image.convert("RGB")) - want).mean(), 3)

    # JPEG XL

    def test_jxl_of_integers(self):
        for wide in (False, True):
            for pixels in (self.pixels, np.concatenate([self.pixels, self.alpha], -1), self.pixels[..., 0]):
                data = np.rint(pixels * (257 if wide else 1)).astype(np.uint16 if wide else np.uint8)
                (self.folder / "a.jxl").write_bytes(imagecodecs.jpegxl_encode(data, lossless=True))
                got = self.copy("a.jxl")
                self.assertEqual(got.dtype, data.dtype)
                self.assertTrue((got == data).all())

    def test_jxl_of_twelve_bits(self):
        data = np.random.default_rng().integers(0, 4096, (20, 30, 3)).astype(np.uint16)
        (self.folder / "a.jxl").write_bytes(imagecodecs.jpegxl_encode(data, lossless=True, bitspersample=12))
        got = self.copy("a.jxl")
        self.assertLessEqual(np.abs(got - data * (65535 / 4095)).max(), 0.51)

    def test_jxl_of_floats(self):
        data = np.random.default_rng().random((20, 30, 3)).astype(np.float32)
        (self.folder / "a.jxl").write_bytes(imagecodecs.jpegxl_encode(data, lossless=True))
        self.copy("a.jxl", "out.exr", "pixels")
        got = {n: c.pixels for n, c in OpenEXR.File(str(self.folder / "out.exr"), separate_channels=True).channels().items()}
        for i, name in enumerate("RGB"):
            self.assertEqual(got[name].dtype, np.float32)
            self.assertLess(np.abs(got[name] - data[..., i]).max(), 1e-6)

    def test_jxl_animation(self):
        data = np.random.default_rng().integers(0, 256, (3, 20, 30, 3)).astype(np.uint8)
        (self.folder / "a.jxl").write_bytes(imagecodecs.jpegxl_encode(data, lossless=True, photometric="rgb"))
        self.copy("a.jxl")
        with Image.open(self.folder / "out.png") as image:
            self.assertEqual(image.n_frames, 3)
            for i in range(3):
                image.seek(i)
                self.assertTrue((np.asarray(image.convert("RGB")) == data[i]).all())

    def test_boxes_of_jxl(self):
        """Exif before the picture, XMP behind it; the library's encoder writes neither here."""
        box = lambda kind, data: struct.pack(">I", 8 + len(data)) + kind + data
        data = np.rint(self.pixels).astype(np.uint8)
        stream = imagecodecs.jpegxl_encode(data, lossless=True)
        self.assertEqual(stream[:2], b"\xff\x0a")
        start = box(b"JXL ", b"\r\n\x87\n") + box(b"ftyp", b"jxl \0\0\0\0jxl ")
        whole = start + box(b"Exif", bytes(4) + exif(0x128, 3)) + box(b"jxlc", stream) + box(b"xml ", XMP + b" " * 9000)
        (self.folder / "a.jxl").write_bytes(whole)
        self.assertTrue((self.copy("a.jxl") == data).all())
        with Image.open(self.folder / "out.png") as image:
            self.assertEqual(image.getexif()[0x128], 3)
            self.assertEqual(image.info["xmp"], XMP + b" " * 9000)

    # Folders

    def test_folders(self):
        """Their files are sources where --to says what the results are."""
        self.make("a.heic", "heifsave")
        self.save_avif("B.AVIF", self.pixels)
        (self.folder / "c.jxl").write_bytes(imagecodecs.jpegxl_encode(np.rint(self.pixels).astype(np.uint8)))
        with tempfile.TemporaryDirectory() as out:
            for options, names in (([], ["in.tif"]), (["--to", "png"], ["B.png", "a.png", "c.png", "in.png"])):
                done = subprocess.run([TOOL, "blur", self.folder, "-o", out, "--gaussian", "1", *options], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual("3 files: .avif .heic .jxl" in done.stdout, not options, done.stdout)
                self.assertEqual(sorted(os.listdir(out)), sorted(names + (["in.tif"] if options else [])))

    # Broken files, missing libraries

    def test_cut_off_and_damaged(self):
        self.save_avif("a.avif", self.pixels)
        self.make("a.heic", "heifsave", "--Q", "95")
        (self.folder / "a.jxl").write_bytes(imagecodecs.jpegxl_encode(np.rint(self.pixels).astype(np.uint8), lossless=True))
        for name in ("a.avif", "a.heic", "a.jxl"):
            whole = (self.folder / name).read_bytes()
            for at in range(20, len(whole) - 1, max(1, len(whole) // 12)):
                (self.folder / ("b" + name)).write_bytes(whole[:at])
                done = subprocess.run([COPY, self.folder / ("b" + name), self.folder / "b.png"], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), (name, at, done.stderr))
            for at in range(40, len(whole), max(1, len(whole) // 40)):  # the libraries themselves print nothing
                (self.folder / ("b" + name)).write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
                done = subprocess.run([COPY, self.folder / ("b" + name), self.folder / "b.png", "pixels"], capture_output=True, text=True,
                                      timeout=60)
                self.assertIn((done.returncode, done.stderr.count("\n")), ((0, 0), (1, 1)), (name, at, done.stderr))


if __name__ == "__main__":
    unittest.main()
