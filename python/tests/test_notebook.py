"""The notebook runs, and has the pictures of a run in it."""
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs" / "blurring-arrays.ipynb"


def pictures(notebook):
    return [i for i, cell in enumerate(notebook.cells) for out in cell.get("outputs", []) if "image/png" in out.get("data", {})]


def test_the_notebook_runs(tmp_path):
    kept = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(kept)
    fresh = nbformat.from_dict(kept)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    NotebookClient(fresh, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert len(pictures(fresh)) >= 5
    assert pictures(fresh) == pictures(kept)
    assert list(tmp_path.iterdir()) == []
