"""--device auto: which device is chosen, what is said and kept, and that the result is that of the chosen one. Drivers that compute on the
processor are no GPUs; MOLLIFY_TEST_AUTO lets them count in tests. Which of both is faster is set by what is kept of an earlier run."""
import json
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import numpy as np

import tool

RANDOM = tool.fresh_random()
LAVAPIPE = Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")
BLUR = ["--gaussian", 2, "--threads", 2]  # what is kept is of one number of threads


class PictureTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.cache = self.folder / "cache"
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.cache)}
        self.image = self.folder / "in.png"
        tool.write(self.image, RANDOM.integers(0, 256, (40, 50, 3), dtype=np.uint8))

    def run_tool(self, *args, **environment):
        result = tool.run(*args, env={**self.environment, **environment})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def blur_as(self, device, *args, image=None, **environment):
        """The bytes of the result, and what is said of it."""
        image = image or self.image
        out = self.folder / f"out{image.suffix}"
        said = self.run_tool("blur", image, out, *BLUR, "--device", device, "--json", "--force", *args, **environment)
        return out.read_bytes(), json.loads(said)


class AutoTest(PictureTest):
    def test_the_cpu_is_the_default(self):
        given, _ = self.blur_as("cpu")
        out = self.folder / "default.png"
        said = json.loads(self.run_tool("blur", self.image, out, *BLUR, "--json"))
        self.assertEqual(out.read_bytes(), given)
        self.assertNotIn("device", said)
        for command in ("blur", "plan", "bench"):
            text = " ".join(tool.run(command, "--help").stdout.split())
            self.assertRegex(text, "--device D=cpu ")
            self.assertEqual("auto (where it should end first" in text, command != "bench")

    def test_without_a_probe_it_is_the_cpu(self):
        pixels, said = self.blur_as("auto", "--probe", "off", MOLLIFY_TEST_AUTO="0")
        self.assertEqual(said["device"], "cpu")
        self.assertIn("auto: cpu, since --probe off measures nothing", said["messages"])
        self.assertEqual(pixels, self.blur_as("cpu")[0])
        text = self.run_tool("plan", "3000x3000", "rgba8", *BLUR, "--device", "auto", "--probe", "off", MOLLIFY_TEST_AUTO="0")
        self.assertTrue(text.startswith("auto: cpu, since --probe off measures nothing\n"), text)
        self.assertFalse(self.cache.exists(), "something was kept")

    def test_little_opens_no_gpu(self):
        pixels, said = self.blur_as("auto")
        self.assertEqual(said["device"], "cpu")
        self.assertEqual(len([m for m in said["messages"] if re.fullmatch(r"auto: cpu, predicted .* ms; no GPU has been opened, which takes "
                                                                          r"longer", m)]), 1, said)
        self.assertEqual(pixels, self.blur_as("cpu")[0])
        text = self.run_tool("blur", self.image, self.folder / "text.png", *BLUR, "--device", "auto")
        self.assertIn("\n  auto: cpu, predicted", text)
        self.assertEqual(self.run_tool("blur", self.image, self.folder / "quiet.png", *BLUR, "--device", "auto", "--quiet"), "")
        plan = json.loads(self.run_tool("plan", "30x30", "rgba8", *BLUR, "--device", "auto", "--json"))
        self.assertEqual(plan["choice"]["device"], "cpu")
        self.assertEqual(plan["backend"], "cpu")
        self.assertFalse(self.cache.exists(), "something was measured")

    def test_the_lab_has_nothing_to_compare_without_a_probe(self):
        result = tool.run("lab", "auto", "--probe", "off", env=self.environment)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, "mollify: --probe off: auto is the CPU then, and there is nothing to compare\n")

    def test_commands_that_measure_a_device_want_its_name(self):
        for command in [("bench", "--size", "9x9"), ("verify",), ("tune", "--list"), ("lab", "run", "-o", self.folder / "r.jsonl"),
                        ("lab", "contest", tool.TOOL, tool.TOOL)]:
            result = tool.run(*command, "--device", "auto", env=self.environment)
            self.assertEqual((result.returncode, result.stdout), (2, ""), command)
            self.assertEqual(result.stderr, "mollify: --device auto: only 'mollify blur' and 'mollify plan' choose a device; name one of "
                                            "those of 'mollify list devices'\n")

    def test_pyramids_are_made_on_the_cpu(self):
        tif = self.folder / "in.tif"
        tool.write(tif, RANDOM.integers(0, 256, (300, 300, 1), dtype=np.uint8))
        for device in ("cpu", "auto"):
            self.run_tool("pyramid", tif, self.folder / f"{device}.tif", "--device", device)
        self.assertEqual((self.folder / "cpu.tif").read_bytes(), (self.folder / "auto.tif").read_bytes())

    def test_what_no_device_can_do_is_said_once(self):
        result = tool.run("blur", self.image, self.folder / "x.png", "--gaussian", 2, "--algorithm", "box.any", "--device", "auto",
                          env=self.environment)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 1), result.stderr)


def gpu_environment():
    if not LAVAPIPE.exists():
        return None
    environment = {"VK_DRIVER_FILES": str(LAVAPIPE), "MOLLIFY_TEST_AUTO": "0"}
    devices = json.loads(tool.run("list", "devices", "--json", env={**os.environ, **environment}).stdout)
    return environment if any(device["open_name"] == "vulkan:0" for device in devices) else None


GPU = gpu_environment()


@unittest.skipUnless(GPU, "needs lavapipe")
class GpuTest(PictureTest):
    """On the software driver in place of a GPU. The figures are measured once for all tests."""

    @classmethod
    def setUpClass(cls):
        cls.measured = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.measured)
        cls.first = tool.run("plan", "30x30", "rgba8", *BLUR, "--device", "auto",
                             env={**os.environ, **GPU, "XDG_CACHE_HOME": str(cls.measured)})

    def use_gpu(self):
        self.environment.update(GPU)
        shutil.copytree(self.measured, self.cache)
        (self.store,) = (self.cache / "mollify").glob("hosts-*.txt")

    def set_seconds_for_predicted(self, value):
        """As if that had been measured of the processor."""
        text, count = re.subn(r"seconds_for_predicted=\S+", f"seconds_for_predicted={value}", self.store.read_text())
        self.assertEqual(count, 1, text)
        self.store.write_text(text)

    def test_the_figures_are_measured_once_and_kept(self):
        self.assertEqual((self.first.returncode, self.first.stderr), (0, ""))
        self.assertRegex(self.first.stdout, r"^auto: (cpu|vulkan:0); predicted on cpu \S+ ms, on vulkan:0 \S+ ms and \S+ ms of transfers\n")
        self.use_gpu()
        before = self.store.read_bytes()
        self.assertRegex(before.decode(), r"\A(?s:mollify hosts 3\ndevice .*)\nthreads=2 bus_bytes_per_second=\S+ "
                                          r"gpu_call_seconds=\S+ seconds_for_predicted=\S+ cpu_call_seconds=\S+ processor=.+\n\Z")
        self.blur_as("auto")
        self.assertEqual(self.store.read_bytes(), before)

    def test_a_broken_store_is_measured_anew(self):
        self.use_gpu()
        for text in ("nonsense", self.store.read_text()[:-9]):
            self.store.write_text(text)
            self.blur_as("auto")
            self.assertTrue(self.store.read_text().startswith("mollify hosts 3\n"))
            self.assertTrue(self.store.read_text().endswith("\n"))

    def test_tune_forgets_them(self):
        self.use_gpu()
        said = self.run_tool("tune", "--reset", "--device", "vulkan:0")
        self.assertIn(f"{self.store}: removed\n", said)
        self.assertFalse(self.store.exists())
        self.assertEqual(self.run_tool("tune", "--reset", "--device", "vulkan:0").count("\n"), 1)

    def test_the_store_decides(self):
        self.use_gpu()
        for value, device in ((1e9, "vulkan:0"), (1e-9, "cpu")):
            self.set_seconds_for_predicted(value)
            pixels, said = self.blur_as("auto")
            self.assertEqual(said["device"], device)
            self.assertEqual(len([m for m in said["messages"] if m.startswith(f"auto: {device}; predicted on cpu ")]), 1, said)
            self.assertEqual(pixels, self.blur_as(device)[0])
            self.assertEqual(self.blur_as("auto", "--dry-run")[1]["device"], device)
            plan = json.loads(self.run_tool("plan", "50x40", "rgb8", *BLUR, "--device", "auto", "--json"))
            self.assertEqual((plan["choice"]["device"], plan["backend"]), (device, device.split(":")[0]))
            self.assertTrue(plan["choice"]["why"].startswith(f"auto: {device}; predicted on cpu "))
        self.assertEqual(self.blur_as("auto", "--probe", "off")[1]["device"], "cpu")

    def test_opening_counts(self):
        self.use_gpu()
        plan = json.loads(self.run_tool("plan", "3000x3000", "rgba32f", *BLUR, "--device", "auto", "--json", MOLLIFY_TEST_AUTO="0.000001"))
        self.assertRegex(plan["choice"]["why"], r" and 0.001 ms to open it$")

    def test_a_batch_goes_to_one_owner(self):
        self.use_gpu()
        photos = self.folder / "photos"
        photos.mkdir()
        for width in range(30, 38):
            tool.write(photos / f"{width}.png", RANDOM.integers(0, 256, (20, width, 3), dtype=np.uint8))
        tool.write(photos / "five.tif", RANDOM.integers(0, 256, (20, 30, 5), dtype=np.uint8))
        tool.write(photos / "wide.tif", RANDOM.uniform(0, 1, (20, 30, 1)))
        self.set_seconds_for_predicted(1e9)
        out = {}
        for device in ("auto", "vulkan:0"):
            said = self.run_tool("blur", photos, "-o", self.folder / device, *BLUR, "--device", device, "--jobs", 2, "--json")
            out[device] = {Path(line["in"]).name: line for line in map(json.loads, said.splitlines())}
        self.assertEqual(len(out["auto"]), 10)
        for name, said in out["auto"].items():
            self.assertEqual(said["device"], "cpu" if name == "wide.tif" else "vulkan:0", said)
            self.assertEqual((self.folder / "auto" / name).read_bytes(), (self.folder / "vulkan:0" / name).read_bytes(), name)
        self.assertIn("auto: cpu, vulkan:0 cannot do it", out["auto"]["wide.tif"]["messages"])

    def test_a_batch_opens_the_gpu_at_the_first_picture_that_is_worth_it(self):
        self.use_gpu()
        self.set_seconds_for_predicted(1e9)
        photos = self.folder / "photos"
        photos.mkdir()
        for name, width in (("a", 40), ("b", 1000), ("c", 40)):
            tool.write(photos / f"{name}.png", RANDOM.integers(0, 256, (width, width, 3), dtype=np.uint8))
        seconds = {size: json.loads(self.run_tool("plan", f"{size}x{size}", "rgb8", *BLUR, "--json"))["predicted_seconds"]
                   for size in (40, 1000)}
        between = str((seconds[40] * seconds[1000]) ** 0.5)
        said = self.run_tool("blur", photos, "-o", self.folder / "out", *BLUR, "--device", "auto", "--jobs", 1, "--json",
                             MOLLIFY_TEST_AUTO=between)
        self.assertEqual([json.loads(line)["device"] for line in said.splitlines()], ["cpu", "vulkan:0", "vulkan:0"], said)
        self.assertIn("no GPU has been opened", said.splitlines()[0])
        self.assertIn(" to open it", said.splitlines()[1])
        self.assertNotIn(" to open it", said.splitlines()[2])

    def test_what_fails_on_the_gpu_is_blurred_on_the_cpu(self):
        self.use_gpu()
        self.set_seconds_for_predicted(1e9)
        pixels, said = self.blur_as("auto", MOLLIFY_TEST_OWNER="50")
        self.assertEqual(said["device"], "cpu")
        self.assertIn("auto: cpu, since vulkan:0 has failed: the process that owns the GPU has ended", said["messages"])
        self.assertEqual(pixels, self.blur_as("cpu")[0])

    def test_the_lab_compares_the_choice_with_both(self):
        self.use_gpu()
        command = ["lab", "auto", "--suite", "scale", "--filter", "*x64/rgba8/*", "--threads", 2, "--seconds", 0.01, "--json"]
        for value, device in ((1e-9, "cpu"), (1e9, "vulkan:0")):
            self.set_seconds_for_predicted(value)
            result = tool.run(*command, env=self.environment)
            said = json.loads(result.stdout)
            self.assertEqual(len(said["cases"]), 3)
            for case in said["cases"]:
                self.assertEqual(case["device"], device)
                time = case["cpu_seconds" if device == "cpu" else "gpu_seconds"]
                self.assertAlmostEqual(case["ratio"], time / min(case["cpu_seconds"], case["gpu_seconds"]))
            ratios = sorted(case["ratio"] for case in said["cases"])
            self.assertEqual((said["median"], said["most"]), (ratios[1], ratios[2]))
            self.assertEqual(result.returncode, int(ratios[2] > 1.3 or ratios[1] > 1.05), result.stderr)
        result = tool.run(*command, "--limit", 0, env=self.environment)
        self.assertEqual(len(json.loads(result.stdout)["cases"]), 1)
        self.assertEqual(result.stderr, "mollify: 2 cases are left at the time limit\n")

    def test_what_is_streamed_for_memory_is_blurred_on_the_cpu(self):
        self.use_gpu()
        self.set_seconds_for_predicted(1e9)
        pixels, said = self.blur_as("auto", MOLLIFY_TEST_STRIP_ROWS="7")
        self.assertEqual(said["device"], "cpu")
        self.assertIn("auto: cpu, since images that do not fit into memory are blurred there", said["messages"])
        self.assertEqual(pixels, self.blur_as("cpu")[0])

    def test_large_pictures_are_streamed_for_speed_on_the_cpu_only(self):
        self.use_gpu()
        large = self.folder / "large.tif"
        tool.write(large, RANDOM.integers(0, 256, (1500, 1200, 4), dtype=np.uint8))
        for value, device in ((1e9, "vulkan:0"), (1e-9, "cpu")):
            self.set_seconds_for_predicted(value)
            pixels, said = self.blur_as("auto", image=large)
            self.assertEqual(said["device"], device)
            self.assertEqual(pixels, self.blur_as(device, image=large)[0])


if __name__ == "__main__":
    unittest.main()
