"""Many calls: from many threads, in other processes, and without growing."""
import multiprocessing
import resource
import threading
import time

import numpy as np
import pytest

import pymollify as mollify

BLUR = mollify.Blur.gaussian(2.0, channel_axis=-1)


def test_eight_threads_at_once():
    generator = np.random.default_rng(1)
    images = [generator.integers(0, 256, (40 + n % 3, 50, 3), dtype=np.uint8) for n in range(8)]
    expected = [mollify.gaussian(image, 2.0, channel_axis=-1) for image in images]
    wrong = []

    def work(n):
        for k in range(300):
            image = (n + k) % 8
            if not np.array_equal(mollify.gaussian(images[image], 2.0, channel_axis=-1), expected[image]):
                wrong.append((n, k))
            if not np.array_equal(BLUR(images[image], out=np.empty_like(images[image])), expected[image]):
                wrong.append((n, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_other_threads_run_meanwhile():
    image = np.random.default_rng(2).standard_normal((3000, 3000)).astype(np.float32)
    mollify.gaussian(image, 5.0, threads=1)
    is_done = threading.Event()
    blur = threading.Thread(target=lambda: (mollify.gaussian(image, 5.0, radius=90, threads=1), is_done.set()))
    blur.start()
    turns = 0
    while not is_done.is_set():
        turns += 1
        time.sleep(0.0005)
    blur.join()
    assert turns > 10


def test_processes_take_pickled_blurs():
    image = np.random.default_rng(3).integers(0, 256, (30, 20, 3), dtype=np.uint8)
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            results = pool.map_async(BLUR, [image] * 4).get(timeout=60)
        assert all(np.array_equal(result, BLUR(image)) for result in results), method


def resident_bytes():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * resource.getpagesize()


def test_memory_stays_flat_over_many_calls():
    image = np.random.default_rng(4).integers(0, 256, (16, 16), dtype=np.uint8)
    volume = np.zeros((4, 6, 8), np.float32)

    def calls(count):
        for n in range(count):
            mollify.gaussian(image, 1.0)
            if n % 10 == 0:
                BLUR(volume)
                mollify.gaussian(image, 1.0 + n % 40)  # more than are kept
                mollify.gaussian(image, 2.0, out=image[:, ::-1])

    calls(5_000)
    before = resident_bytes()
    calls(100_000)
    assert resident_bytes() - before < 2 << 20


def test_what_is_kept_can_be_freed():
    image = np.zeros((2000, 2000, 5), np.float32)
    mollify.gaussian(image, 1.0, channel_axis=-1)
    before = resident_bytes()
    mollify.clear_cache()
    assert before - resident_bytes() > image.nbytes // 2


def test_the_memory_of_a_large_blur_is_not_kept():
    volume = np.zeros((430, 430, 430), np.uint8)  # float32 between two runs takes 318 MB
    out = np.zeros_like(volume)
    before = resident_bytes()
    mollify.gaussian(volume, 1.0, out=out)
    assert resident_bytes() - before < 100 << 20


def test_a_gpu_keeps_its_memory_while_the_processor_blurs():
    if "vulkan:0" not in [device.name for device in mollify.devices()]:
        pytest.skip("no Vulkan device")
    image = np.zeros((1500, 1500, 4), np.float32)
    out = np.empty_like(image)
    on_gpu, on_cpu = (mollify.Blur.gaussian(2.0, channel_axis=-1, device=device) for device in ("vulkan:0", "cpu"))
    on_cpu(image, out=out)
    on_gpu(image, out=out)
    before = resident_bytes()
    on_cpu(image, out=out)
    assert before - resident_bytes() < image.nbytes // 2
    mollify.clear_cache()
    assert before - resident_bytes() > image.nbytes
