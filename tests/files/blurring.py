"""Runs `mollify blur` on files that a test makes in a folder of its own."""
import os
import pathlib
import subprocess
import tempfile
import unittest

TOOL = os.path.abspath(os.environ.get("MOLLIFY_TOOL", "build/dev/mollify"))


class Done:
    """What one run of the tool printed, and its result."""

    def __init__(self, run, result):
        self.code, self.printed, self.error, self.result = run.returncode, run.stdout, run.stderr, result

    @property
    def was_refused(self):
        """Exit code 1, one short line that says why, and nothing in the folder of the result."""
        lines = self.error.strip().splitlines()
        left = [path for path in self.result.parent.iterdir() if path.name.startswith(".mollify")]
        return self.code == 1 and len(lines) == 1 and 0 < len(lines[0]) <= 300 and not self.result.exists() and not left

    def __str__(self):
        return f"exit code {self.code}\n{self.printed}{self.error}"


def blur(source, result, *options, timeout=60):
    result.unlink(missing_ok=True)
    words = [TOOL, "blur", source, result, *map(str, options or ("--gaussian", 2))]
    return Done(subprocess.run(words, capture_output=True, text=True, timeout=timeout), result)


class FolderTest(unittest.TestCase):
    """Each test has an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return self.folder / name


class BlurTest(FolderTest):
    def blur(self, source, result, *options, timeout=60):
        """Must succeed without an error."""
        done = self.try_to_blur(source, result, *options, timeout=timeout)
        self.assertEqual((done.code, done.error), (0, ""), done)
        return done

    def try_to_blur(self, source, result, *options, timeout=60):
        return blur(self.path(source), self.path(result), *options, timeout=timeout)

    def assert_refused(self, done, *words):
        self.assertTrue(done.was_refused, done)
        for word in words:
            self.assertIn(word, done.error)
