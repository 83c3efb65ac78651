"""Batches: what kills one file, or the program, costs no other; pipes; what is said, and the exit codes."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import numpy as np

import tool

RANDOM = tool.fresh_random()


class BatchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.photos = self.folder / "photos"
        self.photos.mkdir()
        self.out = self.folder / "out"

    def make(self, count, shape=(20, 30, 3), folder=None):
        """Different pictures; their blurs, made one by one, are what a batch must make."""
        names = [f"{i:03}.png" for i in range(count)]
        for name in names:
            tool.write((folder or self.photos) / name, RANDOM.integers(0, 256, shape, dtype=np.uint8))
        return names

    def hidden(self, folder):
        return [p.name for p in Path(folder).iterdir() if p.name.startswith(".")]

    def run_asked(self, asked, *args):
        return tool.run("blur", self.photos, "-o", self.out, "--gaussian", 2, *args, env={**os.environ, "MOLLIFY_TEST_WORKER": asked})

    def misbehaves(self, what, *words, options=()):
        """One of six files; the others are blurred, and nothing is left of the one."""
        names = self.make(6)
        result = self.run_asked(f"{what}:003.png", "--jobs", 2, *options)
        self.assertEqual(result.returncode, 1, result.stderr)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2, result.stderr)
        for word in ("003.png", *words):
            self.assertIn(word, lines[0])
        self.assertEqual(lines[1], "mollify: 1 of 6 images failed")
        self.assertEqual(sorted(p.name for p in self.out.iterdir()), [n for n in names if n != "003.png"])

    def test_crash(self):
        self.misbehaves("crash", "crashed", "SIGSEGV")

    def test_abort(self):
        self.misbehaves("abort", "crashed", "SIGABRT")

    def test_exit(self):
        self.misbehaves("exit", "exit code 3")

    def test_killed(self):
        self.misbehaves("kill", "SIGKILL")

    def test_hang(self):
        self.misbehaves("hang", "no progress", "--timeout", options=("--timeout", 1))

    def test_memory(self):
        self.misbehaves("memory", "300 MB", "--memory", options=("--memory", "300M"))

    def test_crash_of_a_single_file(self):
        self.make(1)
        result = tool.run("blur", self.photos / "000.png", self.folder / "x.png", "--gaussian", 2,
                          env={**os.environ, "MOLLIFY_TEST_WORKER": "crash:000.png"})
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        self.assertIn("SIGSEGV", result.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["photos"])

    def test_worker_does_not_outlive_its_batch(self):
        self.make(3)
        process = subprocess.Popen([tool.TOOL, "blur", self.photos, "-o", self.out, "--gaussian", "2"], stderr=subprocess.DEVNULL,
                                   env={**os.environ, "MOLLIFY_TEST_WORKER": "hang:png"})
        workers = []
        deadline = time.monotonic() + 30
        while not (self.out.exists() and self.hidden(self.out)) and time.monotonic() < deadline:
            time.sleep(0.01)
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        self.assertTrue(workers)
        process.kill()
        process.wait()
        while any(Path(f"/proc/{w}").exists() for w in workers) and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertFalse([w for w in workers if Path(f"/proc/{w}").exists()])
        self.assertEqual(self.hidden(self.out), [])

    def test_a_second_blur_in_place_is_a_second_blur(self):
        self.make(2)
        for _ in range(2):
            before = (self.photos / "000.png").read_bytes()
            tool.blur(self.photos, "-o", self.photos, "--gaussian", 2, "--force")
            self.assertNotEqual((self.photos / "000.png").read_bytes(), before)
        self.assertEqual(self.hidden(self.photos), [])

    def test_journal_is_of_one_blur(self):
        """After a failure the same command takes the rest, another blur takes all."""
        names = self.make(3)
        result = tool.run("blur", self.photos, "-o", self.photos, "--gaussian", 2, "--force",
                          env={**os.environ, "MOLLIFY_TEST_WORKER": "crash:001.png"})
        self.assertEqual(result.returncode, 1)
        once = {name: (self.photos / name).read_bytes() for name in names}
        self.assertIn("1 of 1 images", tool.blur(self.photos, "-o", self.photos, "--gaussian", 2, "--force", "--jobs", 1))
        for name in ("000.png", "002.png"):
            self.assertEqual((self.photos / name).read_bytes(), once[name])
        self.assertNotEqual((self.photos / "001.png").read_bytes(), once["001.png"])
        self.assertEqual(self.hidden(self.photos), [])

    def test_left_overs(self):
        self.make(1)
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.out.mkdir()
        (self.out / f".mollify-{gone.pid}-0123456789abcdef").write_bytes(b"half")
        others = [f".mollify-{os.getpid()}-0123456789abcdef", f".mollify-{gone.pid}-notes", ".mollify-config"]
        for name in others:
            (self.out / name).write_bytes(b"other")
        tool.blur(self.photos, "-o", self.out, "--gaussian", 2)
        self.assertEqual(sorted(self.hidden(self.out)), sorted(others))

    def test_empty_journals_of_killed_runs(self):
        self.make(1)
        self.out.mkdir()
        for name in (".mollify-journal", ".mollify-journal-0123456789abcdef"):
            (self.out / name).write_bytes(b"")
        (self.out / ".mollify-journal-1").write_bytes(b"a line")
        tool.blur(self.photos, "-o", self.out, "--gaussian", 2)
        self.assertEqual(self.hidden(self.out), [".mollify-journal-1"])

    def test_interrupted(self):
        self.make(3)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([tool.TOOL, "blur", self.photos, "-o", self.out, "--gaussian", "2"], stderr=subprocess.DEVNULL,
                                       env={**os.environ, "MOLLIFY_TEST_WORKER": "hang:png"})
            deadline = time.monotonic() + 30
            while not (self.out.exists() and self.hidden(self.out)) and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(number)
            self.assertEqual(process.wait(30), -number)
            self.assertEqual(self.hidden(self.out), [])

    # --- which files ------------------------------------------------------------------------------------------------------

    def make_tree(self):
        self.make(1)
        (self.photos / "deep" / "er").mkdir(parents=True)
        self.make(2, folder=self.photos / "deep" / "er")
        for name in ["a.heic", "b.GIF", "c.gif", "notes"]:
            (self.photos / name).write_text("x")
        os.mkfifo(self.photos / "pipe.png")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(self.photos / "socket.png"))
        self.addCleanup(self.socket.close)

    def test_recursive(self):
        self.make_tree()
        tool.blur(self.photos, "-o", self.out, "--gaussian", 2, "--recursive")
        found = sorted(str(p.relative_to(self.out)) for p in self.out.rglob("*.png"))
        self.assertEqual(found, ["000.png", "deep/er/000.png", "deep/er/001.png"])

    def test_results_below_their_sources(self):
        self.make(2)
        for _ in range(2):
            result = tool.blur(self.photos, "-o", self.photos / "soft", "--gaussian", 2, "--recursive", "--skip-existing")
        self.assertIn("2 existing results", result)
        self.assertEqual(len(list(self.photos.rglob("*.png"))), 4)

    def test_what_was_left_out(self):
        self.make_tree()
        last = tool.blur(self.photos, "-o", self.out, "--gaussian", 2).splitlines()[-1]
        self.assertIn("1 of 1 images", last)
        self.assertIn("left out: 1 folder, 2 pipes or devices, 4 files: (no ending) .gif .heic", last)

    def test_skip_existing(self):
        names = self.make(3)
        self.out.mkdir()
        (self.out / names[1]).write_text("precious")
        self.assertIn("1 existing result", tool.blur(self.photos, "-o", self.out, "--gaussian", 2, "--skip-existing"))
        self.assertEqual((self.out / names[1]).read_text(), "precious")
        self.assertEqual(len(list(self.out.iterdir())), 3)

    def test_dry_run(self):
        """It says what would happen, by the headers, and why not; nothing is written."""
        names = self.make(2)
        lines = tool.blur(self.photos, "-o", self.out, "--gaussian", 2, "--dry-run").splitlines()
        said = [f"{self.photos / n} -> {self.out / n}: PNG, 30x20, 3 channels 8-bit integers; gaussian 2 by " for n in names]
        self.assertEqual([line[:len(begin)] for line, begin in zip(lines, said)], said)
        self.assertEqual(lines[2:], ["2 images"])
        done = tool.blur(self.photos, "-o", self.out, "--gaussian", 2).splitlines()
        self.assertEqual(lines[0].split("; ", 1)[1], done[0].split("; ", 1)[1])
        shutil.rmtree(self.out)
        (self.photos / "broken.png").write_text("no picture")
        tool.write(self.photos / "float.tif", np.zeros((8, 9, 3), np.float32))
        (self.photos / "cut.png").write_bytes((self.photos / "000.png").read_bytes()[:20])
        before = sorted(p.name for p in self.folder.rglob("*"))
        result = tool.run("blur", self.photos, "-o", self.out, "--gaussian", 2, "--dry-run", "--to", "png")
        self.assertEqual(result.returncode, 1)
        self.assertIn("float.tif -> " + str(self.out / "float.png") + ": TIFF to PNG, 9x8, 3 channels 16-bit integers", result.stdout)
        errors = result.stderr.splitlines()
        self.assertEqual(["broken.png" in errors[0], "cut.png" in errors[1], *errors[2:]],
                         [True, True, "mollify: 2 of 5 images would fail"], result.stderr)
        self.assertEqual(sorted(p.name for p in self.folder.rglob("*")), before)

    def test_dry_run_tells_refusals(self):
        self.make(1)
        image = self.photos / "000.png"
        for words, out, options in [("--max-pixels", "x.png", ["--max-pixels", 10]), ("--memory", "x.png", ["--memory", "1K"]),
                                    ("3 channels", "x.png", ["--format", "rgba8"]), ("No such file", "nowhere/x.png", []),
                                    ("extension", "x.gif", []), ("box.any", "x.png", ["--algorithm", "box.any"])]:
            result = tool.run("blur", image, self.folder / out, "--gaussian", 2, "--dry-run", *options)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 1), result.stderr)
            self.assertIn(words, result.stderr)
        objects = [json.loads(line) for line in tool.blur(self.photos, "-o", self.out, "--gaussian", 2, "--dry-run", "--json").splitlines()]
        self.assertEqual([(o["formats"], o["width"], "seconds" in o) for o in objects], [(["PNG", "PNG"], 30, False)])

    def test_a_source_that_another_result_would_replace(self):
        self.make(2)
        self.out.mkdir()
        (self.out / "000.png").symlink_to(self.photos / "001.png")
        before = (self.photos / "001.png").read_bytes()
        result = tool.run("blur", self.photos, "-o", self.out, "--gaussian", 2, "--force")
        self.assertEqual(result.returncode, 1)
        self.assertIn("is a source as well", result.stderr)
        self.assertEqual((self.photos / "001.png").read_bytes(), before)

    def test_max_pixels(self):
        self.make(1)
        result = tool.run("blur", self.photos / "000.png", self.folder / "x.png", "--gaussian", 2, "--max-pixels", 599)
        self.assertEqual(result.returncode, 1)
        self.assertIn("--max-pixels", result.stderr)
        tool.blur(self.photos / "000.png", self.folder / "x.png", "--gaussian", 2, "--max-pixels", 600)

    # --- pipes ------------------------------------------------------------------------------------------------------------

    def pipe(self, *args, source=None):
        return subprocess.run([tool.TOOL, "blur", *map(str, args), "--gaussian", "2"], input=source, capture_output=True, timeout=100)

    def test_pipes(self):
        self.make(1)
        image, file = self.photos / "000.png", self.folder / "file.png"
        tool.blur(image, file, "--gaussian", 2)
        source = image.read_bytes()
        for result in (self.pipe("-", "-", source=source), self.pipe(image, "-")):
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout, file.read_bytes())
            self.assertIn(b"gaussian 2", result.stderr)
        self.assertEqual(self.pipe("-", self.folder / "in.png", source=source).returncode, 0)
        self.assertEqual((self.folder / "in.png").read_bytes(), file.read_bytes())
        jpeg = self.pipe("-", "-", "--to", "jpg", "--quiet", source=source)
        self.assertEqual((jpeg.returncode, jpeg.stderr, jpeg.stdout[:3]), (0, b"", b"\xff\xd8\xff"))

    def test_broken_pipes(self):
        self.make(1)
        reason = "standard output: cannot be written: Broken pipe"
        for options in ([], ["--quiet"], ["--json"]):  # what was not delivered is not told of as done
            reader, writer = os.pipe()
            os.close(reader)
            result = subprocess.run([tool.TOOL, "blur", self.photos / "000.png", "-", "--gaussian", "2", *options], stdout=writer,
                                    stderr=subprocess.PIPE, text=True, timeout=100)
            os.close(writer)
            *told, line = result.stderr.splitlines()
            self.assertEqual((result.returncode, line), (1, f"mollify: {reason}"))
            self.assertEqual([json.loads(each)["failed"] for each in told], [reason] if "--json" in options else [])
        for source in (b"", b"no picture", (self.photos / "000.png").read_bytes()[:60]):
            result = self.pipe("-", "-", source=source)
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assertIn(b"mollify: standard input: ", result.stderr)
            self.assertEqual(result.stderr.count(b"\n"), 1)

    def test_pipes_of_every_format(self):
        """Also of those whose writers go back in what they have written."""
        self.make(1)
        for ending in ("png", "jpg", "tif", "exr", "webp", "hdr"):
            options = [] if ending not in ("exr", "hdr") else ["--format", "f32"]
            file = self.folder / f"file.{ending}"
            tool.blur(self.photos / "000.png", file, "--gaussian", 2, *options)
            result = self.pipe("-", "-", "--to", ending, *options, source=(self.photos / "000.png").read_bytes())
            self.assertEqual((result.returncode, result.stdout), (0, file.read_bytes()), result.stderr)

    def test_a_pipe_that_is_too_long(self):
        """It fills neither disk nor memory, and names the option."""
        with open("/dev/zero", "rb") as zeros:
            result = subprocess.run([tool.TOOL, "blur", "-", self.folder / "x.png", "--gaussian", "2", "--memory", "50M"], stdin=zeros,
                                    capture_output=True, text=True, timeout=100)
        self.assertEqual((result.returncode, result.stderr),
                         (1, "mollify: standard input: is larger than the 50 MB that it may use; --memory sets that\n"))

    def test_nothing_is_left_of_killed_pipes(self):
        """Neither while standard input is read, nor while its blur is made."""
        self.make(1)
        spool = self.folder / "tmp"
        spool.mkdir()
        for hook, source in [("", b"half"), ("hang:standard input", (self.photos / "000.png").read_bytes())]:
            process = subprocess.Popen([tool.TOOL, "blur", "-", "-", "--to", "png", "--gaussian", "2"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(spool), "MOLLIFY_TEST_WORKER": hook})
            process.stdin.write(source)
            process.stdin.flush()
            if hook:
                process.stdin.close()
            time.sleep(0.3)
            self.assertIsNone(process.poll())
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
            self.assertEqual(list(spool.iterdir()), [])

    def test_wrong_use(self):
        self.make(1)
        image = self.photos / "000.png"
        for words, args in [("--to", (image, "-", "--to", "gif")), ("--to", (image, self.folder / "x.png", "--to", "jpg")),
                            ("-", ("-", "-o", self.out)), ("--skip-existing", (image, "-", "--force", "--skip-existing")),
                            ("--memory", (image, "-", "--memory", "lots")), ("--max-pixels", (image, "-", "--max-pixels", "-1"))]:
            result = self.pipe(*args)
            self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr)
            self.assertIn(words.encode(), result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [self.photos])

    # --- words ------------------------------------------------------------------------------------------------------------

    def test_json(self):
        self.make(2)
        (self.photos / "broken.png").write_text("no picture")
        result = tool.run("blur", self.photos, "-o", self.out, "--gaussian", 2, "--json")
        self.assertEqual(result.returncode, 1)
        objects = {Path(o["in"]).name: o for o in map(json.loads, result.stdout.splitlines())}
        self.assertEqual(len(objects), 3)
        good, bad = objects["000.png"], objects["broken.png"]
        self.assertEqual((good["width"], good["height"], good["channels"], good["out"]), (30, 20, 3, str(self.out / "000.png")))
        self.assertTrue({"algorithm", "error", "seconds", "messages"} <= good.keys())
        self.assertIn("broken.png", bad["failed"])
        self.assertNotIn("width", bad)

    def test_names_with_control_characters(self):
        for name in [b"line\nfeed.png", b"bell\x07.png", b"not\xffutf8.png", b"esc\x1b[31m.png"]:
            result = subprocess.run([tool.TOOL, "blur", os.fsencode(self.folder) + b"/" + name, "x.png", "--gaussian", "2"],
                                    capture_output=True, timeout=100)
            self.assertEqual(result.returncode, 1)
            line = result.stderr.decode()
            self.assertEqual(line.count("\n"), 1)
            self.assertTrue(line[:-1].isprintable(), line)
            self.assertIn("No such file or directory", line)

    def test_long_messages(self):
        path = self.folder / "/".join(["long" * 20] * 8) / "é.png"
        result = tool.run("blur", path, self.folder / "x.png", "--gaussian", 2)
        self.assertEqual(result.returncode, 1)
        self.assertLessEqual(len(result.stderr), 301)
        self.assertTrue(result.stderr.endswith("é.png: No such file or directory\n"), result.stderr)

    def test_request_is_checked_before_files(self):
        for args in [("--gaussian", 2, "--algorithm", "no.such"), ("--gaussian", 2, "--algorithm", "sep.fused:no=1"),
                     ("--gaussian", 2, "--jobs", 5000), ("--gaussian", 2, "--threads", 5000), ("--gaussian", -3),
                     ("--gaussian", 2, "--roi", "0x5+1+1"), ("--gaussian", 2, "--jobs", 4, "--threads", 2)]:
            result = tool.run("blur", self.folder / "missing.png", self.folder / "x.png", *args)
            self.assertEqual(result.returncode, 1)
            self.assertNotIn("missing.png", result.stderr)

    def test_places_of_reports_and_tuning(self):
        """Clear errors at once, before minutes are spent; what somebody else has written stays."""
        record = self.folder / "r.jsonl"
        record.write_text("")
        result = tool.run("lab", "report", record, "-o", "")
        self.assertEqual((result.returncode, result.stderr), (2, "mollify: -o: the name is empty\n"))
        (self.folder / "site").mkdir()
        page = self.folder / "site" / "index.html"
        page.write_text("<html>mine</html>")
        result = tool.run("lab", "report", record, "-o", page.parent)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no report of mollify's", result.stderr)
        self.assertEqual(page.read_text(), "<html>mine</html>")

        file = self.folder / "file"
        file.write_text("")
        begun = time.monotonic()
        result = tool.run("tune", "--device", "cpu", env={**os.environ, "XDG_CACHE_HOME": str(file)})
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        self.assertIn("Not a directory", result.stderr)
        self.assertLess(time.monotonic() - begun, 5)

    def test_empty_names(self):
        """As of a variable of a shell that was not set."""
        for option, args in [("-o", ["lab", "run", "-o", ""]), ("-o", ["blur", self.photos, "-o", "", "--gaussian", 2]),
                             ("--json", ["bench", "--size", "9x9", "--gaussian", 2, "--json", ""]),
                             ("IN and OUT", ["blur", "", "x.png", "--gaussian", 2]), ("IN and OUT", ["blur", "x.png", "", "--gaussian", 2]),
                             ("--kernel", ["blur", "x.png", "y.png", "--kernel", ""])]:
            result = tool.run(*args)
            self.assertEqual((result.returncode, result.stderr), (2, f"mollify: {option}: the name is empty\n"))

    def test_a_folder_in_place_of_stored_tuning(self):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        path = Path(tool.run("tune", "--device", "cpu", "--reset", env=environment).stdout.split(": ")[0])
        path.mkdir(parents=True)
        result = tool.run("plan", "64x64", "rgba8", "--gaussian", 3, "--device", "cpu", env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("is a folder", result.stderr)
        self.assertEqual(tool.run("tune", "--device", "cpu", "--reset", env=environment).returncode, 1)
        self.assertTrue(path.is_dir())

    def test_help(self):
        text = " ".join(tool.run("blur", "--help").stdout.split())
        for words in ["auto (where it should end first, by predicted times", "0 to 1e6", "gaussian_filter", "GaussianBlur", "uniform_filter", "filter2D", "up to 4096",
                      "1 to 1024", "nearest mirror reflect", "REFLECT_101", "Exit codes: 0", "SciPy's truncate"]:
            self.assertIn(words, text)
        self.assertNotIn("--worker", text)

    def test_kernel_files(self):
        self.make(1)
        image, kernel = self.photos / "000.png", self.folder / "kernel.txt"
        kernel.write_text("0,5 0,25\n")
        result = tool.run("blur", image, self.folder / "x.png", "--kernel", kernel)
        self.assertEqual(result.returncode, 1)
        self.assertIn("'0,5'", result.stderr)
        kernel.write_text("1,2,1\n")
        result = tool.run("blur", image, self.folder / "x.png", "--kernel", kernel)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("sum to 4", result.stdout)
        self.assertNotIn("sum to", tool.blur(image, self.folder / "y.png", "--kernel", kernel, "--normalize"))

    def test_kernel_from_a_pipe(self):
        self.make(3)
        command = f"exec '{tool.TOOL}' blur '{self.photos}' -o '{self.out}' --kernel <(printf '1 2 1\\n2 4 2\\n1 2 1\\n') --normalize --jobs 2"
        result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=100)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        (self.folder / "kernel.txt").write_text("1 2 1\n2 4 2\n1 2 1\n")
        tool.blur(self.photos / "002.png", self.folder / "x.png", "--kernel", self.folder / "kernel.txt", "--normalize")
        self.assertEqual((self.out / "002.png").read_bytes(), (self.folder / "x.png").read_bytes())

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root can become a user with few processes")
    def test_few_processes(self):
        self.make(1)
        os.chmod(self.folder, 0o777)
        command = ["setpriv", "--reuid", "47111", "--clear-groups", "bash", "-c", 'ulimit -u 12; exec "$@"', "-", tool.TOOL, "blur",
                   str(self.photos / "000.png"), str(self.folder / "x.png"), "--gaussian", "2"]
        result = subprocess.run([*command, "--threads", "16"], capture_output=True, text=True, timeout=100)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stderr, r"^mollify: --threads 16: .* more threads only \(ulimit -u\)\n$")
        result = subprocess.run(command, capture_output=True, text=True, timeout=100)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
