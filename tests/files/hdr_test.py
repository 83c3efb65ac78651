"""Radiance HDR through mollify_copy_file: files and their reader are made here by hand, vips reads the results as well."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np
import OpenEXR

COPY = os.path.abspath(os.environ.get("MOLLIFY_COPY_FILE", "build/dev/mollify_copy_file"))
HEAD = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n"


def size(height, width, axes=b"-Y %d +X %d"):
    return b"\n" + axes % (height, width) + b"\n"


def new_row(pixels):
    """Runs of equal bytes and plain bytes, in turns."""
    out = struct.pack(">BBH", 2, 2, len(pixels))
    for channel in range(4):
        x = 0
        while x < len(pixels):
            run = 1
            while x + run < len(pixels) and run < 127 and pixels[x + run, channel] == pixels[x, channel]:
                run += 1
            out += bytes([128 + run if run > 1 else 1, pixels[x, channel]])
            x += run
    return out


def old_row(pixels):
    out, x = b"", 0
    while x < len(pixels):
        run = 1
        while x + run < len(pixels) and (pixels[x + run] == pixels[x]).all():
            run += 1
        out += pixels[x].tobytes()
        left = run - 1
        while left:  # the lowest digit of 8 bits first
            out += bytes([1, 1, 1, left & 255])
            left >>= 8
        x += run
    return out


def read(data):
    """The header lines and the pixels, for files of runs or flat ones."""
    head, body = data[:data.index(b"\n\n")].split(b"\n"), data[data.index(b"\n\n") + 2:]
    line, body = body[:body.index(b"\n")], body[body.index(b"\n") + 1:]
    rows, columns = int(line.split()[1]), int(line.split()[3])
    pixels, at = np.zeros((rows, columns, 4), np.uint8), 0
    for y in range(rows):
        if not 8 <= columns <= 32767:
            pixels[y] = np.frombuffer(body, np.uint8, 4 * columns, at).reshape(columns, 4)
            at += 4 * columns
            continue
        assert body[at:at + 4] == struct.pack(">BBH", 2, 2, columns)
        at += 4
        for channel in range(4):
            x = 0
            while x < columns:
                code, at = body[at], at + 1
                if code > 128:
                    pixels[y, x:x + code - 128, channel], at, x = body[at], at + 1, x + code - 128
                else:
                    pixels[y, x:x + code, channel] = np.frombuffer(body, np.uint8, code, at)
                    at, x = at + code, x + code
            assert x == columns
    assert at == len(body)
    return head, line, pixels


def numbers(pixels):
    scale = np.where(pixels[..., 3:] == 0, 0.0, np.exp2(pixels[..., 3:].astype(float) - 136))
    return pixels[..., :3] * scale


class HdrTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def pixels(self, height, width):
        """Normalised as every writer has them: the largest mantissa is at least 128."""
        pixels = self.random.integers(0, 256, (height, width, 4)).astype(np.uint8)
        pixels[..., 0] |= 128
        pixels[..., 3] = np.maximum(pixels[..., 3], 1)
        pixels[self.random.random((height, width)) < 0.1] = 0
        pixels[height // 2, width // 4:] = pixels[height // 2, width // 4]  # a long run
        pixels[height // 3, :, 1] = 7
        return pixels

    def copy(self, data, result="out.hdr"):
        (self.folder / "in.hdr").write_bytes(data)
        done = subprocess.run([COPY, self.folder / "in.hdr", self.folder / result], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.text = done.stdout
        return read((self.folder / result).read_bytes()) if result.endswith(".hdr") else None

    def refused(self, data):
        (self.folder / "bad.hdr").write_bytes(data)
        done = subprocess.run(["bash", "-c", "ulimit -v 1000000; exec \"$@\"", "-", COPY, self.folder / "bad.hdr", self.folder / "b.hdr"],
                              capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stdout + done.stderr)
        return done.stderr

    def test_all_ways_to_store_rows(self):
        for height, width in ((50, 60), (9, 8), (5, 7), (3, 1), (2, 700), (2, 32768), (1, 32767)):
            pixels = self.pixels(height, width)
            ways = {"flat": lambda row: row.tobytes(), "old": old_row} | ({"new": new_row} if 8 <= width <= 32767 else {})
            for name, way in ways.items():
                with self.subTest(name, height=height, width=width):
                    _, line, got = self.copy(HEAD + size(height, width) + b"".join(map(way, pixels)))
                    self.assertEqual(line, b"-Y %d +X %d" % (height, width))
                    self.assertTrue((numbers(got) == numbers(pixels)).all())

    def test_pixels_of_another_reader(self):
        pixels = self.pixels(30, 40)
        pixels[..., 3] = self.random.integers(120, 136, (30, 40))
        self.copy(HEAD + size(30, 40) + b"".join(map(new_row, pixels)))
        subprocess.run(["vips", "rad2float", "out.hdr", "v.v"], cwd=self.folder, check=True, capture_output=True)
        subprocess.run(["vips", "rawsave", "v.v", "v.raw"], cwd=self.folder, check=True, capture_output=True)
        got = np.fromfile(self.folder / "v.raw", np.float32).reshape(30, 40, 3)
        exact = numbers(pixels)
        self.assertLess((np.abs(got - exact) / np.exp2(pixels[..., 3:] - 136.0)).max(), 0.51)  # vips adds half a step

    def test_header_lines_stay(self):
        lines = [b"#?RGBE", b"# a comment = with a sign", b"pfilt -1 -e 2", b"EXPOSURE=2.5", b"EXPOSURE= 0.5", b"COLORCORR= 1 1.5 1",
                 b"GAMMA=1.0", b"PIXASPECT=1.5", b"PRIMARIES= 0.64 0.33 0.3 0.6 0.15 0.06 0.3127 0.329", b"SOFTWARE=x",
                 b"VIEW= -vtv -vp 1 2 3"]
        pixels = self.pixels(9, 9)
        head, _, got = self.copy(b"\n".join(lines) + b"\nFORMAT=32-bit_rle_rgbe\n" + size(9, 9) + pixels.tobytes())
        self.assertEqual(head, lines + [b"FORMAT=32-bit_rle_rgbe"])
        self.assertTrue((numbers(got) == numbers(pixels)).all(), "the exposure is not applied")

    def test_a_line_that_looks_like_the_first(self):
        pixels = self.pixels(9, 9)
        head, _, got = self.copy(b"#?RADIANCE\n#?other\nFORMAT=32-bit_rle_rgbe\n" + size(9, 9) + pixels.tobytes())
        self.assertEqual(head, [b"#?RADIANCE", b"#?other", b"FORMAT=32-bit_rle_rgbe"])
        self.assertTrue((numbers(got) == numbers(pixels)).all())

    def test_no_format_line_and_returns(self):
        pixels = self.pixels(9, 9)
        _, _, got = self.copy(b"#?RADIANCE\r\nEXPOSURE=1\r\n\r\n-Y 9 +X 9\n" + pixels.tobytes())
        self.assertTrue((numbers(got) == numbers(pixels)).all())

    def test_axes(self):
        for axes in (b"-Y %d +X %d", b"-Y %d -X %d", b"+Y %d -X %d", b"+Y %d +X %d",
                     b"+X %d -Y %d", b"-X %d -Y %d", b"-X %d +Y %d", b"+X %d +Y %d"):
            with self.subTest(axes):
                pixels = self.pixels(11, 13)
                _, line, got = self.copy(HEAD + size(11, 13, axes) + b"".join(map(new_row, pixels)))
                self.assertEqual(line, axes % (11, 13))
                begins = {"+X": "left", "-X": "right", "+Y": "bottom", "-Y": "top"}  # where the first row or column lies
                exif = ["top left", "top right", "bottom right", "bottom left", "left top", "right top", "right bottom", "left bottom"]
                words = axes.decode().split()
                self.assertIn(f"orientation {1 + exif.index(begins[words[0]] + ' ' + begins[words[2]])}\n", self.text)
                self.assertTrue((numbers(got) == numbers(pixels)).all())

    def test_xyz_stays_xyz(self):
        pixels = self.pixels(9, 10)
        head, _, got = self.copy(b"#?RADIANCE\nFORMAT=32-bit_rle_xyze\n" + size(9, 10) + b"".join(map(new_row, pixels)))
        self.assertIn("XYZ", self.text)
        self.assertIn(b"FORMAT=32-bit_rle_xyze", head)
        self.assertTrue((numbers(got) == numbers(pixels)).all())

    def test_floats_become_the_nearest(self):
        """Against all neighbours in the format, by definition; what it cannot hold is told."""
        floats = np.exp2(self.random.uniform(-140, 127, (40, 50, 1))) * self.random.random((40, 50, 3))
        floats[0, 0], floats[0, 1], floats[0, 2] = (255.49, 1, 0), (255.51, 1, 0.4), (-1, np.nan, np.inf)
        floats[0, 3] = (1.999, 1.999, 0)
        floats = floats.astype(np.float32)
        OpenEXR.File({"compression": OpenEXR.NO_COMPRESSION, "type": OpenEXR.scanlineimage},
                     {c: floats[..., i].copy() for i, c in enumerate("RGB")}).write(str(self.folder / "in.exr"))
        done = subprocess.run([COPY, self.folder / "in.exr", self.folder / "out.hdr"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        for message in ("1 number below zero", "1 number that", "1 number above 1.69e38"):
            self.assertIn(message, done.stdout)
        _, _, got = read((self.folder / "out.hdr").read_bytes())
        exact = np.minimum(np.maximum(np.nan_to_num(floats.astype(float), nan=0.0, posinf=1e300), 0), 255 * 2.0**119)
        step = np.exp2(np.maximum(got[..., 3:], 1) - 136.0)
        self.assertLessEqual((np.abs(numbers(got) - exact) / step).max(), 0.5)
        self.assertTrue(((got[..., :3].max(-1) >= 128) | (got[..., 3] <= 1)).all(), "no exponent is larger than it has to be")
        self.assertEqual(got[0, 0].tolist(), [255, 1, 0, 136])
        self.assertEqual(got[0, 1].tolist(), [128, 0, 0, 137])  # 255.51 is nearer to 256 than to 255

    def test_cut_off(self):
        whole = HEAD + size(20, 30) + b"".join(map(new_row, self.pixels(20, 30)))
        for at in list(range(11, 60, 7)) + list(range(60, len(whole), 97)) + [len(whole) - 1]:
            self.assertRegex(self.refused(whole[:at]), "cut off|no valid size")

    def test_damaged(self):
        row = bytearray(new_row(self.pixels(1, 30)[0]))
        self.assertIn("another width", self.refused(HEAD + size(1, 31) + bytes(row) + bytes(99)))
        self.assertIn("longer than its row", self.refused(HEAD + size(1, 30) + bytes(row[:4]) + bytes([255, 1]) * 9 + bytes(99)))
        self.assertIn("longer than its row", self.refused(HEAD + size(1, 30) + bytes([1, 1, 1, 9]) + bytes(99)))
        self.assertIn("longer than its row", self.refused(HEAD + size(1, 30) + bytes([1, 2, 3, 4, 1, 1, 1, 40]) + bytes(99)))
        self.assertIn("no kind of HDR", self.refused(b"#?RADIANCE\nFORMAT=64-bit\n" + size(1, 3) + bytes(12)))
        for line in (b"-Y 0 +X 3", b"-Y 3 +X", b"-Y 3 -Y 3", b"-Y 3 +X 3 4", b"-Y 99999999999 +X 3", b"-Y -3 +X 3"):
            self.assertIn("no valid size", self.refused(HEAD + b"\n" + line + b"\n" + bytes(99)))
        self.assertIn("cut off", self.refused(HEAD + size(2000000000, 2000000000) + bytes(99)))

    def test_bytes_after_the_end(self):
        self.copy(HEAD + size(2, 9) + self.pixels(2, 9).tobytes() + b"hidden")
        self.assertIn("6 bytes after the end", self.text)
        self.assertNotIn(b"hidden", (self.folder / "out.hdr").read_bytes())


if __name__ == "__main__":
    unittest.main()
