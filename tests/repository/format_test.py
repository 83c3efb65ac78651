"""Every C++ file looks as .clang-format says."""
import shutil
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = "14"  # other versions break lines at other places


def sources() -> list:
    listed = subprocess.run(["git", "ls-files", "*.cpp", "*.h"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return listed.split()


class FormatTest(unittest.TestCase):
    def test_every_file_is_formatted(self):
        tool = shutil.which(f"clang-format-{VERSION}")
        self.assertIsNotNone(tool, f"clang-format-{VERSION} is missing: scripts/install-deps --tests installs it")
        files = sources()
        self.assertGreater(len(files), 100)
        run = subprocess.run([tool, "--dry-run", "--Werror", *files], cwd=ROOT, capture_output=True, text=True)
        named = sorted({line.partition(":")[0] for line in run.stderr.splitlines() if ": error: " in line})
        self.assertEqual(run.returncode, 0, f"clang-format-{VERSION} -i {' '.join(named)}")


if __name__ == "__main__":
    unittest.main()
