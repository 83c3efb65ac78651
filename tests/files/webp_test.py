"""The WebP codec: files made by Pillow and by hand, copied, and read back by Pillow and by hand."""
import io
import struct
import unittest

import numpy as np
from PIL import Image

from tests.files import png_files as png
from tests.files.copying import CopyTest

rng = np.random.default_rng()


def chunk(name, body):
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def chunks(data):
    """[(name, body)], and what comes after them."""
    assert data[:4] == b"RIFF" and data[8:12] == b"WEBP"
    end, at, found = 8 + struct.unpack("<I", data[4:8])[0], 12, []
    while at < end:
        length, = struct.unpack("<I", data[at + 4:at + 8])
        found.append((data[at:at + 4], data[at + 8:at + 8 + length]))
        at += 8 + length + length % 2
    assert at == end
    return found, data[end:]


def join(parts):
    body = b"WEBP" + b"".join(chunk(name, data) for name, data in parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def with_features(data, flags):
    """A file with VP8X, which Pillow writes only where it has to."""
    found, _ = chunks(data)
    width, height = Image.open(io.BytesIO(data)).size
    if found[0][0] == b"VP8X":
        return [(b"VP8X", bytes([found[0][1][0] | flags]) + found[0][1][1:])] + found[1:]
    return [(b"VP8X", bytes([flags, 0, 0, 0]) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3])] + found


def encode(pixels, **options):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "WEBP", exact=True, **options)
    return stream.getvalue()


def decode(data):
    return np.asarray(Image.open(io.BytesIO(data)))


def random_pixels(height=37, width=53, channels=3):
    pixels = rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
    if channels == 4:
        pixels[..., 3] = np.where(rng.random((height, width)) < 0.4, 0, pixels[..., 3])
    return pixels


def smooth_pixels(height=90, width=110, channels=3):
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 100 * np.sin(x / (9 + c) + y / 13 + rng.random() * 6) for c in range(channels)]
    return np.dstack(waves).astype(np.uint8)


class WebpTest(CopyTest):
    def webp(self, data, *options):
        return self.copy(data, "in.webp", "out.webp", *options)

    def coding(self, data):
        names = {name for name, _ in chunks(data)[0]}
        self.assertEqual(len(names & {b"VP8 ", b"VP8L"}), 1)
        return "lossless" if b"VP8L" in names else "lossy"


class Stills(WebpTest):
    def test_lossless_stays_lossless(self):
        for channels in (3, 4):
            for height, width in [(1, 1), (37, 53), (100, 1), (1, 100)]:
                pixels = random_pixels(height, width, channels)
                result = self.webp(encode(pixels, lossless=True))
                self.assertEqual(self.coding(result), "lossless")
                np.testing.assert_array_equal(decode(result), pixels)  # also colours under alpha 0

    def test_lossy_stays_lossy(self):
        for channels in (3, 4):
            pixels = smooth_pixels(channels=channels)
            source = encode(pixels, quality=95)
            sizes = []
            for options, most in [((), 3), ((100,), 2.5), ((30,), 9)]:
                result = self.webp(source, *options)
                self.assertEqual(self.coding(result), "lossy")
                difference = np.abs(decode(result).astype(float) - decode(source))
                self.assertLess(difference[..., :3].mean(), most)
                if channels == 4:
                    self.assertEqual(difference[..., 3].max(), 0)
                sizes.append(len(result))
            self.assertTrue(sizes[2] < sizes[0] < sizes[1], sizes)

    def test_from_and_to_png(self):
        for colour in (png.GREY, png.RGB, png.GREY_ALPHA, png.RGB_ALPHA):
            pixels = rng.integers(0, 256, (20, 30, png.CHANNELS[colour]), dtype=np.uint16)
            source = png.image(pixels, 8, colour)
            result = self.copy(source, "in.png", "out.webp")
            self.assertEqual(self.coding(result), "lossless")
            shown = np.asarray(Image.open(io.BytesIO(source)).convert("RGBA" if colour >= 4 else "RGB"))
            np.testing.assert_array_equal(decode(result), shown)
            np.testing.assert_array_equal(png.pixels_of(self.copy(result, "in.webp", "out.png")), shown)
            self.assertEqual(self.coding(self.copy(source, "in.png", "out.webp", 80)), "lossy")

    def test_metadata(self):
        profile, exif, xmp, own = rng.bytes(333), b"II*\0\x08\0\0\0\0\0\0\0\0\0", b"<x:xmpmeta/>", b"odd"
        for introduction in (b"", b"Exif\0\0"):
            for options in ({"lossless": True}, {"quality": 80}):
                parts = with_features(encode(random_pixels(channels=4), **options), 0x3c)
                source = join([parts[0], (b"ICCP", profile), *parts[1:], (b"EXIF", introduction + exif), (b"XMP ", xmp),
                               (b"OWN ", own)]) + b"trailer"
                result = self.webp(source)
                found, trailer = chunks(result)
                names = [name for name, _ in found]
                self.assertEqual((names[:2], names[-3:], trailer), ([b"VP8X", b"ICCP"], [b"EXIF", b"XMP ", b"OWN "], b"trailer"))
                self.assertEqual([dict(found)[name] for name in (b"ICCP", b"EXIF", b"XMP ", b"OWN ")], [profile, exif, xmp, own])
                self.assertEqual(found[0][1][0], 0x3c)
                np.testing.assert_array_equal(decode(result)[..., 3], decode(source)[..., 3])
                picture = Image.open(io.BytesIO(result))
                self.assertEqual((picture.info["icc_profile"], picture.info["exif"]), (profile, exif))

    def test_a_second_profile(self):
        parts = with_features(encode(random_pixels()), 0x20)
        result = self.webp(join([parts[0], (b"ICCP", b"first"), (b"ICCP", b"second"), *parts[1:]]))
        self.assertEqual([body for name, body in chunks(result)[0] if name == b"ICCP"], [b"first"])
        self.assertIn("ICCP", self.printed)

    def test_what_webp_cannot_hold(self):
        for width, height in [(16384, 1), (1, 16384)]:
            pixels = np.zeros((height, width, 1), np.uint16)
            self.refuses(png.image(pixels, 8, png.GREY), "in.png", "out.webp", "16383")
        self.copy(png.image(np.zeros((2, 16383, 1), np.uint16), 8, png.GREY), "in.png", "out.webp")
        self.refuses(png.image(np.zeros((2, 2, 1), np.uint16), 16, png.GREY), "in.png", "out.webp", "8 bits")

    def test_damage(self):
        for options in ({"lossless": True}, {"quality": 80}):
            for channels in (3, 4):
                whole = encode(random_pixels(channels=channels), **options)
                for length in [12, 20, 30, *range(50, len(whole) - 1, 211), len(whole) - 1]:
                    self.refuses(whole[:length], "in.webp", "out.webp", "cut off")
                shorter = chunks(whole)[0]
                name, body = shorter[-1]
                self.refuses(join(shorter[:-1] + [(name, body[:len(body) // 2])]), "in.webp", "out.webp")
        self.refuses(join([(b"VP8X", bytes(10))]), "in.webp", "out.webp", "no picture")


class Animations(WebpTest):
    def canvas(self, frames, shape):
        """[(pixels, x, y, dispose, blend)] of opaque and fully transparent pixels, composed."""
        picture, shown = np.zeros(shape, np.uint8), []
        for pixels, x, y, disposes, blends in frames:
            place = picture[y:y + pixels.shape[0], x:x + pixels.shape[1]]
            place[:] = np.where(pixels[..., 3:] == 0, place, pixels) if blends else pixels
            shown.append(picture.copy())
            if disposes:
                place[:] = 0
        return shown

    def animation(self, frames, durations, width, height, flags=0x12, loops=3, background=b"\1\2\3\4", **options):
        parts = [(b"VP8X", bytes([flags, 0, 0, 0]) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]),
                 (b"ANIM", background + struct.pack("<H", loops))]
        for (pixels, x, y, disposes, blends), duration in zip(frames, durations):
            found = [part for part in chunks(encode(pixels, **(options or {"lossless": True})))[0] if part[0] != b"VP8X"]
            numbers = [x // 2, y // 2, pixels.shape[1] - 1, pixels.shape[0] - 1, duration]
            head = b"".join(struct.pack("<I", number)[:3] for number in numbers) + bytes([int(disposes) | 2 * (1 - int(blends))])
            parts.append((b"ANMF", head + b"".join(chunk(*part) for part in found)))
        return join(parts)

    def frames(self, count=7, alpha=True):
        def pixels(height, width):
            part = rng.integers(1, 256, (height, width, 4), dtype=np.uint8)
            part[..., 3] = np.where(rng.random((height, width)) < 0.5, 0, 255) if alpha else 255
            return part
        frames = [(pixels(40, 60), 0, 0, False, False)]
        for _ in range(count - 1):
            height, width = int(rng.integers(1, 30)), int(rng.integers(1, 40))
            frames.append((pixels(height, width), 2 * int(rng.integers(10)), 2 * int(rng.integers(5)), bool(rng.integers(2)) and alpha,
                           bool(rng.integers(2))))
        return frames

    def shown(self, data):
        """Every picture as Pillow shows it, and how long."""
        picture = Image.open(io.BytesIO(data))
        result = []
        for i in range(picture.n_frames):
            picture.seek(i)
            result.append(np.asarray(picture.convert("RGBA")))
        heads = [body[12:15] for name, body in chunks(data)[0] if name == b"ANMF"]
        return result, [int.from_bytes(head, "little") for head in heads]

    def test_frames_are_composed(self):
        for alpha in (True, False):
            frames = self.frames(alpha=alpha)
            durations = [0, 1, 17, 100, 0xffffff, 0xffffff, 33]
            source = self.animation(frames, durations, 60, 40, 0x12 if alpha else 0x02)
            result = self.webp(source)
            self.assertEqual("4 channels" in self.printed, alpha)
            pictures, times = self.shown(result)
            self.assertEqual(times, durations)
            self.assertEqual(dict(chunks(result)[0])[b"ANIM"], b"\1\2\3\4\3\0")
            for got, wanted in zip(pictures, self.canvas(frames, (40, 60, 4)), strict=True):
                visible = wanted[..., 3] > 0
                np.testing.assert_array_equal(got[..., 3], wanted[..., 3])
                np.testing.assert_array_equal(got[visible], wanted[visible])
            again = self.webp(result)
            for got, wanted in zip(self.shown(again)[0], pictures, strict=True):
                np.testing.assert_array_equal(got, wanted)

    def test_frames_that_are_the_same_stay_frames(self):
        frame = self.frames(1)[0]
        result = self.webp(self.animation([frame] * 4, [10, 20, 30, 40], 60, 40))
        self.assertEqual(self.shown(result)[1], [10, 20, 30, 40])
        self.assertLess(len(result), 2 * len(encode(frame[0], lossless=True)))

    def test_lossy_frames(self):
        frames = [(np.dstack([smooth_pixels(40, 60), np.full((40, 60), 255, np.uint8)]), 0, 0, False, False) for _ in range(3)]
        source = self.animation(frames, [5, 6, 7], 60, 40, quality=90)
        result = self.webp(source)
        self.assertNotIn(b"VP8L", result)
        for got, wanted in zip(self.shown(result)[0], self.shown(source)[0], strict=True):
            self.assertLess(np.abs(got.astype(int) - wanted).mean(), 4)

    def test_to_and_from_png(self):
        frames = self.frames()
        source = self.animation(frames, [10, 20, 30, 40, 50, 60, 70], 60, 40)
        middle = self.copy(source, "in.webp", "middle.png")
        result = self.copy(middle, "in.png", "out.webp")
        self.assertEqual(self.shown(result)[1], [10, 20, 30, 40, 50, 60, 70])
        for got, wanted in zip(self.shown(result)[0], self.shown(source)[0], strict=True):
            np.testing.assert_array_equal(got[wanted[..., 3] > 0], wanted[wanted[..., 3] > 0])

    def test_damage(self):
        source = self.animation(self.frames(), [10] * 7, 60, 40)
        for length in range(30, len(source), 301):
            self.refuses(source[:length], "in.webp", "out.webp", "cut off")
        found, _ = chunks(source)
        self.refuses(join(found[:2]), "in.webp", "out.webp", "without frames")
        half = (b"ANMF", found[3][1][:len(found[3][1]) // 2])
        self.refuses(join(found[:3] + [half] + found[4:]), "in.webp", "out.webp")
        outside = (b"ANMF", b"\x20\0\0" + found[3][1][3:])
        self.refuses(join(found[:3] + [outside] + found[4:]), "in.webp", "out.webp", "outside")


if __name__ == "__main__":
    unittest.main()
