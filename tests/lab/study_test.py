"""What tools/study.py takes from bench/results/: whose records, and none of algorithms that were changed since."""
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import study


def record(algorithm, commit, device="NVIDIA H200", peer=None):
    return {"case": f"{algorithm}/64x64/rgba8/box:radius=1/clamp", "algorithm": algorithm, "options": {}, "device": device, "width": 64,
            "height": 64, "src_format": "rgba8", "kernel": "box", "sigma": None, "radius": 1, "peer": peer, "time_ns": {"median": 1000},
            "copy_ratio": 2.0, "max_error": 0.0, "unstable": False, "outcome": "timed", "environment": {"commit": commit}}


class StudyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, *records):
        (self.folder / name).write_text("".join(json.dumps(each) + "\n" for each in records))

    def test_an_algorithm_of_another_commit_is_left_out(self):
        self.write("h200-study.jsonl", record("box.any", "1111111"), record("box.any", "1111111", peer="npp"),
                   record("box.sep", "1111111"), record("sep.fused", "2222222"))
        self.write("h200-speed.jsonl", record("box.any", "2222222"), record("sep.fused", "2222222"), record("nxn.direct", "2222222"))
        found = study.results(self.folder)["h200"]
        self.assertEqual(found.left_out, ["box.any"])
        self.assertEqual([(point.technique, point.peer) for point in found.points],
                         [("box.any", "npp"), ("box.sep", None), ("sep.fused", None)])
        self.assertEqual(len(found.records), 3)

    def test_files_that_a_newer_one_replaced_say_nothing(self):
        self.write("h200-study.jsonl", record("box.any", "1111111"))
        self.write("h200-speed-2222222.jsonl", record("box.any", "2222222"))
        self.assertEqual(study.results(self.folder)["h200"].left_out, [])

    def test_no_file_is_overlooked(self):
        for name in ("2026-11-21-h200.jsonl", "h300-study.jsonl", "h200.jsonl", "h200-study-new.jsonl"):
            self.write(name, record("box.any", "1111111"))
            with self.assertRaisesRegex(SystemExit, name):
                study.results(self.folder)
            (self.folder / name).unlink()

    def test_records_are_of_the_device_and_commit_that_the_name_says(self):
        self.write("h100-speed.jsonl", record("box.any", "1111111"))
        with self.assertRaisesRegex(SystemExit, "NVIDIA H200"):
            study.results(self.folder)
        self.write("h100-speed.jsonl")
        self.write("h200-speed-2222222.jsonl", record("box.any", "1111111"))
        with self.assertRaisesRegex(SystemExit, "2222222"):
            study.results(self.folder)


if __name__ == "__main__":
    unittest.main()
