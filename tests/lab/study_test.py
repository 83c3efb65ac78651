"""What tools/study.py takes from bench/results/, and that no page quotes a figure that the records do not have."""
import copy
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import study


def record(algorithm, commit, device="NVIDIA H200", peer=None, day=1, **fields):
    return {"case": f"{algorithm}/64x64/rgba8/box:radius=1/clamp", "algorithm": algorithm, "options": {}, "device": device, "width": 64,
            "height": 64, "src_format": "rgba8", "kernel": "box", "sigma": None, "radius": 1, "peer": peer, "time_ns": {"median": 1000},
            "copy_ratio": 2.0, "max_error": 0.0, "unstable": False, "outcome": "timed", "suite": "quick", "environment": {"commit": commit},
            "measured_at": f"2026-01-0{day}T00:00:00Z"} | fields


class StudyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, *records):
        (self.folder / name).write_text("".join(json.dumps(each) + "\n" for each in records))

    def test_an_algorithm_of_a_later_commit_is_left_out(self):
        self.write("h200-study.jsonl", record("box.any", "1111111"), record("box.any", "1111111", peer="npp"),
                   record("box.sep", "1111111"), record("sep.fused", "2222222"))
        self.write("h200-speed.jsonl", *(record(name, "2222222", day=2) for name in ("box.any", "sep.fused", "nxn.direct")))
        found = study.studies(study.all_files(self.folder))["gpu"]
        self.assertEqual(found.left_out, ["box.any"])
        self.assertEqual([(point.technique, point.peer) for point in found.points],
                         [("box.any", "npp"), ("box.sep", None), ("sep.fused", None)])
        self.assertEqual(len(found.records), 3)

    def test_older_records_leave_nothing_out(self):
        undated = record("box.sep", "2222222")
        del undated["measured_at"]
        self.write("h200-study.jsonl", record("box.any", "1111111", day=1), record("box.any", "3333333", day=3),
                   record("box.sep", "1111111"))
        self.write("h200-speed.jsonl", record("box.any", "2222222", day=2), undated)
        self.assertEqual(study.studies(study.all_files(self.folder))["gpu"].left_out, [])

    def test_files_that_a_newer_one_replaced_say_nothing(self):
        self.write("h200-study.jsonl", record("box.any", "1111111"))
        self.write("h200-speed-2222222.jsonl", record("box.any", "2222222", day=2))
        self.assertEqual(study.studies(study.all_files(self.folder))["gpu"].left_out, [])

    def test_the_table_of_speed_is_of_the_file_of_peers_if_there_is_one(self):
        self.write("h200-peers.jsonl", record("box.any", "1111111"), record("box.any", "1111111", suite="speed"))
        self.write("h200-study.jsonl", record("box.any", "2222222", suite="speed"))
        self.write("h200-speed.jsonl", record("box.any", "3333333"))
        commits = []
        for name in ("h200-peers", "h200-study", "h200-speed"):
            commits += [study.commit_of(point.record) for point in study.speeds(study.all_files(self.folder), "gpu")]
            (self.folder / f"{name}.jsonl").unlink()
        self.assertEqual(commits, ["1111111", "2222222", "3333333"])

    def test_winners_are_mollifys_own_and_a_published_one(self):
        gaussian = {"kernel": "gaussian", "sigma": 1}
        points = [study.Point(record(name, "1111111", **gaussian, time_ns={"median": 100 * copies}, copy_ratio=copies, max_error=error))
                  for name, copies, error in (("sep.direct", 5, 0), ("sep.fused", 3, 0), ("sep.shared", 2, 0), ("nxn.direct", 1, 0.1))]
        self.assertTrue(study.winners(points).endswith("| 64x64 rgba8 | sep.shared 2; sep.fused 3 |"), study.winners(points))
        self.assertEqual(study.winners(points[1:2]).count("\n"), 1)

    def test_no_file_is_overlooked(self):
        for name in ("2026-11-21-h200.jsonl", "h300-study.jsonl", "h200.jsonl", "h200-study-new.jsonl"):
            self.write(name, record("box.any", "1111111"))
            with self.assertRaisesRegex(SystemExit, name):
                study.all_files(self.folder)
            (self.folder / name).unlink()

    def test_records_are_of_the_device_and_commit_that_the_name_says(self):
        self.write("h100-speed.jsonl", record("box.any", "1111111"))
        with self.assertRaisesRegex(SystemExit, "NVIDIA H200"):
            study.all_files(self.folder)
        self.write("h100-speed.jsonl")
        self.write("h200-speed-2222222.jsonl", record("box.any", "1111111"))
        with self.assertRaisesRegex(SystemExit, "2222222"):
            study.all_files(self.folder)


class PagesTest(unittest.TestCase):
    """Copies of the pages, and records with changes."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.files = study.all_files()
        for page in study.pages(self.files):
            copied = self.root / page.relative_to(study.ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, copied)
        self.charts = self.root / "docs" / "study"
        shutil.copytree(study.FIGURES, self.charts)

    def problems(self, files=None):
        return study.problems(files or self.files, self.root)

    def change(self, page, before, after):
        path = self.root / page
        text = path.read_text()
        self.assertIn(before, text)
        path.write_text(text.replace(before, after, 1))

    def test_the_pages_are_those_of_the_records(self):
        self.assertEqual(self.problems(), [])

    def test_a_changed_figure_of_a_table_is_seen(self):
        for page, name in (("README.md", "speed"), ("README.md", "cpu peers"), ("docs/study.md", "gpu winners"),
                           ("docs/techniques/sep.inline.md", "measured"), ("docs/techniques/README.md", "measured")):
            self.change(page, f"<!-- /{name} -->", f"| 7 us | 7 | 7 |\n<!-- /{name} -->")
            self.assertTrue(any(problem.startswith(f"{page}: the tables") for problem in self.problems()), page)

    def test_a_changed_record_is_seen(self):
        for file, case, pages in (("h200-study", "sep.inline/4096x4096/rgba8/gaussian:sigma=3,radius=9/clamp",
                                   ["docs/study.md", "docs/techniques/README.md", "docs/techniques/sep.inline.md"]),
                                  ("h200-peers", "auto/4096x4096/rgba8/gaussian:sigma=3,radius=9/clamp", ["README.md"]),
                                  ("xeon-speed", "auto/4096x4096/rgba8/box:radius=9/clamp", ["README.md"]),
                                  ("epyc-peers", "auto/512x512/rgba8/box:radius=9/clamp", ["README.md"])):
            files = copy.deepcopy(self.files)
            for record in files[file]:
                if record["case"] == case and not record["peer"]:
                    record["time_ns"]["median"] *= 0.25
                    record["copy_ratio"] *= 0.25
            seen = {problem.split(":")[0] for problem in self.problems(files)}
            self.assertEqual(seen, set(pages), case)

    def test_a_chart_without_points_and_a_stray_picture_are_seen(self):
        (self.charts / "gpu-box.svg").rename(self.charts / "gpu-tent.svg")
        self.assertEqual([problem.split(":")[1] for problem in self.problems()], [" not there", " no chart of CHARTS"])
        files = self.files | {"h200-study": [record for record in self.files["h200-study"] if record["kernel"] != "box"]}
        self.assertIn("CHARTS: gpu-box has no points", self.problems(files))

    def test_a_figure_of_a_sentence_is_seen(self):
        for page in ("README.md", "docs/study.md", "docs/techniques/box.any.md"):
            for sentence in ("It takes 44 us.", "A blur of 2.5 copies.", "It is 1.3 to 3 times as fast.", "That saves 12 % of it.",
                             "It took 0.47 of\nthe time.", "Published: 0.123456 ms."):
                self.assertEqual(len(study.stray_figures(sentence)), 1, sentence)
                path = self.root / page
                before = path.read_text()
                path.write_text(before + "\n" + sentence + "\n")
                self.assertEqual([problem.split(":")[0] for problem in self.problems()], [page], sentence)
                path.write_text(before)

    def test_a_table_of_a_page_is_seen(self):
        self.assertEqual(len(study.stray_figures("Milliseconds:\n\n| | radius 1 |\n| --- | --- |\n| `rgba8` | 1.5 |\n")), 1)

    def test_what_is_no_measurement_may_be_said(self):
        for sentence in ("A radius of 65 taps.", "An error of 0.06 of an 8-bit step.", "Blocks of 128 by 4.", "```\n44 us\n```",
                         "The published order: 0.98 ms against 1.11 of others."):
            self.assertEqual(study.stray_figures(sentence), [], sentence)


if __name__ == "__main__":
    unittest.main()
