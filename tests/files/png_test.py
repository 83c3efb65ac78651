"""The PNG codec: files made by hand, copied, and read back by hand and by Pillow."""
import io
import struct
import unittest
import zlib

import numpy as np
from PIL import Image

from tests.files import png_files as png
from tests.files.copying import CopyTest

rng = np.random.default_rng()


def random_pixels(height, width, depth, colour):
    shape = (height, width, png.CHANNELS[colour])
    return rng.integers(0, 2 ** depth, shape, dtype=np.uint16)


def numbers_of_pillow(data):
    return np.asarray(Image.open(io.BytesIO(data)))


class PngTest(CopyTest):
    def png(self, data, *options):
        return self.copy(data, "in.png", "out.png", *options)

    def refuses_png(self, data, *words):
        self.refuses(data, "in.png", "out.png", *words)


class Pixels(PngTest):
    def expected(self, pixels, depth, colour, palette=None, transparency=b""):
        """What a reader of 8 and 16 bits shows."""
        if colour == png.PALETTE:
            entries = np.frombuffer(palette, np.uint8).reshape(-1, 3)
            rgb = entries[pixels[..., 0]]
            if not transparency:
                return rgb
            alpha = np.full(len(entries), 255, np.uint8)
            alpha[:len(transparency)] = np.frombuffer(transparency, np.uint8)
            return np.dstack([rgb, alpha[pixels[..., 0]]])
        shown = pixels.astype(np.uint16 if depth == 16 else np.uint8)
        if depth < 8:
            shown = (pixels.astype(int) * 255 // (2 ** depth - 1)).astype(np.uint8)
        if not transparency:
            return shown
        key = np.frombuffer(transparency, ">u2")
        most = 65535 if depth == 16 else 255
        return np.dstack([shown, np.where((pixels == key).all(axis=2), 0, most).astype(shown.dtype)])

    def test_every_colour_type_and_depth(self):
        for colour, depths in [(png.GREY, (1, 2, 4, 8, 16)), (png.RGB, (8, 16)), (png.PALETTE, (1, 2, 4, 8)), (png.GREY_ALPHA, (8, 16)),
                               (png.RGB_ALPHA, (8, 16))]:
            for depth in depths:
                for interlaced in (False, True):
                    for width, height in [(1, 1), (3, 2), (13, 9), (101, 80)]:
                        for transparent in ((False, True) if colour < 4 else (False,)):
                            with self.subTest(colour=colour, depth=depth, interlaced=interlaced, size=(width, height),
                                              transparent=transparent):
                                self.check_pixels(colour, depth, interlaced, width, height, transparent)

    def check_pixels(self, colour, depth, interlaced, width, height, transparent):
        pixels = random_pixels(height, width, depth, colour)
        palette = rng.bytes(3 * 2 ** depth) if colour == png.PALETTE else None
        transparency = b""
        if transparent:
            transparency = rng.bytes(2 ** depth // 2) if palette else pixels[height // 2, width // 2].astype(">u2").tobytes()
        before = (png.chunk(b"PLTE", palette) if palette else b"") + (png.chunk(b"tRNS", transparency) if transparency else b"")
        source = png.image(pixels, depth, colour, before, interlaced=interlaced, pieces=rng.integers(1, 5))
        expected = self.expected(pixels, depth, colour, palette, transparency)
        result = self.png(source)
        found = png.chunks(result)[0]
        self.assertEqual(found[0][1][12], int(interlaced))
        self.assertEqual(found[0][1][8], max(depth, 8))
        if interlaced:  # once more, without
            plain = Image.open(io.BytesIO(result))
            if depth < 16:
                np.testing.assert_array_equal(np.asarray(plain).reshape(expected.shape), expected)
            else:
                self.check_interlaced_rows(found, expected)
        else:
            np.testing.assert_array_equal(png.pixels_of(result), expected)
        if colour == png.GREY and depth < 8:
            self.assertEqual(dict(found)[b"sBIT"], bytes([depth] + [8] * (expected.shape[2] - 1)))

    def check_interlaced_rows(self, found, expected):
        stream = b"".join(body for kind, body in found if kind == b"IDAT")
        self.assertEqual(zlib.decompress(stream), zlib.decompress(png.compressed(expected, 16, True)))

    def test_rows_with_every_filter(self):
        """libpng undoes the filters; Pillow writes them all."""
        y, x = np.mgrid[0:64, 0:48]
        smooth = np.dstack([x * 5, y * 3, x + y, 255 - x]).astype(np.uint8)
        for channels in (3, 4):
            stream = io.BytesIO()
            Image.fromarray(smooth[..., :channels]).save(stream, "PNG")
            np.testing.assert_array_equal(png.pixels_of(self.png(stream.getvalue())), smooth[..., :channels])

    def test_widths_above_a_million(self):
        pixels = random_pixels(2, 1_000_003, 8, png.GREY)
        np.testing.assert_array_equal(png.pixels_of(self.png(png.image(pixels, 8, png.GREY))), pixels)

    def test_indices_beyond_the_palette(self):
        """They are black, as other programs show them."""
        pixels = np.arange(16, dtype=np.uint16).reshape(4, 4, 1)
        palette = bytes(range(1, 31))
        result = png.pixels_of(self.png(png.image(pixels, 8, png.PALETTE, png.chunk(b"PLTE", palette))))
        self.assertEqual(result[3, 3].tolist(), [0, 0, 0])
        self.assertEqual(result[2, 1].tolist(), [28, 29, 30])
        self.assertIn("indices without a colour", self.printed)
        self.png(png.image(np.minimum(pixels, 9), 8, png.PALETTE, png.chunk(b"PLTE", palette)))
        self.assertNotIn("indices", self.printed)

    def test_more_bytes_than_pixels(self):
        pixels = random_pixels(5, 6, 8, png.RGB)
        stream = zlib.compress(png.packed_rows(pixels, 8) + b"more")
        for data in (png.idat(stream), png.idat(png.compressed(pixels, 8)) + png.idat(b"more"), png.idat(png.compressed(pixels, 8) + b"x")):
            result = self.png(png.SIGNATURE + png.header(6, 5, 8, png.RGB) + data + png.chunk(b"IEND"))
            np.testing.assert_array_equal(png.pixels_of(result), pixels)
            self.assertIn("left out", self.printed)
        data = png.chunk(b"IDAT") + png.idat(png.compressed(pixels, 8)) + png.chunk(b"IDAT")
        result = self.png(png.SIGNATURE + png.header(6, 5, 8, png.RGB) + data + png.chunk(b"IEND"))
        np.testing.assert_array_equal(png.pixels_of(result), pixels)
        self.assertNotIn("left out", self.printed)


class Damage(PngTest):
    def test_files_that_are_cut_off(self):
        whole = png.image(random_pixels(40, 50, 8, png.RGB), 8, png.RGB, png.text(b"tEXt", b"Title", b"a"), pieces=3)
        for length in [*range(8, 100), *range(100, len(whole), 331), len(whole) - 1, len(whole) - 12]:
            with self.subTest(length=length):
                self.refuses_png(whole[:length], "cut off")

    def test_too_few_pixels(self):
        pixels = random_pixels(40, 50, 8, png.RGB)
        stream = zlib.compress(png.packed_rows(pixels[:39], 8))
        self.refuses_png(png.SIGNATURE + png.header(50, 40, 8, png.RGB) + png.idat(stream) + png.chunk(b"IEND"), "damaged")
        stream = png.compressed(pixels, 8)
        for bad in (stream[:-6], stream[:-4] + b"abcd", stream[:500] + b"\xff" * 10 + stream[510:]):
            self.refuses_png(png.SIGNATURE + png.header(50, 40, 8, png.RGB) + png.idat(bad) + png.chunk(b"IEND"), "damaged")

    def test_checksums(self):
        whole = png.image(random_pixels(40, 50, 8, png.RGB), 8, png.RGB, png.text(b"tEXt", b"Title", b"a"),
                          after=png.text(b"tEXt", b"Author", b"a"), pieces=3)
        at = 8
        for kind, body in png.chunks(whole)[0]:
            bad = bytearray(whole)
            bad[at + 8 + len(body)] ^= 1
            with self.subTest(kind=kind):
                self.refuses_png(bytes(bad), "checksum")
            at += 12 + len(body)

    def test_a_header_that_claims_much(self):
        for width, height in [(30000, 30000), (2 ** 31 - 1, 2 ** 31 - 1), (2 ** 31 - 1, 1)]:
            data = png.SIGNATURE + png.header(width, height, 16, png.RGB_ALPHA) + png.idat(zlib.compress(b"\0" * 1000)) + png.chunk(b"IEND")
            self.refuses_png(data, "cut off")

    def test_headers_that_are_wrong(self):
        pixels = random_pixels(2, 2, 8, png.RGB)
        for width, height, depth, colour in [(0, 2, 8, 2), (2, 0, 8, 2), (2 ** 31, 2, 8, 2), (2, 2, 3, 0), (2, 2, 4, 2), (2, 2, 8, 1),
                                             (2, 2, 16, 3), (2, 2, 0, 0)]:
            data = png.SIGNATURE + png.header(width, height, depth, colour) + png.idat(png.compressed(pixels, 8)) + png.chunk(b"IEND")
            self.refuses_png(data, "damaged")
        self.refuses_png(png.image(pixels, 8, png.PALETTE), "palette")
        self.refuses_png(png.image(pixels, 8, png.RGB, png.chunk(b"CRIT", b"x")), "CRIT")
        self.refuses_png(png.SIGNATURE + png.chunk(b"CgBI", b"\0\0\0\0") + png.image(pixels, 8, png.RGB)[8:], "Apple")
        data = png.compressed(pixels, 8)
        apart = png.chunk(b"IDAT", data[:5]) + png.text(b"tEXt", b"Title", b"a") + png.chunk(b"IDAT", data[5:])
        self.refuses_png(png.SIGNATURE + png.header(2, 2, 8, png.RGB) + apart + png.chunk(b"IEND"), "one piece")
        self.refuses_png(png.SIGNATURE + png.header(2, 2, 8, png.RGB) + png.chunk(b"IEND"), "no pixels")


class Chunks(PngTest):
    """What a file holds besides pixels."""

    def kept(self, chunk, colour=png.RGB, depth=8, **places):
        return self.found(chunk, colour, depth, **places)

    def found(self, before, colour=png.RGB, depth=8, **places):
        self.result = self.png(png.image(random_pixels(3, 4, depth, colour), depth, colour, before, **places))
        return png.chunks(self.result)[0]

    def test_chunks_that_stay_as_they_are(self):
        for kind, body in [(b"cICP", b"\x09\x10\0\1"), (b"mDCV", rng.bytes(24)), (b"cLLI", rng.bytes(8)), (b"sRGB", b"\2"),
                           (b"gAMA", struct.pack(">I", 45455)),
                           (b"gAMA", struct.pack(">I", 100000)),
                           (b"cHRM", struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)),
                           (b"cHRM", struct.pack(">8i", 34567, 35850, 73470, 26530, 0, 100000, 10, -7700)),
                           (b"eXIf", b"II*\0\x08\0\0\0\0\0\0\0\0\0"),
                           (b"tIME", struct.pack(">HBBBBB", 2026, 11, 27, 1, 2, 60)), (b"pHYs", struct.pack(">IIB", 2835, 2836, 1)),
                           (b"pHYs", struct.pack(">IIB", 4, 3, 0)), (b"pHYs", struct.pack(">IIB", 3937008, 1, 1)),
                           (b"oFFs", struct.pack(">iiB", -5, 7, 1)),
                           (b"pCAL", b"x\0" + rng.bytes(30)), (b"sCAL", b"\1" + b"0.5\0" b"0.25"), (b"sTER", b"\1"),
                           (b"sPLT", b"name\0\x08" + rng.bytes(12)),
                           (b"bKGD", struct.pack(">3H", 1, 200, 255)), (b"sBIT", b"\5\6\5"), (b"iCCP", None)]:
            with self.subTest(kind=kind):
                if body is None:
                    profile = rng.bytes(1001)  # no length that a multiple of four is; contents are not looked at
                    body = b"A name\0\0" + zlib.compress(profile)
                    got = dict(self.kept(png.chunk(kind, body)))[kind]
                    self.assertEqual((got[:8], zlib.decompress(got[8:])), (body[:8], profile))
                else:
                    self.assertEqual(dict(self.kept(png.chunk(kind, body)))[kind], body)

    def test_draft_names(self):
        found = dict(self.found(png.chunk(b"mDCv", b"m" * 24) + png.chunk(b"cLLi", b"c" * 8)))
        self.assertEqual((found[b"mDCV"], found[b"cLLI"]), (b"m" * 24, b"c" * 8))

    def test_colours_come_before_the_pixels(self):
        order = [kind for kind, _ in self.found(png.chunk(b"pHYs", struct.pack(">IIB", 1, 1, 1)) + png.chunk(b"cICP", b"\1\x0d\0\1"))]
        self.assertEqual(order, [b"IHDR", b"cICP", b"pHYs", b"IDAT", b"IEND"])

    def test_background(self):
        palette = png.chunk(b"PLTE", bytes(range(30)))
        for colour, depth, before, expected in [(png.PALETTE, 4, palette + png.chunk(b"bKGD", b"\3"), struct.pack(">3H", 9, 10, 11)),
                                                (png.GREY, 2, png.chunk(b"bKGD", b"\0\2"), b"\0\xaa"),
                                                (png.GREY, 16, png.chunk(b"bKGD", b"\1\2"), b"\1\2")]:
            pixels = random_pixels(3, 4, depth, colour) % 10
            self.assertEqual(dict(png.chunks(self.png(png.image(pixels, depth, colour, before)))[0])[b"bKGD"], expected)

    def test_unknown_chunks_keep_their_place(self):
        before, between, after = (png.chunk(b"prVa", b"1"), png.chunk(b"prVb", b"2"), png.chunk(b"prVA", b"3"))
        found = [kind for kind, _ in self.found(before + png.chunk(b"pHYs", struct.pack(">IIB", 1, 1, 1)), after=after)]
        self.assertEqual(found, [b"IHDR", b"prVa", b"pHYs", b"IDAT", b"prVA", b"IEND"])
        palette = png.chunk(b"PLTE", bytes(30))
        source = png.image(np.zeros((2, 2, 1), np.uint16), 8, png.PALETTE, before + palette, between)
        found = [kind for kind, _ in png.chunks(self.png(source))[0]]
        self.assertEqual(found, [b"IHDR", b"prVa", b"prVb", b"IDAT", b"IEND"])

    def test_texts(self):
        long = "".join(chr(32 + i % 90) for i in range(5000)).encode()
        source = (png.text(b"tEXt", b"Title", "Caf\xe9".encode("latin-1")) + png.text(b"zTXt", b"Comment", b"squeezed") +
                  png.text(b"iTXt", b"Author", "山田".encode(), b"ja", "著者".encode()) +
                  png.text(b"iTXt", b"Description", b"plain", is_compressed=True) +
                  png.text(b"tEXt", b"Long", long) + png.text(b"iTXt", b"Longer", long * 2) + png.text(b"tEXt", b"Empty", b""))
        expected = {b"Title": ("Caf\xe9".encode(), b"", b""), b"Comment": (b"squeezed", b"", b""),
                    b"Author": ("山田".encode(), b"ja", "著者".encode()),
                    b"Description": (b"plain", b"", b""), b"Long": (long, b"", b""), b"Longer": (long * 2, b"", b""),
                    b"Empty": (b"", b"", b"")}
        found = self.found(source, after=png.text(b"tEXt", b"Software", b"late"))
        self.assertEqual(png.texts(self.result), expected | {b"Software": (b"late", b"", b"")})
        self.assertLess(sum(len(body) for kind, body in found if kind[1:] == b"TXt"), 4000)
        Image.open(io.BytesIO(self.result)).load()

    def test_xmp(self):
        packet = b"<?xpacket begin=''?><x:xmpmeta xmlns:x='adobe:ns:meta/'/>" + b" " * 2000
        for is_compressed in (False, True):
            found = self.found(png.text(b"iTXt", b"XML:com.adobe.xmp", packet, is_compressed=is_compressed))
            self.assertEqual(dict(found)[b"iTXt"], b"XML:com.adobe.xmp\0\0\0\0\0" + packet)

    def test_raw_profiles(self):
        exif, xmp, iptc = b"II*\0\x08\0\0\0\0\0\0\0\0\0", b"<x:xmpmeta/>", b"\x1c\2\5\0\3abc"
        block = b"8BIM\4\4\0\0" + struct.pack(">I", len(iptc)) + iptc
        other = b"8BIM\3\xed\0\0" + struct.pack(">I", 4) + b"abcd"
        for kind, body in [(b"exif", b"Exif\0\0" + exif), (b"APP1", b"Exif\0\0" + exif), (b"exif", exif)]:
            found = dict(self.found(png.raw_profile(kind, body)))
            self.assertEqual(found[b"eXIf"], exif)
            self.assertNotIn(b"zTXt", found)
        for kind, body in [(b"xmp", xmp), (b"APP1", b"http://ns.adobe.com/xap/1.0/\0" + xmp)]:
            self.found(png.raw_profile(kind, body))
            self.assertEqual(png.texts(self.result)[b"XML:com.adobe.xmp"][0], xmp)
        for kind, body in [(b"iptc", iptc), (b"iptc", block), (b"8bim", block)]:
            self.found(png.raw_profile(kind, body))
            self.assertEqual(png.raw_profiles(self.result)[b"iptc"][:len(block)], block)
        self.found(png.raw_profile(b"8bim", other + block))
        profiles = png.raw_profiles(self.result)
        self.assertEqual((profiles[b"8bim"], profiles[b"iptc"][:len(block)]), (other, block))
        thumbnail = b"8BIM\4\x0c\0\0" + struct.pack(">I", 40) + bytes(28) + b"\xff\xd8\xff\xe0thumbnail"[:12]
        self.found(png.raw_profile(b"8bim", thumbnail + other))
        self.assertEqual(png.raw_profiles(self.result), {b"8bim": other})
        self.assertIn("thumbnail", self.printed)
        profile = rng.bytes(777)
        found = dict(self.found(png.raw_profile(b"icc", profile)))
        self.assertEqual(zlib.decompress(found[b"iCCP"].split(b"\0", 2)[2]), profile)
        self.found(png.raw_profile(b"mine", profile))
        self.assertEqual(png.raw_profiles(self.result)[b"mine"], profile)
        self.found(png.text(b"tEXt", b"Raw profile type exif", b"\nexif\n      9\n00\n"))
        self.assertEqual(png.texts(self.result)[b"Raw profile type exif"][0], b"\nexif\n      9\n00\n")

    def test_what_comes_after_the_end(self):
        source = png.image(random_pixels(3, 4, 8, png.RGB), 8, png.RGB, trailer=b"a film")
        self.assertEqual(png.chunks(self.png(source))[1], b"a film")

    def test_malformed_chunks_are_left_out_with_a_message(self):
        for kind, body in [(b"gAMA", b"\0\0\0\0"), (b"gAMA", b"1"), (b"cHRM", b"1"), (b"sRGB", b"12"), (b"iCCP", b"name\0\0junk"),
                           (b"iCCP", b"name"), (b"tIME", b"1"),
                           (b"pHYs", b"1"), (b"pHYs", bytes(9)), (b"sBIT", b"\0\1\2"), (b"bKGD", b"1"), (b"tEXt", b"no end"),
                           (b"zTXt", b"k\0\0junk"), (b"zTXt", b"k\0\1"),
                           (b"iTXt", b"k\0\0\0"), (b"iTXt", b"k\0\1\0\0\0junk"), (b"tEXt", b"\0text"), (b"tRNS", b""), (b"hIST", b"\0\1"),
                           (b"acTL", b"1"),
                           (b"fcTL", bytes(26)), (b"eXIf", b"")]:
            with self.subTest(kind=kind, body=body):
                self.assertNotIn(kind, dict(self.found(png.chunk(kind, body))))
                self.assertIn(kind.decode(), self.printed)
        twice = png.chunk(b"gAMA", struct.pack(">I", 45455)) + png.chunk(b"gAMA", struct.pack(">I", 100000))
        self.assertEqual([body for kind, body in self.found(twice) if kind == b"gAMA"], [struct.pack(">I", 45455)])
        self.assertIn("gAMA", self.printed)

    def test_bombs(self):
        """A text of 2 GB in 2 MB."""
        stream = zlib.compressobj(9)
        body = b"".join(stream.compress(b"\0" * (1 << 24)) for _ in range(128)) + stream.flush()
        self.refuses_png(png.image(random_pixels(3, 4, 8, png.RGB), 8, png.RGB, png.chunk(b"zTXt", b"k\0\0" + body)), "memory")


if __name__ == "__main__":
    unittest.main()
