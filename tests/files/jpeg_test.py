"""JPEG through the codec: files of Pillow and of our own hand in, read back by Pillow and exiftool.

    MOLLIFY_COPY_FILE=build/dev/mollify_copy_file python -m unittest tests.files.jpeg_test
"""
import base64
import hashlib
import io
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np
from PIL import Image, ImageCms

TOOL = os.path.abspath(os.environ.get("MOLLIFY_COPY_FILE", "build/dev/mollify_copy_file"))
MODES = {1: "L", 3: "RGB", 4: "CMYK"}


def picture(channels, height=67, width=123, seed=None):
    """Smooth, so that the codec changes little, and random."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (height // 9 + 2, width // 9 + 2, channels), dtype=np.uint8)
    return Image.fromarray(small.squeeze(), MODES[channels]).resize((width, height), Image.BICUBIC)


def encoded(image=None, **options):
    buffer = io.BytesIO()
    (image or picture(3)).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def segment(marker, payload):
    return bytes([0xFF, marker]) + struct.pack(">H", len(payload) + 2) + payload


def with_segments(jpeg, *segments):
    """Behind SOI and JFIF."""
    at = 4 + struct.unpack(">H", jpeg[4:6])[0]
    return jpeg[:at] + b"".join(segments) + jpeg[at:]


def segments(jpeg):
    """(marker, payload) up to the first scan."""
    found, at = [], 2
    while jpeg[at + 1] != 0xDA:
        length = struct.unpack(">H", jpeg[at + 2:at + 4])[0]
        found.append((jpeg[at + 1], jpeg[at + 4:at + 2 + length]))
        at += 2 + length
    return found


class JpegTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tool(self, data, *options, result="out.jpg"):
        (self.folder / "in.jpg").write_bytes(data)
        return subprocess.run([TOOL, self.folder / "in.jpg", self.folder / result, *options], capture_output=True, text=True, timeout=60)

    def copy(self, data, *options):
        done = self.run_tool(data, *options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.output = done.stdout
        return (self.folder / "out.jpg").read_bytes()

    def refuse(self, data, words):
        done = self.run_tool(data)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(words, done.stderr + done.stdout)

    def test_pixels_tables_and_subsampling_are_those_of_the_source(self):
        """Pillow decodes, and encodes again with the same tables: the same pixels must come out."""
        for channels in MODES:
            for progressive in [False, True]:
                for subsampling in [0, 1, 2] if channels == 3 else [0]:
                    for quality in [20, 93]:
                        with self.subTest(channels=channels, progressive=progressive, subsampling=subsampling, quality=quality):
                            data = encoded(picture(channels), quality=quality, progressive=progressive, subsampling=subsampling)
                            got = Image.open(io.BytesIO(self.copy(data)))
                            source = Image.open(io.BytesIO(data))
                            again = io.BytesIO()
                            tables = [source.quantization[k] for k in sorted(source.quantization)]
                            Image.open(io.BytesIO(data)).save(again, "JPEG", qtables=tables, progressive=progressive, subsampling=subsampling)
                            self.assertEqual(got.layer, source.layer)
                            self.assertEqual(got.quantization, source.quantization)
                            self.assertEqual(bool(got.info.get("progressive")), progressive)
                            if channels == 4:  # YCCK or CMYK, as in the source, which is not what Pillow does again
                                self.assertLess(np.abs(np.asarray(got, int) - np.asarray(source, int)).max(), 24)
                            else:
                                np.testing.assert_array_equal(np.asarray(got), np.asarray(Image.open(again)))

    def test_pixels_are_those_of_the_library(self):
        for channels in [1, 3]:
            for progressive in [False, True]:
                for subsampling in [0, 1, 2]:
                    data = encoded(picture(channels), quality=50, progressive=progressive, subsampling=subsampling)
                    self.assertEqual(self.run_tool(data, result="out.png").returncode, 0)
                    np.testing.assert_array_equal(np.asarray(Image.open(self.folder / "out.png")), np.asarray(Image.open(io.BytesIO(data))))

    def test_quality_replaces_the_tables(self):
        data = self.copy(encoded(quality=95, subsampling=1), "40")
        expected = Image.open(io.BytesIO(encoded(quality=40)))
        got = Image.open(io.BytesIO(data))
        self.assertEqual(got.quantization, expected.quantization)
        self.assertEqual([layer[1:3] for layer in got.layer], [(2, 1), (1, 1), (1, 1)])

    def test_ink_keeps_its_sense(self):
        """With Adobe's segment inks are stored as their negative, without it they are not."""
        data = encoded(picture(4), quality=100)
        without = data
        for marker, payload in segments(data):
            if marker == 0xEE:
                without = data.replace(segment(marker, payload), b"")
        self.assertNotEqual(data, without)
        for source in [data, without]:
            got = self.copy(source)
            self.assertEqual([m for m, _ in segments(got) if m == 0xEE], [m for m, _ in segments(source) if m == 0xEE])
            difference = np.asarray(Image.open(io.BytesIO(got)), int) - np.asarray(Image.open(io.BytesIO(source)), int)
            self.assertLess(np.abs(difference).max(), 6)

    def test_stored_rgb_stays_rgb(self):
        data = encoded(picture(3), quality=95, keep_rgb=True)
        got = self.copy(data)
        self.assertLess(np.abs(np.asarray(Image.open(io.BytesIO(got)), int) - np.asarray(Image.open(io.BytesIO(data)), int)).max(), 9)
        self.assertEqual([layer[0] for layer in Image.open(io.BytesIO(got)).layer], [layer[0] for layer in Image.open(io.BytesIO(data)).layer])

    def test_restart_intervals(self):
        for options in [{"restart_marker_rows": 2}, {"restart_marker_blocks": 3}]:
            data = encoded(quality=80, **options)
            interval = [payload for marker, payload in segments(data) if marker == 0xDD]
            self.assertEqual(len(interval), 1)
            self.assertEqual([payload for marker, payload in segments(self.copy(data)) if marker == 0xDD], interval)

    def test_resolution(self):
        for unit, x, y in [(0, 4, 3), (1, 300, 200), (2, 118, 99)]:
            data = bytearray(encoded())
            data[13:18] = struct.pack(">BHH", unit, x, y)
            self.assertEqual(self.copy(bytes(data))[13:18], data[13:18])

    def test_comments_and_unknown_segments(self):
        added = [segment(0xFE, b"one"), segment(0xFE, b""), segment(0xE5, b"RMETA\0abc"), segment(0xE1, b"FLIR\0" + bytes(65000)),
                 segment(0xE1, b"FLIR\0" + b"x" * 30), segment(0xE0, b"JFXX\0\x13\1\1abc"), segment(0xE2, b"MPF\0II*\0" + bytes(20)),
                 segment(0xE2, b"urn:iso:std:iso:ts:21496:-1\0" + bytes(9)), segment(0xEF, bytes(65533))]
        got = self.copy(with_segments(encoded(), *added))
        for each in added:
            self.assertIn(each, got)
        self.assertIn("item", self.output)

    def test_profiles_of_any_length_in_any_order(self):
        profile = np.random.default_rng().bytes(150001)
        chunks = [segment(0xE2, b"ICC_PROFILE\0" + bytes([i + 1, 4]) + profile[i * 40000:(i + 1) * 40000]) for i in range(4)]
        got = self.copy(with_segments(encoded(), chunks[2], chunks[0], chunks[3], chunks[1]))
        self.assertEqual(Image.open(io.BytesIO(got)).info["icc_profile"], profile)
        self.copy(with_segments(encoded(), chunks[2], chunks[0]))
        self.assertIn("profile is incomplete", self.output)
        small = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        self.assertEqual(Image.open(io.BytesIO(self.copy(encoded(icc_profile=small)))).info["icc_profile"], small)

    def test_exif_xmp_and_photoshop(self):
        exif = Image.Exif()
        exif[0x112], exif[0x10F] = 6, "Mollusc"
        xmp = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
        irb = b"8BIM" + struct.pack(">HHI", 1028, 0, 9) + b"\x1c\2\x50\0\4Anna\0" + b"8BIM" + struct.pack(">HHI", 1057, 0, 2) + b"ab"
        got = self.copy(with_segments(encoded(exif=exif), segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp), segment(0xED, b"Photoshop 3.0\0" + irb)))
        (self.folder / "out.jpg").write_bytes(got)
        image = Image.open(io.BytesIO(got))
        self.assertEqual((image.getexif()[0x112], image.getexif()[0x10F]), (6, "Mollusc"))
        payloads = [payload for _, payload in segments(got)]
        self.assertIn(b"http://ns.adobe.com/xap/1.0/\0" + xmp, payloads)
        tags = json.loads(subprocess.run(["exiftool", "-j", self.folder / "out.jpg"], capture_output=True, text=True).stdout)[0]
        self.assertEqual(tags["By-line"], "Anna")
        self.assertNotIn("Warning", tags)

    def test_xmp_larger_than_a_segment(self):
        def packet(text):
            return ('<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
                    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmpNote="http://ns.adobe.com/xmp/note/" %s</rdf:Description></rdf:RDF></x:xmpmeta>' % text).encode()
        guid = b"0123456789ABCDEF0123456789ABCDEF"
        for size in [10, 90000]:
            value = base64.b32encode(np.random.default_rng().bytes(size)).decode()
            main = packet(f'dc:format="image/jpeg" xmpNote:HasExtendedXMP="{guid.decode()}">')
            extended = packet(f'dc:source="{value}"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">one</rdf:li><rdf:li xml:lang="de-DE">eins</rdf:li><rdf:li xml:lang="fr">un</rdf:li></rdf:Alt></dc:title>'
                              "<dc:subject><rdf:Bag><rdf:li>a</rdf:li><rdf:li>b</rdf:li></rdf:Bag></dc:subject>")
            part = len(extended) // 3 + 1
            parts = [segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0" + guid + struct.pack(">II", len(extended), at) + extended[at:at + part])
                     for at in range(0, len(extended), part)]
            got = self.copy(with_segments(encoded(), segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + main), parts[1], parts[2], parts[0]))
            self.assertEqual(got.count(b"http://ns.adobe.com/xmp/extension/\0"), 0 if size == 10 else 3)
            (self.folder / "out.jpg").write_bytes(got)
            tags = json.loads(subprocess.run(["exiftool", "-j", "-G1", "-XMP:all", self.folder / "out.jpg"], capture_output=True, text=True).stdout)[0]
            self.assertEqual({key: value for key, value in tags.items() if key.startswith("XMP-dc")},
                             {"XMP-dc:Format": "image/jpeg", "XMP-dc:Source": value, "XMP-dc:Title": "one", "XMP-dc:Title-de-DE": "eins", "XMP-dc:Title-fr": "un", "XMP-dc:Subject": ["a", "b"]})
            if size > 10:
                joined = b"".join(payload[75:] for _, payload in segments(got) if payload.startswith(b"http://ns.adobe.com/xmp/extension/\0"))
                self.assertEqual(tags["XMP-xmpNote:HasExtendedXMP"], hashlib.md5(joined).hexdigest().upper())
            self.copy(with_segments(encoded(), segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + main), parts[1]))
            self.assertIn("incomplete", self.output)

    def test_what_follows_the_picture(self):
        second = encoded(picture(3, 20, 30))
        video = struct.pack(">I", 24) + b"ftypmp42" + bytes(12) + b"moov" + bytes(100)
        data = encoded() + b"\0\0\0pad" + second + b"tail" + video
        got = self.copy(data)
        self.assertTrue(got.endswith(data[len(data) - len(second) - len(video) - 10:]))
        for size in [len(second), len(video), 6, 4]:
            self.assertIn(f", {size} bytes", self.output)

    def test_what_is_cut_off_is_refused(self):
        for progressive in [False, True]:
            data = encoded(picture(3, 300, 400), quality=90, progressive=progressive)
            for share in [0.2, 0.5, 0.9]:
                self.refuse(data[:int(len(data) * share)], "cut off")
            self.refuse(data[:-2], "cut off")
            self.refuse(data[:len(data) // 2] + b"\xff\xd9", "")
            self.refuse(data[:len(data) // 2] + data, "")  # a cut within a table makes it two frames, else "cut off"

    def test_a_progressive_file_without_its_last_scans_is_refused(self):
        data = encoded(picture(3, 300, 400), quality=90, progressive=True)
        scans = [i for i in range(len(data) - 1) if data[i:i + 2] == b"\xff\xda"]
        self.assertGreater(len(scans), 6)
        for cut in scans[1:]:
            table = data.rfind(b"\xff\xc4", 0, cut)
            self.refuse(data[:table] + b"\xff\xd9" if cut - table < 300 else data[:cut] + b"\xff\xd9", "scans of the picture are missing")

    def test_damaged_data_is_refused(self):
        """Where the end of a row of blocks is lost, and where a decoder ends before the row does: certain for every picture."""
        data = encoded(picture(3, 300, 400), quality=90, restart_marker_rows=1)
        at = data.index(b"\xff\xd3")
        self.refuse(data[:at - 40] + data[at:], "premature end")
        self.refuse(data[:at] + bytes(12) + data[at:], "extraneous bytes before marker 0xd3")

    def test_a_few_bytes_behind_the_last_pixel_are_said(self):
        """libjpeg counts what it has not read ahead, so that the count is a few bytes short."""
        data = encoded()
        self.copy(data[:-2] + bytes(12) + data[-2:])
        self.assertIn("extraneous bytes before marker 0xd9", self.output)
        self.refuse(data[:-2] + bytes(30) + data[-2:], "extraneous bytes before marker 0xd9")

    def test_other_processes_are_refused_by_name(self):
        data = encoded()
        frame = data.index(b"\xff\xc0")
        for marker, precision, words in [(0xC9, 8, "arithmetic"), (0xC3, 8, "lossless"), (0xC5, 8, "hierarchical"), (0xC1, 12, "12 bits")]:
            changed = bytearray(data)
            changed[frame + 1], changed[frame + 4] = marker, precision
            self.refuse(bytes(changed), words)

    def test_a_height_that_comes_late(self):
        data = bytearray(encoded(picture(1)))
        frame, end = data.index(b"\xff\xc0"), len(data) - 2
        height = bytes(data[frame + 5:frame + 7])
        data[frame + 5:frame + 7] = b"\0\0"
        data[end:end] = b"\xff\xdc\0\4" + height
        self.assertEqual(Image.open(io.BytesIO(self.copy(bytes(data)))).size, (123, 67))

    def test_a_header_alone_takes_no_memory(self):
        data = bytearray(encoded(picture(3, 16, 16), progressive=True))
        frame = data.index(b"\xff\xc2")
        data[frame + 5:frame + 9] = struct.pack(">HH", 65000, 65000)
        self.refuse(bytes(data), "cut off")

    def test_sampling_of_more_blocks_than_a_scan_holds(self):
        data = bytearray(encoded(picture(1, 16, 16)))
        frame = data.index(b"\xff\xc0")
        data[frame + 11] = 0x22  # of the only component it means nothing
        self.assertEqual(Image.open(io.BytesIO(self.copy(bytes(data)))).size, (16, 16))


if __name__ == "__main__":
    unittest.main()
