"""`mollify pyramid`: every level against a float64 reference made from the picture itself, and what other readers see."""
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
import tifffile
from PIL import Image

from tests.files.blurring import TOOL, FolderTest

SEED = int(os.environ.get("MOLLIFY_SEED", random.SystemRandom().randrange(2**32)))
print(f"seed {SEED}: repeat with MOLLIFY_SEED={SEED}", file=sys.stderr)
RANDOM = np.random.default_rng(SEED)
CHOICE = random.Random(SEED)
DEFLATE, NONE = 8, 1


def weights(sigma, centre, size):
    """Of a row of pixels whose first and last one are repeated without end."""
    reach = int(np.ceil(9 * sigma + 2))
    places = np.arange(int(np.floor(centre)) - reach, int(np.ceil(centre)) + reach + 1)
    taps = np.exp(-((places - centre) ** 2) / (2 * sigma**2))
    row = np.zeros(size)
    np.add.at(row, np.clip(places, 0, size - 1), taps / taps.sum())
    return row


def filter_of(level, sigma, size):
    sigma *= np.sqrt((4**level - 1) / 3)
    return np.array([weights(sigma, (i + 0.5) * 2**level - 0.5, size) for i in range(-(-size // 2**level))])


def reference(pixels, level, sigma):
    """Level n by definition, not rounded."""
    pixels = pixels.astype(np.float64)
    rows = np.tensordot(filter_of(level, sigma, pixels.shape[0]), pixels, (1, 0))
    return np.moveaxis(np.tensordot(filter_of(level, sigma, pixels.shape[1]), rows, (1, 1)), 0, 1)


def some_numbers(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return RANDOM.random(shape).astype(dtype)
    return RANDOM.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def levels_of(path):
    with tifffile.TiffFile(path) as file:
        page = file.pages[0]
        return [page.asarray(), *(level.asarray() for level in page.pages or [])]


class PyramidTest(FolderTest):
    def pyramid(self, source, *options, rows=None, result="out.tif", **more):
        environment = {**os.environ, **({"MOLLIFY_TEST_STRIP_ROWS": str(rows)} if rows else {})}
        words = [TOOL, "pyramid", self.path(source), self.path(result), *map(str, options)]
        return subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment, **more)

    def make(self, source, *options, rows=None):
        done = self.pyramid(source, "--force", *options, rows=rows)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def refuse(self, source, *options, words, **more):
        done = self.pyramid(source, *options, **more)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual([each.name for each in self.folder.iterdir() if each.name.startswith((".mollify", "out"))], [])

    def test_names_of_other_formats(self):
        self.write(np.zeros((20, 30), np.uint8))
        for name in ("p.png", "p.exr"):
            done = self.pyramid("a.tif", result=name)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn(f"{name}: a pyramid is a TIFF; use the extension .tif", done.stderr)
            self.assertFalse(self.path(name).exists())
        self.assertEqual(self.pyramid("a.tif", result="p.btf").returncode, 0)

    def write(self, pixels, name="a.tif", **options):
        tifffile.imwrite(self.path(name), pixels, **{"metadata": None, **options})

    def assert_levels(self, pixels, printed, sigma=0.7, expected=reference):
        """Within the error that is printed, and half a step where numbers are rounded."""
        levels = levels_of(self.path("out.tif"))
        np.testing.assert_array_equal(levels[0], pixels)
        promised = float(re.search(r"error at most (\S+)", printed)[1])
        is_float = pixels.dtype.kind == "f"
        full_scale = np.abs(pixels).max() if is_float else np.iinfo(pixels.dtype).max
        for number, level in enumerate(levels[1:], 1):
            error = np.abs(level - expected(pixels, number, sigma)).max()
            step = np.spacing(pixels.dtype.type(full_scale)) if is_float else 1
            self.assertLessEqual(error, full_scale * promised * 1.001 + step / 2, f"level {number}")
        return levels

    def test_every_level_by_definition(self):
        for _ in range(12):
            dtype = CHOICE.choice(["u1", "u1", "u2", "i2", "f4", "f2", "u4", "i4", "f8"])
            samples = CHOICE.choice([(), (3,), (5,)])
            shape = (CHOICE.randint(1, 300), CHOICE.randint(1, 300), *samples)
            sigma = CHOICE.choice([0.7, 0.7, 0.7, 0.1, 0.35, 0.5, 1.3])
            rows = CHOICE.choice([None, CHOICE.randint(1, 70)])
            stored = CHOICE.choice([{}, {"tile": (32, 48)}, {"byteorder": ">"}, {"compression": "lzw", "predictor": dtype != "f2"}])
            count = max(shape[0] - 1, shape[1] - 1).bit_length()
            with self.subTest(dtype=dtype, shape=shape, sigma=sigma, rows=rows, count=count, **stored):
                pixels = some_numbers(shape, dtype)
                self.write(pixels, photometric="rgb" if samples == (3,) else "minisblack", **({"planarconfig": "contig"} if samples else {}),
                           **stored)
                printed = self.make("a.tif", "--gaussian", sigma, "--levels", count, "--tile", 32, rows=rows)
                self.assertEqual(len(self.assert_levels(pixels, printed, sigma)), count + 1)

    def test_alpha_weighs_colours(self):
        pixels = some_numbers((130, 170, 4), "u1")
        self.write(pixels, photometric="rgb", extrasamples=["unassalpha"])

        def weighted(pixels, level, sigma):
            alpha = pixels[..., 3:].astype(np.float64)
            blurred = reference(alpha, level, sigma)
            return np.concatenate([reference(pixels[..., :3] * alpha, level, sigma) / blurred, blurred], axis=2)

        self.assert_levels(pixels, self.make("a.tif", "--levels", 6, rows=40), expected=weighted)

    def test_of_other_formats(self):
        pixels = some_numbers((300, 200, 3), "u1")
        Image.fromarray(pixels).save(self.path("a.png"))
        self.assert_levels(pixels, self.make("a.png"))
        Image.fromarray(pixels).save(self.path("a.jpg"))
        self.assert_levels(np.asarray(Image.open(self.path("a.jpg"))), self.make("a.jpg"))

    def test_structure(self):
        pixels = some_numbers((1111, 777), "u1")
        self.write(pixels, description="made by a test", resolution=(300, 300))
        self.make("a.tif")
        with tifffile.TiffFile(self.path("out.tif")) as file:
            self.assertTrue(file.is_bigtiff)
            self.assertEqual(len(file.pages), 1)
            page = file.pages[0]
            self.assertEqual((page.description, page.tile, len(page.subifds)), ("made by a test", (256, 256), 3))
            self.assertEqual([(level.shape, level.tile, level.subfiletype) for level in page.pages],
                             [((556, 389), (256, 256), 1), ((278, 195), (256, 256), 1), ((139, 98), (256, 256), 1)])
        self.make("a.tif", "--overviews", "--levels", 2, "--tile", 64)
        with tifffile.TiffFile(self.path("out.tif")) as file:
            self.assertEqual([(page.shape, page.subfiletype, page.tile) for page in file.pages],
                             [((1111, 777), 0, (64, 64)), ((556, 389), 1, (64, 64)), ((278, 195), 1, (64, 64))])
            self.assertEqual([page.tags.get("ImageDescription") is not None for page in file.pages], [True, False, False])

    # The rules of GDAL's validate_cloud_optimized_geotiff.
    def assert_cloud_optimised(self):
        with tifffile.TiffFile(self.path("out.tif")) as file:
            pages = list(file.pages)
            begins = [page.offset for page in pages]
            self.assertEqual(begins[0], 16)
            self.assertEqual(begins, sorted(begins))
            tiles = [list(zip(page.dataoffsets, page.databytecounts)) for page in pages]
            for one in tiles:
                self.assertEqual(one, sorted(one))
            first = [one[0][0] for one in tiles]
            self.assertEqual(first, sorted(first, reverse=True))
            self.assertGreater(first[-1], begins[-1])
            taken = sorted(place for one in tiles for place in one)
            for (begin, count), (after, _) in zip(taken, taken[1:]):
                self.assertLessEqual(begin + count, after)
            self.assertEqual(sum(taken[-1]), os.path.getsize(self.path("out.tif")))

    def test_order_for_the_cloud(self):
        for shape, dtype, options in (((1111, 777, 3), "u1", []), ((520, 1300), "u2", ["--compression", 6, "--tile", 64]),
                                      ((40, 30), "f4", ["--levels", 2]), ((300, 301, 4), "u1", ["--levels", 0])):
            with self.subTest(shape=shape, dtype=dtype):
                pixels = some_numbers(shape, dtype)
                self.write(pixels, description="made by a test", resolution=(300, 300), extratags=[(33550, "d", 3, (0.5, 0.5, 0.0), True)])
                self.make("a.tif", *options)
                as_children = levels_of(self.path("out.tif"))
                self.make("a.tif", "--overviews", *options)
                self.assert_cloud_optimised()
                with tifffile.TiffFile(self.path("out.tif")) as file:
                    self.assertEqual(len(file.pages), len(as_children))
                    for page, level in zip(file.pages, as_children):
                        np.testing.assert_array_equal(page.asarray(), level)
                    self.assertEqual(file.pages[0].description, "made by a test")
                    self.assertEqual(file.pages[0].tags[33550].value, (0.5, 0.5, 0.0))

    def test_order_for_the_cloud_with_exif(self):
        exif = Image.Exif()
        exif[0x010F] = "Maker"
        exif.get_ifd(0x8769)[0x829A] = 0.5
        exif.get_ifd(0x8825)[1] = "N"
        Image.fromarray(some_numbers((400, 500, 3), "u1")).save(self.path("a.jpg"), exif=exif)
        self.make("a.jpg", "--overviews", "--compression", 6)
        self.assert_cloud_optimised()
        with Image.open(self.path("out.tif")) as result:
            kept = result.getexif()
            self.assertEqual((kept[0x010F], float(kept.get_ifd(0x8769)[0x829A]), kept.get_ifd(0x8825)[1]), ("Maker", 0.5, "N"))

    def test_compression(self):
        pixels = np.zeros((600, 500), np.uint8)
        self.write(pixels)
        for options, expected in [((), NONE), (("--compression", 6), DEFLATE), (("--compression", 0), NONE)]:
            self.make("a.tif", *options)
            with tifffile.TiffFile(self.path("out.tif")) as file:
                self.assertEqual([page.compression for page in [file.pages[0], *file.pages[0].pages]], [expected] * 3)
        Image.fromarray(pixels).save(self.path("a.png"))
        self.make("a.png")
        with tifffile.TiffFile(self.path("out.tif")) as file:
            self.assertEqual(file.pages[0].compression, DEFLATE)

    def test_levels_of_the_source_are_made_anew(self):
        pixels = some_numbers((400, 300), "u1")
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            file.write(pixels, subifds=1, metadata=None)
            file.write(np.zeros((200, 150), np.uint8), subfiletype=1, metadata=None)
        printed = self.make("a.tif", "--levels", 3)
        self.assertIn("left out", printed)
        self.assertEqual(len(self.assert_levels(pixels, printed)), 4)

    def test_a_mask_is_left_out(self):
        pixels = some_numbers((90, 80), "u1")
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            file.write(pixels, metadata=None)
            file.write(np.ones((90, 80), bool), subfiletype=4, photometric=4, metadata=None)
        printed = self.make("a.tif", "--levels", 2)
        self.assertIn("mask", printed)
        self.assertEqual(len(self.assert_levels(pixels, printed)), 3)

    def test_pages(self):
        pages = [some_numbers((90, 80), "u1"), some_numbers((70, 60), "u1")]
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            for page in pages:
                file.write(page, metadata=None)
        self.refuse("a.tif", words=["2 pages", "--page"])
        self.assert_levels(pages[1], self.make("a.tif", "--page", 2, "--levels", 2))

    def test_refusals(self):
        self.write(some_numbers((90, 80), "u1"))
        self.refuse("a.tif", "--levels", 8, words=["7 smaller copies at most"])
        self.refuse("a.tif", "--gaussian", 0, words=["--gaussian 0"])
        self.refuse("a.tif", "--memory", "30K", words=["memory", "--memory"])
        self.path("b.tif").write_bytes(b"no picture")
        self.refuse("b.tif", words=["b.tif"])
        self.path("kept.tif").write_bytes(b"kept")
        done = self.pyramid("a.tif", result="kept.tif")
        self.assertEqual((done.returncode, self.path("kept.tif").read_bytes()), (1, b"kept"))
        self.assertIn("--force", done.stderr)

    def test_a_disk_that_is_full(self):
        self.write(some_numbers((1000, 1000), "u1"))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
        for options in ([], ["--overviews"]):
            self.refuse("a.tif", *options, words=["cannot be written"], rows=50, preexec_fn=limit)

    def test_a_source_that_is_damaged(self):
        self.write(some_numbers((600, 500), "u1"), rowsperstrip=8, compression="adobe_deflate")
        whole = bytearray(self.path("a.tif").read_bytes())
        self.assertGreater(len(whole), 200_000)
        whole[150_000:180_000] = bytes(30_000)
        self.path("a.tif").write_bytes(whole)
        self.refuse("a.tif", words=["a.tif"], rows=30)

    def test_killed_in_the_middle(self):
        self.write(some_numbers((3000, 1500), "u1"), compression="adobe_deflate", rowsperstrip=16)
        environment = {**os.environ, "MOLLIFY_TEST_STRIP_ROWS": "1"}
        for number in (signal.SIGINT, signal.SIGTERM):
            tool = subprocess.Popen([TOOL, "pyramid", self.path("a.tif"), self.path("out.tif")], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, env=environment)
            deadline = time.monotonic() + 60
            while not any(each.name.startswith(".mollify") and each.stat().st_size > 1000 for each in self.folder.iterdir()):
                self.assertIsNone(tool.poll(), "it has ended before it was killed")
                self.assertLess(time.monotonic(), deadline)
            tool.send_signal(number)
            tool.communicate(timeout=60)
            self.assertNotEqual(tool.returncode, 0)
            self.assertEqual([each.name for each in self.folder.iterdir()], ["a.tif"])

    def test_memory(self):
        """Far less than the picture has bytes."""
        self.write(some_numbers((8000, 8000), "u1"), tile=(256, 256), bigtiff=True)
        peak = "import resource, subprocess, sys; c = subprocess.run(sys.argv[1:]).returncode; " \
               "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10); sys.exit(c)"
        words = [sys.executable, "-c", peak, TOOL, "pyramid", self.path("a.tif"), self.path("out.tif"), "--memory", "24M", "--quiet"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(int(done.stdout), 24 + 35, "MB")


if __name__ == "__main__":
    unittest.main()
