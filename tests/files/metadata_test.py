"""Blocks of metadata: nothing of a picture survives, every other byte stays, and exiftool and exiv2 read it alike.

    MOLLIFY_METADATA=build/dev/mollify_metadata python -m unittest tests.files.metadata_test
"""
import base64
import io
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np
from PIL import Image

from tests.files.exif_blocks import MAKES, exif_with, notes, strips_directory, thumbnail_directory

TOOL = os.path.abspath(os.environ.get("MOLLIFY_METADATA", "build/dev/mollify_metadata"))


def jpeg():
    """Noise: no run of its bytes occurs elsewhere."""
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng().integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def run(what, data, *numbers):
    done = subprocess.run([TOOL, what, *map(str, numbers)], input=data, capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


HOLD_PICTURES = ["0x0003", "0x0081", "0x0088", "0x0089", "0x0100", "0x0300", "0x2001", "0x4321"]


class MetadataTest(unittest.TestCase):
    def correct(self, exif, *numbers):
        code, result, messages = run("exif", exif, *numbers)
        self.assertEqual(code, 0)
        self.assertEqual(len(result), len(exif))
        return result, messages

    def assert_gone(self, picture, result):
        for at in range(0, len(picture) - 12, 4):
            piece = picture[at:at + 12]
            if any(piece) and len(set(piece)) > 4:
                self.assertNotIn(piece, result, f"bytes {at} of {len(picture)} survive")

    def tags(self, exif, program):
        """What a program reads of a JPEG with this block, but for pictures and where they are."""
        with tempfile.TemporaryDirectory() as folder:
            name = pathlib.Path(folder) / "a.jpg"
            buffer = io.BytesIO()
            Image.new("RGB", (8, 8)).save(buffer, "JPEG")
            payload = b"Exif\0\0" + exif
            name.write_bytes(b"\xff\xd8\xff\xe1" + struct.pack(">H", len(payload) + 2) + payload + buffer.getvalue()[2:])
            if program == "exiftool":
                tags = json.loads(subprocess.run(["exiftool", "-j", "-G1", "-u", name], capture_output=True, text=True).stdout)[0]
                return {key: value for key, value in tags.items() if not any(word in key for word in
                        ["File", "Preview", "Thumbnail", "IFD1", "Directory", "Warning", "ExifTool", *HOLD_PICTURES])}
            lines = subprocess.run(["exiv2", "-q", "-PkEt", name], capture_output=True, text=True).stdout.splitlines()
            return [line for line in lines if not any(word in line for word in ["Thumbnail", "Preview", "Photo.MakerNote", *HOLD_PICTURES])]

    def test_thumbnails_are_unlinked_and_zeroed(self):
        for order in "<>":
            for make in [thumbnail_directory, strips_directory]:
                picture = jpeg()
                exif = exif_with(order, following_of=make(picture))
                result, messages = self.correct(exif)
                self.assert_gone(picture, result)
                self.assertIn("thumbnail", messages)
                self.assertEqual(self.tags(result, "exiftool"), self.tags(exif, "exiftool"))
                self.assertNotIn(b"\x01\x03\x00\x03" if order == ">" else b"\x03\x01\x03\x00", result, "the directory survives")

    def test_previews_in_notes_of_makers(self):
        for order in "<>":
            for name in notes(b"", order):
                with self.subTest(maker=name, order=order):
                    picture = jpeg()
                    exif = exif_with(order, note_of=notes(picture, order)[name], make=MAKES[name])
                    self.assertIn(picture, exif)
                    result, messages = self.correct(exif)
                    self.assert_gone(picture, result)
                    self.assertIn("previews", messages)
                    at = exif.index(picture)
                    outside = [i for i, (a, b) in enumerate(zip(exif, result)) if a != b and not at <= i < at + len(picture)]
                    self.assertLessEqual(len(outside), 2, "more than the length of the preview has changed")
                    for program in ["exiftool", "exiv2"]:
                        self.assertTrue(self.tags(exif, program))
                        self.assertEqual(self.tags(result, program), self.tags(exif, program), program)

    def test_previews_without_a_signature_are_found_by_tags(self):
        for name in ["olympus", "olympus thumbnail", "pentax", "new pentax", "sony", "leica", "samsung", "nikon"]:
            picture = np.random.default_rng().bytes(4000)
            result, _ = self.correct(exif_with("<", note_of=notes(picture, "<")[name]))
            with self.subTest(maker=name):
                self.assert_gone(picture, result)

    def test_pictures_in_comments_and_gaps(self):
        picture = jpeg()
        for comment in [picture, b"ASCII\0\0\0" + base64.b64encode(picture), b"ASCII\0\0\0" + base64.encodebytes(b"x" + picture), b"\0" + picture[1:]]:
            result, _ = self.correct(exif_with("<", comment=comment))
            self.assert_gone(picture, result)
            self.assert_gone(comment[8:], result)
        result, _ = self.correct(exif_with("<") + picture)
        self.assert_gone(picture, result)

    def test_directories_behind_the_first_one(self):
        picture = jpeg()
        exif = exif_with(">", more=[lambda block: (0x14A, 4, 1, strips_directory(picture)(block))])
        result, _ = self.correct(exif)
        self.assert_gone(picture, result)
        self.assertEqual(self.tags(result, "exiftool"), {k: v for k, v in self.tags(exif, "exiftool").items() if "SubIFD" not in k})

    def test_numbers_are_set_where_they_are(self):
        for order in "<>":
            exif = exif_with(order)
            result, messages = self.correct(exif, 1, 333, 70000)
            tags = self.tags(result, "exiftool")
            self.assertEqual((tags["IFD0:Orientation"], tags["IFD0:ImageWidth"], tags["IFD0:ImageHeight"]), ("Horizontal (normal)", 333, 70000))
            self.assertEqual((tags["ExifIFD:ExifImageWidth"], tags["ExifIFD:ExifImageHeight"]), (333, 70000))
            self.assertEqual(messages, "")
            self.assertLess(sum(a != b for a, b in zip(result, exif)), 24)
            self.assertEqual(self.correct(exif)[0], exif)
            self.assertEqual(run("orientation", exif)[1], b"6\n")

    def test_broken_blocks(self):
        exif = exif_with("<")
        for broken in [b"", b"II", b"II*\0\xff\xff\xff\xff", exif[:7], b"II+\0" + exif[4:], b"MM" + exif[2:]]:
            self.assertEqual(run("exif", broken)[0], 3)
        loop = bytearray(exif)
        first = struct.unpack("<I", exif[4:8])[0]
        count = struct.unpack("<H", exif[first:first + 2])[0]
        loop[first + 2 + 12 * count:first + 6 + 12 * count] = struct.pack("<I", first)
        self.assertEqual(self.correct(bytes(loop))[0], exif)

    def test_xmp(self):
        picture = base64.b64encode(jpeg()).decode()
        body = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
          <rdf:Description rdf:about="" xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:my="http://example.com/my/" my:note="constant" tiff:Orientation="6"
            xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:xmpGImg="http://ns.adobe.com/xap/1.0/g/img/" xmlns:GImage="http://ns.google.com/photos/1.0/image/"
            xmlns:GDepth="http://ns.google.com/photos/1.0/depthmap/" xmlns:C="http://ns.google.com/photos/1.0/container/">%s</rdf:Description></rdf:RDF></x:xmpmeta>"""
        whole = '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>' + body + '<?xpacket end="w"?>'
        plain = (whole % "<my:list><rdf:Seq><rdf:li>one</rdf:li></rdf:Seq></my:list>").encode()
        self.assertEqual(run("xmp", plain), (0, plain, ""))
        self.assertEqual(run("xmp", plain, 6), (0, plain, ""))
        code, turned, messages = run("xmp", plain, 1)
        self.assertEqual((code, messages, turned), (0, "", run("xmp", plain, 1)[1]))
        self.assertIn(b'tiff:Orientation="1"', turned)
        carriers = [f"<xmp:Thumbnails><rdf:Alt><rdf:li rdf:parseType='Resource'><xmpGImg:image>{picture}</xmpGImg:image></rdf:li></rdf:Alt></xmp:Thumbnails>",
                    f"<xmp:Thumbnails><rdf:Alt><rdf:li>{base64.b64encode(os.urandom(999)).decode()}</rdf:li></rdf:Alt></xmp:Thumbnails>",
                    f"<GImage:Data>{picture}</GImage:Data>", f"<GDepth:Data>{base64.b64encode(os.urandom(999)).decode()}</GDepth:Data>",
                    f"<my:x>{picture}</my:x>", f"<my:y rdf:parseType='Resource'><my:z>data:image/jpeg;base64,{picture}</my:z></my:y>", f"<!-- {picture} -->",
                    "<C:Directory><rdf:Seq><rdf:li>x</rdf:li></rdf:Seq></C:Directory>", "<my:w>" + "&#xA;".join(picture[i:i + 76] for i in range(0, len(picture), 76)) + "</my:w>"]
        for carrier in carriers:
            with self.subTest(carrier=carrier[:30]):
                code, result, messages = run("xmp", (whole % carrier).encode())
                self.assertEqual(code, 0)
                self.assertNotIn(picture[40:80].encode(), result)
                for word in [b"Thumbnails", b"GImage:Data", b"GDepth:Data", b"my:x", b"my:z", b"C:Directory", b"Container"]:
                    self.assertNotIn(word, result)
                self.assertIn(b'my:note="constant"', result)
        for broken in [b"", b"<x", b"\0\xff" * 40]:
            self.assertEqual(run("xmp", broken), (3, b"", ""))

    def test_photoshop_and_iptc(self):
        picture = jpeg()
        def block(number, data, name=b"\0\0"):
            return b"8BIM" + struct.pack(">H", number) + name + struct.pack(">I", len(data)) + data + b"\0" * (len(data) % 2)
        kept = block(1005, struct.pack(">IHHIHH", 300 << 16, 1, 1, 300 << 16, 1, 1)) + block(2000, b"path!", b"\x04name\0")
        iptc = b"\x1c\2\x50\0\4Anna"
        source = block(1036, bytes(28) + picture) + kept[:28] + block(1028, iptc + b"\x1c\2\xca" + struct.pack(">H", len(picture)) + picture) + \
            block(1033, bytes(28) + picture) + kept[28:] + block(4000, picture) + block(1058, exif_with("<")) + block(1060, b"<x/>")
        code, result, messages = run("photoshop", source)
        self.assertEqual(code, 0)
        self.assertEqual(result, kept + block(1028, iptc))
        for part in ["iptc 9", f"exif {len(exif_with('<'))}", "xmp 4", "thumbnail", "picture", "preview"]:
            self.assertIn(part, messages)
        self.assertIn("damaged", run("photoshop", source[:-3])[2])

    def test_signatures(self):
        kinds = [jpeg()]
        for kind in ["PNG", "GIF", "WEBP", "TIFF", "BMP", "JPEG2000"]:
            buffer = io.BytesIO()
            Image.fromarray(np.random.default_rng().integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(buffer, kind)
            kinds.append(buffer.getvalue())
        kinds += [struct.pack(">I", 24) + b"ftyp" + brand + bytes(12) + os.urandom(200) for brand in [b"heic", b"avif", b"mp42", b"qt  "]]
        kinds += [b"\0\0\0\x0cJXL \r\n\x87\n" + os.urandom(200)]
        for each in kinds:
            for before in range(4):
                data = b"a" * before + each
                text = base64.b64encode(data)
                for form in [data, text, base64.encodebytes(data), b'{"image": "' + text + b'"}', text.replace(b"+", b"-").replace(b"/", b"_"), text[before:],
                             b"\r\n".join(text[i:i + 76] for i in range(0, len(text), 76))]:
                    self.assertEqual(run("picture", form)[1], b"1\n", (each[:12], before, form[:40]))
        for plain in [b"", b"a", b"BM", b"II", b"\xff\xd8\xff", os.urandom(100000), base64.b64encode(os.urandom(100000)), b"/work/software/ftyp RIFF GIF8 BM MM II " * 99]:
            self.assertEqual(run("picture", plain)[1], b"0\n")


if __name__ == "__main__":
    unittest.main()
