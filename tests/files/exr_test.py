"""OpenEXR through mollify_copy_file: files of OpenEXR's Python module, and headers made by hand; pixels and attributes stay."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np
import OpenEXR

COPY = os.path.abspath(os.environ.get("MOLLIFY_COPY_FILE", "build/dev/mollify_copy_file"))
COMPRESSIONS = {"NO": 0, "RLE": 1, "ZIPS": 2, "ZIP": 3, "PIZ": 4, "PXR24": 5, "B44": 6, "B44A": 7, "DWAA": 8, "DWAB": 9}


def attributes_of(data, multi_part=False):
    """The headers of a file, parsed by hand: a dict of name to (type, bytes) for each part."""
    parts, at = [], 8
    while True:
        header = {}
        while data[at]:
            name, at = data[at:data.index(b"\0", at)].decode(), data.index(b"\0", at) + 1
            kind, at = data[at:data.index(b"\0", at)].decode(), data.index(b"\0", at) + 1
            size = struct.unpack_from("<i", data, at)[0]
            header[name] = (kind, data[at + 4:at + 4 + size])
            at += 4 + size
        at += 1
        parts.append(header)
        if not multi_part:
            return parts
        if not data[at]:
            return parts


def attribute(name, kind, data):
    return name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<i", len(data)) + data


def channel_list(channels):
    """(name, type, x sampling, y sampling)"""
    return b"".join(n.encode() + b"\0" + struct.pack("<iB3xii", t, 0, x, y) for n, t, x, y in channels) + b"\0"


def box(*numbers):
    return struct.pack("<4i", *numbers)


def header(channels, window, compression=0, line_order=0, display=None, extra=b"", flags=0):
    return struct.pack("<II", 20000630, 2 | flags) + attribute("channels", "chlist", channel_list(channels)) \
        + attribute("compression", "compression", bytes([compression])) + attribute("dataWindow", "box2i", box(*window)) \
        + attribute("displayWindow", "box2i", box(*(display or window))) + attribute("lineOrder", "lineOrder", bytes([line_order])) \
        + attribute("pixelAspectRatio", "float", struct.pack("<f", 1)) + attribute("screenWindowCenter", "v2f", struct.pack("<2f", 0, 0)) \
        + attribute("screenWindowWidth", "float", struct.pack("<f", 1)) + extra + b"\0"


def scanlines(head, rows, first_row=0, decreasing=False):
    """An uncompressed file of one row a chunk."""
    order = range(len(rows) - 1, -1, -1) if decreasing else range(len(rows))
    at, offsets, body = len(head) + 8 * len(rows), [0] * len(rows), b""
    for y in order:
        offsets[y] = at + len(body)
        body += struct.pack("<ii", first_row + y, len(rows[y])) + rows[y]
    return head + struct.pack(f"<{len(rows)}Q", *offsets) + body


class ExrTest(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def copy(self, source="in.exr", result="out.exr", *words):
        done = subprocess.run([COPY, self.folder / source, self.folder / result, *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, data, *words):
        (self.folder / "bad.exr").write_bytes(data)
        limits = "ulimit -v 1500000; exec \"$@\""
        done = subprocess.run(["bash", "-c", limits, "-", COPY, self.folder / "bad.exr", self.folder / "bad_out.exr", *words],
                              capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    def channels(self, path, part=0):
        file = OpenEXR.File(str(self.folder / path), separate_channels=True)
        return {name: channel.pixels for name, channel in file.channels(part).items()}

    def smooth(self, shape, dtype):
        y, x = np.mgrid[0:shape[0], 0:shape[1]]
        return (np.sin(x / 7.0) * np.cos(y / 9.0) + 1.5 + 0.01 * self.random.random(shape)).astype(dtype)

    def make(self, header=None, shape=(70, 90), name="in.exr", dtype=np.float16, channels="RGBA"):
        header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage} | (header or {})
        pixels = {c: self.smooth(shape, dtype) for c in channels}
        OpenEXR.File(header, {c: p.copy() for c, p in pixels.items()}).write(str(self.folder / name))
        return pixels

    def assert_same_file(self, source="in.exr", result="out.exr", multi_part=False, but=()):
        old = attributes_of((self.folder / source).read_bytes(), multi_part)
        new = attributes_of((self.folder / result).read_bytes(), multi_part)
        self.assertEqual(len(old), len(new))
        for a, b in zip(old, new):
            for name in but:
                a.pop(name, None), b.pop(name, None)
            if not multi_part:  # the library writes it, which single parts need not have
                a.pop("type", None), b.pop("type", None)
            self.assertEqual(a, b)

    def assert_same_pixels(self, source="in.exr", result="out.exr", part=0):
        old, new = self.channels(source, part), self.channels(result, part)
        self.assertEqual(old.keys(), new.keys())
        for name in old:
            self.assertEqual(old[name].dtype, new[name].dtype)
            self.assertTrue(np.array_equal(old[name], new[name], equal_nan=True), name)

    # Pixels

    def test_all_compressions_and_types(self):
        for name, number in COMPRESSIONS.items():
            for tiled in (False, True):
                for dtype in (np.float16, np.float32, np.uint32):
                    with self.subTest(name, tiled=tiled, dtype=dtype):
                        compression = getattr(OpenEXR, name + "_COMPRESSION")
                        extra = {"type": OpenEXR.tiledimage, "tiles": OpenEXR.TileDescription()} if tiled else {}
                        if tiled:
                            extra["tiles"].xSize, extra["tiles"].ySize = 32, 16
                        self.make({"compression": compression} | extra, dtype=dtype)
                        self.copy()
                        self.assert_same_file()
                        self.assertEqual(attributes_of((self.folder / "out.exr").read_bytes())[0]["compression"][1][0], number)
                        if name in ("PXR24", "B44", "B44A", "DWAA", "DWAB"):  # with losses: a second time at worst as much again
                            old, new = self.channels("in.exr"), self.channels("out.exr")
                            for key in old:
                                self.assertLess(np.abs(old[key].astype(float) - new[key]).max(), 0.05)
                        else:
                            self.assert_same_pixels()

    def test_threads(self):
        for kind in ({}, {"type": OpenEXR.tiledimage, "tiles": OpenEXR.TileDescription()}):
            if kind:
                kind["tiles"].xSize = kind["tiles"].ySize = 64
            self.make({"compression": OpenEXR.ZIP_COMPRESSION} | kind, shape=(400, 300))
            self.copy()
            one = (self.folder / "out.exr").read_bytes()
            self.copy("in.exr", "out.exr", "threads")
            self.assertEqual((self.folder / "out.exr").read_bytes(), one)
            whole = bytearray((self.folder / "in.exr").read_bytes())
            whole[len(whole) // 2:len(whole) // 2 + 400] = bytes(400)
            self.assertIn("damaged", self.refused(bytes(whole), "threads"))

    def test_special_numbers(self):
        bits = self.random.integers(0, 1 << 16, (40, 50)).astype(np.uint16)
        floats = self.random.integers(0, 1 << 32, (40, 50)).astype(np.uint32).view(np.float32)
        OpenEXR.File({"compression": OpenEXR.PIZ_COMPRESSION, "type": OpenEXR.scanlineimage},
                     {"R": bits.view(np.float16), "G": floats, "id": bits.astype(np.uint32) * 65535}).write(str(self.folder / "in.exr"))
        self.copy()
        old, new = self.channels("in.exr"), self.channels("out.exr")
        for name, dtype in (("R", np.uint16), ("G", np.uint32), ("id", np.uint32)):
            self.assertTrue((old[name].view(dtype) == new[name].view(dtype)).all(), name)

    def test_mixed_types_and_layers(self):
        kinds = {"R": np.float16, "G": np.float16, "B": np.float32, "A": np.float16, "id": np.uint32, "Z": np.float32,
                 "diffuse.R": np.float16, "diffuse.G": np.float32, "diffuse.B": np.float16, "left.eye.A": np.float32}
        pixels = {n: self.smooth((33, 41), k) for n, k in kinds.items()}
        header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
        OpenEXR.File(header, dict(pixels)).write(str(self.folder / "in.exr"))
        self.copy()
        self.assert_same_pixels()
        self.assert_same_file()

    def rows_file(self, name, **options):
        """3 x 5, uncompressed, by hand, with the data window away from zero."""
        values = self.random.random((5, 3)).astype(np.float32)
        window = (-4, 7, -2, 11)
        head = header([("Y", 2, 1, 1)], window, display=(10, -20, 99, 79), line_order=1 if options.get("decreasing") else 0,
                      extra=options.pop("extra", b""))
        (self.folder / name).write_bytes(scanlines(head, [r.tobytes() for r in values], 7, **options))
        return values

    def test_decreasing_rows_and_windows(self):
        values = self.rows_file("in.exr", decreasing=True)
        self.copy()
        self.assertTrue((self.channels("out.exr")["Y"] == values).all())
        self.assert_same_file()
        data = (self.folder / "out.exr").read_bytes()
        table = struct.unpack_from("<5Q", data, len(data) - 5 * (8 + 12) - 40)
        self.assertEqual(list(table), sorted(table, reverse=True), "the last row is stored first")

    def test_subsampled_channel(self):
        """Every second number of a linear ramp: those between are known."""
        rows, y = [], np.arange(8)
        ramp = (np.arange(8)[None, :] * 3.0 + y[:, None] * 5.0).astype(np.float32)
        for i in range(8):
            row = ramp[i].astype(np.float32).tobytes()  # G, then half: in the order of names
            rows.append(row + (ramp[i, ::2].tobytes() if i % 2 == 0 else b""))
        (self.folder / "in.exr").write_bytes(scanlines(header([("G", 2, 1, 1), ("half", 2, 2, 2)], (0, 0, 7, 7)), rows))
        self.assertIn("every second", self.copy())
        got = self.channels("out.exr")
        self.assertTrue((got["G"] == ramp).all())
        self.assertTrue((got["half"][:7, :7] == ramp[:7, :7]).all())
        self.assertTrue((got["half"][7, :7] == ramp[6, :7]).all())

    def test_luminance_chroma(self):
        """Y, RY and BY by their definition, of constant chroma: R, G and B come back."""
        weights = np.array([0.2126, 0.7152, 0.0722])
        level = self.random.random((48, 64)) + 0.5
        colour = np.array([0.9, 0.5, 0.2])
        rgb = level[..., None] * colour
        luminance = rgb @ weights
        red, blue = (rgb[..., 0] - luminance) / luminance, (rgb[..., 2] - luminance) / luminance
        rows = []
        for i in range(48):
            chroma = i % 2 == 0
            row = blue[i, ::2].astype(np.float16).tobytes() + red[i, ::2].astype(np.float16).tobytes() if chroma else b""
            rows.append(row + luminance[i].astype(np.float16).tobytes())
        channels = [("BY", 1, 2, 2), ("RY", 1, 2, 2), ("Y", 1, 1, 1)]
        (self.folder / "in.exr").write_bytes(scanlines(header(channels, (0, 0, 63, 47)), rows))
        self.assertIn("become R, G and B", self.copy())
        got = self.channels("out.exr")
        for i, name in enumerate("RGB"):
            self.assertLess(np.abs(got[name].astype(float) / rgb[..., i] - 1).max(), 4e-3, name)

    def roles(self, names, header=None, types=None):
        self.make(header, shape=(3, 4), channels=names) if types is None else OpenEXR.File(
            {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage} | (header or {}),
            {n: np.zeros((3, 4), t) for n, t in zip(names, types)}).write(str(self.folder / "in.exr"))
        lines = [line.removeprefix("channel ").rsplit(", ", 1) for line in self.copy().splitlines() if line.startswith("channel ")]
        self.assertEqual({name for name, _ in lines}, set(names))
        return dict(lines)

    def test_what_channels_mean(self):
        colour = ["R", "G", "B", "diffuse.R", "diffuse.G", "VRayDiffuseFilter.B", "normalized.R", "ViewLayer.Combined.R", "sss.red",
                  "left.Y"]
        kept = ["Z", "ZBack", "depth", "Depth.Z", "ViewLayer.Depth.Z", "VRayZDepth.R", "zDepth", "depth.R", "N.X", "N.Y", "N.Z", "Nworld.r",
                "Nn.x",
                "normal.R", "Normals.X", "VRayNormals.X", "VRayBumpNormals.R", "ViewLayer.Normal.X", "P.X", "Pworld.R", "P.Z", "__Pworld.g",
                "position.X", "ViewLayer.Position.Z", "WorldPosition.R", "motionvector.R", "motion.X", "motionFore.x", "velocity.X",
                "VRayVelocity.R", "ViewLayer.Vector.W", "forward.u", "forward.v", "backward.u", "MotionVectors.G", "UV.U", "ViewLayer.UV.V",
                "st.r", "uv.x", "crypto_object00.R", "crypto_object00.A", "crypto_material01.g", "ViewLayer.CryptoObject00.r",
                "cryptomatte.B",
                "ViewLayer.IndexOB.X", "objectID", "id", "ObjectID.R", "VRayRenderID.X", "nodeId.r", "Pref.X", "u", "v", "Pz"]
        alpha = ["A", "diffuse.A", "ViewLayer.Combined.A"]
        data = ["mask", "coverage", "AO", "sampleCount", "shape.X", "shape.Y", "shape.Z", "VRaySampleRate"]
        got = self.roles(colour + kept + alpha + data)
        for role, names in (("colour", colour), ("kept", kept), ("alpha", alpha), ("data", data)):
            for name in names:
                self.assertEqual(got[name], role, name)

    def test_layers_that_the_header_calls_cryptomatte(self):
        got = self.roles(["R", "who00.R", "who00.A", "who01.G", "what.R"], {"cryptomatte/1a2b3c/name": "who"})
        self.assertEqual(got, {"R": "colour", "who00.R": "kept", "who00.A": "kept", "who01.G": "kept", "what.R": "colour"})

    def test_integers_are_ids(self):
        got = self.roles(["R", "G", "matte"], types=[np.float16, np.uint32, np.uint32])
        self.assertEqual(got, {"R": "colour", "G": "kept", "matte": "kept"})

    # Structure

    def test_levels(self):
        for mode in (OpenEXR.MIPMAP_LEVELS, OpenEXR.RIPMAP_LEVELS):
            for rounding in (OpenEXR.ROUND_DOWN, OpenEXR.ROUND_UP):
                for order in (0, 1, 2):
                    with self.subTest(mode=mode, rounding=rounding, order=order):
                        self.check_levels(mode.value, rounding.value, order)

    def check_levels(self, mode, rounding, order):
        """By hand: the chunks of every level, found again by their coordinates."""
        width, height, tile = 37, 21, 8
        size = lambda n, level: max(1, (n + ((1 << level) - 1) * rounding) >> level)
        count = lambda n: next(k for k in range(40) if size(n, k) == 1) + 1
        if mode == 1:
            levels = [(k, k) for k in range(count(max(width, height)))]
        else:
            levels = [(a, b) for b in range(count(height)) for a in range(count(width))]
        tiles = {}
        for a, b in levels:
            w, h = size(width, a), size(height, b)
            for ty in range(-(-h // tile)):
                for tx in range(-(-w // tile)):
                    shape = (min(tile, h - ty * tile), min(tile, w - tx * tile))
                    tiles[tx, ty, a, b] = self.random.random(shape).astype(np.float32).tobytes()
        extra = attribute("tiles", "tiledesc", struct.pack("<IIB", tile, tile, mode | rounding << 4))
        head = header([("R", 2, 1, 1)], (3, 4, 2 + width, 3 + height), extra=extra, flags=0x200, line_order=order)
        at, offsets, body = len(head) + 8 * len(tiles), [], b""
        for key, data in tiles.items():
            offsets.append(at + len(body))
            body += struct.pack("<5i", *key, len(data)) + data
        (self.folder / "in.exr").write_bytes(head + struct.pack(f"<{len(tiles)}Q", *offsets) + body)
        self.copy()
        self.assert_same_file()
        data = (self.folder / "out.exr").read_bytes()
        end = data.index(b"\0\0", data.index(b"tiledesc")) if False else len(data) - len(body) - 8 * len(tiles)
        for offset in struct.unpack_from(f"<{len(tiles)}Q", data, end):
            key, length = struct.unpack_from("<4i", data, offset), struct.unpack_from("<i", data, offset + 16)[0]
            self.assertEqual(data[offset + 20:offset + 20 + length], tiles.pop(key))
        self.assertFalse(tiles)

    def test_parts(self):
        kinds = [("beauty", np.float16, (40, 60), OpenEXR.scanlineimage), ("ids", np.uint32, (40, 60), OpenEXR.scanlineimage),
                 ("depth", np.float32, (40, 60), OpenEXR.tiledimage)]
        parts = []
        for name, dtype, shape, kind in kinds:
            head = {"name": name, "type": kind, "compression": OpenEXR.ZIPS_COMPRESSION, "view": "left", "note": "part " + name}
            if kind == OpenEXR.tiledimage:
                head["tiles"] = OpenEXR.TileDescription()
                head["tiles"].xSize = head["tiles"].ySize = 16
            parts.append(OpenEXR.Part(head, {"R": self.smooth(shape, dtype), "Z": self.smooth(shape, dtype)}))
        OpenEXR.File(parts).write(str(self.folder / "in.exr"))
        self.copy()
        self.assert_same_file(multi_part=True)
        for i in range(3):
            self.assert_same_pixels(part=i)

    # Attributes

    def test_every_attribute_stays(self):
        preview = struct.pack("<II", 2, 1) + bytes(range(8))
        unknown = self.random.bytes(300)
        extra = attribute("chromaticities", "chromaticities", struct.pack("<8f", .64, .33, .3, .6, .15, .06, .3127, .329)) \
            + attribute("timeCode", "timecode", struct.pack("<II", 0x12345678, 0x9abcdef0)) \
            + attribute("keyCode", "keycode", struct.pack("<7i", 1, 2, 3, 4, 5, 6, 64)) \
            + attribute("multiView", "stringvector", b"".join(struct.pack("<i", len(s)) + s for s in (b"left", b"right"))) \
            + attribute("preview", "preview", preview) + attribute("mine", "myOwnType", unknown) + attribute("nothing", "string", b"") \
            + attribute("dwaCompressionLevel", "float", struct.pack("<f", 12.5)) + attribute("owner", "string", b"A\xc3\xa4") \
            + attribute("worldToCamera", "m44f", struct.pack("<16f", *range(16))) \
            + attribute("xDensity", "float", struct.pack("<f", 72.25)) \
            + attribute("framesPerSecond", "rational", struct.pack("<iI", 24000, 1001)) + attribute("envmap", "envmap", b"\1") \
            + attribute("name", "string", b"one") + attribute("odd", "float", b"abc")
        self.rows_file("in.exr", extra=extra)
        self.copy()
        self.assert_same_file()

    def test_pixel_aspect_stays(self):
        self.make({"pixelAspectRatio": 1.9, "screenWindowWidth": 2.5})
        self.copy()
        self.assert_same_file()
        self.make({"pixelAspectRatio": 1.9, "xDensity": 96.5})
        self.copy()
        self.assert_same_file()

    def test_long_names(self):
        long = "a" * 200
        self.make(channels=["layer_" + long + ".R"])
        self.copy()
        self.assert_same_pixels()

    # Broken files

    def test_a_small_header_with_large_claims(self):
        for compression in range(10):
            message = self.refused(header([("R", 2, 1, 1)], (0, 0, 50000, 50000), compression=compression))
            self.assertIn("cut off", message)
        one_row = header([("R", 2, 1, 1)], (0, 0, 1 << 20, 0), compression=9)
        self.assertIn("MiB", self.refused(one_row + struct.pack("<Q", len(one_row) + 8) + struct.pack("<ii", 0, 4) + b"abcd"))

    def test_cut_off(self):
        self.make()
        whole = (self.folder / "in.exr").read_bytes()
        for at in list(range(8, 400, 37)) + list(range(400, len(whole), len(whole) // 20)) + [len(whole) - 1]:
            self.assertIn("cut off", self.refused(whole[:at]), at)

    def test_attribute_twice(self):
        """The library would read the second into the first, whatever its size, and go on at a wrong place."""
        rows = [self.random.random(3).astype(np.float32).tobytes() for _ in range(5)]
        again = attribute("channels", "chlist", b"-\0\0\0")
        self.assertIn("twice", self.refused(scanlines(header([("Y", 2, 1, 1)], (0, 0, 2, 4), extra=again), rows)))

    def test_short_chunk(self):
        """A chunk that holds less than its rows: the library would leave the numbers of the chunk before in their place."""
        rows = [self.random.random(3).astype(np.float32).tobytes() for _ in range(5)]
        for short in (rows[3][:4], rows[3] + b"abcd"):
            self.assertIn("damaged", self.refused(scanlines(header([("Y", 2, 1, 1)], (0, 0, 2, 4)), rows[:3] + [short] + rows[4:])))
        for runs, right in ((b"\x0b\0", True), (b"\x0a\0", False), (b"\xfc\1\2\3\4\7\0", True), (b"\xfc\1\2\3\4\6\0", False),
                            (b"\xfc\1\2", False)):
            (self.folder / "in.exr").write_bytes(scanlines(header([("Y", 2, 1, 1)], (0, 0, 2, 4), compression=1), [runs] * 5))
            if right:
                self.copy()
            else:
                self.assertIn("damaged", self.refused((self.folder / "in.exr").read_bytes()), runs)

    def test_table_with_gaps(self):
        self.rows_file("in.exr")
        whole = bytearray((self.folder / "in.exr").read_bytes())
        start = len(whole) - 5 * (8 + 12) - 40
        whole[start + 8:start + 16] = bytes(8)
        self.assertIn("gaps", self.refused(bytes(whole)))

    def test_bytes_after_the_end(self):
        self.rows_file("in.exr")
        with open(self.folder / "in.exr", "ab") as file:
            file.write(b"\xff\xd8\xff hidden")
        self.assertIn("10 bytes after the end", self.copy())
        self.assertNotIn(b"hidden", (self.folder / "out.exr").read_bytes())

    def test_deep(self):
        for flags, kind in ((0x800, b"deepscanline"), (0, b"deepscanline")):
            extra = attribute("type", "string", kind) + attribute("version", "int", struct.pack("<i", 1))
            self.assertIn("deep", self.refused(header([("R", 2, 1, 1)], (0, 0, 3, 3), extra=extra, flags=flags) + bytes(99)))


if __name__ == "__main__":
    unittest.main()
