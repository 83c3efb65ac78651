"""Runs mollify_copy_file, which reads a file and writes all that was found in it."""
import os
import pathlib
import subprocess
import tempfile
import unittest

COPY = os.path.abspath(os.environ.get("MOLLIFY_COPY_FILE", "build/dev/mollify_copy_file"))


class CopyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_copy(self, data, source, result, *options):
        (self.folder / source).write_bytes(data)
        out = self.folder / result
        out.unlink(missing_ok=True)
        return subprocess.run([COPY, self.folder / source, out, *map(str, options)], capture_output=True, text=True, timeout=60)

    def copy(self, data, source, result, *options):
        """The bytes of the result; what the tool printed is in `self.printed`."""
        run = self.run_copy(data, source, result, *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.printed = run.stdout
        return (self.folder / result).read_bytes()

    def refuses(self, data, source, result, *words):
        run = self.run_copy(data, source, result)
        self.assertEqual(run.returncode, 1, f"exit code {run.returncode}: {run.stdout} {run.stderr}")
        for word in words:
            self.assertIn(word, run.stderr)
