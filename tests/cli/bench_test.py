"""mollify bench: files of records, options without a kernel, and images of one dispatch, timed and verified together."""
import json
import tempfile
import unittest
from pathlib import Path

import tool

DEVICES = [d["open_name"] for d in json.loads(tool.run("list", "devices", "--json").stdout)]
GPU = next((name for name in DEVICES if name.startswith("vulkan")), None)
QUICK = ["bench", "--size", "61x47", "--box", "1", "--seconds", "0"]


class RecordsTest(unittest.TestCase):
    def test_files_keep_what_they_hold(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "records.jsonl")
            path.write_text("no record")
            self.assertIn("is no file of the lab", tool.run(*QUICK, "--json", path).stderr)
            self.assertEqual(path.read_text(), "no record")
            path.write_text('{"case":"cut of')  # as a killed writer leaves it
            self.assertEqual(tool.run(*QUICK, "--no-peers", "--json", path).returncode, 0)
            self.assertEqual(len([json.loads(line) for line in path.read_text().splitlines()]), 1)

    def test_cases_that_differ_in_their_algorithms_take_turns(self):
        names = [f"{algorithm}/61x47/rgba8/box:radius=1/clamp" for algorithm in ["sep.fused", "gauss.decimate", "box.any"]]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "records.jsonl")
            result = tool.run("bench", "--seconds", "0", "--json", path, *(a for name in names for a in ["--case", name]))
            self.assertEqual(result.returncode, 0, result.stderr)
            records = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertIn("gauss.decimate cannot do this: the kernel is neither a Gaussian nor a tent", result.stderr)
        own = [record for record in records if record["peer"] is None]
        self.assertEqual([record["algorithm"] for record in own], ["sep.fused", "box.any"])
        peers = [record["peer"] for record in records if record["peer"] is not None]
        self.assertEqual(len(peers), len(set(peers)), "each once")

    def test_the_table_has_its_own_radii(self):
        result = tool.run("bench", "--size", "61x47", "--radius", "3", "--seconds", "0")
        self.assertEqual((result.returncode, result.stderr), (2, "mollify: --radius goes with --gaussian\n"))


class BatchTest(unittest.TestCase):
    def refused(self, code, *args):
        result = tool.run(*QUICK, *args)
        self.assertEqual(result.returncode, code, result.stdout)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def test_batches_are_for_gpus(self):
        self.assertIn("--batch 4: a CPU dispatches nothing", self.refused(1, "--batch", "4"))
        self.assertIn("--batch 0: one image at least", self.refused(2, "--batch", "0"))

    @unittest.skipIf(GPU is None, "no Vulkan device")
    def test_only_buffers_share_a_dispatch(self):
        why = self.refused(1, "--device", GPU, "--batch", "2", "--algorithm", "nxn.direct:storage=image")
        self.assertIn("a batch of 2: one dispatch makes at most 1 of these images, which are no buffers", why)

    @unittest.skipIf(GPU is None, "no Vulkan device")
    def test_a_batch_is_one_record(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "records.jsonl")
            for batch in [[], ["--batch", "5"]]:
                result = tool.run(*QUICK, "--format", "rgb8", "--device", GPU, "--algorithm", "sep.direct", "--json", path, *batch)
                self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("times of 5 images in one dispatch a pass", result.stdout)
            one, five = map(json.loads, path.read_text().splitlines())
        self.assertEqual((one["batch"], five["batch"]), (1, 5))
        self.assertEqual(one["case"], five["case"])
        self.assertEqual(five["min_bytes"], 5 * one["min_bytes"])
        self.assertGreater(five["copy_ns"], 0)

    @unittest.skipIf(GPU is None, "no Vulkan device")
    def test_images_whose_rows_have_gaps_on_the_device_are_verified_too(self):
        wide = ["131x37" if argument == "61x47" else argument for argument in QUICK]
        result = tool.run(*wide, "--format", "rgb8", "--device", GPU, "--algorithm", "sep.direct", "--batch", "3")
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
