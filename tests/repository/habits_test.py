"""Files that nothing here runs: the workflow of a hosted CI, templates, and what editors are told. And which headers are slow."""
import os
import re
import subprocess
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md"))


class WorkflowTest(unittest.TestCase):
    def steps(self):
        for path in WORKFLOWS:
            for name, job in yaml.safe_load(path.read_text())["jobs"].items():
                for step in job["steps"]:
                    yield f"{path.name}: {name}", step

    def test_it_says_when_and_where_it_runs(self):
        self.assertTrue(WORKFLOWS)
        for path in WORKFLOWS:
            workflow = yaml.safe_load(path.read_text())
            self.assertTrue(workflow[True], "no event")  # YAML 1.1 reads the key `on` as a truth value
            for name, job in workflow["jobs"].items():
                self.assertIn("runs-on", job, name)
                self.assertGreater(job["timeout-minutes"], 90, name)

    def test_each_step_runs_something(self):
        for where, step in self.steps():
            self.assertEqual(len({"run", "uses"} & set(step)), 1, where)
            if "run" in step:
                subprocess.run(["bash", "-n", "-c", step["run"]], check=True)
            else:
                self.assertRegex(step["uses"], r"^[\w-]+/[\w-]+@v\d+$", where)

    def test_it_calls_scripts_with_options_that_they_have(self):
        called = [call for _, step in self.steps() for call in re.findall(r"(scripts/[\w-]+)((?: --[\w-]+)*)", step.get("run", ""))]
        self.assertIn(("scripts/test", " --all"), called)
        self.assertIn(("scripts/install-deps", " --tests"), called)
        for script, options in called:
            self.assertTrue(os.access(ROOT / script, os.X_OK), script)
            for option in options.split():
                self.assertRegex((ROOT / script).read_text(), rf"(?m)^\s*{option}\)", f"{script} {option}")


class SlowHeadersTest(unittest.TestCase):
    """Headers that take seconds to compile have one source each."""

    ONLY_IN = {"CLI/": "cli/arguments.cpp", "nlohmann/": "src/json/json.cpp"}

    def test_only_one_source_includes_each(self):
        sources = [path for folder in "src include cli bench lab tests examples".split() for path in (ROOT / folder).rglob("*.[ch]*")]
        for header, only in self.ONLY_IN.items():
            including = [str(path.relative_to(ROOT)) for path in sources if f"#include <{header}" in path.read_text(errors="replace")]
            self.assertEqual(including, [only])


class GraphicsCardsTest(unittest.TestCase):
    """What belongs to one graphics card is in src/model."""

    CARDS = re.compile(r"""NVIDIA|GeForce|RTX|Tesla|Hopper|\b[AHBL]\d{2,3}\b|\bAMD\b|Radeon|\bIntel\b|\bArc\b|Adreno|Mali|Apple
                           |llvmpipe|lavapipe|SwiftShader""", re.VERBOSE)
    MULTIPROCESSORS = re.compile(r"\b(132|1056)\b")  # of an H200, and groups of 256 threads that they hold
    SECONDS = re.compile(r"\d[eE]-(0?[678]|1\d)\b")  # as short as launches and steps of groups are

    def test_algorithms_name_no_card_and_no_number_of_one(self):
        found = [f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
                 for path in sorted((ROOT / "src" / "algorithms").rglob("*.[ch]*"))
                 for number, line in enumerate(path.read_text().splitlines(), 1)
                 if any(pattern.search(line) for pattern in (self.CARDS, self.MULTIPROCESSORS, self.SECONDS))]
        self.assertEqual(found, [])


class TemplatesTest(unittest.TestCase):
    def test_issue_templates_have_a_name_and_say_what_for(self):
        self.assertTrue(TEMPLATES)
        for path in TEMPLATES:
            _, front, body = path.read_text().split("---\n", 2)
            self.assertEqual({"name", "about", "labels"}, set(yaml.safe_load(front)), path.name)
            self.assertTrue(body.strip(), path.name)

    def test_what_a_host_looks_for_is_there(self):
        for name in ("README.md", "LICENSE", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", ".github/pull_request_template.md"):
            self.assertTrue((ROOT / name).is_file(), name)


class StyleTest(unittest.TestCase):
    def test_editors_and_clang_format_have_the_same_columns(self):
        columns = re.search(r"max_line_length = (\d+)", (ROOT / ".editorconfig").read_text())[1]
        self.assertEqual(yaml.safe_load((ROOT / ".clang-format").read_text())["ColumnLimit"], int(columns))

    def test_the_changelog_has_the_version_that_is_built(self):
        version = re.search(r"project\(mollify[^)]*VERSION (\d+\.\d+\.\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertIn(version, re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.M))


if __name__ == "__main__":
    unittest.main()
