"""TIFF files through the codec alone: made by tifffile or by hand, copied by mollify_copy_file, read back by tifffile."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest
import warnings
import zlib

import imagecodecs
import numpy as np
import tifffile

from tests.files.tiff_files import write_by_hand, write_mixed

COPY = os.path.abspath(os.environ.get("MOLLIFY_COPY_FILE", "build/dev/mollify_copy_file"))
RANDOM = np.random.default_rng()


def run(source, result):
    return subprocess.run([COPY, source, result], capture_output=True, text=True, timeout=60)


class TiffTest(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", ResourceWarning)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.source, self.result = self.folder / "in.tif", self.folder / "out.tif"

    def copy(self):
        done = run(self.source, self.result)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return done.stdout

    def refuses(self, *words):
        done = run(self.source, self.result)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertEqual(done.stderr.strip().count("\n"), 0)
        for word in words:
            self.assertIn(word, done.stderr)

    def pages(self, path=None):
        with tifffile.TiffFile(path or self.result) as file:
            return [page.asarray() for page in file.pages]

    def random(self, shape, dtype):
        dtype = np.dtype(dtype)
        if dtype.kind == "c":
            return (RANDOM.random(shape) + 1j * RANDOM.random(shape)).astype(dtype)
        if dtype.kind == "f":
            return RANDOM.normal(size=shape).astype(dtype)
        return RANDOM.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)

    def test_types_orders_and_layouts(self):
        for dtype in ("u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4", "f8", "c8"):
            for order in "<>":
                for options in ({}, {"tile": (32, 48)}, {"rowsperstrip": 7}, {"bigtiff": True}):
                    with self.subTest(dtype=dtype, order=order, **options):
                        pixels = self.random((61, 83), dtype)
                        tifffile.imwrite(self.source, pixels, byteorder=order, metadata=None, photometric="minisblack", **options)
                        self.copy()
                        np.testing.assert_array_equal(self.pages()[0], pixels)
                        with tifffile.TiffFile(self.result) as file:
                            self.assertEqual((file.byteorder, file.is_bigtiff), (order, "bigtiff" in options))
                            self.assertEqual(file.pages[0].is_tiled, "tile" in options)

    def test_compressions(self):
        for name in ("lzw", "deflate", "adobe_deflate", "packbits", "lzma", "zstd", "lerc"):
            for dtype, predictor in (("u1", True), ("u2", False), ("u2", True), ("f4", True), ("f4", False)):
                if predictor and name in ("packbits", "lerc"):
                    continue
                for planar in ("contig", "separate"):
                    with self.subTest(name=name, dtype=dtype, predictor=predictor, planar=planar):
                        pixels = self.random((3, 50, 70), dtype) if planar == "separate" else self.random((50, 70, 3), dtype)
                        tifffile.imwrite(self.source, pixels, compression=name, predictor=predictor, planarconfig=planar, photometric="rgb",
                                         metadata=None)
                        self.copy()
                        with tifffile.TiffFile(self.result) as file:
                            np.testing.assert_array_equal(file.pages[0].asarray(), pixels)
                            before = tifffile.TiffFile(self.source).pages[0]
                            self.assertEqual(file.pages[0].planarconfig, before.planarconfig)
                            if name != "lerc":
                                self.assertEqual(file.pages[0].compression, before.compression)
                                self.assertEqual(file.pages[0].predictor, before.predictor)

    def test_few_and_odd_bits(self):
        for bits in (1, 2, 4, 10, 12, 14, 24):
            with self.subTest(bits=bits):
                most = 2 ** bits - 1
                pixels = RANDOM.integers(0, most, (21, 37), endpoint=True)
                rows = [np.packbits([v >> (bits - 1 - b) & 1 for v in row for b in range(bits)]).tobytes() for row in pixels.tolist()]
                self.write_by_hand([(258, 3, [bits]), (262, 3, [1])], b"".join(rows), 37, 21, big=True)
                self.copy()
                got = self.samples_by_hand(bits if bits > 8 else 8, 37, 21)
                np.testing.assert_array_equal(got, pixels if bits > 8 else pixels * 255 // most)

    def write_by_hand(self, fields, pixels, width, height, big=False):
        write_by_hand(self.source, fields, pixels, width, height, big)

    def samples_by_hand(self, bits, width, height):
        with tifffile.TiffFile(self.result) as file:
            page = file.pages[0]
            self.assertEqual((page.bitspersample, page.compression), (bits, 1))
            raw = b"".join(file.filehandle.seek(o) and file.filehandle.read(n) for o, n in
                           zip(page.dataoffsets, page.databytecounts))
        row = -(-width * bits // 8)
        flags = np.unpackbits(np.frombuffer(raw, np.uint8).reshape(height, row), axis=1)[:, :width * bits].reshape(height, width, bits)
        return flags @ (1 << np.arange(bits)[::-1])

    def test_photometric(self):
        for dtype in ("u1", "u2", "f4"):
            tifffile.imwrite(self.source, self.random((20, 30), dtype), photometric="miniswhite", metadata=None)
            self.copy()
            self.assertEqual(tifffile.TiffFile(self.result).pages[0].photometric, 0)
            np.testing.assert_array_equal(self.pages()[0], self.pages(self.source)[0])
        for name, samples in (("separated", 4), ("cielab", 3), ("icclab", 3), ("rgb", 4)):
            tifffile.imwrite(self.source, self.random((20, 30, samples), "u1"), photometric=name, metadata=None,
                             extrasamples=["unassalpha"] if name == "rgb" else None)
            self.copy()
            before, after = (tifffile.TiffFile(path).pages[0] for path in (self.source, self.result))
            self.assertEqual((after.photometric, after.extrasamples), (before.photometric, before.extrasamples))
            np.testing.assert_array_equal(after.asarray(), before.asarray())

    def test_palette_becomes_rgb(self):
        colours = RANDOM.integers(0, 65535, (3, 256), dtype=np.uint16)
        for table in (colours, colours // 257 * 257):
            indices = self.random((20, 30), "u1")
            tifffile.imwrite(self.source, indices, photometric="palette", colormap=table, metadata=None)
            self.assertIn("palette", self.copy())
            expected = np.moveaxis(table[:, indices], 0, 2)
            np.testing.assert_array_equal(self.pages()[0], expected if table is colours else expected // 257)

    def test_jpeg_inside(self):
        for options in ({"tile": (64, 64)}, {"rowsperstrip": 16}, {"tile": (64, 64), "subsampling": (2, 2)}):
            pixels = np.full((200, 200, 3), (RANDOM.integers(60, 190), 120, 140), np.uint8)  # of YCbCr
            pixels[:, 100:, 0] += 20
            tifffile.imwrite(self.source, pixels, photometric="ycbcr", compression="jpeg", metadata=None, **options)
            self.copy()
            self.assertLessEqual(np.abs(self.pages()[0].astype(int) - self.pages(self.source)[0]).max(), 3)
            page = tifffile.TiffFile(self.result).pages[0]
            self.assertEqual((page.photometric, page.compression), (2, 8))

    def test_every_tag_is_kept(self):
        tags = [(33550, 12, 3, (10., 10., 0.), True), (33922, 12, 6, (0., 0., 0., 5e5, 4.6e6, 0.), True),
                (34735, 3, 8, (1, 1, 0, 1, 1024, 0, 1, 1), True),
                (42113, 2, 0, "-9999", True), (700, 1, 6, b"<xmp/>", True), (34675, 7, 5, b"profi", True), (315, 2, 0, "someone", True),
                (65000, 9, 3, (-1, 2, -3), True), (65001, 11, 2, (1.5, 2.5), True), (65002, 7, 3, b"abc", True),
                (65003, 5, 1, (7, 3), True),
                (33723, 4, 2, (0x1c020000, 0x00020004), True), (306, 2, 0, "2026:01:02 03:04:05", True)]
        for order in "<>":
            tifffile.imwrite(self.source, self.random((9, 9), "u2"), byteorder=order, metadata=None, extratags=tags,
                             resolution=((720000, 10007), (3, 7)))
            self.copy()
            before, after = (tifffile.TiffFile(path).pages[0].tags for path in (self.source, self.result))
            for code in [tag[0] for tag in tags] + [282, 283, 296]:
                self.assertEqual(*((tag.dtype, tag.count, tag.value) for tag in (after[code], before[code])), code)

    def test_exif_and_gps(self):
        self.source = self.folder / "in.tif"
        tifffile.imwrite(self.source, self.random((9, 9), "u1"), metadata=None)
        subprocess.run(["exiftool", "-q", "-overwrite_original", "-ExposureTime=1/30", "-GPSLatitude=12.5", "-GPSLatitudeRef=N",
                        "-Make=Some",
                        "-UserComment=hello", self.source], check=True)
        self.copy()
        wanted = ["exiftool", "-s3", "-ExposureTime", "-GPSLatitude", "-Make", "-UserComment"]
        before, after = (subprocess.run([*wanted, path], capture_output=True, text=True, check=True).stdout
                         for path in (self.source, self.result))
        self.assertEqual(after, before)
        self.assertEqual(len(after.splitlines()), 4)

    def test_pages_and_pyramids(self):
        full = self.random((64, 96, 3), "u1")
        with tifffile.TiffWriter(self.source, ome=True) as file:
            file.write(full, subifds=1, photometric="rgb")
            file.write(full[::2, ::2], subfiletype=1, photometric="rgb")
        self.copy()
        with tifffile.TiffFile(self.result) as file:
            self.assertTrue(file.is_ome)
            self.assertEqual([level.shape for level in file.series[0].levels], [(64, 96, 3), (32, 48, 3)])
            np.testing.assert_array_equal(file.series[0].levels[1].asarray(), full[::2, ::2])
        with tifffile.TiffWriter(self.source) as file:
            for i in range(3):
                file.write(self.random((20 + i, 30), "u2"), metadata=None)
        self.copy()
        for before, after in zip(self.pages(self.source), self.pages(), strict=True):
            np.testing.assert_array_equal(after, before)

    def test_tiles_that_are_much_larger_than_the_picture(self):
        message = "tiles of more than 8 MB were cut to the size of the picture"
        options = {"photometric": "minisblack", "compression": "deflate", "metadata": None}
        pixels = self.random((40, 50), "u1")
        tifffile.imwrite(self.source, pixels, tile=(16384, 1024), **options)
        self.assertIn(message, self.copy())
        with tifffile.TiffFile(self.result) as file:
            self.assertEqual((file.pages[0].tilelength, file.pages[0].tilewidth), (48, 64))
            np.testing.assert_array_equal(file.asarray(), pixels)
        tifffile.imwrite(self.source, np.zeros((3000, 4096), "u1"), tile=(2064, 4096), **options)
        self.assertNotIn(message, self.copy())
        with tifffile.TiffFile(self.result) as file:
            self.assertEqual((file.pages[0].tilelength, file.pages[0].tilewidth), (2064, 4096))

    def test_planes_behind_one_directory(self):
        stack = self.random((12, 40, 50), "u2")
        for options in ({"imagej": True, "metadata": {"axes": "ZYX"}}, {}):
            tifffile.imwrite(self.source, stack, photometric="minisblack", truncate=True, **options)
            self.copy()
            with tifffile.TiffFile(self.result) as file:
                self.assertEqual(len(file.pages), 1)
                np.testing.assert_array_equal(file.asarray(), stack)

    def test_planes_behind_one_directory_whose_text_has_another_type(self):
        stack = self.random((3, 20, 30), "u2")
        tifffile.imwrite(self.source, stack[0], photometric="minisblack", description="ImageJ=1.53\nimages=3\n", metadata=None)
        file = self.source.read_bytes() + stack[1:].tobytes()
        tag = struct.pack("<HH", 270, 2)
        self.assertIn(tag, file)
        for text_type in (1, 2, 6, 7):  # those of one byte
            self.source.write_bytes(file.replace(tag, struct.pack("<HH", 270, text_type)))
            self.assertIn("page 2", self.copy())
            self.assertIn(stack.tobytes(), self.result.read_bytes())

    @staticmethod
    def rgb_of(ycc, bits):
        """By the definition of ITU-R BT.601 with the full range of so many bits."""
        y, cb, cr = (ycc[..., i].astype(float) for i in range(3))
        most, middle = 2 ** bits - 1, 2 ** (bits - 1)
        cb, cr = ((c - middle) * ((most - 1) / 2) / (most - middle) for c in (cb, cr))
        r, b = y + 1.402 * cr, y + 1.772 * cb
        return np.clip(np.dstack([r, (y - 0.299 * r - 0.114 * b) / 0.587, b]), 0, most)

    def ycc(self, bits):
        shape = (12, 18, 3)
        return RANDOM.integers(2 ** bits // 4, 2 ** bits * 3 // 4, shape).astype(np.uint32)

    def check_ycbcr(self, ycc, bits):
        self.assertIn("YCbCr became RGB", self.copy())
        got = self.pages()[0]
        got = np.moveaxis(got, 0, 2) if len(got) == 3 else got
        scale = 1 if bits >= 8 else 255 / (2 ** bits - 1)  # fewer bits become eight
        self.assertLessEqual(np.abs(got - self.rgb_of(ycc, bits) * scale).max(), 0.52)

    def packed(self, samples, bits, big):
        """Rows of samples."""
        if bits in (8, 16, 32):
            return samples.astype((">" if big else "<") + f"u{bits // 8}").tobytes()
        flags = samples[..., None].astype(int) >> np.arange(bits)[::-1] & 1
        return np.packbits(flags.reshape(len(samples), -1).astype(np.uint8), axis=1).tobytes()

    def test_ycbcr_of_every_depth_and_layout(self):
        for bits in (4, 8, 10, 16, 20, 32):
            for h, v in ((1, 1), (2, 1), (2, 2), (4, 2)):
                for planar in (False, True):
                    for big in (False, True):
                        with self.subTest(bits=bits, h=h, v=v, planar=planar, big=big):
                            ycc = self.ycc(bits)
                            few = ycc[::v, ::h, 1:]
                            ycc[..., 1:] = np.repeat(np.repeat(few, v, 0), h, 1)[:12, :18]
                            deflates = bool(RANDOM.integers(0, 2))
                            encoded = zlib.compress if deflates else bytes
                            fields = [(258, 3, [bits] * 3), (262, 3, [6]), (277, 3, [3]), (530, 3, [h, v]), (284, 3, [1 + planar]),
                                      (259, 3, [8 if deflates else 1])]
                            if planar:
                                planes = [encoded(self.packed(plane, bits, big)) for plane in (ycc[..., 0], few[..., 0], few[..., 1])]
                                sizes = [len(plane) for plane in planes]
                                fields += [(273, 4, [8, 8 + sizes[0], 8 + sizes[0] + sizes[1]]), (279, 4, sizes)]
                                self.write_by_hand(fields, b"".join(planes), 18, 12, big)
                            else:
                                wide = np.pad(ycc, ((0, -12 % v), (0, -18 % h), (0, 0)), "edge")
                                across, down = wide.shape[1] // h, wide.shape[0] // v
                                luma = wide[..., 0].reshape(down, v, across, h).transpose(0, 2, 1, 3).reshape(down, across, -1)
                                rows = np.dstack([luma, few]).reshape(down, -1)
                                self.write_by_hand(fields, encoded(self.packed(rows, bits, big)), 18, 12, big)
                            self.check_ycbcr(ycc, bits)

    def test_samples_of_different_depths(self):
        """In strips, tiles and planes, plain and compressed."""
        for depths in ((5, 6, 5), (8, 16, 10), (8, 8, 8, 1), (16, 16, 16, 8), (24, 8, 32)):
            kinds = [f"u{bits}" for bits in depths]
            most = 255 if max(depths) <= 8 else 65535 if max(depths) <= 16 else 2 ** 32 - 1
            for compression in ("none", "lzw", "deflate", "packbits", "zstd"):
                for tile in (None, (16, 32)):
                    for planar in (False, True):
                        big, predictor = bool(RANDOM.integers(0, 2)), int(RANDOM.integers(1, 3))
                        if compression in ("none", "packbits") or planar:
                            predictor = 1
                        with self.subTest(depths=depths, compression=compression, tile=tile, planar=planar, big=big, predictor=predictor):
                            codes = np.dstack([RANDOM.integers(0, 2 ** bits, (23, 37)) for bits in depths])
                            write_mixed(self.source, codes, kinds, compression, tile, planar, big, predictor)
                            self.assertIn("different depths", self.copy())
                            got = self.pages()[0]
                            got = np.moveaxis(got, 0, 2) if planar else got
                            scales = [2 ** bits - 1 for bits in depths]
                            expected = [[[(int(v) * most + s // 2) // s for v, s in zip(p, scales)] for p in row] for row in codes]
                            np.testing.assert_array_equal(got, np.array(expected, got.dtype))

    def test_packed_samples_as_tifffile_reads_them(self):
        """Of big-endian files, too, it takes a pixel for a little-endian number."""
        for compression in ("none", "deflate", "lzw"):
            codes = np.dstack([RANDOM.integers(0, 2 ** bits, (23, 37)) for bits in (5, 6, 5)])
            write_mixed(self.source, codes, ["u5", "u6", "u5"], compression)
            read = tifffile.imread(self.source)  # scaled by shifts, where this scales by the full scale
            self.copy()
            self.assertLessEqual(np.abs(self.pages()[0].astype(int) - read).max(), 7)

    def test_planes_of_jpeg_of_subsampled_ycbcr(self):
        """As the second technical note on TIFF has it: each plane is a JPEG of its own size."""
        for h, v in ((2, 2), (2, 1), (4, 2)):
            for tile in (None, (32, 32)):
                ycc = np.empty((48, 64, 3), np.uint8)
                ycc[:] = np.clip(np.linspace(60, 190, 64)[:, None] + RANDOM.integers(-40, 40, 3), 0, 255)
                planes = (ycc[..., 0], ycc[::v, ::h, 1], ycc[::v, ::h, 2])
                pieces = []
                for plane, (x_step, y_step) in zip(planes, ((1, 1), (h, v), (h, v))):
                    down, across = (32 // y_step, 32 // x_step) if tile else plane.shape
                    for y in range(0, plane.shape[0], down):
                        for x in range(0, plane.shape[1], across):
                            piece = plane[y:y + down, x:x + across]
                            piece = np.pad(piece, [(0, down - piece.shape[0]), (0, across - piece.shape[1])], "edge")
                            pieces.append(imagecodecs.jpeg8_encode(np.ascontiguousarray(piece), level=99))
                offsets, sizes = [8 + sum(map(len, pieces[:i])) for i in range(len(pieces))], [len(piece) for piece in pieces]
                places = [(273, 4, offsets), (279, 4, sizes)]
                if tile:
                    places = [(322, 4, [32]), (323, 4, [32]), (324, 4, offsets), (325, 4, sizes)]
                fields = [(258, 3, [8] * 3), (259, 3, [7]), (262, 3, [6]), (277, 3, [3]), (284, 3, [2]), (530, 3, [h, v]), *places]
                self.write_by_hand(fields, b"".join(pieces), 64, 48)
                with self.subTest(h=h, v=v, tile=tile):
                    self.assertIn("YCbCr became RGB", self.copy())
                    exact = ycc.copy()
                    exact[..., 1:] = np.repeat(np.repeat(ycc[::v, ::h, 1:], v, 0), h, 1)
                    got = np.moveaxis(self.pages()[0], 0, 2) if self.pages()[0].shape[0] == 3 else self.pages()[0]
                    self.assertLessEqual(np.abs(got - self.rgb_of(exact, 8)).max(), 6)

    def test_small_planes_with_a_predictor(self):
        ycc = self.ycc(8)
        few = ycc[::2, ::2, 1:]
        ycc[..., 1:] = np.repeat(np.repeat(few, 2, 0), 2, 1)
        pieces = []
        for plane in (ycc[..., 0], few[..., 0], few[..., 1]):
            differences = plane.astype("u1").copy()
            differences[:, 1:] -= plane[:, :-1].astype("u1")
            pieces.append(zlib.compress(differences.tobytes()))
        sizes = [len(piece) for piece in pieces]
        self.write_by_hand([(258, 3, [8] * 3), (259, 3, [8]), (262, 3, [6]), (277, 3, [3]), (284, 3, [2]), (317, 3, [2]), (530, 3, [2, 2]),
                            (273, 4, [8, 8 + sizes[0], 8 + sizes[0] + sizes[1]]), (279, 4, sizes)], b"".join(pieces), 18, 12)
        self.check_ycbcr(ycc, 8)

    def test_ycbcr_with_further_samples(self):
        """Not subsampled, in one plane, compressed."""
        pixels = np.dstack([self.ycc(8), RANDOM.integers(0, 256, (12, 18))]).astype("u1")
        self.write_by_hand([(258, 3, [8] * 4), (259, 3, [8]), (262, 3, [6]), (277, 3, [4]), (338, 3, [0]), (530, 3, [1, 1])],
                           zlib.compress(pixels.tobytes()), 18, 12)
        self.assertIn("YCbCr became RGB", self.copy())
        got = self.pages()[0]
        np.testing.assert_array_equal(got[..., 3], pixels[..., 3])
        self.assertLessEqual(np.abs(got[..., :3] - self.rgb_of(pixels, 8)).max(), 0.52)

    def test_ycbcr_of_floats_and_signed_integers(self):
        """It stays what it is, as tifffile reads it before and after; chrominances of few pixels get all of them."""
        for dtype, kind in (("f2", 3), ("f4", 3), ("f8", 3), ("i1", 2), ("i2", 2), ("i4", 2)):
            for h, v in ((1, 1), (2, 2)):
                for further in (0, 1) if h == 1 else (0,):
                    with self.subTest(dtype=dtype, h=h, v=v, further=further):
                        pixels = self.random((12, 18, 3 + further), dtype)
                        few = pixels[::v, ::h, 1:3]
                        pixels[..., 1:3] = np.repeat(np.repeat(few, v, 0), h, 1)
                        rows = pixels
                        if h > 1:
                            luma = pixels[..., 0].reshape(6, v, 9, h).transpose(0, 2, 1, 3).reshape(6, 9, -1)
                            rows = np.dstack([luma, few])
                        samples, bits = 3 + further, 8 * np.dtype(dtype).itemsize
                        self.write_by_hand([(258, 3, [bits] * samples), (259, 3, [8]), (262, 3, [6]), (277, 3, [samples]),
                                            (339, 3, [kind] * samples), (529, 5, [0.2126, 0.7152, 0.0722]), (530, 3, [h, v]),
                                            *([(338, 3, [0])] if further else [])],
                                           zlib.compress(rows.astype(np.dtype(dtype).newbyteorder("<")).tobytes()), 18, 12)
                        self.assertIn("blurred as stored", self.copy())
                        page = tifffile.TiffFile(self.result).pages[0]
                        self.assertEqual((page.photometric, page.extrasamples, page.tags[530].value), (6, (0,) * further, (1, 1)))
                        self.assertEqual(page.tags[529].value, (2126, 10000, 7152, 10000, 722, 10000))
                        np.testing.assert_array_equal(page.asarray(), pixels)
                        if h == 1:
                            np.testing.assert_array_equal(tifffile.imread(self.source), pixels)

    def test_every_plane_of_metamorph(self):
        planes = self.random((5, 12, 18), "u2")
        rows = [(273, 4, [8, 8 + 36 * 5, 8 + 36 * 10]), (278, 4, [5]), (279, 4, [180, 180, 72])]
        fields = [(258, 3, [16]), (262, 3, [1]), (33629, 5, [0] * 5), (33628, 4, [0] * 2), *rows]
        self.write_by_hand(fields, planes.astype("<u2").tobytes(), 18, 12)
        said = self.copy()
        self.assertIn("5 planes of MetaMorph's stack became pages", said)
        self.assertIn("MetaMorph UIC2Tag", said)
        np.testing.assert_array_equal(self.pages(), planes)
        self.write_by_hand(fields, planes[:3].astype("<u2").tobytes(), 18, 12)
        self.refuses("cut off")

    def test_scattered_strips_of_metamorph(self):
        """Gaps between the strips of each plane, as between those of the first, and none between planes."""
        planes = self.random((4, 12, 18), "u2")
        gaps = [6, 10]
        stack, offsets = b"", []
        for plane in planes:
            at = 0
            for rows, gap in zip((5, 5, 2), [*gaps, 0]):
                if len(offsets) < 3:
                    offsets.append(8 + len(stack))
                stack += plane[at:at + rows].astype("<u2").tobytes() + b"\x55" * gap
                at += rows
        rows = [(273, 4, offsets), (278, 4, [5]), (279, 4, [180, 180, 72])]
        fields = [(258, 3, [16]), (262, 3, [1]), (33629, 5, [0] * 4), (33628, 4, [0] * 2), *rows]
        self.write_by_hand(fields, stack, 18, 12)
        self.assertIn("4 planes of MetaMorph's stack became pages", self.copy())
        np.testing.assert_array_equal(self.pages(), planes)
        self.write_by_hand([*fields[:2], (33629, 5, [0] * 5), *fields[3:]], stack, 18, 12)
        self.refuses("cut off")
        self.write_by_hand([*fields[:4], (273, 4, offsets[::-1]), *fields[5:]], stack, 18, 12)
        self.refuses("overlap")

    def test_planes_of_subsampled_ycbcr_with_alpha(self):
        for kind in (0, 2):
            ycc, alpha = self.ycc(8), self.random((12, 18), "u1")
            few = ycc[::2, ::2, 1:]
            ycc[..., 1:] = np.repeat(np.repeat(few, 2, 0), 2, 1)
            planes = [plane.astype("u1").tobytes() for plane in (ycc[..., 0], few[..., 0], few[..., 1], alpha)]
            sizes = [len(plane) for plane in planes]
            offsets = [8 + sum(sizes[:i]) for i in range(4)]
            self.write_by_hand([(258, 3, [8] * 4), (262, 3, [6]), (277, 3, [4]), (284, 3, [2]), (338, 3, [kind]), (530, 3, [2, 2]),
                                (273, 4, offsets), (279, 4, sizes)], b"".join(planes), 18, 12)
            self.assertIn("YCbCr became RGB", self.copy())
            got = self.pages()[0]
            np.testing.assert_array_equal(got[3], alpha)
            self.assertLessEqual(np.abs(np.moveaxis(got[:3], 0, 2) - self.rgb_of(ycc, 8)).max(), 0.52)

    def test_complex_numbers_in_planes(self):
        """As GDAL writes bands of radar."""
        for dtype in ("c8", "c16"):
            for options in ({}, {"compression": "adobe_deflate", "rowsperstrip": 7}, {"tile": (16, 32)}, {"byteorder": ">"}):
                numbers = self.random((3, 20, 30), dtype)
                tifffile.imwrite(self.source, numbers, photometric="minisblack", planarconfig="separate", metadata=None, **options)
                with self.subTest(dtype=dtype, **options):
                    self.assertIn("planes of complex numbers became one", self.copy())
                    np.testing.assert_array_equal(tifffile.imread(self.result), np.moveaxis(numbers, 0, -1))

    def test_what_is_no_valid_tiff(self):
        """One line says so, and what contradicts the definition of TIFF."""
        def samples(bits, photometric, *further):
            return [(258, 3, bits), (262, 3, [photometric]), (277, 3, [len(bits)]), *further]

        for fields, words in ((samples([8] * 4, 6, (338, 3, [0]), (530, 3, [2, 2])), "further samples in its plane"),
                              (samples([8, 16, 16], 6, (530, 3, [1, 1])), "YCbCr are of different kinds"),
                              (samples([8, 8, 16], 8), "L*a*b* are of different kinds"),
                              (samples([8, 8, 16], 2, (259, 3, [7])), "JPEG has no such"),
                              (samples([16, 16, 32], 2, (259, 3, [8]), (317, 3, [3])), "a predictor for floats"),
                              (samples([64, 32], 1, (339, 3, [6, 3])), "complex numbers and others"),
                              ([(258, 3, [8, 16]), (262, 3, [2]), (277, 3, [3])], "2 values for 3 samples")):
            self.write_by_hand(fields, bytes(2000), 10, 10)
            self.refuses("is not a valid TIFF: ", words)

    def test_scattered_planes_of_imagej(self):
        """Its text says that they follow each other."""
        fields = [(258, 3, [8]), (262, 3, [1]), (277, 3, [1]), (270, 2, b"ImageJ=1\nimages=2\n")]
        self.write_by_hand([*fields, (273, 4, [8, 208]), (278, 4, [5]), (279, 4, [50, 50])], bytes(2000), 10, 10)
        self.refuses("strips are not in one piece")

    def test_refusals(self):
        tifffile.imwrite(self.source, self.random((16, 64, 80), "u2"), volumetric=True, tile=(16, 16, 16), photometric="minisblack")
        self.refuses("volume")
        tifffile.imwrite(self.source, self.random((300, 400, 3), "u1"), photometric="rgb")
        self.source.write_bytes(self.source.read_bytes()[:100000])
        self.refuses("cut off")
        for name in ("deflate", "jpeg", "lzw", "packbits"):
            tifffile.imwrite(self.source, self.random((300, 400), "u1"), compression=name, metadata=None)
            self.source.write_bytes(self.source.read_bytes()[:20000])
            self.refuses("cut off")
        self.write_by_hand([(258, 3, [8]), (262, 3, [1])], bytes(100), 10, 10)
        content = bytearray(self.source.read_bytes())
        at = struct.unpack_from("<I", content, 4)[0]
        count = struct.unpack_from("<H", content, at)[0]
        struct.pack_into("<I", content, at + 2 + 12 * count, at)
        self.source.write_bytes(content)
        self.refuses("circle")
        self.write_by_hand([(258, 3, [8]), (262, 3, [1]), (322, 4, [16]), (323, 4, [8323104]), (324, 4, [8]), (325, 4, [100])],
                           bytes(100), 10, 10)
        self.refuses("tiles")
        self.write_by_hand([(258, 3, [8]), (262, 3, [1]), (278, 4, [1])], bytes(100), 10, 2000000000)
        self.refuses()


if __name__ == "__main__":
    unittest.main()
