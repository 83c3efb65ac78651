"""kill -9 at random moments: of the batch, of its workers, of the process that owns the GPU, of all at once. Nothing is lost, nothing is
half, nothing is blurred twice, and the next run goes on where the killed one has stopped."""
import json
import os
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
LAVAPIPE = Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")


def gpu_environment():
    """Where blurs run on lavapipe; None where it is missing or the tool has no GPU backend."""
    if not LAVAPIPE.exists():
        return None
    environment = {**os.environ, "VK_DRIVER_FILES": str(LAVAPIPE)}
    devices = json.loads(tool.run("list", "devices", "--json", env=environment).stdout)
    return environment if any(device["open_name"] == "vulkan:0" for device in devices) else None


GPU = gpu_environment()


def children(process):
    try:
        return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def is_owner(pid):
    """Of the GPU."""
    try:
        return Path(f"/proc/{pid}/comm").read_text() == "mollify-gpu\n"
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill(pids):
    """How many were still there."""
    count = 0
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            count += 1
        except ProcessLookupError:
            pass
    return count


def kill_batch(process):
    return kill([process.pid])


def kill_a_worker(process):
    return kill([pid for pid in children(process) if not is_owner(pid)][:1])


def kill_the_owner(process):
    deadline = time.monotonic() + 1  # until it is there
    while process.poll() is None and time.monotonic() < deadline:
        if owners := list(filter(is_owner, children(process))):
            return kill(owners)
    return 0


def kill_all(process):
    """The batch is stopped first, so that it notices nothing of its children's end."""
    os.kill(process.pid, signal.SIGSTOP)
    return kill([*children(process), process.pid])


class PhotosTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.photos, self.out = self.folder / "photos", self.folder / "out"
        self.photos.mkdir()


class KillTest(PhotosTest):
    def make(self, count, options=(), environment=None):
        """Pictures, and what one run, undisturbed, makes of them."""
        for i in range(count):
            tool.write(self.photos / f"{i:03}.png", RANDOM.integers(0, 256, (20, 30, 3), dtype=np.uint8))
        self.originals = self.contents(self.photos)
        expected = self.folder / "expected"
        result = tool.run("blur", self.photos, "-o", expected, "--gaussian", 2, *options, env=environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.expected = self.contents(expected)

    def restore(self):
        for name, content in self.originals.items():
            (self.photos / name).write_bytes(content)

    @staticmethod
    def contents(folder):
        """Of all files that are complete."""
        return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if not p.name.startswith(".")}

    def assert_nothing_is_half(self, folder):
        for name, content in self.contents(folder).items():
            is_original = folder == self.photos and content == self.originals[name]
            self.assertTrue(is_original or content == self.expected[name], f"{name} is neither its source nor its blur")

    def killed_runs(self, folder, victim, options, environment=None):
        """Runs until one comes to its end; returns how many processes were killed."""
        killed = 0
        for attempt in range(40):
            process = subprocess.Popen([tool.TOOL, "blur", str(self.photos), "-o", str(folder), "--gaussian", "2", "--jobs", "2", *options],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
            try:
                # Later and later, so that some run comes to its end on a slow machine, too.
                process.wait(RANDOM.uniform(0.02, 0.3 + 0.1 * attempt))
            except subprocess.TimeoutExpired:
                killed += victim(process)
            errors = process.communicate(timeout=120)[1]
            if folder.exists():
                self.assert_nothing_is_half(folder)
            if process.returncode == 0:
                return killed
            self.assertIn(process.returncode, (1, -signal.SIGKILL), errors)
        self.fail(f"no run came to its end; the last said: {errors}")

    def disturbed(self, victims, options=(), environment=None):
        """Into a folder, and in place."""
        for victim in victims:
            for folder, force in [(self.out, "--skip-existing"), (self.photos, "--force")]:
                with self.subTest(victim=victim.__name__, folder=folder.name):
                    killed = 0
                    while killed == 0:
                        shutil.rmtree(self.out, ignore_errors=True)
                        self.restore()
                        killed = self.killed_runs(folder, victim, [force, *options], environment)
                        self.assertEqual({p.name: p.read_bytes() for p in folder.iterdir()}, self.expected)

    def test_killed(self):
        self.make(300)
        self.disturbed([kill_batch, kill_a_worker, kill_all])

    @unittest.skipUnless(GPU, "needs lavapipe")
    def test_killed_on_a_gpu(self):
        options = ["--device", "vulkan:0"]
        self.make(40, options, GPU)
        self.disturbed([kill_batch, kill_a_worker, kill_the_owner, kill_all], options, GPU)

    def test_killed_in_place_alone(self):
        """One file: it is its source or its blur, and the same command again does not blur it twice."""
        photo = self.photos / "000.png"
        self.make(1)
        command = ["blur", str(photo), str(photo), "--gaussian", "2", "--force"]
        results = set()
        for _ in range(60):
            photo.write_bytes(self.originals[photo.name])
            process = subprocess.Popen([tool.TOOL, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(RANDOM.uniform(0, 0.08))
            kill_all(process)
            process.wait()
            self.assert_nothing_is_half(self.photos)
            was_done = photo.read_bytes() == self.expected[photo.name]
            if was_done and not [p for p in self.photos.iterdir() if p.name.startswith(".mollify-journal")]:
                continue  # that run has come to its end: another is another blur
            results.add(was_done)
            tool.blur(*command[1:])
            self.assertEqual({p.name: p.read_bytes() for p in self.photos.iterdir()}, self.expected)
        self.assertIn(False, results, "it was never killed before its end")

    def test_killed_between_the_result_and_the_end(self):
        """A worker is killed just behind its rename: the journal says what it has done."""
        photo = self.photos / "000.png"
        self.make(1)
        command = [str(photo), str(photo), "--gaussian", "2", "--force"]
        process = subprocess.Popen([tool.TOOL, "blur", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "MOLLIFY_TEST_WORKER": "stop:000.png"})
        deadline = time.monotonic() + 60
        while photo.read_bytes() == self.originals[photo.name] and time.monotonic() < deadline:
            time.sleep(0.01)
        kill_all(process)
        process.wait()
        self.assertEqual(photo.read_bytes(), self.expected[photo.name])
        self.assertIn("interrupted has done it", tool.blur(*command))
        self.assertEqual({p.name: p.read_bytes() for p in self.photos.iterdir()}, self.expected)
        tool.blur(*command)  # a second blur, as asked
        self.assertNotEqual(photo.read_bytes(), self.expected[photo.name])


@unittest.skipUnless(GPU, "needs lavapipe")
class GpuBatchTest(PhotosTest):
    """One process owns the GPU; workers read and write."""

    def run_gpu(self, *args, **environment):
        return tool.run("blur", *args, "--device", "vulkan:0", env={**GPU, **environment})

    def make(self, widths):
        for width in widths:
            tool.write(self.photos / f"{width}.png", RANDOM.integers(0, 256, (20, width, 3), dtype=np.uint8))

    def make_of_all_kinds(self):
        """Of all ways that pixels take: whole pages, groups of channels, light."""
        self.make([30, 31])
        tool.write(self.photos / "five.tif", RANDOM.integers(0, 256, (20, 30, 5), dtype=np.uint8))
        tool.write(self.photos / "six.tif", RANDOM.integers(0, 65536, (20, 30, 6), dtype=np.uint16))
        tool.write(self.photos / "alpha.png", RANDOM.integers(0, 65536, (20, 30, 4), dtype=np.uint16))
        tool.write(self.photos / "half.exr", RANDOM.uniform(0, 1, (20, 30, 3)).astype(np.float16))

    def test_dry_runs_ask_the_owner(self):
        self.make_of_all_kinds()
        for options in [(), ("--linear",)]:
            said = []
            for run in [("--dry-run",), ()]:
                result = self.run_gpu(self.photos, "-o", self.out, "--gaussian", 2, "--json", "--force", *options, *run)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                lines = result.stdout.splitlines()
                said.append(sorted((file["in"], file["algorithm"], file["error"]) for file in map(json.loads, lines)))
            self.assertEqual(len(said[0]), 6)
            self.assertEqual(*said)

    def test_results_are_those_of_single_runs(self):
        self.make_of_all_kinds()
        for options in [(), ("--linear",), ("--roi", "9x8+3+2"), ("--border", "constant", "--border-value", 0.5)]:
            with self.subTest(options=options):
                result = self.run_gpu(self.photos, "-o", self.out, "--gaussian", 2, "--jobs", 3, "--force", *options)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                for photo in self.photos.iterdir():
                    single, cpu = (self.folder / f"{place}-{photo.name}" for place in ("single", "cpu"))
                    self.assertEqual(self.run_gpu(photo, single, "--gaussian", 2, "--force", *options).stderr, "")
                    self.assertEqual((self.out / photo.name).read_bytes(), single.read_bytes(), photo.name)
                    tool.blur(photo, cpu, "--gaussian", 2, "--force", *options)
                    pixels, reference = tool.read(single).astype(np.float64), tool.read(cpu).astype(np.float64)
                    # Half floats have steps of 2^-11 below 1; a 16-bit colour counts by its alpha, so it is not compared here.
                    allowed = {".png": 1.0, ".tif": 1.0 if photo.name == "five.tif" else 12.0, ".exr": 2e-3}[photo.suffix]
                    if photo.name != "alpha.png":
                        self.assertLessEqual(np.abs(pixels - reference).max(), allowed, photo.name)

    def test_an_owner_that_crashes_costs_one_file(self):
        self.make(range(30, 38))
        result = self.run_gpu(self.photos, "-o", self.out, "--gaussian", 2, "--jobs", 3, MOLLIFY_TEST_OWNER="33")
        self.assertEqual((result.returncode, result.stderr),
                         (1, f"mollify: {self.photos}/33.png: the process that owns the GPU crashed (SIGSEGV: Segmentation fault)\n"
                             "mollify: 1 of 8 images failed\n"))
        self.assertEqual(sorted(p.name for p in self.out.iterdir()), [f"{w}.png" for w in range(30, 38) if w != 33])

    def test_no_device(self):
        """It is said once, before a file is read."""
        self.make([30, 31])
        (self.photos / "broken.png").write_text("no picture")
        result = tool.run("blur", self.photos, "-o", self.out, "--gaussian", 2, "--device", "vulkan:99", env=GPU)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 1), result.stderr)
        self.assertIn('no Vulkan device "99"', result.stderr)

    def test_memory_of_shared_pixels_counts(self):
        tool.write(self.photos / "large.png", RANDOM.integers(0, 256, (3000, 4000, 3), dtype=np.uint8))
        # A border that wraps needs all rows at once. Otherwise the picture would be streamed.
        result = self.run_gpu(self.photos / "large.png", self.folder / "x.png", "--gaussian", 2, "--memory", "60M", "--border", "wrap")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--memory", result.stderr)


if __name__ == "__main__":
    unittest.main()
