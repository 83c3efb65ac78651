"""The peers' own tests, against pymollify.compat. peers.toml says which, and which of them may fail and why."""
import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import numpy as np
import pytest
import scipy
from scipy import ndimage

import pymollify as mollify
from pymollify.compat import scipy as ours

HERE = Path(__file__).resolve().parent
DOWNLOADS = HERE.parents[1] / "build" / "peers"
PEERS = tomllib.loads((HERE / "peers.toml").read_text())
REASONS = ("not offered", "the peer is wrong", "dtype refused", "the last bit differs")


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetched(archive, digest):
    """An archive of sources that pip has downloaded, now or earlier."""
    found = [path for path in DOWNLOADS.glob("*.tar.gz") if sha256(path) == digest]
    if found:
        return found[0]
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    requirement = DOWNLOADS / "requirement.txt"
    requirement.write_text(f"{archive} --hash=sha256:{digest}\n")
    name = archive.split("==")[0]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name, "--dest", str(DOWNLOADS),
               "--requirement", str(requirement)]
    environment = dict(os.environ)
    if name == "scikit-image":  # else pip would compile it
        command.append("--no-build-isolation")
        environment["PYTHONPATH"] = str(HERE / "peers" / "backend")
    subprocess.run(command, check=True, env=environment)
    return fetched(archive, digest)


def test_file(peer, folder):
    if "archive" not in peer:
        path = Path(scipy.__file__).parent / peer["file"]
        assert sha256(path) == peer["sha256"]
        return path
    with tarfile.open(fetched(peer["archive"], peer["archive_sha256"])) as archive:
        path = folder / Path(peer["file"]).name
        path.write_bytes(archive.extractfile(peer["file"]).read())
    return path


test_file.__test__ = False


def run_tests(name, folder):
    """What became of each test that calls a function of ours."""
    results = folder / "results.json"
    environment = {**os.environ, "PEER": name, "PEER_RESULTS": str(results),
                   "PYTHONPATH": os.pathsep.join([str(HERE / "peers"), str(Path(mollify.__file__).parents[1])])}
    where = ["--pyargs", "scipy.ndimage.tests.test_filters"] if name == "scipy" else [str(test_file(PEERS[name], folder))]
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "with_pymollify", "-p", "no:cacheprovider", *where]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return json.loads(results.read_text())


def is_excepted(test, exception):
    return test.split("[")[0] == exception["test"] and (not exception["cases"] or any(f"-{case}]" in test for case in exception["cases"]))


@pytest.mark.parametrize("name", PEERS)
def test_the_tests_of_a_peer(name, tmp_path):
    peer = PEERS[name]
    test_file(peer, tmp_path)
    results = run_tests(name, tmp_path)
    failed = [test for test, outcome in results.items() if outcome == "failed"]
    print(f"{name}: {len(results) - len(failed)} of {len(results)} tests pass")
    exceptions = peer.get("exceptions", [])
    assert [test for test in failed if not any(is_excepted(test, exception) for exception in exceptions)] == []
    assert len(results) > 10 and len(failed) <= (1.0 - peer["least"]) * len(results)
    for exception in exceptions:
        assert exception["reason"] in REASONS
        assert any(is_excepted(test, exception) for test in failed), f"{exception['test']} passes and needs no exception"


# Each test that the peer's own tests may fail because the peer is wrong, as a function of the array.
WRONG = {
    "test_gaussian_laplace01": lambda nd, x: nd.gaussian_filter(x, 1.0, [2, 0]),
    "test_gaussian_laplace02": lambda nd, x: nd.gaussian_filter(x, 1.0, [0, 2]),
    "test_generic_laplace01": lambda nd, x: nd.gaussian_filter(x, [1.0, 0.5], [0, 0]),
    "test_gaussian_gradient_magnitude01": lambda nd, x: nd.gaussian_filter(x, 1.0, [1, 0]),
    "test_gaussian_gradient_magnitude02": lambda nd, x: nd.gaussian_filter(x, 1.0, [0, 1]),
    "test_uniform_filter1d_roundoff_errors": lambda nd, x: nd.uniform_filter1d(x, 3),
}


def test_only_the_last_bit_differs():
    image = np.random.default_rng(1).random((30, 40))
    modes = ("reflect", "wrap")
    for together, one in ((lambda: ours.gaussian_filter(image, 1.0, mode=modes), lambda x, a: ours.gaussian_filter1d(x, 1.0, a, mode=modes[a])),
                          (lambda: ours.uniform_filter(image, 5, mode=modes), lambda x, a: ours.uniform_filter1d(x, 5, a, mode=modes[a]))):
        assert abs(together() - one(one(image, 0), 1)).max() <= 4 * 2.0**-53


@pytest.mark.parametrize("exception", [exception for exception in PEERS["scipy"]["exceptions"] if exception["reason"] == "the peer is wrong"],
                         ids=lambda exception: exception["test"])
def test_the_peer_is_wrong(exception):
    """Farther from the result of float64 than ours, on the kind of numbers that its test has."""
    image = np.random.default_rng(1).integers(0, 100, (30, 40))
    blur = WRONG[exception["test"]]
    exact = blur(ndimage, image.astype(float))
    for dtype in exception["cases"] or ["int64"]:
        if np.issubdtype(dtype, np.unsignedinteger):
            exact = np.maximum(exact, 0)
        theirs, mine = (abs(blur(nd, image.astype(dtype)) - exact).max() for nd in (ndimage, ours))
        assert mine < theirs
        if np.issubdtype(dtype, np.integer):
            assert mine <= 0.5 + 0.125
