"""Each deliberate mistake of tests/mutation names a line that is there, once: a sample of them is built, and the others would go stale."""
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "mutation"))
import run  # noqa: E402


class MutantsTest(unittest.TestCase):
    def test_each_pattern_occurs_once(self):
        for backend, mutants in run.MUTANTS.items():
            self.assertTrue(mutants, backend)
            for mutant in mutants:
                with self.subTest(mutant.name):
                    text = (ROOT / mutant.file).read_text()
                    self.assertEqual(text.count(mutant.old), 1, mutant.file)
                    self.assertNotEqual(mutant.old, mutant.new)


if __name__ == "__main__":
    unittest.main()
