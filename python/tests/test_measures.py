"""verify() and bench()."""
import signal
import time

import numpy as np
import pytest

import pymollify as mollify


def test_cases_pass():
    found = mollify.verify(filter="box.any/6*")
    assert found.ok and found.passed > 3 and found.failures == []
    assert repr(found) == f"<Verification: {found.passed} passed, {found.refused} refused, 0 failed>"


def test_a_case_by_its_name():
    assert mollify.verify(case="auto/31x20/rgba8/gaussian:sigma=1.5/clamp").passed == 1
    refused = mollify.verify(case="sep.fused/31x20/r8/matrix:size=2x2,anchor=0x0,weights=1_0_0_1/clamp")
    assert (refused.passed, refused.refused, refused.ok) == (0, 1, False)


def test_what_cannot_be_verified():
    for message, arguments in (("case", {"case": "nothing"}), ("case", {"case": "auto/9x9/r8/box:radius=1/clamp", "full": True}),
                               ("device", {"device": "abacus"})):
        with pytest.raises(ValueError, match=message):
            mollify.verify(**arguments)


def test_an_alarm_ends_verify():
    class Enough(Exception):
        pass

    def enough(*_):
        raise Enough

    former = signal.signal(signal.SIGALRM, enough)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Enough):
            mollify.verify()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_bench_times_what_a_caller_would():
    image = np.random.default_rng().integers(0, 256, (1500, 1600), dtype=np.uint8)
    slow, fast = mollify.Blur.gaussian(20.0, radius=60, max_error=0, threads=1), mollify.Blur.box(3, threads=1)
    begin = time.perf_counter()
    timings = mollify.bench([slow, fast], image, seconds=0.1)
    spent = time.perf_counter() - begin
    assert [timing.blur for timing in timings] == [slow, fast]
    out = np.empty_like(image)
    for timing in timings:
        mine = []
        for _ in range(7):
            begin = time.perf_counter()
            timing.blur(image, out=out)
            mine.append(time.perf_counter() - begin)
        assert min(mine) / 4 < timing.seconds < 4 * max(mine), (timing, mine)
        assert timing.runs >= 9 and timing.spread[0] <= timing.seconds <= timing.spread[1]
        assert timing.algorithm == mollify.plan(timing.blur, image).algorithm
        assert timing.copies == timing.seconds / timing.copy_seconds and timing.copy_seconds < timings[0].seconds
        assert timing.seconds * timing.runs < spent
    assert timings[0].seconds > timings[1].seconds
    assert repr(timings[1]).startswith("<Timing of Blur.box(radius=3.0, threads=1): ")


def test_what_cannot_be_timed():
    image = np.zeros((9, 9), np.uint8)
    blur = mollify.Blur.box(1)
    for message, call in (("blurs", lambda: mollify.bench([], image)), ("image", lambda: mollify.bench(blur, image[:0])),
                          ("seconds", lambda: mollify.bench(blur, image, seconds=-1.0)),
                          ("blurs", lambda: mollify.bench([blur, mollify.Blur.box(1, threads=1)], image))):
        with pytest.raises(ValueError, match=message):
            call()
