"""pymollify.torch, without a GPU. What needs one is gpu/check.py."""
import os
import subprocess
from pathlib import Path


def test_on_the_processor():
    script = Path(__file__).parent / "torch_cases.py"
    run = subprocess.run(["/usr/bin/python3", str(script)], env=dict(os.environ), capture_output=True, text=True)
    assert run.returncode == 0 and "all as they should be" in run.stdout, run.stdout + run.stderr
