"""The contract, row by row: for each thing that a file can hold and each pair of formats, what the tool makes of a file with it.

The rows come from mollify_contract_page, so that a row without a test fails. Independent libraries make the files and read the results.
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from tests.files.blurring import blur
from tests.files.contract_rows import colour, metadata, plugins, structure
from tests.files.contract_rows.rows import ENDINGS, File

PROGRAM = os.path.abspath(os.environ.get("MOLLIFY_CONTRACT_PAGE", "build/dev/mollify_contract_page"))
CONTRACT = json.loads(subprocess.run([PROGRAM, "--json"], capture_output=True, text=True, check=True).stdout)["rows"]
ROWS = structure.ROWS | colour.ROWS | metadata.ROWS
# No reader tells how hard a PNG was compressed.
UNTOLD = {("the kind of compression", "PNG")}


def outcome(row, source, result):
    return row["same" if source == result else "other"][result]


def exiftool(folder):
    """The tags of each file of a folder, by its name."""
    done = subprocess.run(["exiftool", "-json", "-n", "-a", "-u", "-G1", "-q", folder], capture_output=True, text=True)
    return {pathlib.Path(tags["SourceFile"]).name: tags for tags in json.loads(done.stdout or "[]")}


class ContractTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.sources, cls.done = {}, {}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for number, row in enumerate(CONTRACT):
                makers = ROWS[row["name"]].sources if row["name"] in ROWS else {}
                for source, make in (makers | plugins.SOURCES.get(row["name"], {})).items():
                    path = cls.folder / f"{number}_{source}.{(ENDINGS | plugins.ENDINGS)[source]}"
                    path.write_bytes(make())
                    cls.sources[row["name"], source] = path
                    for result, ending in ENDINGS.items():
                        out = cls.folder / f"{number}_{source}_to_{result}.{ending}"
                        cls.done[row["name"], source, result] = pool.submit(blur, path, out, "--gaussian", 1, "--json")
        cls.tags = exiftool(cls.folder)

    def file(self, path, kind, messages=()):
        return File(path, kind, self.tags.get(path.name, {}), list(messages))

    def test_each_row_has_files_of_each_format_that_can_hold_it(self):
        self.assertEqual({row["name"] for row in CONTRACT}, set(ROWS))
        for row in CONTRACT:
            able = {format for format, what in row["same"].items() if what != "absent" and (row["name"], format) not in UNTOLD}
            self.assertEqual(able, set(ROWS[row["name"]].sources), row["name"])

    def test_sources_hold_what_they_are_made_for(self):
        for (name, kind), path in self.sources.items():
            with self.subTest(row=name, source=kind):
                if kind in ENDINGS:
                    self.assertIsNotNone(ROWS[name].read(self.file(path, kind)))

    def test_outcomes(self):
        for row in CONTRACT:
            for source in ROWS[row["name"]].sources:
                for result in ENDINGS:
                    with self.subTest(row=row["name"], source=source, result=result):
                        self.check(row, source, result)

    def test_outcomes_of_what_plug_ins_read(self):
        rows = {row["name"]: row for row in CONTRACT}
        for name, makers in plugins.SOURCES.items():
            for source in makers:
                for result in ENDINGS:
                    with self.subTest(row=name, source=source, result=result):
                        error = self.done[name, source, result].result().error
                        if "is read where the library" in error:
                            self.skipTest(error)
                        self.check(rows[name], source, result)

    def check(self, row, source, result):
        test, done, expected = ROWS[row["name"]], self.done[row["name"], source, result].result(), outcome(row, source, result)
        words = test.words or (row["name"],)
        if test.only_with and done.was_refused:
            self.assertIn(test.only_with, done.error)
            expected = outcome(next(each for each in CONTRACT if each["name"] == test.only_with), source, result)
            self.assertEqual(expected, "refused")
            return
        if expected == "refused":
            self.assertTrue(done.was_refused, done)
            self.assertTrue(any(each in done.error for each in words), done)
            return
        self.assertEqual((done.code, done.error), (0, ""), done)
        messages = json.loads(done.printed)["messages"]
        said = [message for message in messages if any(each in message for each in words)]
        before, after = self.file(self.sources[row["name"], source], source), self.file(done.result, result, messages)
        was, now = test.read(before) if source in ENDINGS else self.held_by_png(row["name"]), test.read(after)
        if expected == "kept":
            self.assertEqual(now, was, messages)
            self.assertFalse([message for message in said if "left out" in message], messages)
        elif expected == "absent":
            self.assertNotEqual(now, was)
        else:
            self.assertTrue(said, f"no message says that it is {expected}: {messages}")
            self.assertNotEqual(now, was)
        if expected == "dropped":
            self.assertIsNone(now)
        if expected == "converted" and test.becomes:
            self.assertTrue(test.becomes(before, after), messages)

    def held_by_png(self, name):
        """Of the files that plug-ins read nobody else tells what is in them. They have what the PNG file of the row has."""
        return ROWS[name].read(self.file(self.sources[name, "PNG"], "PNG"))


if __name__ == "__main__":
    unittest.main()
