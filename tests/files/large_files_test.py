"""Pictures that are large or do not fit into the memory of --memory are streamed: their results are those of whole pictures, byte for
byte."""
import itertools
import json
import os
import pathlib
import pty
import random
import resource
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
import OpenEXR
import tifffile
from PIL import Image

from tests.files import png_files as png
from tests.files.blurring import TOOL, BlurTest

SEED = int(os.environ.get("MOLLIFY_SEED", random.SystemRandom().randrange(2**32)))
print(f"seed {SEED}: repeat with MOLLIFY_SEED={SEED}", file=sys.stderr)
RANDOM = np.random.default_rng(SEED)
CHOICE = random.Random(SEED)


PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)"""


def some_numbers(shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return RANDOM.random(shape).astype(dtype)
    return RANDOM.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


class LargeFilesTest(BlurTest):
    def run_tool(self, source, result, *options, rows=None):
        """What the tool says of the file. With `rows`, in strips of so many, and with 0 as a whole."""
        environment = {**os.environ, **({} if rows is None else {"MOLLIFY_TEST_STRIP_ROWS": str(rows)})}
        words = [TOOL, "blur", str(self.path(source)), str(self.path(result)), "--json", *map(str, options)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return json.loads(done.stdout)

    def assert_streams(self, source, *options, ending=None):
        """In strips of any height it has the bytes and the messages of the whole."""
        ending = ending or pathlib.Path(source).suffix
        whole = self.run_tool(source, f"whole{ending}", "--force", *options, rows=0)
        expected = self.path(f"whole{ending}").read_bytes()
        for rows in CHOICE.sample(range(1, 40), 3):
            streamed = self.run_tool(source, f"streamed{ending}", "--force", *options, rows=rows)
            self.assertEqual(self.path(f"streamed{ending}").read_bytes(), expected, f"{source} {options} in strips of {rows} rows")
            for key in ("messages", "algorithm", "error", "width", "height"):
                self.assertEqual(streamed[key], whole[key])


    def assert_small(self, source, *options):
        """Of a picture that does not fit. What is measured is the larger of the tool's processes, each of which has few addresses."""
        result = "small" + pathlib.Path(source).suffix
        words = [TOOL, "blur", self.path(source), self.path(result), "--memory", "24M", *map(str, options)]
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (800 << 20, 800 << 20))
        done = subprocess.run([sys.executable, "-c", PEAK, *words], capture_output=True, text=True, timeout=120, preexec_fn=limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        whole = self.run_tool(source, "whole" + pathlib.Path(source).suffix, *options, rows=0)
        self.assertEqual(self.path(result).read_bytes(), self.path("whole" + pathlib.Path(source).suffix).read_bytes())
        self.assertGreater(whole["width"] * whole["height"] * 2 >> 20, 24)
        self.assertLess(int(done.stderr) >> 10, 24 + 90, "MB")


class WhatFitsTest(LargeFilesTest):
    """Strips are the usual way, with as many threads as there may be."""

    def resident(self, source, result, *options, whole=False):
        """MB of the larger of the tool's processes."""
        words = [sys.executable, "-c", PEAK, TOOL, "blur", self.path(source), self.path(result), "--force", "--quiet", *map(str, options)]
        environment = {**os.environ, **({"MOLLIFY_TEST_STRIP_ROWS": "0"} if whole else {})}
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stderr) >> 10

    def test_strips(self):
        pixels = some_numbers((3000, 4000, 3), "u1")
        tifffile.imwrite(self.path("a.tif"), pixels, photometric="rgb", metadata=None)
        Image.fromarray(pixels).save(self.path("a.jpg"), quality=50)
        Image.fromarray(pixels).save(self.path("a.png"), compress_level=1)
        for source, threads in itertools.product(("a.tif", "a.jpg", "a.png"), (1, 2)):
            with self.subTest(source=source, threads=threads):
                options = ("--gaussian", 6, "--threads", threads, *(("--compression", 1) if source == "a.png" else ()))
                result = "out" + pathlib.Path(source).suffix
                strips = self.resident(source, result, *options)
                found = self.path(result).read_bytes()
                whole = self.resident(source, result, *options, whole=True)
                self.assertEqual(found, self.path(result).read_bytes())
                self.assertGreater(whole, strips + (pixels.nbytes >> 20), "MB")


KERNELS = [("--gaussian", 0.8), ("--gaussian", 6), ("--gaussian", "0x5"), ("--box", 3.5), ("--box", "1x20"), ("--tent", 4)]
BORDERS = [(), ("--border", "mirror"), ("--border", "wrap"), ("--border", "constant", "--border-value", 0.5), ("--border", "reflect")]
REGIONS = [(), ("--roi", "40x31+9+17")]
OTHERS = [*REGIONS, ("--format", "f32", "--scale", "colour"), ("--alpha", "ignore")]


class TiffTest(LargeFilesTest):
    def write(self, pixels, **options):
        tifffile.imwrite(self.path("a.tif"), pixels, **{"metadata": None, **options})

    def test_every_layout(self):
        for _ in range(25):
            dtype = CHOICE.choice(["u1", "u2", "i2", "f2", "f4", "f8"])
            samples = CHOICE.choice([1, 3, 4, 5])
            shape = (CHOICE.randint(48, 150), CHOICE.randint(49, 200))
            options = CHOICE.choice([{}, {"tile": (32, 48)}, {"rowsperstrip": 7}, {"bigtiff": True, "tile": (16, 16)}])
            options["byteorder"] = CHOICE.choice("<>")
            if CHOICE.random() < 0.6:
                options["compression"] = CHOICE.choice(["lzw", "adobe_deflate", "packbits", "zstd"])
                options["predictor"] = options["compression"] != "packbits" and dtype != "f8" and CHOICE.random() < 0.5
            if samples > 1:
                options["planarconfig"] = CHOICE.choice(["contig", "separate"])
                shape = (samples, *shape) if options["planarconfig"] == "separate" else (*shape, samples)
            if samples == 4 and CHOICE.random() < 0.7:
                options["extrasamples"] = [CHOICE.choice(["unassalpha", "assocalpha"])]
            with self.subTest(dtype=dtype, shape=shape, **options):
                self.write(some_numbers(shape, dtype), photometric="rgb" if samples > 2 else "minisblack", **options)
                self.assert_streams("a.tif", *CHOICE.choice(KERNELS), *CHOICE.choice(BORDERS), *CHOICE.choice(OTHERS))

    def test_what_is_done_to_colours(self):
        pixels = some_numbers((90, 70, 4), "u2")
        self.write(pixels, photometric="rgb", extrasamples=["unassalpha"])
        for options in [("--linear",), ("--keep", "A"), ("--format", "u8"), ("--alpha", "ignore")]:
            self.assert_streams("a.tif", "--gaussian", 3, *options)
        self.write(some_numbers((90, 70), "u1"), photometric="miniswhite")
        self.assert_streams("a.tif", "--gaussian", 2)

    def test_pages_levels_and_metadata(self):
        with tifffile.TiffWriter(self.path("a.tif")) as file:
            file.write(some_numbers((120, 90, 3), "u1"), subifds=1, photometric="rgb", description="made by a test", resolution=(300, 300),
                       software="a test", datetime="2026:01:02 03:04:05", iccprofile=None, metadata=None, tile=(32, 32),
                       extratags=[(33432, 2, 0, "nobody", True), (65000, 3, 3, (1, 2, 3), True)])
            file.write(some_numbers((60, 45, 3), "u1"), subfiletype=1, photometric="rgb", metadata=None)
            file.write(some_numbers((33, 44), "f4"), metadata=None)
        self.assert_streams("a.tif", "--gaussian", 2)
        self.assert_streams("a.tif", "--gaussian", 2, "--page", 2)

    def test_memory(self):
        self.write(some_numbers((6000, 5000), "u1"), tile=(256, 256), bigtiff=True)
        self.assert_small("a.tif", "--gaussian", 20)

    def test_one_strip_is_refused_with_its_need(self):
        self.write(some_numbers((4000, 5000), "u1"), compression="lzw", rowsperstrip=4000)
        done = self.try_to_blur("a.tif", "out.tif", "--gaussian", 3, "--memory", "24M")
        self.assert_refused(done, "a strip", "--memory")

    def test_progress_on_a_terminal(self):
        self.write(some_numbers((3000, 1000), "u1"))
        environment = {**os.environ, "MOLLIFY_TEST_STRIP_ROWS": "500"}
        for options, is_drawn in [((), True), (("--quiet",), False), (("--json",), False)]:
            ours, theirs = pty.openpty()
            words = [TOOL, "blur", self.path("a.tif"), self.path("out.tif"), "--gaussian", "2", "--force", *options]
            subprocess.run(words, stdout=subprocess.DEVNULL, stderr=theirs, check=True, timeout=100, env=environment)
            os.write(theirs, b"end")
            os.close(theirs)
            bar = os.read(ours, 100000).decode()
            os.close(ours)
            for word in ("1/3", "2/3", "/s", "left", "megapixels of"):
                self.assertEqual(word in bar, is_drawn, bar)

    def test_a_disk_that_is_full(self):
        """While strips are read and blurred."""
        self.write(some_numbers((1000, 1000), "u1"), tile=(64, 64))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
        for options in ((), ("--border", "wrap")):
            environment = {**os.environ, "MOLLIFY_TEST_STRIP_ROWS": "20"}
            words = [TOOL, "blur", self.path("a.tif"), self.path("out.tif"), "--gaussian", "2", *options]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment, preexec_fn=limit, restore_signals=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn("cannot be written", done.stderr)
            self.assertEqual([each.name for each in self.folder.iterdir()], ["a.tif"])

    def test_killed_in_the_middle(self):
        self.write(some_numbers((3000, 1500), "u1"), compression="adobe_deflate", rowsperstrip=16)
        before = b"what was there"
        for number, whom in [(signal.SIGKILL, "worker"), (signal.SIGINT, "tool"), (signal.SIGTERM, "tool"), (signal.SIGKILL, "all")]:
            with self.subTest(signal=number, whom=whom):
                self.path("out.tif").write_bytes(before)
                self.kill(number, whom)
                self.assertEqual(self.path("out.tif").read_bytes(), before)
                if whom != "all":
                    self.assertEqual([each.name for each in self.folder.iterdir() if each.name.startswith(".mollify")], [])
        self.run_tool("a.tif", "out.tif", "--gaussian", 2, "--force")
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()), ["a.tif", "out.tif"], "what a killed run has left is removed")

    def kill(self, number, whom):
        """While a part of the result is written."""
        words = [TOOL, "blur", self.path("a.tif"), self.path("out.tif"), "--gaussian", "2", "--force"]
        environment = {**os.environ, "MOLLIFY_TEST_STRIP_ROWS": "1"}
        tool = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        deadline = time.monotonic() + 60
        while not any(each.name.startswith(".mollify") and each.stat().st_size > 1000 for each in self.folder.iterdir()):
            self.assertIsNone(tool.poll(), "it has ended before it was killed")
            self.assertLess(time.monotonic(), deadline)
        workers = [int(pid) for pid in pathlib.Path(f"/proc/{tool.pid}/task/{tool.pid}/children").read_text().split()]
        if whom == "all":
            tool.send_signal(signal.SIGSTOP)
        for pid in workers if whom != "tool" else []:
            os.kill(pid, number)
        if whom != "worker":
            tool.send_signal(number)
        tool.communicate(timeout=60)
        self.assertNotEqual(tool.returncode, 0)


class OtherFormatsTest(LargeFilesTest):
    def test_png(self):
        for colour, depth, interlaced in itertools.product((png.GREY, png.RGB, png.GREY_ALPHA, png.RGB_ALPHA), (8, 16), (False, True)):
            with self.subTest(colour=colour, depth=depth, interlaced=interlaced):
                pixels = some_numbers((CHOICE.randint(48, 120), CHOICE.randint(49, 90), png.CHANNELS[colour]), f"u{depth // 8}")
                others = {"between": png.text(b"tEXt", b"Comment", b"made by a test"), "trailer": b"more"}
                self.path("a.png").write_bytes(png.image(pixels, depth, colour, interlaced=interlaced, pieces=3, **others))
                self.assert_streams("a.png", *CHOICE.choice(KERNELS), *CHOICE.choice(BORDERS), *CHOICE.choice(REGIONS))
        self.assert_streams("a.png", "--gaussian", 2, ending=".tif")

    def test_jpeg(self):
        for mode, progressive, subsampling in itertools.product("LR", (False, True), (0, 2)):
            with self.subTest(mode=mode, progressive=progressive, subsampling=subsampling):
                pixels = some_numbers((CHOICE.randint(48, 120), CHOICE.randint(49, 90), *([3] if mode == "R" else [])), "u1")
                Image.fromarray(pixels).save(self.path("a.jpg"), progressive=progressive, subsampling=subsampling, comment=b"of a test")
                self.assert_streams("a.jpg", *CHOICE.choice(KERNELS), *CHOICE.choice(BORDERS), *CHOICE.choice(REGIONS))
        self.assert_streams("a.jpg", "--gaussian", 2, ending=".png")

    def test_exr(self):
        tiles = {"type": OpenEXR.tiledimage, "tiles": OpenEXR.TileDescription()}
        for kind, order in itertools.product(({"type": OpenEXR.scanlineimage}, tiles), (OpenEXR.INCREASING_Y, OpenEXR.DECREASING_Y)):
            for compression in (OpenEXR.NO_COMPRESSION, OpenEXR.ZIP_COMPRESSION, OpenEXR.PIZ_COMPRESSION, OpenEXR.DWAB_COMPRESSION):
                with self.subTest(kind=kind["type"], order=order, compression=compression):
                    shape = (CHOICE.randint(48, 120), CHOICE.randint(49, 90))
                    channels = {name: some_numbers(shape, CHOICE.choice(["f2", "f4"])) for name in ("R", "G", "B", "A", "left.Y", "Z")}
                    header = {"compression": compression, "lineOrder": order, "note": "of a test", **kind}
                    OpenEXR.File(header, channels).write(str(self.path("a.exr")))
                    self.assert_streams("a.exr", *CHOICE.choice(KERNELS), *CHOICE.choice([*REGIONS, ("--grow",)]))
        self.assert_streams("a.exr", "--gaussian", 2, ending=".tif")

    def test_hdr(self):
        head = b"#?RADIANCE\nSOFTWARE=a test\nFORMAT=32-bit_rle_rgbe\n\n-Y 70 +X 60\n"
        self.path("a.hdr").write_bytes(head + some_numbers((70, 60, 4), "u1").tobytes().replace(b"\x02\x02", b"\x03\x03") + b"more")
        for options in [("--gaussian", 3), ("--box", 2), ("--gaussian", 2, "--roi", "40x31+9+17")]:
            self.assert_streams("a.hdr", *options)

    def test_memory(self):
        """What is measured is the larger of the two processes. The limit of addresses is for both."""
        grey = some_numbers((5000, 6000), "u1")
        Image.fromarray(grey).save(self.path("a.jpg"), quality=60)
        self.path("a.png").write_bytes(png.image(grey[..., None], 8, png.GREY))
        OpenEXR.File({"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage},
                     {"Y": (grey / 255).astype("f2")}).write(str(self.path("a.exr")))
        for source in ("a.jpg", "a.png", "a.exr"):
            with self.subTest(source=source):
                self.assert_small(source, "--gaussian", 20)

    def test_cut_off(self):
        """Behind the region, too, and then nothing is left behind."""
        for name, options in (("a.png", {}), ("a.jpg", {}), ("a.jpg", {"progressive": True})):
            Image.fromarray(some_numbers((300, 200), "u1")).save(self.path(name), **options)
            self.path(name).write_bytes(self.path(name).read_bytes()[:-2000])
            for region in ((), ("--roi", "60x50+0+10")):
                environment = {**os.environ, "MOLLIFY_TEST_STRIP_ROWS": "9"}
                result = self.path(f"out{pathlib.Path(name).suffix}")
                words = [TOOL, "blur", self.path(name), result, "--gaussian", "2", *region]
                done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=environment)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
                self.assertFalse(result.exists())
                self.assertEqual([each.name for each in self.folder.iterdir() if each.name.startswith(".mollify")], [])

    def test_what_is_held_as_a_whole_says_so(self):
        """Nothing is left behind, and the line says what takes so much."""
        pixels = some_numbers((3000, 3000, 3), "u1")
        Image.fromarray(pixels).save(self.path("a.jpg"), progressive=True)
        self.path("a.png").write_bytes(png.image(pixels, 8, png.RGB, interlaced=True))
        OpenEXR.File({"type": OpenEXR.scanlineimage, "lineOrder": OpenEXR.DECREASING_Y},
                     {"Y": (pixels[..., 0] / 255).astype("f4")}).write(str(self.path("a.exr")))
        tifffile.imwrite(self.path("a.tif"), pixels, photometric="rgb", metadata=None)
        for source, result, words in [("a.jpg", "out.tif", "is a progressive JPEG, which takes"),
                                      ("a.png", "out.tif", "the interlaced picture"),
                                      ("a.exr", "out.exr", "stored from its last row on"),
                                      ("a.tif", "out.webp", "WebP files are written as a whole")]:
            with self.subTest(source=source):
                done = self.try_to_blur(source, result, "--gaussian", 3, "--memory", "24M")
                self.assert_refused(done, words, "--memory")


if __name__ == "__main__":
    unittest.main()
