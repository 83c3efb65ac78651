"""mollify tune: rows are measured, kept, used and removed; a bad file costs a warning and nothing else."""
import json
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import tool

DEVICES = [d["open_name"] for d in json.loads(tool.run("list", "devices", "--json").stdout)]
DEVICE = next((name for name in DEVICES if name.startswith("vulkan")), "cpu")
ALGORITHM = "sep.shared" if DEVICE != "cpu" else "sep.fused"
OPTION = "group=64x1" if DEVICE != "cpu" else "accumulator=f64"
KERNEL = ["--gaussian", "1", "--radius", "1"]


class TuneTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = dict(os.environ, XDG_CACHE_HOME=folder.name)
        self.folder = Path(folder.name) / "mollify"

    def run_tool(self, *args, code=0):
        result = tool.run(*args, "--device", DEVICE, env=self.environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def tune(self, *args, code=0):
        return self.run_tool("tune", "--size", "64x48", "--seconds", "0.01", "--filter", f"{ALGORITHM}/*/rgba8/*radius=1/*",
                             "--budget", "0", *args, code=code)

    def files(self):
        return list(self.folder.glob("tuning-*")) if self.folder.exists() else []

    def plan(self):
        result = self.run_tool("plan", "64x48", "rgba8", *KERNEL, "--algorithm", ALGORITHM, "--json")
        return json.loads(result.stdout), result.stderr

    def write_row(self):
        """A file as tune leaves it, with a row that is no measurement."""
        self.tune()
        lines = self.files()[0].read_text().splitlines()
        lines = lines[:4] + [f"{ALGORITHM}:{OPTION} bytes=4 taps=1-5 pixels=1 gain=1.25 cost=1"]
        self.files()[0].write_text("\n".join(lines) + "\n")
        return lines

    def test_rows_are_kept_and_listed(self):
        result = self.tune()
        self.assertIn(ALGORITHM, result.stdout)
        self.assertIn("stored 1 rows", result.stderr)
        lines = self.files()[0].read_text().splitlines()
        self.assertEqual(lines[0], "mollify tuning 1")
        self.assertEqual(len(lines), 5)
        self.assertIn("here    " + lines[4], self.run_tool("tune", "--list").stdout)
        # Another algorithm's row comes beside it; the same one's takes its place.
        self.tune()
        self.assertEqual(len(self.files()[0].read_text().splitlines()), 5)
        self.run_tool("tune", "--size", "64x48", "--seconds", "0", "--filter", "nxn.direct/*/rgba8/*matrix:size=3x3*")
        self.assertEqual(len(self.files()[0].read_text().splitlines()), 6)

    def test_dry_runs_store_nothing(self):
        text = self.tune("--dry-run", "--print").stdout
        self.assertTrue(text.startswith("mollify tuning 1\ndevice "), text)
        self.assertEqual(len(text.splitlines()), 5)
        self.assertEqual(self.files(), [])

    def test_plans_go_by_the_rows_until_they_are_removed(self):
        self.write_row()
        plan, complaint = self.plan()
        key, value = OPTION.split("=")
        self.assertEqual(complaint, "")
        self.assertEqual(plan["options"][key], value)
        self.assertEqual(plan["tuning"], {"options": {key: value}, "gain": 1.25, "origin": "user"})
        text = self.run_tool("plan", "64x48", "rgba8", *KERNEL, "--algorithm", ALGORITHM).stdout
        self.assertIn(f"tuned    {OPTION}, 1.25 times as fast as the defaults, measured here", text)
        self.assertIn("removed", self.run_tool("tune", "--reset").stdout)
        self.assertEqual(self.files(), [])
        self.assertIn("there was none", self.run_tool("tune", "--reset").stdout)
        plan, _ = self.plan()
        self.assertTrue(plan["tuning"] is None or plan["tuning"]["origin"] == "shipped")

    def test_bad_files_cost_a_line_and_are_made_anew(self):
        lines = self.write_row()
        path = self.files()[0]
        for number, text, word in [(0, "nonsense", "damaged"), (1, "device Other", "another device"),
                                   (2, "driver Other", "another driver"), (3, "mollify 0.0.1", "another version"),
                                   (4, lines[4] + " x", "damaged")]:
            with self.subTest(word=word):
                path.write_text("\n".join(lines[:number] + [text] + lines[number + 1:]) + "\n")
                plan, complaint = self.plan()
                self.assertTrue(plan["tuning"] is None or plan["tuning"]["origin"] == "shipped")
                self.assertEqual(complaint.count("\n"), 1, complaint)
                self.assertIn(word, complaint)
                self.assertIn(str(path), complaint)
        result = self.tune()
        self.assertNotIn("another", result.stderr)
        self.assertEqual(self.plan()[1], "")

    def test_interrupted_runs_keep_what_is_done(self):
        process = subprocess.Popen([tool.TOOL, "tune", "--device", DEVICE, "--size", "64x48", "--seconds", "0",
                                    "--filter", f"{ALGORITHM}/", "--budget", "0"], env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()  # one is done
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, complaint)
        self.assertIn("stored", complaint)
        self.assertGreaterEqual(len(self.files()[0].read_text().splitlines()), 5)

    def test_mistakes(self):
        for code, words, args in [(2, "--seconds", ["--seconds", "nan"]), (2, "--budget", ["--budget", "-1"]),
                                  (2, "--size", ["--size", "big"]), (1, "--size", ["--size", "0x5"]),
                                  (1, "nothing of such a name", ["--filter", "nonsense"]),
                                  (2, "--list", ["--list", "--reset"])]:
            with self.subTest(args=args):
                result = self.run_tool("tune", *args, code=code)
                self.assertEqual(result.stdout, "")
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assertIn(words, result.stderr)
        environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
        result = tool.run("tune", "--device", DEVICE, env=environment)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no cache folder", result.stderr)


if __name__ == "__main__":
    unittest.main()
