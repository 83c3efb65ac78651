"""Ctrl-C ends a long call with KeyboardInterrupt."""
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pymollify as mollify

# Says when the call begins, and what came of it after how many seconds.
PROGRAM = """
import signal, time
import numpy as np
import pymollify as mollify

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

def report(call):
    print("begins", flush=True)
    begin = time.monotonic()
    try:
        call()
        print("ended by itself", time.monotonic() - begin)
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - begin)
    small = np.arange(12.0, dtype=np.float32)
    assert np.isfinite(mollify.gaussian(small, 1.0)).all()

"""
# Each takes ten seconds or more on an idle processor.
LONG_CALLS = {
    "weights of float32": "x = np.ones((8000, 8000), np.float32); report(lambda: mollify.gaussian(x, 500.0, radius=800, threads=1))",
    "sums in float64": "x = np.ones((5000, 5000)); report(lambda: mollify.gaussian(x, 500.0, radius=1500, threads=1))",
    "many images": "x = np.ones((30000, 96, 96), np.uint8); "
                   "report(lambda: mollify.gaussian(x, 60.0, radius=90, axes=(1, 2), max_error=0, threads=1))",
    "with a mask": "x = np.ones((6000, 6000), np.float32); report(lambda: mollify.gaussian(x, 500.0, radius=800, mask=x > 0, threads=1))",
}


@pytest.mark.parametrize("call", LONG_CALLS)
def test_an_interrupt_ends_a_long_call(call):
    with subprocess.Popen([sys.executable, "-c", PROGRAM + LONG_CALLS[call]], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begins\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        signalled = time.monotonic()
        what, seconds = child.stdout.readline().rsplit(" ", 1)
        waited = time.monotonic() - signalled
        assert child.wait() == 0
    assert what == "interrupted" and float(seconds) > 0.4 and waited < 10.0, (seconds, waited)


def test_a_handler_that_does_not_raise_runs_meanwhile_and_changes_nothing():
    image = np.random.default_rng().standard_normal((3000, 3000)).astype(np.float32)
    expected = mollify.gaussian(image, 30.0, max_error=0, threads=1)
    seen = []
    former = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.05)
        result = mollify.gaussian(image, 30.0, max_error=0, threads=1)
        end = time.monotonic()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert np.array_equal(result, expected)
    assert seen and seen[0] < end - 0.05


def test_long_calls_of_other_threads():
    image = np.random.default_rng().standard_normal((2000, 2000)).astype(np.float32)
    expected = mollify.gaussian(image, 30.0, max_error=0)
    results = []
    threads = [threading.Thread(target=lambda: results.append(mollify.gaussian(image, 30.0, max_error=0))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2 and all(np.array_equal(result, expected) for result in results)
