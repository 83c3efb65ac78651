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
# With few options, which a software driver compiles in seconds.
ALGORITHM, OPTION = ("box.scan", "segment=256") if DEVICE != "cpu" else ("box.any", "accumulator=f64")
KERNEL = ["--box", "1"]
QUICK = f"{ALGORITHM}/*/rgba8/box:radius=1/*"
QUICKER = "gauss.recursive/*/rgba8/*" if DEVICE != "cpu" else "gauss.decimate/*/rgba8/*"  # no options: one decision


def rows_of(text):
    """Of a table: what follows its four lines, without the rates of a device that was measured when it was opened."""
    return [line for line in text.splitlines()[4:] if not line.startswith("rates ")]


class TuneTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            result = tool.run("tune", "--device", DEVICE, "--size", "64x48", "--seconds", "0", "--filter", QUICK, "--budget", "0",
                              env=dict(os.environ, XDG_CACHE_HOME=folder))
            assert result.returncode == 0, result.stderr
            assert "stored 1 rows" in result.stderr, result.stderr
            assert ALGORITHM in result.stdout, result.stdout
            [path] = Path(folder, "mollify").glob("tuning-*")
            cls.name, cls.text = path.name, path.read_text()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = dict(os.environ, XDG_CACHE_HOME=folder.name)
        self.folder = Path(folder.name) / "mollify"
        self.folder.mkdir()
        self.path = self.folder / self.name

    def run_tool(self, *args, code=0):
        result = tool.run(*args, "--device", DEVICE, env=self.environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def tune(self, *args):
        return self.run_tool("tune", "--size", "64x48", "--seconds", "0", "--filter", QUICKER, "--budget", "0", *args)

    def files(self):
        return [path.name for path in self.folder.glob("*tuning*")]

    def plan(self):
        result = self.run_tool("plan", "64x48", "rgba8", *KERNEL, "--algorithm", ALGORITHM, "--json")
        return json.loads(result.stdout), result.stderr

    def rates(self, *args):
        [line] = [line for line in self.run_tool("plan", "64x48", "rgba8", *KERNEL, *args).stdout.splitlines() if "  rates " in line]
        return line

    @unittest.skipIf(DEVICE == "cpu", "no GPU")
    def test_plan_says_whose_rates_it_goes_by(self):
        self.assertRegex(self.rates(), r"measured (by the authors|here): copies \S+ bytes/s")
        was_measured = "measured here" in self.rates()
        listed = self.run_tool("tune", "--list").stdout
        self.assertEqual(was_measured, "rates bytes_per_second=" in listed, listed)
        self.assertEqual(was_measured, "was not measured" in self.rates("--probe", "off"))
        self.assertEqual(was_measured, self.path.exists())

    def write_row(self):
        """A file as tune leaves it, with a row that is no measurement."""
        lines = self.text.splitlines()[:4] + [f"{ALGORITHM}:{OPTION} bytes=4 taps=1-5 pixels=1 gain=1.25 cost=1"]
        self.path.write_text("\n".join(lines) + "\n")
        return lines

    def test_rows_are_kept_beside_others_and_listed(self):
        self.assertEqual(self.text.splitlines()[0], "mollify tuning 1")
        self.assertEqual(len(rows_of(self.text)), 1)
        row = self.write_row()[4]
        self.assertIn("here    " + row, self.run_tool("tune", "--list").stdout)
        for _ in range(2):  # the same algorithm's rows take the place of those before
            printed = self.tune().stdout.splitlines()
            rows = rows_of(self.path.read_text())
            self.assertGreater(len(printed), 0)
            self.assertEqual(len(rows), len(printed) + 1)
            self.assertEqual(rows[-1], row)
        self.assertEqual(self.files(), [self.name])

    def test_a_list_of_no_rows_says_so(self):
        listed = tool.run("tune", "--list", "--device", "cpu", env=self.environment)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertRegex(listed.stdout, "^(no rows for |shipped )")

    def test_dry_runs_store_nothing(self):
        lines = self.tune("--dry-run", "--print").stdout.splitlines()
        self.assertEqual(lines[:4], self.text.splitlines()[:4])
        self.assertGreater(len(rows_of("\n".join(lines))), 0)
        self.assertEqual([row for name in self.files() for row in rows_of((self.folder / name).read_text())], [])

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
        path = self.path
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
        self.tune()
        self.assertEqual(self.plan()[1], "")
        self.assertNotIn(ALGORITHM, self.path.read_text())

    def test_interrupted_runs_keep_what_is_done(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            with self.subTest(number=number):
                process = subprocess.Popen([tool.TOOL, "tune", "--device", DEVICE, "--size", "64x48", "--seconds", "0",
                                            "--filter", "gauss.", "--budget", "0"], env=self.environment, text=True,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                process.stdout.readline()  # one is done
                process.send_signal(number)
                _, complaint = process.communicate(timeout=300)
                self.assertEqual(process.returncode, 130, complaint)
                self.assertIn("stored", complaint)
                self.assertGreaterEqual(len(rows_of(self.path.read_text())), 1)
                self.path.unlink()

    def test_mistakes(self):
        for code, words, args in [(2, "--seconds", ["--seconds", "nan"]), (2, "--budget", ["--budget", "-1"]),
                                  (2, "--size", ["--size", "big"]), (1, "--size", ["--size", "0x5"]),
                                  (1, "nothing of such a name", ["--filter", "nonsense"]),
                                  (2, "--list", ["--list", "--reset"]),
                                  (2, "--filter", ["--reset", "--filter", "box"]),
                                  (2, "--filter", ["--list", "--filter", "box"])]:
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
