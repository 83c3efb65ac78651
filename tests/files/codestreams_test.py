"""JPEG 2000 and JPEG XL in the strips and tiles of TIFF: files of tifffile, vips and OpenJPEG's encoder, compared with their readers."""
import os
import subprocess
import unittest

import imagecodecs
import numpy as np
import tifffile

from tests.files.blurring import TOOL, BlurTest
from tests.files.copying import COPY, CopyTest
from tests.files.tiff_files import write_by_hand

RANDOM = np.random.default_rng()
JPEG_2000, LOSSY_JPEG_2000, APERIO_YCBCR, APERIO_RGB = 34712, 33004, 33003, 33005
JPEG_XL, JPEG_XL_OF_DNG = 50002, 52546
LAYOUTS = ({"tile": (32, 48)}, {"rowsperstrip": 23}, {})


def smooth(height=70, width=101, samples=3):
    y, x, c = np.mgrid[0:height, 0:width, 0:samples]
    return np.rint(128 + 60 * np.sin(x / 9 + c) + 50 * np.cos(y / 7 - c)).astype(np.uint8)


class CodestreamsTest(CopyTest):
    def setUp(self):
        super().setUp()
        self.source, self.result = self.folder / "in.tif", self.folder / "out.tif"

    def write(self, pixels, compression, **options):
        options = {"photometric": "rgb" if pixels.ndim == 3 and pixels.shape[2] > 2 else "minisblack", "planarconfig": "contig"} | options
        if compression in (JPEG_XL, JPEG_XL_OF_DNG):
            options = {"compressionargs": {"lossless": True}} | options
        tifffile.imwrite(self.source, pixels, compression=compression, metadata=None, **options)

    def run_copy(self, *options):
        self.result.unlink(missing_ok=True)
        return subprocess.run([COPY, self.source, self.result, *options], capture_output=True, text=True, timeout=60)

    def copied(self, *options):
        run = self.run_copy(*options)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.printed = run.stdout
        with tifffile.TiffFile(self.result) as file:
            self.assertEqual(file.pages[0].compression, 8)
            return file.pages[0].asarray()

    def refused(self, *words):
        run = self.run_copy()
        self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), run.stderr)
        self.assertLess(len(run.stderr), 300)
        for word in words:
            self.assertIn(word, run.stderr)

    # What tifffile writes, it reads as it was; so does mollify.

    def test_integers(self):
        for compression in (JPEG_2000, LOSSY_JPEG_2000, APERIO_YCBCR, APERIO_RGB, JPEG_XL, JPEG_XL_OF_DNG):
            for kind in (np.uint8, np.uint16):
                for samples in (1, 2, 3, 4):
                    for layout in LAYOUTS:
                        pixels = RANDOM.integers(0, np.iinfo(kind).max, (70, 101, samples), dtype=kind, endpoint=True).squeeze()
                        with self.subTest(compression=compression, kind=kind, samples=samples, layout=layout):
                            self.write(pixels, compression, **layout)
                            np.testing.assert_array_equal(self.copied(), pixels)

    def test_further_samples(self):
        pixels = RANDOM.integers(0, 256, (70, 101, 5), dtype=np.uint8)
        planes = np.ascontiguousarray(np.moveaxis(pixels, 2, 0))
        self.write_strip(JPEG_XL, imagecodecs.jpegxl_encode(planes, lossless=True, planar=True), pixels, 1)
        np.testing.assert_array_equal(self.copied(), pixels)
        pixels = RANDOM.integers(0, 256, (64, 96, 5), dtype=np.uint8)
        self.write(pixels, JPEG_2000, tile=(32, 48))
        np.testing.assert_array_equal(self.copied(), pixels)

    def test_signed_integers(self):
        for kind in (np.int8, np.int16):
            pixels = RANDOM.integers(np.iinfo(kind).min, np.iinfo(kind).max, (70, 101), dtype=kind, endpoint=True)
            self.write(pixels, JPEG_2000, tile=(32, 48))
            np.testing.assert_array_equal(self.copied(), pixels)

    def test_floats(self):
        for kind in (np.float16, np.float32):
            for samples in (1, 3, 4):
                pixels = RANDOM.random((70, 101, samples)).astype(kind).squeeze()
                self.write(pixels, JPEG_XL, tile=(32, 48))
                smallest = 0 if kind == np.float32 else 2**-14  # libjxl rounds halves that are smaller
                np.testing.assert_allclose(self.copied(), pixels, rtol=0, atol=smallest)

    def test_planes(self):
        for compression in (JPEG_2000, JPEG_XL):
            pixels = RANDOM.integers(0, 65536, (3, 70, 101), dtype=np.uint16)
            self.write(pixels, compression, planarconfig="separate", tile=(32, 48))
            np.testing.assert_array_equal(self.copied(), pixels)

    def test_fewer_bits(self):
        """As in other TIFFs, integers of 12 bits are scaled to 16 and packed again."""
        for compression in (JPEG_2000, JPEG_XL):
            pixels = RANDOM.integers(0, 4096, (70, 101), dtype=np.uint16)
            args = {"bitspersample": 12} | ({"lossless": True} if compression == JPEG_XL else {})
            self.write(pixels, compression, tile=(32, 48), compressionargs=args)
            np.testing.assert_array_equal(self.copied(), pixels)

    def test_pictures_in_boxes(self):
        """A JP2 file and the tiles of a codestream; and the container of JPEG XL."""
        pixels = smooth()
        stream = imagecodecs.jpeg2k_encode(pixels, codecformat="jp2", reversible=True, level=0)
        self.assertEqual(stream[4:8], b"jP  ")
        self.write_strip(JPEG_2000, stream, pixels)
        np.testing.assert_array_equal(self.copied(), pixels)
        planes = [np.ascontiguousarray(pixels[..., c]) for c in range(3)]
        for options in ((), ("-TP", "R"), ("-SOP", "-EPH"), ("-c", "[16,16],[8,8]"), ("-r", "20,5,1"), ("-p", "CPRL")):
            self.write_strip(JPEG_2000, self.encoded(planes, (1, 1), 101, 70, "-t", "40,30", "-n", "3", *options), pixels)
            np.testing.assert_array_equal(self.copied(), pixels)
        stream = imagecodecs.jpegxl_encode(pixels, lossless=True, usecontainer=True)
        self.assertEqual(stream[4:8], b"JXL ")
        self.write_strip(JPEG_XL, stream, pixels)
        np.testing.assert_array_equal(self.copied(), pixels)

    def test_several_threads(self):
        pixels = RANDOM.integers(0, 256, (300, 400, 3), dtype=np.uint8)
        for compression in (JPEG_2000, JPEG_XL):
            self.write(pixels, compression, tile=(128, 128))
            np.testing.assert_array_equal(self.copied("threads"), pixels)

    def test_a_sparse_file(self):
        pixels = np.zeros((96, 96, 3), np.uint8)
        pixels[32:64, 32:64] = smooth(32, 32)
        tiles = [pixels[y:y + 32, x:x + 32] for y in (0, 32, 64) for x in (0, 32, 64)]
        data = b"".join(imagecodecs.jpeg2k_encode(tile, codecformat="j2k", reversible=True, level=0) for tile in tiles[4:5])
        places = [0] * 4 + [8] + [0] * 4, [0] * 4 + [len(data)] + [0] * 4
        write_by_hand(self.source, self.fields(JPEG_2000, 3) + [(322, 4, [32]), (323, 4, [32]), (324, 4, places[0]), (325, 4, places[1])],
                      data, 96, 96)
        np.testing.assert_array_equal(self.copied(), pixels)

    # What other programs write

    def fields(self, compression, samples, photometric=None, description=None):
        more = [] if description is None else [(270, 2, list(description.encode() + b"\0"))]
        return more + [(258, 3, [8] * samples), (259, 3, [compression]), (262, 3, [photometric or (2 if samples > 2 else 1)]),
                       (277, 3, [samples])]

    def write_strip(self, compression, data, pixels, photometric=None):
        write_by_hand(self.source, self.fields(compression, pixels.shape[2], photometric), data, pixels.shape[1], pixels.shape[0])

    def test_of_vips(self):
        """Of colours it writes YCbCr that is transformed again and called RGB. Nothing in the file tells, so a line does."""
        tifffile.imwrite(self.folder / "a.tif", smooth(300, 400)[..., 0], photometric="minisblack")
        for options in (["--lossless"], ["--Q", "80"], ["--Q", "80", "--pyramid"]):
            subprocess.run(["vips", "tiffsave", "a.tif", "in.tif", "--compression", "jp2k", "--tile", *options], cwd=self.folder, check=True,
                           capture_output=True)
            subprocess.run(["vips", "tiffsave", "in.tif", "b.tif"], cwd=self.folder, check=True, capture_output=True)
            np.testing.assert_array_equal(self.copied(), tifffile.imread(self.folder / "b.tif"))
            self.assertNotIn("libvips", self.printed)
        self.write(smooth(), LOSSY_JPEG_2000)
        self.copied()
        self.assertIn("if libvips wrote them they are YCbCr", self.printed)

    def encoded(self, planes, step, width, height, *options):
        """By opj_compress, without a transformation; all planes but the first have a pixel for `step` pixels of it."""
        (self.folder / "a.raw").write_bytes(b"".join(plane.tobytes() for plane in planes))
        form = f"{width},{height},3,8,u@1x1:{step[0]}x{step[1]}:{step[0]}x{step[1]}"
        subprocess.run(["opj_compress", "-i", "a.raw", "-o", "a.j2k", "-F", form, "-mct", "0", *options], cwd=self.folder, check=True,
                       capture_output=True)
        return (self.folder / "a.j2k").read_bytes()

    def tiles(self, planes, step, side=64):
        streams = []
        for y in range(0, len(planes[0]), side):
            for x in range(0, planes[0].shape[1], side):
                small = slice(y // step[1], (y + side) // step[1]), slice(x // step[0], (x + side) // step[0])
                tile = [planes[0][y:y + side, x:x + side], *(plane[small] for plane in planes[1:])]
                streams.append(self.encoded(tile, step, side, side))
        return streams

    def write_aperio(self, compression, streams, side, across, down, photometric=2):
        offsets = [8 + sum(map(len, streams[:i])) for i in range(len(streams))]
        tiles = [(322, 4, [side]), (323, 4, [side]), (324, 4, offsets), (325, 4, [len(each) for each in streams])]
        write_by_hand(self.source, self.fields(compression, 3, photometric, "Aperio Image Library v10") + tiles, b"".join(streams),
                      across * side, down * side)

    def test_of_aperio(self):
        """YCbCr that is not transformed again, with fewer chrominances or not, and RGB: as OpenSlide reads them through vips."""
        luma, full = smooth(128, 192)[..., 0], smooth(128, 192)
        for step in ((1, 1), (2, 1), (2, 2)):
            planes = [luma, *(np.ascontiguousarray(full[::step[1], ::step[0], c]) for c in (1, 2))]
            streams = self.tiles(planes, step)
            for photometric in (2, 6):
                self.write_aperio(APERIO_YCBCR, streams, 64, 3, 2, photometric)
                got = self.copied().astype(int)
                chroma = [np.repeat(np.repeat(plane, step[1], 0), step[0], 1) - 128.0 for plane in planes[1:]]
                wanted = np.stack([luma + 1.402 * chroma[1], luma - 0.344136 * chroma[0] - 0.714136 * chroma[1], luma + 1.772 * chroma[0]], -1)
                self.assertLessEqual(np.abs(got - np.clip(wanted, 0, 255)).max(), 1, step)
                self.assertIn("YCbCr became RGB", self.printed)
            self.assert_openslide_agrees(got)
        self.write_aperio(APERIO_RGB, self.tiles([np.ascontiguousarray(full[..., c]) for c in range(3)], (1, 1)), 64, 3, 2)
        np.testing.assert_array_equal(self.copied(), full)
        self.assert_openslide_agrees(full)

    def assert_openslide_agrees(self, got):
        """It knows Aperio's slides by their description. It may have a pixel less at the edge."""
        subprocess.run(["vips", "openslideload", "in.tif", "slide.tif"], cwd=self.folder, check=True, capture_output=True)
        shown = tifffile.imread(self.folder / "slide.tif").astype(int)[..., :3]
        self.assertEqual(shown.shape, got.shape)
        self.assertLessEqual(np.abs(shown - got).max(), 2)

    def test_ycbcr_that_is_transformed(self):
        """JPEG 2000 makes RGB of it, whatever Photometric says: it tells how the stream has it, as it does of JPEG."""
        pixels = smooth()
        self.write_strip(JPEG_2000, imagecodecs.jpeg2k_encode(pixels, codecformat="j2k", reversible=True, level=0), pixels, 6)
        np.testing.assert_array_equal(self.copied(), pixels)

    # What is wrong

    def test_a_kind_of_extra_sample_that_does_not_exist(self):
        """libtiff would refuse the page, and the result if it had the same."""
        pixels = RANDOM.integers(0, 256, (64, 96, 2), dtype=np.uint8)
        stream = imagecodecs.jpeg2k_encode(pixels, codecformat="j2k", reversible=True, level=0)
        write_by_hand(self.source, self.fields(JPEG_2000, 2) + [(338, 3, [7])], stream, 96, 64)
        np.testing.assert_array_equal(self.copied(), pixels)
        self.assertEqual(tifffile.TiffFile(self.result).pages[0].extrasamples, (0,))

    def test_cut_off(self):
        """Each file lacks the end of its stream, and says so: no pixel is made up."""
        pixels = RANDOM.integers(0, 256, (70, 101, 3), dtype=np.uint8)
        for compression, stream in ((JPEG_2000, imagecodecs.jpeg2k_encode(pixels, codecformat="j2k", reversible=True, level=0)),
                                    (JPEG_XL, imagecodecs.jpegxl_encode(pixels, lossless=True))):
            for end in [*range(0, len(stream) - 8, len(stream) // 30), len(stream) - 8]:
                self.write_strip(compression, stream[:end] if end else b"\0", pixels)
                self.refused("is ")

    def test_damaged(self):
        """One line and no crash, or other pixels."""
        pixels = smooth()
        for compression, stream in ((JPEG_2000, imagecodecs.jpeg2k_encode(pixels, codecformat="jp2", reversible=True, level=0)),
                                    (JPEG_XL, imagecodecs.jpegxl_encode(pixels, lossless=True))):
            for at in range(0, len(stream), max(1, len(stream) // 150)):
                self.write_strip(compression, stream[:at] + bytes([stream[at] ^ int(RANDOM.integers(1, 256))]) + stream[at + 1:], pixels)
                run = self.run_copy()
                self.assertIn((run.returncode, run.stderr.count("\n")), ((0, 0), (1, 1)), (compression, at, run.stderr))

    def test_another_size(self):
        """The stream has pixels of its own: too few, too many, or as many as are to eat the memory."""
        pixels = smooth()
        encode = {JPEG_2000: lambda data: imagecodecs.jpeg2k_encode(data, codecformat="j2k", reversible=True, level=0),
                  JPEG_XL: lambda data: imagecodecs.jpegxl_encode(data, lossless=True)}
        for compression, stream_of in encode.items():
            for other in (pixels[:-1], pixels[:, 1:], np.pad(pixels, [(0, 1), (0, 0), (0, 0)]), np.tile(pixels, (20, 20, 1))):
                self.write_strip(compression, stream_of(other), pixels)
                self.refused("pixels where 101x70 belong")
            self.write_strip(compression, stream_of(pixels[..., 0]), pixels)
            self.refused("other samples")
        stream = bytearray(encode[JPEG_2000](pixels))
        stream[8:16] = b"\x7f\xff\xff\xff" * 2
        self.write_strip(JPEG_2000, bytes(stream), pixels)
        self.refused()

    def test_codings_that_eat_memory(self):
        """A directory and a stream that agree on a large picture, in as many pieces as can be."""
        pixels = smooth(512, 512)
        stream = bytearray(imagecodecs.jpeg2k_encode(pixels, codecformat="j2k", reversible=True, level=0))
        size, coding = stream.index(b"\xff\x51"), stream.index(b"\xff\x52")
        side = (16000).to_bytes(4, "big")
        stream[size + 6:size + 14] = side * 2
        stream[size + 22:size + 30] = side * 2
        levels = stream[coding + 9]
        stream[coding + 4] |= 1  # precincts of a pixel each, and all the layers that there can be
        stream[coding + 6:coding + 8] = b"\xff\xff"
        stream[coding + 2:coding + 4] = (12 + levels + 1).to_bytes(2, "big")
        stream[coding + 14:coding + 14] = bytes(levels + 1)
        write_by_hand(self.source, self.fields(JPEG_2000, 3), bytes(stream), 16000, 16000)
        self.refused("more than may be used")

    def test_without_the_library(self):
        pixels = smooth()
        for compression, name, package in ((JPEG_2000, "libopenjp2.so.7", "libopenjp2-7"), (JPEG_XL, "libjxl.so.0.7", "libjxl0.7")):
            self.write(pixels, compression)
            (self.folder / name).write_bytes(b"")
            run = subprocess.run([COPY, self.source, self.result], capture_output=True, text=True, timeout=60,
                                 env=dict(os.environ, LD_LIBRARY_PATH=str(self.folder)))
            self.assertEqual((run.returncode, run.stderr.count("\n")), (1, 1), run.stderr)
            self.assertIn(f"where the library {package} is installed", run.stderr)


class BlurredCodestreams(BlurTest):
    def test_they_become_deflate(self):
        for compression, name in ((JPEG_2000, "JPEG 2000"), (JPEG_XL, "JPEG XL")):
            pixels = np.full((200, 300, 3), (40, 90, 200), np.uint8)
            tifffile.imwrite(self.path("a.tif"), pixels, photometric="rgb", compression=compression, tile=(64, 64), metadata=None)
            done = self.blur("a.tif", "b.tif")
            self.assertIn(f"JPEG of any kind inside TIFF ({name}): it becomes deflate", done.printed)
            page = tifffile.TiffFile(self.path("b.tif")).pages[0]
            self.assertEqual((page.compression, page.tile), (8, (64, 64)))
            self.assertLessEqual(np.abs(page.asarray().astype(int) - pixels).max(), 2)

    def test_they_are_streamed(self):
        """In less memory than the picture takes, and into a pyramid."""
        pixels = np.tile(smooth(250, 250), (16, 4, 1))
        tifffile.imwrite(self.path("a.tif"), pixels, photometric="rgb", compression=JPEG_2000, tile=(128, 128), metadata=None)
        self.blur("a.tif", "whole.tif")
        self.blur("a.tif", "strips.tif", "--gaussian", 2, "--memory", "40M", "--jobs", 1, "--threads", 1)
        np.testing.assert_array_equal(tifffile.imread(self.path("strips.tif")), tifffile.imread(self.path("whole.tif")))
        subprocess.run([TOOL, "pyramid", "a.tif", "p.tif", "--memory", "60M"], cwd=self.folder, check=True, capture_output=True, timeout=60)
        np.testing.assert_array_equal(tifffile.imread(self.path("p.tif")), pixels)


if __name__ == "__main__":
    unittest.main()
