"""The snippets of the documents run, in the order of each page."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["docs/python.md", "docs/coming-from.md", "python/README.md", "README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.S | re.M)
    assert snippets
    names = {"__name__": page}
    for snippet in snippets:
        exec(compile(snippet, page, "exec"), names)
