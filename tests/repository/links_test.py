"""Every link between the documents leads to a file, and to a heading where it names one."""
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def documents():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True, text=True)
    listed = [ROOT / name for name in names.stdout.splitlines()] if names.returncode == 0 else []
    return [path for path in listed if path.exists()] or [path for path in ROOT.rglob("*.md") if "build" not in path.relative_to(ROOT).parts]


def prose(text):
    """The document without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchor(heading):
    """As hosts of repositories make it from a heading."""
    heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def anchors(text):
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", prose(text), flags=re.M)}


def broken_links(path, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            yield f"{path.relative_to(ROOT)}: {target}: there is no such file"
        elif fragment and fragment not in anchors(text if file == path else file.read_text()):
            yield f"{path.relative_to(ROOT)}: {target}: there is no such heading"


class LinksTest(unittest.TestCase):
    def test_links_of_all_documents(self):
        found = documents()
        self.assertGreater(len(found), 20)
        self.assertEqual([line for path in found for line in broken_links(path, path.read_text())], [])

    def test_a_broken_link_is_seen(self):
        page = ROOT / "README.md"
        text = "# What\n[a](#what) [b](CONTRIBUTING.md#style) [c](https://example.org) [d](nothing.md) [e](#where) [f](CONTRIBUTING.md#nothing)"
        self.assertEqual([line.split(": ")[1] for line in broken_links(page, text)], ["nothing.md", "#where", "CONTRIBUTING.md#nothing"])


if __name__ == "__main__":
    unittest.main()
