"""Round trips: metadata, profiles, resolution and orientation come out again."""
import unittest

import numpy as np
import OpenImageIO as oiio
from PIL import Image, PngImagePlugin

import tool
from file_case import RANDOM, FileCase


def fresh_profile(space=b"RGB "):
    """The header of a display profile, as libpng demands it, with one tag of random bytes."""
    tag = bytes(RANDOM.integers(0, 256, 156, dtype=np.uint8))
    size = 128 + 4 + 12 + len(tag)
    header = bytearray(128)
    header[0:4] = size.to_bytes(4, "big")
    header[8:12] = b"\x04\x30\x00\x00"
    header[12:24] = b"mntr" + space + b"XYZ "
    header[36:44] = b"acspAPPL"  # OpenImageIO gives Python a null pointer for a platform that it does not know
    header[48:56] = b"testtest"
    header[68:80] = bytes.fromhex("0000f6d6000100000000d32d")  # D50
    table = (1).to_bytes(4, "big") + b"desc" + (144).to_bytes(4, "big") + len(tag).to_bytes(4, "big")
    return bytes(header) + table + tag


ICC = fresh_profile()


class MetadataTest(FileCase):
    def test_metadata_and_profile(self):
        for name, dtype in [("m.png", np.uint8), ("m.jpg", np.uint8), ("m.tif", np.uint16), ("m.exr", np.float32)]:
            with self.subTest(name=name):
                attributes = {"ImageDescription": "a chart", "Artist": "Ann", "Copyright": "Bob", "Keywords": "x; y"}
                attributes |= {"shot": "12b"} if name == "m.exr" else {"ICCProfile": ICC}
                tool.write(self.folder / name, self.random(dtype, 3, 40), attributes)
                before = tool.File(self.folder / name)
                after = self.blur(name, "out_" + name)
                kept = after.attributes()
                for attribute, value in before.attributes().items():
                    with self.subTest(attribute=attribute):
                        self.assertEqual(kept.get(attribute), value)
                self.assertEqual(kept["ImageDescription"], "a chart")
                self.assertIn("shot" if name == "m.exr" else "ICCProfile", kept)

    def test_metadata_through_webp(self):
        tool.write(self.folder / "a.jpg", self.random(np.uint8, 3), {"Artist": "Ann", "Make": "Mollusc"})
        self.blur("a.jpg", "b.webp")
        self.blur("b.webp", "c.webp")
        kept = self.blur("c.webp", "d.jpg")
        self.assertEqual((kept.attribute("Artist"), kept.attribute("Make")), ("Ann", "Mollusc"))

    def test_profile_of_webp(self):
        """OpenImageIO does not read it, so the bytes of the file are searched."""
        tool.write(self.folder / "p.png", self.random(np.uint8, 4), {"ICCProfile": ICC})
        self.blur("p.png", "p.webp")
        self.assertIn(ICC, (self.folder / "p.webp").read_bytes())
        self.blur("p.webp", "q.webp")
        self.assertIn(ICC, (self.folder / "q.webp").read_bytes())

    def test_chunks_of_png(self):
        """The colour space and the profile are said as PNG says them, and nothing is said that the source does not say."""
        for source, attributes, expected in [
                ("a.png", {}, {b"oFFs", b"tEXt"}), ("a.jpg", {}, {b"eXIf", b"pHYs", b"zTXt"}),
                ("a.png", {"oiio:ColorSpace": "linear"}, {b"gAMA", b"oFFs", b"tEXt"}),
                ("a.png", {"ICCProfile": ICC}, {b"iCCP", b"oFFs", b"tEXt"}),
                ("a.jpg", {"ICCProfile": ICC}, {b"iCCP", b"eXIf", b"pHYs", b"zTXt"})]:
            with self.subTest(source=source, attributes=attributes.keys()):
                tool.write(self.folder / source, self.random(np.uint8, 3), {"Artist": "Ann", **attributes})
                self.blur(source, "out.png", "--force")
                chunks = self.png_chunks("out.png")
                types = {kind for kind, _ in chunks}
                self.assertEqual(types - {b"IHDR", b"tIME", b"IDAT", b"IEND"}, expected)
                if source == "a.png":
                    self.assertIn((b"tEXt", b"Author\0Ann"), chunks)
                else:
                    self.assertIn(b"Ann\0", dict(chunks)[b"eXIf"])

    def test_texts_of_png_in_other_alphabets(self):
        for text in ["J\u00fcrgen", "\u00e9\u4e2d\U0001f600", "Ann"]:
            with self.subTest(text=text):
                info = PngImagePlugin.PngInfo()
                info.add_itxt("Author", text, lang="x", tkey="Wer")
                Image.fromarray(self.random(np.uint8, 3)).save(self.folder / "a.png", pnginfo=info)
                self.blur("a.png", "out.png", "--force")
                with Image.open(self.folder / "out.png") as out:
                    out.load()
                    self.assertEqual((out.text["Author"], out.text["Author"].lang, out.text["Author"].tkey), (text, "x", "Wer"))

    def test_offset_of_png_stays(self):
        pixels = self.random(np.uint8, 3)
        spec = tool.make_spec(pixels)
        spec.x, spec.y = 5, 0
        out = oiio.ImageOutput.create(str(self.folder / "a.png"))
        self.assertTrue(out.open(str(self.folder / "a.png"), spec), out.geterror())
        self.assertTrue(out.write_image(pixels), out.geterror())
        out.close()
        got = self.blur("a.png", "out.png").specs[0]
        self.assertEqual((got.x, got.y), (5, 0))

    def test_profile_for_other_channels(self):
        """It is kept for the channels that it is for, and dropped with a note where the numbers are others."""
        inks = {"tiff:ColorSpace": "CMYK"}
        for name, channels, attributes, fitting in [("a.tif", 3, {}, b"RGB "), ("a.tif", 4, {}, b"RGB "),
                                                    ("a.tif", 1, {}, b"GRAY"), ("a.tif", 2, {}, b"GRAY"),
                                                    ("a.tif", 4, inks, b"CMYK"), ("a.jpg", 3, {}, b"RGB "),
                                                    ("a.jpg", 1, {}, b"GRAY")]:
            for space in [b"RGB ", b"GRAY", b"CMYK", b"Lab "]:
                with self.subTest(name=name, channels=channels, attributes=attributes, space=space):
                    names = ("C", "M", "Y", "K") if attributes else None
                    tool.write(self.folder / name, self.random(np.uint8, channels),
                               {"ICCProfile": fresh_profile(space), **attributes}, names)
                    fits = space == fitting
                    kept = self.blur(name, "out_" + name, "--force").attributes()
                    self.assertEqual("ICCProfile" in kept, fits)
                    self.assertEqual("it is not for the channels of this picture" in self.text, not fits)
                    if channels == 3 and not fits:
                        self.blur(name, "out.png", "--force")
                        self.blur(name, "out.exr", "--force", "--format", "f16")

    def test_resolution(self):
        """The same number of dots an inch in every format, whatever the unit of the source."""
        inches = {"in": 1.0, "inch": 1.0, "cm": 1 / 2.54}
        for unit, x, y in [("in", 300.0, 300.0), ("cm", 118.0, 118.0), ("in", 300.0, 200.0)]:
            for source in ["a.png", "a.jpg", "a.tif"]:
                attributes = {"XResolution": x, "YResolution": y, "ResolutionUnit": unit}
                attributes |= {"PixelAspectRatio": y / x} if source == "a.tif" else {}  # its writer needs that, too
                tool.write(self.folder / source, self.random(np.uint8, 3), attributes)
                for result in ["b.png", "b.jpg", "b.tif", "b.exr", "b.webp"]:
                    with self.subTest(unit=unit, x=x, y=y, source=source, result=result):
                        self.blur(source, result, "--force", *(["--format", "f16"] if result == "b.exr" else []))
                        if result == "b.webp":  # OpenImageIO does not read it, the tool does
                            self.blur(result, "b.tif", "--force")
                        got = tool.File(self.folder / ("b.tif" if result == "b.webp" else result))
                        allowed = 0.5 if "jpg" in source + result else 0.03  # JPEG has whole numbers
                        unit_inches = inches[got.attribute("ResolutionUnit")]
                        for attribute, expected in [("XResolution", x), ("YResolution", y)]:
                            dots_an_inch = got.attribute(attribute) / unit_inches
                            self.assertAlmostEqual(dots_an_inch, expected / inches[unit], delta=allowed)
                self.blur(source, "b.jpg", "--force")
                self.assertIn((self.folder / "b.jpg").read_bytes()[6:14], (b"JFIF\0\1\1\1", b"JFIF\0\1\1\2"), "dots an inch or a centimetre")

    def test_whole_dots_a_metre_stay(self):
        """PNG's unit; the numbers shrank by one each time."""
        tool.write(self.folder / "a.png", self.random(np.uint8, 3),
                   {"XResolution": 1007.0, "YResolution": 1008.0, "ResolutionUnit": "m"})
        self.blur("a.png", "b.png")
        self.assertEqual(dict(self.png_chunks("b.png"))[b"pHYs"], dict(self.png_chunks("a.png"))[b"pHYs"])

    # Orientation

    def as_shown(self, pixels, orientation):
        """What Exif's numbers 1 to 8 mean."""
        mirrored = pixels[:, ::-1]
        quarters = {1: 0, 2: 0, 3: 2, 4: 2, 5: 1, 6: 3, 7: 3, 8: 1}[orientation]
        return np.rot90(mirrored if orientation in (2, 4, 5, 7) else pixels, quarters)

    def test_turned_for_formats_that_cannot_say_so(self):
        pixels = self.random(np.uint16, 3)
        for orientation in range(1, 9):
            with self.subTest(orientation=orientation):
                tool.write(self.folder / "a.tif", pixels, {"Orientation": orientation})
                got = self.blur("a.tif", "a.png", "--force")
                self.assertEqual("turned upright" in self.text, orientation > 1)
                self.assertEqual(got.attribute("Orientation"), None)
                self.assert_blurred(got.pixels[0], self.as_shown(pixels, orientation))
                part = self.blur("a.tif", "part.png", "--force", "--roi", "7x5+10+3").pixels[0]
                whole = self.blur("a.tif", "b.tif", "--force")
                self.assertEqual(whole.attribute("Orientation"), orientation)
                self.assertTrue((part == self.as_shown(whole.pixels[0][3:8, 10:17], orientation)).all())

    def test_orientation_of_every_format(self):
        """Upright stays upright, whatever of the two ways says so. Unblurred, so that only the turning is looked at."""
        pixels = self.random(np.uint8, 3)
        for source in ["a.tif", "a.jpg"]:
            tool.write(self.folder / source, pixels, {"Orientation": 6})
            stored = tool.read(self.folder / source)
            for result in ["b.png", "b.tif", "b.webp", "b.jpg", "b.exr", "b.hdr"]:
                with self.subTest(source=source, result=result):
                    convert = {"b.exr": ["--format", "f16"], "b.hdr": ["--format", "f32"]}.get(result, [])
                    tool.blur(self.folder / source, self.folder / result, "--gaussian", 0, "--force", *convert)
                    if result == "b.webp":  # OpenImageIO does not read its orientation, the tool does
                        tool.blur(self.folder / result, self.folder / "b.png", "--gaussian", 0, "--force")
                    got = tool.File(self.folder / ("b.png" if result == "b.webp" else result))
                    keeps = result in ["b.tif", "b.jpg"]
                    self.assertEqual(got.attribute("Orientation") or 1, 6 if keeps else 1)
                    expected = stored if keeps else self.as_shown(stored, 6)
                    self.assertEqual(got.pixels[0].shape, expected.shape)
                    if result == "b.png":
                        self.assertTrue((got.pixels[0] == expected).all())

    def test_size_in_exif_is_that_of_the_result(self):
        size = {"Exif:PixelXDimension": 50, "Exif:PixelYDimension": 30}
        tool.write(self.folder / "a.jpg", np.zeros((30, 50, 3), np.uint8), size | {"Orientation": 6})
        for result, options, expected in [("whole.jpg", [], (50, 30)), ("part.jpg", ["--roi", "7x5+10+3"], (7, 5)),
                                          ("turned.png", [], (30, 50))]:
            got = self.blur("a.jpg", result, *options)
            self.assertEqual(tuple(got.attribute(name) for name in size), expected, result)

    def test_resolution_turns_along(self):
        for orientation, expected in [(3, (300, 200)), (6, (200, 300))]:
            tool.write(self.folder / "a.jpg", self.random(np.uint8, 3),
                       {"Orientation": orientation, "XResolution": 300.0, "YResolution": 200.0, "ResolutionUnit": "in"})
            got = self.blur("a.jpg", "a.png", "--force")
            self.assertAlmostEqual(got.attribute("XResolution"), expected[0], delta=0.02)
            self.assertAlmostEqual(got.attribute("YResolution"), expected[1], delta=0.02)

    def test_orientation_of_lab(self):
        """Which is mirrored, but not turned, while it is converted."""
        pixels = self.random(np.uint8, 3)
        shown = {}
        for orientation in range(1, 9):
            tool.write(self.folder / "a.tif", pixels, {"Orientation": orientation, "compression": "none"})
            content = (self.folder / "a.tif").read_bytes()
            photometric = b"\x06\x01\x03\0\x01\0\0\0"
            self.assertEqual(content.count(photometric + b"\2"), 1)
            (self.folder / "a.tif").write_bytes(content.replace(photometric + b"\2", photometric + b"\x08"))
            tool.blur(self.folder / "a.tif", self.folder / "a.png", "--gaussian", 0, "--force")
            shown[orientation] = tool.read(self.folder / "a.png")
            self.assertTrue((shown[orientation] == self.as_shown(shown[1], orientation)).all(), orientation)
            tool.blur(self.folder / "a.tif", self.folder / "b.tif", "--gaussian", 0, "--force")
            source, kept = (Image.open(self.folder / name) for name in ("a.tif", "b.tif"))
            self.assertEqual((kept.mode, kept.tag_v2.get(0x112, 1)), ("LAB", orientation))
            self.assertEqual(kept.tobytes(), source.tobytes())

    def test_turned_pages_and_mixed_types(self):
        names = ("R", "G", "B", "Z")
        pixels = self.random(np.float32, 4)
        spec = tool.make_spec(pixels, {"Orientation": 8}, names)
        spec.channelformats = ("half", "half", "half", "float")
        out = oiio.ImageOutput.create(str(self.folder / "a.exr"))
        self.assertTrue(out.open(str(self.folder / "a.exr"), spec), out.geterror())
        self.assertTrue(out.write_image(pixels), out.geterror())
        out.close()
        self.assertEqual(self.blur("a.exr", "b.exr").attribute("Orientation"), 8)
        pages = [self.random(np.float32, 3), self.random(np.float32, 3)]
        tool.write_parts(self.folder / "pages.tif", pages, {"Orientation": 8, "oiio:ColorSpace": "linear"})
        result = self.blur("pages.tif", "pages.exr")
        for got, page in zip(result.pixels, pages):
            self.assert_blurred(got, self.as_shown(page, 8))


if __name__ == "__main__":
    unittest.main()
