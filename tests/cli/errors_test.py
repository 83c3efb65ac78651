"""Mistakes, accidents and batches: one clear line, the right exit code, nothing lost, nothing left behind."""
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

import tool

RANDOM = tool.fresh_random()


class ErrorsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.image = self.folder / "in.png"
        self.out = self.folder / "out.png"
        tool.write(self.image, RANDOM.integers(0, 256, (20, 30, 3), dtype=np.uint8))

    def files(self):
        return sorted(p.name for p in self.folder.iterdir())

    def assert_one_line(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("mollify: "), result.stderr)
        for word in words:
            self.assertIn(str(word), result.stderr)

    def refuses(self, code, words, *args):
        """With the words in its line, and no file more or less than before."""
        before = self.files()
        with self.subTest(args=args):
            self.assert_one_line(tool.run(*args), code, *words)
            self.assertEqual(self.files(), before)

    def refuses_blur(self, code, words, *options):
        self.refuses(code, words, "blur", self.image, self.out, *options)

    def test_wrong_usage(self):
        self.refuses(2, ["blur, pyramid, plan", "'mollify --help'"])
        self.refuses(2, ["algorithms, formats", "'mollify list --help'"], "list", "nonsense")
        self.refuses(2, ["nonsense"], "nonsense")
        self.refuses(2, ["no kernel"], "blur", self.image, self.out)
        self.refuses(2, ["no output"], "blur", self.image, "--gaussian", 2)
        self.refuses(2, ["3 files"], "blur", self.image, self.image, self.out, "--gaussian", 2)
        self.refuses_blur(2, ["more than one"], "--gaussian", 2, "--box", 3)
        self.refuses_blur(2, ["--gaussian", "'soft'"], "--gaussian", "soft")
        self.refuses_blur(2, ["--gaussian", "'2x'"], "--gaussian", "2x")
        self.refuses_blur(2, ["--gaussian"], "--gaussian")
        self.refuses_blur(2, ["--sharpen"], "--gaussian", 2, "--sharpen")
        self.refuses_blur(2, ["--border", "'torus'"], "--gaussian", 2, "--border", "torus")
        self.refuses_blur(2, ["--border-value", "constant"], "--gaussian", 2, "--border-value", 1)
        self.refuses_blur(2, ["--roi"], "--gaussian", 2, "--roi", "10x10")
        self.refuses_blur(2, ["--format", "'u9'"], "--gaussian", 2, "--format", "u9")
        self.refuses_blur(2, ["--alpha"], "--gaussian", 2, "--alpha", "maybe")
        self.refuses_blur(2, ["--radius", "--gaussian"], "--box", 2, "--radius", 4)
        self.refuses_blur(2, ["--radius", "--truncate"], "--gaussian", 2, "--radius", 4, "--truncate", 3)
        self.refuses_blur(2, ["--normalize"], "--gaussian", 2, "--normalize")
        self.refuses_blur(2, ["--threads"], "--gaussian", 2, "--threads", "many")
        self.refuses(2, ["size"], "plan", "big", "rgba8", "--gaussian", 2)
        self.refuses(2, ["'rgbq'"], "plan", "10x10", "rgbq", "--gaussian", 2)

    def test_impossible_requests(self):
        self.refuses_blur(1, ["sigma", "-3"], "--gaussian", -3)
        self.refuses_blur(1, ["sigma", "nan"], "--gaussian", "nan")
        self.refuses_blur(1, ["sigma", "inf"], "--gaussian", "inf")
        self.refuses_blur(1, ["radius", "-1"], "--box", "-1")
        self.refuses_blur(1, ["tent radius", "nan"], "--tent", "nan")
        self.refuses_blur(1, ["radius", "-1"], "--gaussian", 3, "--radius", "-1")
        self.refuses_blur(1, ["error", "nan"], "--gaussian", 3, "--max-error", "nan")
        self.refuses_blur(1, ["--box-size"], "--box-size", "0x3")
        self.refuses_blur(1, ["--anchor"], "--box-size", "4x4", "--anchor", "4,0")
        self.refuses_blur(1, ["in.png", "30x20"], "--gaussian", 2, "--roi", "31x5+0+0")
        self.refuses_blur(1, ["--roi 5x5+-1+0"], "--gaussian", 2, "--roi", "5x5+-1+0")
        self.refuses_blur(1, ["--roi 0x5+1+0"], "--gaussian", 2, "--roi", "0x5+1+0")
        self.refuses_blur(1, ["in.png"], "--gaussian", 2, "--roi", "2147483647x2147483647+2147483647+2147483647")
        self.refuses_blur(1, ["abacus"], "--gaussian", 2, "--device", "abacus")
        self.refuses_blur(1, ["--threads"], "--gaussian", 2, "--threads", -1)
        self.refuses_blur(1, ["no.such"], "--gaussian", 2, "--algorithm", "no.such")
        self.refuses_blur(1, ["box.any"], "--gaussian", 2, "--algorithm", "box.any")
        self.refuses_blur(1, ["3 channels", "2 values"], "--gaussian", 2, "--border", "constant",
                          "--border-value", "1,2")
        self.refuses_blur(1, ["3 channels", "4"], "--gaussian", 2, "--format", "rgba8")
        self.refuses(1, ["0"], "plan", "0x10", "rgba8", "--gaussian", 2)
        self.refuses(2, ["3 channels", "2 values"], "plan", "9x9", "rgb8", "--gaussian", 2, "--border", "constant",
                     "--border-value", "1,2")
        self.refuses(2, ["rgb8", "3 channels", "2 values"], "bench", "--size", "9x9", "--format", "rgb8", "--gaussian", 2, "--border",
                     "constant", "--border-value", "1,2")
        self.refuses(1, ["sep.fuse", "but sep.fused"], "plan", "9x9", "rgb8", "--gaussian", 2, "--algorithm", "sep.fuse")
        self.refuses(1, ["foo", "AVX2"], "plan", "9x9", "rgb8", "--gaussian", 2, "--cpu-target", "foo")
        self.refuses(2, ["--probe", "maybe"], "plan", "9x9", "rgb8", "--gaussian", 2, "--probe", "maybe")

    def test_kernel_files(self):
        for text, words in [("1 2\n3\n", ["line 2"]), ("1 two\n", ["line 1", "'two'"]), ("", ["no numbers"]),
                            ("1 nan\n", ["finite"]), ("# nothing\n", ["no numbers"])]:
            path = self.folder / "kernel.txt"
            path.write_text(text)
            self.refuses_blur(1, ["kernel.txt", *words], "--kernel", path)
        for text in [b"\xef\xbb\xbf1 2 1\n2 4 2\n1 2 1\n", b"1 2 1\r2 4 2\r1 2 1", b"1 2 1\r\n2,4,2\r\n\r\n1;2;1\r\n"]:
            (self.folder / "kernel.txt").write_bytes(text)
            plan = tool.run("plan", "9x9", "rgba8", "--kernel", self.folder / "kernel.txt", "--normalize", "--device", "cpu")
            self.assertIn("3x3", plan.stdout, plan.stderr)
        self.refuses_blur(1, ["missing.txt", "No such file"], "--kernel", self.folder / "missing.txt")
        self.refuses_blur(1, ["in.png"], "--kernel", self.image)
        self.refuses_blur(1, ["/dev/zero", "longer"], "--kernel", "/dev/zero")
        (self.folder / "kernel.txt").write_text("1 -1\n")
        self.refuses_blur(1, ["sum to zero"], "--kernel", self.folder / "kernel.txt", "--normalize")

    def test_unreadable_images(self):
        whole = self.image.read_bytes()
        for name, content, words in [("text.png", b"not an image\n", []), ("empty.png", b"", ["empty"]),
                                     ("cut.png", whole[: len(whole) // 2], [])]:
            (self.folder / name).write_bytes(content)
            self.refuses(1, [name, *words], "blur", self.folder / name, self.out, "--gaussian", 2)
        self.refuses(1, ["missing.png", "No such file"], "blur", self.folder / "missing.png", self.out, "--gaussian", 2)
        self.refuses(2, ["folder"], "blur", self.folder, self.out, "--gaussian", 2)

    def test_cut_off_files_of_every_format(self):
        grey = np.repeat(RANDOM.integers(0, 256, (200, 200, 1), dtype=np.uint8), 3, axis=2)
        for name in ["a.png", "a.jpg", "a.tif", "a.exr", "a.hdr", "a.webp"]:
            is_float = name[2:] in ("exr", "hdr")
            tool.write(self.folder / name, (grey / 255).astype(np.float32) if is_float else grey)
            content = (self.folder / name).read_bytes()
            (self.folder / name).write_bytes(content[: len(content) * 2 // 3])
            self.refuses(1, [name], "blur", self.folder / name, self.folder / ("out_" + name), "--gaussian", 2)

    def test_files_that_open_though_they_are_cut_off(self):
        """Pages that are lost, and scans: libraries show what is left as if it were all."""
        pixels = RANDOM.integers(0, 256, (200, 200, 3), dtype=np.uint8)
        tool.write_parts(self.folder / "pages.tif", [pixels] * 3)
        tool.write(self.folder / "progressive.jpg", pixels, {"jpeg:progressive": 1})
        for name in ["pages.tif", "progressive.jpg"]:
            content = (self.folder / name).read_bytes()
            out = self.folder / ("out_" + name)
            tool.run("blur", self.folder / name, out, "--gaussian", 2)
            out.unlink()
            (self.folder / name).write_bytes(content[: len(content) // 2])
            self.refuses(1, [name], "blur", self.folder / name, out, "--gaussian", 2)

    def test_what_a_format_cannot_hold(self):
        two = [np.zeros((8, 8, 3), np.uint8)] * 2
        tool.write_parts(self.folder / "pages.tif", two)
        tool.write(self.folder / "alpha.png", np.zeros((8, 8, 4), np.uint8))
        tool.write(self.folder / "float.tif", np.zeros((8, 8, 3), np.float32))
        tool.write(self.folder / "five.tif", np.zeros((8, 8, 5), np.uint8))
        for source, result, words in [("pages.tif", "x.png", ["of 2 pages", "--page"]), ("alpha.png", "x.jpg", ["alpha", "--flatten"]),
                                      ("five.tif", "y.png", ["further channels", "PNG"]), ("alpha.png", "x.hdr", ["alpha", "--flatten"])]:
            said = tool.blur(self.folder / source, self.folder / result, "--gaussian", 2)
            for word in words:
                self.assertIn(word, said)
        self.refuses(1, ["x.nonsense"], "blur", self.image, self.folder / "x.nonsense", "--gaussian", 2)
        self.refuses_blur(1, ["PNG", "16-bit floats", "--format"], "--gaussian", 2, "--format", "f16")
        for source, result in [("float.tif", "float.png"), ("float.tif", "float.webp"), ("in.png", "float.hdr")]:
            self.assertIn(" become ", tool.blur(self.folder / source, self.folder / result, "--gaussian", 2))

    def test_formats_that_are_not_written(self):
        """OpenImageIO would make some of them up to an empty file, or change the colours."""
        for name in ["x.jp2", "x.gif", "x.avif", "x.term", "x.bmp", "x.tga", "x.ppm", "x.null"]:
            self.refuses(1, [name, ".png .jpg .tif .exr .webp or .hdr"], "blur", self.image, self.folder / name,
                         "--gaussian", 1)
        precious = self.folder / "precious.jp2"
        precious.write_bytes(self.image.read_bytes())
        self.refuses(1, ["precious.jp2"], "blur", self.image, precious, "--gaussian", 1, "--force")
        self.assertEqual(precious.read_bytes(), self.image.read_bytes())

    def test_all_names_of_the_formats(self):
        """In small letters and large."""
        for name in ["a.jpe", "a.jpeg", "a.JPG", "a.jfif", "a.tiff", "a.TIF", "a.Png", "a.WEBP"]:
            tool.blur(self.image, self.folder / name, "--gaussian", 1)
        tool.blur(self.image, self.folder / "a.EXR", "--gaussian", 1, "--format", "f16")
        tool.blur(self.image, self.folder / "a.rgbe", "--gaussian", 1, "--format", "f32")

    def test_existing_files(self):
        self.out.write_text("precious")
        self.refuses_blur(1, ["out.png", "--force"], "--gaussian", 2)
        self.refuses(1, ["in.png", "--force"], "blur", self.image, self.image, "--gaussian", 2)
        self.refuses_blur(1, [], "--gaussian", -1, "--force")
        self.assertEqual(self.out.read_text(), "precious")
        before = self.image.read_bytes()
        self.refuses(1, ["in.png"], "blur", self.image, "-o", self.folder, "--gaussian", 2)
        self.assertEqual(self.image.read_bytes(), before)
        results = self.folder / "results"
        results.mkdir()
        (results / "in.png").write_text("precious")
        self.refuses(1, ["results/in.png", "--force"], "blur", self.image, "-o", results, "--gaussian", 2)
        self.assertEqual((results / "in.png").read_text(), "precious")
        tool.blur(self.image, "-o", results, "--gaussian", 2, "--force")

    def test_without_standard_descriptors(self):
        """An image is not taken for one of them."""
        expected = self.folder / "expected.png"
        tool.blur(self.image, expected, "--gaussian", 2)
        command = f"exec '{tool.TOOL}' blur '{self.image}' '{self.out}' --gaussian 2 --force --quiet"
        for closed in ["2>&-", "<&- 2>&-", "<&- >&- 2>&-", ">&-"]:
            with self.subTest(closed=closed):
                self.assertEqual(subprocess.run(f"{command} {closed}", shell=True, timeout=300).returncode, 0)
                self.assertEqual(self.out.read_bytes(), expected.read_bytes())

    def test_full_standard_output(self):
        for args in [["list", "formats"], ["--help"], ["plan", "9x9", "rgba8", "--box", "1"]]:
            with self.subTest(args=args), open("/dev/full", "w") as full:
                result = subprocess.run([tool.TOOL, *args], stdout=full, stderr=subprocess.PIPE, text=True, timeout=300)
                self.assertEqual((result.returncode, result.stderr), (1, "mollify: standard output cannot be written\n"))

    def test_places_that_cannot_be_written(self):
        self.refuses(1, ["nowhere"], "blur", self.image, self.folder / "nowhere" / "out.png", "--gaussian", 2)
        self.refuses(2, ["-o"], "blur", self.image, self.folder, "--gaussian", 2)
        self.refuses(1, ["in.png", "folder"], "blur", self.image, "-o", self.image, "--gaussian", 2)
        (self.folder / "null.png").symlink_to("/dev/null")
        self.refuses(1, ["null.png"], "blur", self.image, self.folder / "null.png", "--gaussian", 2, "--force")

    def test_pipes_and_devices_as_results(self):
        """The line names the way that works, with and without --force."""
        os.mkfifo(self.folder / "pipe.png")
        for options in ((), ("--force",)):
            words = ["pipe.png: is a pipe or a device", "'mollify blur IN - > "]
            self.refuses(1, words, "blur", self.image, self.folder / "pipe.png", "--gaussian", 2, *options)
            self.refuses(1, ["/dev/null: is a pipe or a device"], "blur", self.image, "/dev/null", "--gaussian", 2, *options)
        reader = subprocess.Popen(["cat", self.folder / "pipe.png"], stdout=subprocess.PIPE)
        line = f"'{tool.TOOL}' blur '{self.image}' - --gaussian 2 > '{self.folder / 'pipe.png'}'"
        done = subprocess.run(line, shell=True, capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(reader.communicate(timeout=30)[0].startswith(b"\x89PNG"))

    def test_full_disk(self):
        """A limit on the size of files stands in for the end of the disk."""
        pixels = RANDOM.integers(0, 256, (300, 300, 3), dtype=np.uint8)
        for name in ["a.png", "a.jpg", "a.tif", "a.exr", "a.hdr", "a.webp"]:
            is_float = name[2:] in ("exr", "hdr")
            tool.write(self.folder / name, (pixels / 255).astype(np.float32) if is_float else pixels)
            before = self.files()
            for limit in [0, 500, 20000]:
                with self.subTest(name=name, limit=limit):
                    result = tool.run("blur", self.folder / name, self.folder / ("out_" + name), "--gaussian", 1,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                    self.assert_one_line(result, 1, "out_" + name, "File too large")
                    self.assertEqual(self.files(), before)

    def test_batch_goes_on_after_a_broken_file(self):
        photos, out = self.folder / "photos", self.folder / "out"
        photos.mkdir()
        for name in ["a.png", "c.png"]:
            shutil.copy(self.image, photos / name)
        (photos / "b.png").write_bytes(b"broken")
        (photos / "notes.txt").write_text("not an image")
        result = tool.run("blur", photos, self.image, "-o", out, "--gaussian", 2)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(sorted(p.name for p in out.iterdir()), ["a.png", "c.png", "in.png"])
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2, "one line for the broken file, one for the whole; no bar without a terminal")
        self.assertIn("b.png", lines[0])
        self.assertIn("1 of 4 images failed", lines[1])
        self.assertTrue(np.array_equal(tool.read(out / "a.png"), tool.read(out / "in.png")))

    def test_two_inputs_of_one_name(self):
        (self.folder / "other").mkdir()
        shutil.copy(self.image, self.folder / "other" / "in.png")
        self.refuses(1, ["two inputs"], "blur", self.image, self.folder / "other" / "in.png", "-o",
                     self.folder / "out", "--gaussian", 2)

    def test_folder_without_images(self):
        (self.folder / "empty").mkdir()
        self.refuses(1, ["empty", "no image"], "blur", self.folder / "empty", "-o", self.folder / "out",
                     "--gaussian", 2)

    def test_progress_on_a_terminal(self):
        for i in range(3):
            shutil.copy(self.image, self.folder / f"in{i}.png")
        ours, theirs = pty.openpty()
        subprocess.run([tool.TOOL, "blur", self.folder, "-o", self.folder / "out", "--gaussian", "2"], stderr=theirs,
                       stdout=subprocess.DEVNULL, check=True, timeout=100)
        os.close(theirs)
        bar = os.read(ours, 100000).decode()
        os.close(ours)
        self.assertRegex(bar, r"\b[1-4]/4\b")  # two files may end between two drawings
        self.assertIn("/s", bar)
        self.assertIn("left", bar)

    def begin_writing(self, *options):
        """A process that is just writing a large result."""
        if not (self.folder / "big.png").exists():
            tool.write(self.folder / "big.png", RANDOM.integers(0, 65536, (2000, 2000, 3), dtype=np.uint16))
        before = self.files()
        process = subprocess.Popen([tool.TOOL, "blur", self.folder / "big.png", self.out, "--gaussian", "1", *options],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        begun = time.monotonic()
        while self.files() == before and process.poll() is None and time.monotonic() - begun < 60:
            time.sleep(0.001)
        self.assertNotEqual(self.files(), before, "the result was never begun")
        self.assertFalse(self.out.exists(), "it was done before it could be disturbed")
        return process, before

    def test_result_appears_meanwhile(self):
        """What somebody else has written since is not lost either, unless that was asked for."""
        for options, status in [((), 1), (("--force",), 0)]:
            process, _ = self.begin_writing(*options)
            self.out.write_bytes(b"precious")
            errors = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, status, errors)
            self.assertEqual(self.out.read_bytes() == b"precious", status == 1)
            if status == 1:
                self.assertEqual(errors, f"mollify: {self.out}: exists already; --force replaces it\n")
            self.out.unlink()

    def test_interrupted(self):
        """Interrupted while the result is being written, it leaves neither the result nor a part of it."""
        for number in [signal.SIGINT, signal.SIGTERM]:
            process, before = self.begin_writing()
            process.send_signal(number)
            self.assertEqual(process.wait(60), -number)
            self.assertEqual(self.files(), before)

    def test_json(self):
        for table in ["algorithms", "formats", "borders", "devices"]:
            rows = json.loads(tool.run("list", table, "--json").stdout)
            self.assertGreater(len(rows), 0)
            text = tool.run("list", table).stdout
            for row in rows:
                self.assertIn(row.get("id") or row.get("open_name") or row["name"], text)
        plan = json.loads(tool.run("plan", "640x480", "rgba8", "--gaussian", 3, "--json").stdout)
        algorithms = json.loads(tool.run("list", "algorithms", "--json").stdout)
        options = {row["name"]: row for row in next(row for row in algorithms if row["id"] == "sep.fused")["options"]}
        self.assertEqual([options[name]["open"] for name in ["math", "threads"]], [False, True])
        self.assertIn(plan["algorithm"], [row["id"] for row in algorithms])
        self.assertEqual(plan["min_bytes"], 2 * 640 * 480 * 4)
        self.assertLessEqual(plan["predicted_error"], plan["allowed_error"])
        self.assertGreater(len(plan["refusals"]), 0)

    def test_help(self):
        for args in [["--help"], ["blur", "--help"], ["plan", "--help"]]:
            result = tool.run(*args)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("Examples:", result.stdout)
        self.assertRegex(tool.run("--version").stdout, r"^mollify \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
