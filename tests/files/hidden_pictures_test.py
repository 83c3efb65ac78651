"""No pixel of the source survives outside the blurred pixels: one picture hides in each known place, and no result has any of it.

The places are those of the list in the code, which mollify_contract_page prints.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from tests.files.blurring import blur
from tests.files.contract_rows.rows import ENDINGS
from tests.files.hiding_places import HIDING, holds_the_picture

PROGRAM = os.path.abspath(os.environ.get("MOLLIFY_CONTRACT_PAGE", "build/dev/mollify_contract_page"))
CARRIERS = json.loads(subprocess.run([PROGRAM, "--json"], capture_output=True, text=True, check=True).stdout)["carriers"]


class HiddenPicturesTest(unittest.TestCase):
    def test_each_known_place_is_looked_at(self):
        known = {each["place"]: set(each["formats"].split(", ")) for each in CARRIERS}
        self.assertEqual({place: set(files) for place, files in HIDING.items()}, known)

    def test_no_result_has_the_picture(self):
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = {}
            for number, (place, files) in enumerate(HIDING.items()):
                for source, sources in files.items():
                    for i, data in enumerate(sources):
                        path = pathlib.Path(folder) / f"{number}_{i}.{ENDINGS[source]}"
                        path.write_bytes(data)
                        self.assertTrue(holds_the_picture(data), f"{place}, {source} {i}: it does not hide there")
                        for result in {source, *list(ENDINGS)[i::3]}:  # all formats, in turns
                            out = path.with_name(f"{path.name}_to.{ENDINGS[result]}")
                            done[place, source, i, result] = pool.submit(blur, path, out, "--gaussian", 3)
            for (place, source, i, result), future in done.items():
                with self.subTest(place=place, source=source, number=i, result=result):
                    ran = future.result()
                    self.assertEqual((ran.code, ran.error), (0, ""), ran)
                    self.assertFalse(holds_the_picture(ran.result.read_bytes()))


if __name__ == "__main__":
    unittest.main()
