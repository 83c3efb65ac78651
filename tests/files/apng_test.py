"""Animated PNG files, made by hand: frames are composed, and written again as whole pictures."""
import io
import struct
import unittest

import numpy as np
from PIL import Image

from tests.files import png_files as png
from tests.files.copying import CopyTest

NONE, BACKGROUND, PREVIOUS = 0, 1, 2
SOURCE, OVER = 0, 1
rng = np.random.default_rng()


class Frame:
    def __init__(self, pixels, x=0, y=0, delay=(1, 10), dispose=NONE, blend=SOURCE):
        self.pixels, self.x, self.y, self.delay, self.dispose, self.blend = pixels, x, y, delay, dispose, blend

    def head(self, sequence):
        height, width = self.pixels.shape[:2]
        return png.chunk(b"fcTL", struct.pack(">IIIIIHHBB", sequence, width, height, self.x, self.y, *self.delay, self.dispose, self.blend))


def animation(frames, depth, colour, loops=0, image=None, before=b"", interlaced=False, pieces=2, said=None):
    """`image` is in IDAT and no frame; without it the first frame is there."""
    first = image if image is not None else frames[0].pixels
    height, width = first.shape[:2]
    data = png.SIGNATURE + png.header(width, height, depth, colour, interlaced) + before
    data += png.chunk(b"acTL", struct.pack(">II", said or len(frames), loops))
    sequence = 0
    for i, frame in enumerate(([None] if image is not None else []) + frames):
        if frame is not None:
            data += frame.head(sequence)
            sequence += 1
        stream = png.compressed(first if frame is None else frame.pixels, depth, interlaced)
        if i == 0:
            data += png.idat(stream, pieces)
            continue
        step = -(-len(stream) // pieces)
        for at in range(0, len(stream), step):
            data += png.chunk(b"fdAT", struct.pack(">I", sequence) + stream[at:at + step]) + png.text(b"tEXt", b"Comment", b"between")
            sequence += 1
    return data + png.chunk(b"IEND")


def compose(frames, shape, alpha, most):
    """The canvas after each frame, by the specification, in float64."""
    canvas, shown = np.zeros(shape), []
    for i, frame in enumerate(frames):
        height, width = frame.pixels.shape[:2]
        place = (slice(frame.y, frame.y + height), slice(frame.x, frame.x + width))
        before, new = canvas[place].copy(), frame.pixels.astype(float)
        if frame.blend == OVER and alpha and i > 0:
            above, below = new[..., -1:] / most, (1 - new[..., -1:] / most) * canvas[place][..., -1:] / most
            both = above + below
            colours = (new[..., :-1] * above + canvas[place][..., :-1] * below) / np.where(both > 0, both, 1)
            mixed = np.where(above > 0, np.dstack([colours, both * most]), canvas[place])
            canvas[place] = np.rint(mixed)  # ties to even
        else:
            canvas[place] = new
        shown.append(canvas.copy())
        if frame.dispose == BACKGROUND or (frame.dispose == PREVIOUS and i == 0):
            canvas[place] = 0
        elif frame.dispose == PREVIOUS:
            canvas[place] = before
    return shown


def take_apart(data):
    """(pixels of each picture, delay of each or None, loops), of whole pictures without blending and disposal."""
    found, _ = png.chunks(data)
    width, height, depth, colour = struct.unpack(">IIBB", found[0][1][:10])
    pictures, delays, sequence, loops = [], [], 0, None
    for kind, body in found:
        if kind == b"acTL":
            count, loops = struct.unpack(">II", body)
        if kind in (b"fcTL", b"fdAT"):
            assert struct.unpack(">I", body[:4])[0] == sequence
            sequence += 1
        if kind == b"fcTL":
            assert struct.unpack(">IIII", body[4:20]) == (width, height, 0, 0) and body[24:] == b"\0\0"
            delays.append(struct.unpack(">HH", body[20:24]))
            pictures.append(b"")
        if kind == b"IDAT":
            if not pictures:
                pictures.append(b"")
                delays.append(None)
            pictures[-1] += body
        if kind == b"fdAT":
            pictures[-1] += body[4:]
    assert count == sum(delay is not None for delay in delays)
    return [png.pixels_of_rows(each, width, height, depth, colour) for each in pictures], delays, loops


class Animations(CopyTest):
    def animate(self, *arguments, **options):
        return take_apart(self.copy(animation(*arguments, **options), "in.png", "out.png"))

    def random(self, height, width, depth, colour):
        pixels = rng.integers(0, 2 ** depth, (height, width, png.CHANNELS[colour]), dtype=np.uint16)
        if colour in (png.GREY_ALPHA, png.RGB_ALPHA):  # many opaque and transparent ones
            kind = rng.integers(0, 3, (height, width))
            pixels[..., -1] = np.where(kind == 0, 0, np.where(kind == 1, 2 ** depth - 1, pixels[..., -1]))
        return pixels

    def test_frames_are_composed(self):
        for colour in (png.GREY, png.RGB, png.GREY_ALPHA, png.RGB_ALPHA):
            for depth in (8, 16):
                for interlaced in (False, True):
                    with self.subTest(colour=colour, depth=depth, interlaced=interlaced):
                        self.check_composed(colour, depth, interlaced)

    def check_composed(self, colour, depth, interlaced):
        frames = [Frame(self.random(20, 30, depth, colour), delay=(int(rng.integers(1000)), 100), dispose=int(rng.integers(3)))]
        for _ in range(8):
            height, width = int(rng.integers(1, 21)), int(rng.integers(1, 31))
            frames.append(Frame(self.random(height, width, depth, colour), int(rng.integers(31 - width)), int(rng.integers(21 - height)),
                                (int(rng.integers(65536)), int(rng.integers(65536))), int(rng.integers(3)), int(rng.integers(2))))
        alpha = colour >= 4
        most = 2 ** depth - 1
        source = animation(frames, depth, colour, 7, interlaced=interlaced)
        result = self.copy(source, "in.png", "out.png")
        if interlaced:
            self.assertEqual(result[28], 1)
            result = self.without_interlacing(result, depth)
        pictures, delays, loops = take_apart(result) if not interlaced else (result, None, None)
        opaque = not alpha
        if opaque:  # holes may ask for alpha
            for frame in frames:
                frame.pixels = np.dstack([frame.pixels, np.full(frame.pixels.shape[:2], most, np.uint16)])
        expected = compose(frames, frames[0].pixels.shape[:0] + (20, 30, frames[0].pixels.shape[2]), True, most)
        self.assertEqual(len(pictures), len(frames))
        for got, wanted in zip(pictures, expected):
            if got.shape[2] < wanted.shape[2]:
                self.assertTrue((wanted[..., -1] == most).all(), "parts that are not covered became opaque")
                wanted = wanted[..., :-1]
            if opaque:
                np.testing.assert_array_equal(got, wanted)
            self.assertLessEqual(np.abs(got.astype(int) - wanted).max(), 1 if not opaque else 0)  # 1: ties, which add up over frames
        if not interlaced:
            self.assertEqual(loops, 7)
            self.assertEqual(delays, [(n, d or 100) for n, d in (frame.delay for frame in frames)])

    def without_interlacing(self, data, depth):
        """Each picture of an interlaced animation, decoded by Pillow or by hand."""
        import zlib
        found, _ = png.chunks(data)
        width, height, depth, colour = struct.unpack(">IIBB", found[0][1][:10])
        channels, streams = png.CHANNELS[colour], []
        for kind, body in found:
            if kind == b"fcTL":
                streams.append(b"")
            if kind in (b"IDAT", b"fdAT"):
                streams[-1] += body[4 if kind == b"fdAT" else 0:]
        pictures = []
        for stream in streams:
            rows, at = zlib.decompress(stream), 0
            picture = np.zeros((height, width, channels), np.uint16)
            for x, y, step_x, step_y in png.ADAM7:
                part = picture[y::step_y, x::step_x]
                bytes_per_row = part.shape[1] * channels * depth // 8
                for row in part:
                    if row.size:
                        assert rows[at] == 0
                        row[:] = np.frombuffer(rows, ">u2" if depth == 16 else "u1", row.size, at + 1).reshape(row.shape)
                        at += 1 + bytes_per_row
            pictures.append(picture)
        return pictures

    def test_palettes(self):
        palette, transparency = rng.bytes(48), rng.bytes(9)
        colours = np.frombuffer(palette, np.uint8).reshape(-1, 3)
        alpha = np.full((16, 1), 255, np.uint8)
        alpha[:9, 0] = np.frombuffer(transparency, np.uint8)
        entries = np.hstack([colours, alpha])
        frames = [Frame(rng.integers(0, 16, (9, 11, 1), dtype=np.uint16)), Frame(rng.integers(0, 16, (3, 5, 1), dtype=np.uint16), 4, 2)]
        before = png.chunk(b"PLTE", palette) + png.chunk(b"tRNS", transparency)
        pictures, _, _ = self.animate(frames, 4, png.PALETTE, before=before)
        first = entries[frames[0].pixels[..., 0]]
        second = first.copy()
        second[2:5, 4:9] = entries[frames[1].pixels[..., 0]]
        np.testing.assert_array_equal(pictures[0], first)
        np.testing.assert_array_equal(pictures[1], second)

    def test_an_image_that_is_no_frame(self):
        image = self.random(9, 11, 8, png.RGB)
        frames = [Frame(self.random(9, 11, 8, png.RGB), delay=(1, 30)), Frame(self.random(3, 5, 8, png.RGB), 4, 2, (0, 0))]
        pictures, delays, loops = self.animate(frames, 8, png.RGB, 3, image)
        self.assertEqual((delays, loops), ([None, (1, 30), (0, 100)], 3))
        np.testing.assert_array_equal(pictures[0], image)
        np.testing.assert_array_equal(pictures[1], frames[0].pixels)
        self.assertTrue((pictures[2][2:5, 4:9] == frames[1].pixels).all())

    def test_hidden_colours_of_the_first_frame(self):
        pixels = self.random(9, 11, 8, png.RGB_ALPHA)
        pixels[..., 3] = 0
        pictures, _, _ = self.animate([Frame(pixels, blend=OVER)], 8, png.RGB_ALPHA)
        np.testing.assert_array_equal(pictures[0], pixels)

    def test_pillow_reads_it(self):
        frames = [Frame(self.random(9, 11, 8, png.RGB)), Frame(self.random(9, 11, 8, png.RGB), delay=(250, 1000))]
        got = Image.open(io.BytesIO(self.copy(animation(frames, 8, png.RGB, 2), "in.png", "out.png")))
        self.assertEqual((got.n_frames, got.info["loop"]), (2, 2))
        for i, frame in enumerate(frames):
            got.seek(i)
            np.testing.assert_array_equal(np.asarray(got.convert("RGB")), frame.pixels)
        self.assertEqual(got.info["duration"], 250)

    def test_damaged_animations(self):
        frames = [Frame(self.random(9, 11, 8, png.RGB)), Frame(self.random(3, 5, 8, png.RGB), 4, 2)]
        whole = animation(frames, 8, png.RGB)
        found, _ = png.chunks(whole)

        def join(parts):
            return png.SIGNATURE + b"".join(png.chunk(kind, body) for kind, body in parts)

        last = max(i for i, (kind, _) in enumerate(found) if kind == b"fdAT")
        head = max(i for i, (kind, _) in enumerate(found) if kind == b"fcTL")
        self.refuses(join(found[:last] + found[last + 1:]), "in.png", "out.png", "damaged")
        self.refuses(join([part for i, part in enumerate(found) if i == 0 or part[0] != b"fdAT"]), "in.png", "out.png", "no pixels")
        self.refuses(join(found[:head] + found[head + 1:]), "in.png", "out.png", "damaged")
        outside = (b"fcTL", found[head][1][:12] + struct.pack(">I", 7) + found[head][1][16:])
        self.refuses(join(found[:head] + [outside] + found[head + 1:]), "in.png", "out.png", "outside")
        for length in range(40, len(whole), 97):
            self.refuses(whole[:length], "in.png", "out.png", "cut off")
        wrong = bytearray(whole)
        wrong[whole.rindex(b"fdAT") + 4 + len(found[last][1]) + 2] ^= 1
        self.refuses(bytes(wrong), "in.png", "out.png", "checksum")

    def test_frames_that_are_missing(self):
        self.copy(animation([Frame(self.random(9, 11, 8, png.RGB))], 8, png.RGB, said=3), "in.png", "out.png")
        self.assertIn("3 frames, and has 1", self.printed)


if __name__ == "__main__":
    unittest.main()
