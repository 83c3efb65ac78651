"""The lab from the outside: run, stop, resume, report, compare."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import tool

LAVAPIPE = Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")


class LabTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.results = self.folder / "r.jsonl"

    def lab(self, *args, code=0):
        result = tool.run("lab", *args)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def quick(self, *args, code=0):
        return self.lab("run", "--suite", "quick", "--device", "cpu", "--seconds", 0, "-o", self.results, *args, code=code)

    def records(self):
        return [json.loads(line) for line in self.results.read_text().splitlines()]

    def refuses(self, code, words, *args):
        result = tool.run("lab", *args)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(str(word), result.stderr)

    def test_run_resume_report_compare(self):
        self.assertIn("gaussian:sigma=0.3333,radius=1 ", self.quick("--limit", 0.001).stdout)
        first = self.records()
        self.assertGreater(len(first), 2)
        self.assertTrue(all(r["outcome"] == "timed" for r in first), "the quick suite holds what can run")
        own = [r for r in first if r["peer"] is None]
        self.assertEqual(sum(r["chosen"] for r in own), 1)
        self.assertTrue(all(r["max_error"] <= r["predicted_error"] + 1e-12 for r in own))

        before = self.results.read_bytes()
        self.refuses(1, ["--resume", self.results], "run", "-o", self.results)
        self.assertEqual(self.results.read_bytes(), before)

        self.results.write_bytes(before + b'{"case": "cut of')  # as a killed writer leaves it
        out = self.quick("--limit", 0.001, "--resume", "--no-peers").stdout
        self.assertIn(f"{len(own)} done before", out)
        self.assertEqual(self.results.read_bytes()[:len(before)], before)
        both = self.records()
        self.assertGreater(len(both), len(first))
        self.assertNotEqual(both[-1]["group"], first[0]["group"])

        page = self.folder / "report" / "index.html"
        self.assertIn(str(page), self.lab("report", self.results, "-o", page.parent).stdout)
        self.assertIn("</html>", page.read_text())

        self.assertIn("0 slower", self.lab("compare", self.results, self.results).stdout)
        slower = self.folder / "slower.jsonl"
        changed = self.records()
        for key in ("median", "p10", "p90"):
            changed[0]["time_ns"][key] *= 30
        slower.write_text("".join(json.dumps(r) + "\n" for r in changed))
        out = self.lab("compare", self.results, slower, code=1).stdout
        self.assertIn("30.000x", out)
        self.assertIn(changed[0]["case"][:100], out)
        self.assertIn("1 faster", self.lab("compare", slower, self.results).stdout)
        found = json.loads(self.lab("compare", self.results, slower, "--json", code=1).stdout)
        self.assertEqual(len(found["slower"]), 1)

    def test_several_runs_a_side_say_how_far_they_drift(self):
        self.quick("--limit", 0.001, "--no-peers")
        other = self.folder / "other.jsonl"
        changed = self.records()
        changed[0]["time_ns"]["median"] *= 1.5
        other.write_text("".join(json.dumps(r) + "\n" for r in changed))
        out = self.lab("compare", "--before", self.results, other, "--after", self.results).stdout
        self.assertIn("by 50.0 % at most", out)
        self.assertIn("one run a side", self.lab("compare", self.results, other).stdout)
        self.refuses(2, ["two files"], "compare", self.results)
        self.refuses(2, ["two files"], "compare", self.results, other, "--after", other)

    def test_a_contest_finds_the_slower_build(self):
        slower = self.folder / "slower"  # this tool, but no load of a machine hides the times of its records
        slower.write_text(f"""#!{sys.executable}
import json, subprocess, sys
done = subprocess.run([{str(tool.TOOL)!r}, *sys.argv[1:]])
path = sys.argv[sys.argv.index("--json") + 1]
records = [json.loads(line) for line in open(path)]
for record in records:
    record["time_ns"] = {{key: 1000 * value for key, value in record["time_ns"].items()}}
open(path, "w").write("".join(json.dumps(record) + "\\n" for record in records))
sys.exit(done.returncode)
""")
        slower.chmod(0o755)
        few = ("--pairs", 2, "--seconds", 0.01, "--tolerance", 5, "--case", "auto/64x64/rgba8/gaussian:sigma=1/clamp", "--case",
               "auto/64x64/r8/box:radius=2/clamp")
        out = self.lab("contest", tool.TOOL, slower, *few, code=1).stdout
        self.assertIn("2 slower, 0 faster, 0 the same, 0 undecided", out)
        found = json.loads(self.lab("contest", slower, tool.TOOL, "--json", *few).stdout)
        self.assertEqual([row["verdict"] for row in found], ["faster", "faster"])
        self.assertTrue(all(0.0001 < row["ratio"] < 0.01 and row["pairs"] == 2 for row in found), found)
        self.refuses(1, ["nowhere"], "contest", tool.TOOL, self.folder / "nowhere")
        self.refuses(1, [tool.TOOL, "case name"], "contest", tool.TOOL, tool.TOOL, "--case", "nonsense")
        self.refuses(2, ["--pairs"], "contest", tool.TOOL, tool.TOOL, "--pairs", 1)

    def test_plans_beside_the_best(self):
        # Two requests of the smallest size, on a driver whose pipelines are compiled in seconds, or on the processor.
        for device, environment in [("cpu", None), ("vulkan:0", {**os.environ, "VK_DRIVER_FILES": str(LAVAPIPE)})]:
            if environment and (not LAVAPIPE.exists() or "vulkan" not in tool.run("list", "devices", env=environment).stdout):
                continue
            with self.subTest(device=device):
                args = ("lab", "plans", "--device", device, "--longest", 32, "--seconds", 0, "--tuning-seconds", 0)
                done = tool.run(*args, "--filter", "*/box:*", env=environment)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("2 requests of suite quick on", done.stdout)
                self.assertIn("no side is longer than 32 pixels", done.stdout)
                ratios = [float(line.split()[0]) for line in done.stdout.splitlines() if "  auto/32x32/rgba8/box:" in line]
                self.assertEqual(len(ratios), 2, done.stdout)
                self.assertGreaterEqual(min(ratios), 1.0)
                found = re.search(r"2 of 2 requests: plans take (\S+) times the best in the median, (\S+) at the 90th percentile", done.stdout)
                self.assertTrue(found, done.stdout)
                low, high = sorted(ratios)
                self.assertAlmostEqual(float(found[1]), (low + high) / 2, delta=0.002)
                self.assertAlmostEqual(float(found[2]), low + 0.9 * (high - low), delta=0.002)
                late = tool.run(*args, "--limit", 0, "--formats", "r8", "--filter", "*/box:*", env=environment)
                self.assertRegex(late.stdout, "1 of 2 requests: .*; 1 were not reached in 0 s")
        self.refuses(1, ["nothing-like-it"], "plans", "--filter", "nothing-like-it")
        self.refuses(2, ["nonsense"], "plans", "--suite", "nonsense")
        self.refuses(2, ["--limit"], "plans", "--limit", "nan")
        self.refuses(2, ["rgba9"], "plans", "--formats", "r8,rgba9")

    def test_a_part_of_a_suite(self):
        self.quick("--limit", 0.001, "--no-peers", "--defaults", "--filter", "sep.*/box:*")
        self.assertTrue(self.records())
        for record in self.records():
            self.assertRegex(record["case"], "^sep[^:]*/.*/box:radius=9/")
        self.refuses(1, ["--filter", "nothing-like-it", "quick"], "run", "--filter", "nothing-like-it", "-o", self.folder / "n.jsonl")

    def test_a_record_is_reproduced_by_its_command(self):
        self.quick("--limit", 0.001, "--no-peers")
        words = self.records()[-1]["command"].split()
        self.assertEqual(words[0], "mollify")
        again = tool.run(*words[1:], "--seconds", 0, "--no-peers")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_ctrl_c_keeps_what_is_done(self):
        process = subprocess.Popen([tool.TOOL, "lab", "run", "--suite", "quick", "--device", "cpu", "--seconds", "0.02",
                                    "--limit", "300", "--no-peers", "-o", str(self.results)], stdout=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (self.results.exists() and self.results.stat().st_size):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, out)
        self.assertIn("--resume goes on", out)
        self.assertGreater(len(self.records()), 0)
        self.assertTrue(self.results.read_text().endswith("}\n"))

    def test_mistakes(self):
        missing, junk = self.folder / "missing.jsonl", self.folder / "junk.jsonl"
        junk.write_text('{"case": "a"}\nnonsense\n')
        self.refuses(2, ["run, report, compare, contest, auto and plans", "lab --help"])
        self.refuses(2, ["output"], "run")
        self.refuses(2, ["nonsense", "quick", "blurs"], "run", "--suite", "nonsense", "-o", self.results)
        self.refuses(1, ["99\""], "run", "--device", "vulkan:99", "-o", self.results)
        self.refuses(2, ["--limit"], "run", "--limit", -1, "-o", self.results)
        self.refuses(1, ["python-that-is-not"], "run", "--python", "python-that-is-not", "-o", self.folder / "p.jsonl")
        self.refuses(1, [missing, "No such file"], "report", missing, "-o", self.folder / "report")
        self.refuses(1, [junk, "line 2"], "report", junk, "-o", self.folder / "report")
        self.refuses(1, [junk, "line 2"], "run", "--resume", "-o", junk)
        self.refuses(1, [junk, "line 2"], "compare", junk, junk)
        self.refuses(1, ["cannot write"], "run", "-o", self.folder / "no" / "r.jsonl")
        self.assertFalse((self.folder / "report").exists())

    def test_python_peers_take_part(self):
        self.quick("--limit", 0.001, "--python", sys.executable)
        peers = {r["peer"].split()[0]: r for r in self.records() if r["peer"]}
        self.assertIn("scipy", peers, "scripts/install-deps --tests installs it")
        record = peers["scipy"]
        self.assertEqual(record["algorithm"], "gaussian_filter")
        self.assertGreater(record["time_ns"]["median"], 0)
        self.assertLess(record["max_error"], 0.01)
        # 3 taps of a Gaussian of sigma 1/3, whose own deviation is smaller than its sigma.
        self.assertAlmostEqual(record["realized_sigma"], 0.15, delta=0.03)


if __name__ == "__main__":
    unittest.main(verbosity=2)
