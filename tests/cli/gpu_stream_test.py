"""On a GPU that was asked for, pictures that do not fit into memory are streamed: their results are those of whole pictures."""
import json
import os
import random
import shutil
import tempfile
import unittest
from pathlib import Path

import numpy as np

import tool

RANDOM = tool.fresh_random()
CHOICE = random.Random(int(RANDOM.integers(2**32)))
LAVAPIPE = Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")
GPU = {**os.environ, "VK_DRIVER_FILES": str(LAVAPIPE)}


@unittest.skipUnless(LAVAPIPE.exists(), "needs lavapipe")
class GpuStreamTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.image = self.folder / "in.tif"

    def blur(self, *options, rows=None, fails_with=None, **environment):
        """The bytes of the result. With `rows`, in strips of so many, and with 0 as a whole."""
        out = self.folder / "out.tif"
        env = {**GPU, **environment, **({} if rows is None else {"MOLLIFY_TEST_STRIP_ROWS": str(rows)})}
        done = tool.run("blur", self.image, out, "--device", "vulkan:0", "--json", "--force", *options, env=env)
        if fails_with is not None:
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn(fails_with, done.stderr)
            return None
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout).get("device", "vulkan:0"), "vulkan:0")
        return out.read_bytes()

    def test_strips_have_the_bits_of_the_whole(self):
        for channels, dtype, options in [
                (4, np.uint8, ["--gaussian", 2]),  # weighed by alpha
                (3, np.uint16, ["--gaussian", 5, "--border", "mirror"]),
                (5, np.uint8, ["--box", 4]),  # two parts, of which one is copied in between
                (1, np.float32, ["--gaussian", 2, "--border", "wrap"])]:  # windows, as a stream has not the last rows
            pixels = RANDOM.integers(0, 256, (701, 60, channels)) if dtype != np.float32 else RANDOM.random((701, 60, channels))
            tool.write(self.image, pixels.astype(dtype))
            whole = self.blur(*options, rows=0)
            for rows in CHOICE.sample(range(5, 200), 2):
                self.assertEqual(self.blur(*options, rows=rows), whole, f"{channels} channels of {dtype} {options} in strips of {rows} rows")

    def test_what_does_not_fit_is_streamed(self):
        tool.write(self.image, RANDOM.integers(0, 256, (4000, 3000, 3), dtype=np.uint8))
        whole = self.blur("--gaussian", 2)
        for memory in ("128M", "48M"):  # the second is too little for the windows of a stream: these are made one by one
            self.assertEqual(self.blur("--gaussian", 2, "--memory", memory), whole, memory)

    def test_an_owner_that_ends_fails_the_file(self):
        tool.write(self.image, RANDOM.integers(0, 256, (701, 60, 3), dtype=np.uint8))
        self.blur("--gaussian", 2, rows=40, fails_with="the process that owns the GPU crashed", MOLLIFY_TEST_OWNER="60")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["in.tif"])


if __name__ == "__main__":
    unittest.main()
