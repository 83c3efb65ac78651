"""What needs a GPU of NVIDIA: compares blurs of arrays on it with the processor's, and measures what a call costs.

    python3 check.py             all of it, in a minute or two; fails where anything is wrong
    python3 check.py SECTION...  some of it

It needs Torch 2.4 or newer, and takes CuPy, Numba, JAX and torchvision where they are.
"""
import importlib.util
import os
import random
import statistics
import sys
import time

import numpy as np
import torch

import pymollify as mollify
import pymollify.torch as blurs

MODES = ("nearest", "reflect", "mirror", "wrap", "constant")
DTYPES = ("uint8", "uint16", "float16", "float32")
SECTIONS = {}
failures = []
table = []


def section(function):
    SECTIONS[function.__name__] = function
    return function


def check(what, ok, text=""):
    if not ok:
        failures.append(f"{what}: {text}")


class TorchKind:
    name = "Torch"

    def on_gpu(self, array):
        return torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def to_host(self, array):
        return array.cpu().numpy()

    empty_like = staticmethod(torch.empty_like)
    kind = torch.Tensor


class WithoutTable(torch.Tensor):
    """As before Torch 2.10, whose tensors have DLPack's table of C functions."""
    __dlpack_c_exchange_api__ = None


class DLPackKind(TorchKind):
    name = "Torch by __dlpack__"
    kind = WithoutTable

    def on_gpu(self, array):
        return super().on_gpu(array).as_subclass(WithoutTable)

    def to_host(self, array):
        return array.as_subclass(torch.Tensor).cpu().numpy()


def cupy_kind():
    import cupy

    class CuPyKind:
        name = "CuPy"
        on_gpu = staticmethod(cupy.asarray)
        to_host = staticmethod(cupy.asnumpy)
        empty_like = staticmethod(cupy.empty_like)
        kind = cupy.ndarray

    return CuPyKind()


def numba_kind():
    from numba import cuda

    class NumbaKind:
        name = "Numba"
        on_gpu = staticmethod(cuda.to_device)
        empty_like = staticmethod(cuda.device_array_like)
        kind = cuda.devicearray.DeviceNDArray

        def to_host(self, array):
            return array.copy_to_host()

    return NumbaKind()


def jax_kind():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    class JaxKind:
        name = "JAX"
        on_gpu = staticmethod(jax.numpy.asarray)
        to_host = staticmethod(np.asarray)
        kind = jax.Array

    return JaxKind()


def kinds():
    out = [TorchKind(), DLPackKind()]
    for name, make in (("cupy", cupy_kind), ("numba", numba_kind), ("jax", jax_kind)):
        if importlib.util.find_spec(name):
            try:
                out.append(make())
            except Exception as error:  # a library that is there but does not run
                table.append((name, "skipped", repr(error)[:90]))
    return out


def random_array(choice, shape, dtype):
    generator = np.random.default_rng(choice.randrange(1 << 30))
    if np.dtype(dtype).kind == "u":
        return generator.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)
    return (generator.random(shape, dtype=np.float32) * 2 - 1).astype(dtype)


def random_blur(choice, axes, dtype, channels=None, **arguments):
    arguments["mode"] = choice.choice(MODES)
    if arguments["mode"] == "constant":
        arguments["cval"] = choice.choice((0, 7)) if np.dtype(dtype).kind == "u" else choice.choice((0.0, 0.25))
    count = len(axes)
    name = choice.choice(("gaussian", "gaussian", "box", "tent", "separable", "cut", "convolve"))
    if name == "gaussian":
        return mollify.Blur.gaussian([choice.uniform(0.0, 6.0) for _ in axes], axes=axes, **arguments)
    if name == "cut":
        return mollify.Blur.gaussian(choice.uniform(0.3, 4.0), radius=choice.randint(0, 9), axes=axes, **arguments)
    if name == "box":
        return mollify.Blur.box([choice.choice((1, 2.5, 7, 20)) for _ in axes], axes=axes, **arguments)
    if name == "tent":
        return mollify.Blur.tent(choice.choice((1, 3.5)), axes=axes, **arguments)
    if name == "separable" or count != 2 or channels == 5:  # a matrix takes axes that lie closest
        return mollify.Blur.separable([1.0, 2.0, 4.0, 1.0], normalize=True, axes=axes, **arguments)
    return mollify.Blur.convolve(np.random.default_rng(1).random((3, 5)), normalize=True, axes=axes, **arguments)


def largest_difference(blur, array, ours, theirs):
    """The largest difference over the one that is allowed."""
    errors = sum(mollify.plan(blur, a).error for a in (array[0], array[1]))
    host, result = theirs.astype(np.float64), ours.astype(np.float64)
    if theirs.dtype.kind == "u":
        allowed = 1.0 + int(errors)  # of two rounded numbers
    else:
        largest = max(1.0, np.abs(array[0].astype(np.float64)).max())
        step = 2.0**-11 if theirs.dtype == np.float16 else 2.0**-24
        allowed = largest * (errors + 2.0 * step)
    return np.abs(host - result).max() / allowed


SHAPES = [  # shape, axes, channel_axis
    ((33, 47), (0, 1), None), ((64, 64), (0, 1), None), ((5, 40, 41), (-2, -1), None), ((2, 3, 37, 29), (-2, -1), None),
    ((50, 60, 3), (0, 1), -1), ((4, 31, 64, 4), (1, 2), -1), ((21, 22, 2), (0, 1), -1), ((17, 18, 5), (0, 1), -1), ((300,), (0,), None),
    ((30, 7), (0,), None), ((12, 13, 14), (0, 1, 2), None), ((2, 9, 10, 11), (1, 2, 3), None), ((1, 1), (0, 1), None),
    ((1, 70), (0, 1), None)]


@section
def agreement():
    """Every kind of array, number and border, against NumPy arrays on the processor."""
    choice = random.Random(2)
    for kind in kinds():
        for dtype in DTYPES:
            cases, worst = 0, 0.0
            for shape, axes, channel_axis in SHAPES:
                for _ in range(4):
                    array = random_array(choice, shape, dtype)
                    blur = random_blur(choice, axes, dtype, shape[-1], channel_axis=channel_axis)
                    on_gpu = kind.on_gpu(array)
                    result = blur(on_gpu)
                    what = f"{kind.name} {dtype} {shape} {blur}"
                    check(what, isinstance(result, kind.kind), type(result))
                    ours = kind.to_host(result)
                    check(what, ours.dtype == array.dtype and ours.shape == array.shape, f"{ours.dtype} {ours.shape}")
                    ratio = largest_difference(blur, (array, on_gpu), ours, blur(array))
                    check(what, ratio <= 1.0, f"differs by {ratio:.2f} of what is allowed")
                    cases, worst = cases + 1, max(worst, ratio)
            table.append((f"{kind.name} {dtype}", f"{cases} cases", f"at most {worst:.2f} of the allowed difference"))


def views(kind, choice, dtype):
    """Arrays with strides: those that are taken as they lie, and those that are copied."""
    base = random_array(choice, (4, 6, 40, 50), dtype)
    cuts = {"rows": np.s_[:, :, 3:30], "columns": np.s_[..., 5:41], "channels": np.s_[:, ::2], "first": np.s_[:, 1],
            "steps": np.s_[..., ::2], "images": np.s_[1:3, 2]}
    if kind.name != "Torch":
        cuts |= {"up": np.s_[:, :, ::-1], "left": np.s_[..., ::-1]}
    out = {name: (base[cut], kind.on_gpu(base)[cut]) for name, cut in cuts.items()}
    if kind.name == "Torch":
        tensor = kind.on_gpu(base)
        out["channels last"] = (base, tensor.contiguous(memory_format=torch.channels_last))
        out["three channels last"] = (base[:, :3], kind.on_gpu(base[:, :3]).contiguous(memory_format=torch.channels_last))
        out["transposed"] = (base.swapaxes(-1, -2), tensor.transpose(-1, -2))
        out["expanded"] = (np.broadcast_to(base[:, :1], (4, 5, 40, 50)), tensor[:, :1].expand(4, 5, 40, 50))
    else:
        out["transposed"] = (base.swapaxes(-1, -2), kind.on_gpu(base).swapaxes(-1, -2))
    return out


@section
def colours():
    """Alpha and linear light."""
    choice = random.Random(6)
    kind = TorchKind()
    for dtype in DTYPES:
        worst = 0.0
        for case in range(24):
            channels = choice.choice((2, 4))
            array = np.abs(random_array(choice, (2, 30, 33, channels), dtype)) if dtype.startswith("f") else random_array(
                choice, (2, 30, 33, channels), dtype)
            blur = mollify.Blur.gaussian(choice.uniform(0.5, 5.0), axes=(1, 2), channel_axis=-1, mode=choice.choice(MODES),
                                         alpha=case % 3 != 0, srgb=case % 3 != 1)
            on_gpu = kind.on_gpu(array)
            ratio = largest_difference(blur, (array, on_gpu), kind.to_host(blur(on_gpu)), blur(array))
            check(f"colours {dtype} {blur}", ratio <= 1.0, f"{ratio:.2f} of what is allowed")
            worst = max(worst, ratio)
        table.append((f"colours {dtype}", "24 cases", f"at most {worst:.2f} of the allowed difference"))
    many = torch.rand(70000, 1, 4, 5, device="cuda")
    found = mollify.box(many, 1, axes=(-2, -1)).cpu().numpy()
    check("70000 images", np.abs(found - mollify.box(many.cpu().numpy(), 1, axes=(-2, -1))).max() < 1e-5)


@section
def numbers():
    """bool, signed integers and bfloat16, also with strides and out=, against the processor."""
    cases = 0
    generator = np.random.default_rng(15)
    for name in ("bool", "int8", "int16", "bfloat16"):
        for shape in ((4, 3, 30, 41), (20, 1, 7, 5)):
            low, high = (0, 2) if name == "bool" else (-128, 128)
            base = generator.random(shape) * 2 - 1 if name == "bfloat16" else generator.integers(low, high, shape)
            tensor = torch.from_numpy(base).to(getattr(torch, name))
            for one in (tensor, tensor.transpose(-1, -2), tensor[:, :, 1:, ::2], tensor.contiguous(memory_format=torch.channels_last)):
                for blur in (mollify.Blur.gaussian(1.7, axes=(-2, -1)), mollify.Blur.box(3, axes=(-2, -1)),
                             mollify.Blur.unsharp(2.0, 0.5, axes=(-2, -1))):
                    wanted = blur(one.contiguous()) if name != "bfloat16" else blur(one.float().contiguous())
                    other = torch.zeros((*shape[:2], one.shape[2], 2 * one.shape[3]), dtype=tensor.dtype, device="cuda")
                    for found in (blur(one.cuda()), blur(one.cuda(), out=other[..., ::2])):
                        check(f"numbers {name}", found.dtype == tensor.dtype and found.shape == one.shape, found.dtype)
                        difference = (found.cpu().double() - wanted.double()).abs().max().item()
                        allowed = 2.0**-7 if name == "bfloat16" else 1.0
                        check(f"numbers {name} {tuple(one.shape)} {blur}", difference <= allowed, difference)
                        cases += 1
    table.append(("bool, int8, int16, bfloat16", f"{cases} cases", "as on the processor"))


@section
def auto():
    """device="auto" beside the processor and the GPU, in turns, arrays in host memory; the ratio to the better one."""
    ratios = []
    for shape, dtype, channel_axis in (((4096, 4096, 4), "uint8", -1), ((4096, 4096), "float32", None), ((2048, 2048, 3), "uint16", -1),
                                       ((512, 512, 4), "float32", -1), ((128, 128), "uint8", None), ((64, 3, 224, 224), "float32", None)):
        axes = (-2, -1) if len(shape) == 4 else (0, 1)
        array = random_array(random.Random(9), shape, dtype)
        out = np.empty_like(array)
        for name, one in (("gaussian", (1.0,)), ("gaussian", (8.0,)), ("gaussian", (40.0,)), ("box", (20,)), ("tent", (30,))):
            blurs_on = {device: getattr(mollify.Blur, name)(*one, axes=axes, channel_axis=channel_axis, device=device)
                        for device in ("cpu", "cuda:0", "auto")}
            text = str(mollify.plan(blurs_on["auto"], array))
            times = {device: [] for device in blurs_on}
            for _ in range(12):
                for device, blur in blurs_on.items():
                    started = time.perf_counter()
                    blur(array, out=out)
                    times[device].append(time.perf_counter() - started)
            seconds = {device: statistics.median(each[2:]) for device, each in times.items()}
            ratio = seconds["auto"] / min(seconds["cpu"], seconds["cuda:0"])
            ratios.append(ratio)
            if ratio > 1.3:
                times = ", ".join(f"{device} {t * 1e3:.2f} ms" for device, t in seconds.items())
                table.append(("auto, slower", f"{shape} {dtype} {name}{one}: {times}", text.splitlines()[0]))
    table.append(("auto", f"{len(ratios)} cases on {os.cpu_count()} processors",
                  f"{max(ratios):.2f} times the better one at most, {statistics.median(ratios):.2f} in the median"))


@section
def kornia():
    """pymollify.compat.kornia on the GPU, against the processor's."""
    from pymollify.compat import kornia as compat
    torch.manual_seed(5)
    sigmas = torch.tensor([[1.0, 2.0], [0.5, 0.5], [3.0, 3.0]])
    calls = [lambda x: compat.gaussian_blur2d(x, (9, 5), (1.5, 2.0)), lambda x: compat.gaussian_blur2d(x, 9, sigmas, "circular"),
             lambda x: compat.gaussian_blur2d(x, 9, sigmas[:, :1].expand(-1, 2), exact=True),
             lambda x: compat.box_blur(x, (4, 7), "constant"),
             lambda x: compat.box_blur(x, 5, "replicate"), lambda x: compat.filter2d(x, torch.rand(3, 4, 5, generator=seeded())),
             lambda x: compat.filter2d(x, torch.rand(1, 1, 5, generator=seeded()), normalized=True, padding="valid"),
             lambda x: compat.filter2d_separable(x, torch.rand(1, 5, generator=seeded()), torch.rand(3, 4, generator=seeded())),
             lambda x: compat.unsharp_mask(x, 7, (1.5, 1.5))]
    for dtype, allowed in ((torch.float32, 1e-4), (torch.float16, 2e-2)):
        for i, call in enumerate(calls):
            x = torch.rand(3, 2, 30, 41, dtype=torch.float32).to(dtype)
            found, wanted = call(x.cuda()), call(x)
            check(f"kornia {i}", found.is_cuda and found.dtype == dtype and found.shape == wanted.shape, found.shape)
            difference = (found.cpu().double() - wanted.double()).abs().max().item() / max(1.0, wanted.abs().max().item())
            check(f"kornia {i} {dtype}", difference <= allowed, difference)
    table.append(("compat.kornia", f"{2 * len(calls)} cases", "as on the processor"))


def seeded():
    return torch.Generator().manual_seed(7)


@section
def known():
    """Masks, NaN that is skipped, and sharpening, against the processor."""
    choice = random.Random(14)
    generator = np.random.default_rng(14)
    allowed = {"uint8": 1.0, "uint16": 50.0, "float16": 1e-2, "float32": 1e-3}  # where few neighbours are known
    for kind in kinds():
        cases, worst = 0, 0.0
        for dtype in DTYPES:
            for shape, axes, channel_axis in SHAPES[:10]:
                arguments = {"axes": axes, "channel_axis": channel_axis, "mode": choice.choice(MODES)}
                blur = choice.choice((mollify.Blur.gaussian(choice.uniform(0.5, 12.0), **arguments), mollify.Blur.box(2, **arguments)))
                sharp = mollify.Blur.unsharp(choice.uniform(0.5, 12.0), choice.choice((-0.5, 1.5)), **arguments)
                array = random_array(choice, shape, dtype)
                some = generator.random(shape) < 0.7
                runs = [(blur, array, some), (blur, array, (some * generator.random(shape)).astype(np.float32)), (sharp, array, None)]
                if dtype.startswith("f"):
                    skips = mollify.Blur.gaussian(2.0, nan="skip", **arguments)
                    runs += [(skips, np.where(some, array, np.nan).astype(dtype), None)]
                for one, image, mask in runs:
                    found = kind.to_host(one(kind.on_gpu(image), mask=None if mask is None else kind.on_gpu(mask)))
                    wanted = one(image, mask=mask)
                    what = f"known {kind.name} {dtype} {shape} {one}"
                    check(what, np.array_equal(np.isnan(found), np.isnan(wanted)), "NaN elsewhere")
                    difference = np.nan_to_num(np.abs(found.astype(float) - wanted.astype(float))).max()
                    check(what, difference <= allowed[dtype], f"differs by {difference}")
                    cases, worst = cases + 1, max(worst, difference / allowed[dtype])
        table.append((f"masks, NaN, sharpening, {kind.name}", f"{cases} cases", f"at most {worst:.2f} of the allowed difference"))
    image, mask = torch.rand(64, 64, device="cuda"), torch.rand(64, 64, device="cuda") < 0.5
    wanted = mollify.gaussian(image, 2.0, mask=mask)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = mollify.gaussian(image, 2.0, mask=mask)
    graph.replay()
    check("mask in a graph", torch.equal(found, wanted))


@section
def each():
    """A sigma for each image: values, what a call costs, and that graphs refuse it."""
    choice = random.Random(12)
    for kind in kinds():
        worst, cases = 0.0, 0
        for dtype in DTYPES:
            for shape, arguments in (((9, 3, 37, 29), {"axes": (-2, -1)}), ((9, 30, 33, 3), {"channel_axis": -1}), ((9, 224, 224), {})):
                array = random_array(choice, shape, dtype)
                most = 20.0 if kind.name != "JAX" else 3.0
                sigmas = [0.0, 0.1, 2.0, 2.0, most] + [choice.uniform(0.1, 3.0) for _ in range(4)]
                mode = choice.choice(MODES)
                on_gpu = kind.on_gpu(array)
                found = kind.to_host(mollify.gaussian_each(on_gpu, sigmas, mode=mode, **arguments))
                wanted = mollify.gaussian_each(array, sigmas, mode=mode, **arguments)
                one = mollify.Blur.gaussian(2.0, axes=arguments.get("axes", (1, 2)), channel_axis=arguments.get("channel_axis"))
                ratio = largest_difference(one, (array, on_gpu), found, wanted)
                check(f"each {kind.name} {dtype} {shape} {sigmas} {mode}", ratio <= 1.0, f"differs by {ratio:.2f} of what is allowed")
                worst, cases = max(worst, ratio), cases + 1
        table.append((f"a sigma for each image, {kind.name}", f"{cases} cases", f"at most {worst:.2f} of the allowed difference"))
    batch = torch.rand(256, 3, 224, 224, device="cuda")
    out = torch.empty_like(batch)
    sigmas = np.random.default_rng(3).uniform(0.1, 2.0, (8, 256))

    def milliseconds(work):
        times = []
        for i in range(20):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(20_000_000)  # the host is ahead of the device
            start.record()
            work(i)
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end))
        return statistics.median(times[4:])

    all_two = milliseconds(lambda i: mollify.gaussian(batch, 2.0, axes=(-2, -1), out=out))
    own = milliseconds(lambda i: mollify.gaussian_each(batch, sigmas[i % 8], axes=(-2, -1), out=out))
    same = milliseconds(lambda i: mollify.gaussian_each(batch, [2.0] * 256, axes=(-2, -1), out=out))
    started = time.perf_counter()
    for i in range(8):
        mollify.gaussian_each(batch, sigmas[i], axes=(-2, -1), out=out)
    call = (time.perf_counter() - started) / 8
    torch.cuda.synchronize()
    table.append(("256x3x224x224 float32", f"sigma 2 for all {all_two:.3f} ms, 0.1 to 2 for each {own:.3f} ms, 2 for each {same:.3f} ms",
                  f"ratio {own / all_two:.2f}; the call takes {call * 1e3:.2f} ms of the host"))
    x = torch.rand(4, 2, 30, 31, device="cuda", requires_grad=True)
    y = torch.rand_like(x)
    for mode in MODES:
        result = blurs.gaussian_blur(x, sigmas=[0.5, 1.0, 2.0, 7.0], mode=mode)
        (gradient,) = torch.autograd.grad(result, x, y)
        difference = (abs((result.double() * y).sum() - (x.double() * gradient).sum()) / y.double().sum()).item()
        check(f"each, gradient {mode}", difference < 4e-5, difference)
    some = [0.1 + i / 128 for i in range(256)]
    wanted = mollify.gaussian_each(batch, some, axes=(-2, -1))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        mollify.gaussian_each(batch, some, axes=(-2, -1), out=out)
    some.clear()
    for _ in range(2):
        out.zero_()
        graph.replay()
        check("each in a graph", torch.equal(out, wanted), float((out - wanted).abs().max()))
    try:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            mollify.gaussian_each(batch, torch.ones(256, device="cuda"), axes=(-2, -1), out=out)
        check("sigmas on the GPU in a graph", False, "was not refused")
    except RuntimeError as error:
        check("sigmas on the GPU in a graph", "graph is being captured" in str(error), error)


@section
def strides():
    """What is not in one piece, also as Torch's channels_last."""
    choice = random.Random(3)
    for kind in kinds():
        if kind.name not in ("Torch", "CuPy"):
            continue
        cases, copies = 0, []
        for dtype in DTYPES:
            for name, (array, on_gpu) in views(kind, choice, dtype).items():
                blur = random_blur(choice, (-2, -1), dtype)
                result = blur(on_gpu)
                ratio = largest_difference(blur, (array, on_gpu), kind.to_host(result), blur(array))
                check(f"{kind.name} {dtype} {name} {blur}", ratio <= 1.0, f"{ratio:.2f} of what is allowed")
                cases += 1
                if "copy into another order" in str(mollify.plan(blur, on_gpu)) and name not in copies:
                    copies.append(name)
                if kind.name == "Torch" and name.endswith("last"):
                    check(f"{name}", result.is_contiguous(memory_format=torch.channels_last), result.stride())
        table.append((f"{kind.name}, strides", f"{cases} cases", "copied first: " + ", ".join(copies)))


@section
def results():
    """out=, also the image itself, also with strides and overlaps."""
    choice = random.Random(4)
    for kind in kinds():
        if kind.name == "JAX":
            continue
        cases = 0
        for dtype in DTYPES:
            array = random_array(choice, (3, 40, 50), dtype)
            blur = random_blur(choice, (-2, -1), dtype)
            wanted = kind.to_host(blur(kind.on_gpu(array)))

            def same(what, found):
                check(f"{kind.name} {dtype} {what} {blur}", np.array_equal(found, wanted), "not the same bits")

            image = kind.on_gpu(array)
            out = kind.empty_like(image)
            check(f"{kind.name} out", blur(image, out=out) is out)
            same("out", kind.to_host(out))
            blur(image, out=image)
            same("in place", kind.to_host(image))
            cases += 2
            if kind.name not in ("Torch", "CuPy"):
                continue
            larger = kind.on_gpu(np.concatenate([array, array]))
            blur(larger[:3], out=larger[2:5])
            same("overlapping", kind.to_host(larger[2:5]))
            other = kind.on_gpu(np.zeros((3, 40, 100), dtype))
            blur(kind.on_gpu(array), out=other[..., ::2])
            same("every second column", kind.to_host(other[..., ::2]))
            other = kind.on_gpu(np.zeros((3, 80, 50), dtype))
            blur(kind.on_gpu(array), out=other[:, ::2])
            same("every second row", kind.to_host(other[:, ::2]))
            cases += 3
        table.append((f"{kind.name}, out=", f"{cases} cases", "the bits of a new array"))


@section
def streams():
    """A blur runs in its library's stream, after what is there already, and the call does not wait for it."""
    image = torch.zeros(4, 256, 256, device="cuda")
    blur = mollify.Blur.gaussian(2.0, axes=(-2, -1))
    mollify.Blur.gaussian(2.0, axes=(-2, -1))(image)
    torch.cuda.synchronize()
    for name in ("current", "argument", "number"):
        side = torch.cuda.Stream()
        for wide in (False, True):
            one = mollify.Blur.gaussian(50.0 if wide else 2.0, axes=(-2, -1))
            image.zero_()
            one(image)
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(200_000_000)  # a tenth of a second
                image.fill_(1.0)
            started = time.perf_counter()
            if name == "current":
                with torch.cuda.stream(side):
                    result = one(image)
            else:
                result = one(image, stream=side if name == "argument" else side.cuda_stream)
            seconds = time.perf_counter() - started
            busy = not side.query()
            side.synchronize()
            check(f"stream {name}", abs(result.mean().item() - 1.0) < 1e-4, "did not run after the stream's work")
            check(f"stream {name}", busy and seconds < 0.05, f"the call took {seconds:.3f} s: it waited")
    torch.cuda._sleep(200_000_000)
    started = time.perf_counter()
    mollify.gaussian(image, 2.34375, axes=(-2, -1))
    seconds = time.perf_counter() - started
    check("a new blur", not torch.cuda.current_stream().query() and seconds < 0.05, f"preparing took {seconds:.3f} s: it waited")
    torch.cuda.synchronize()
    if importlib.util.find_spec("cupy"):
        import cupy
        image = cupy.zeros((256, 256), cupy.float32)
        side = cupy.cuda.Stream(non_blocking=True)
        with side:  # what is compiled or allocated once
            image.fill(0.5)
            blur(image)
        side.synchronize()
        with torch.cuda.stream(torch.cuda.ExternalStream(side.ptr)):
            torch.cuda._sleep(200_000_000)
        with side:
            image.fill(1.0)
            result = blur(image)
        busy = not side.done
        side.synchronize()
        check("stream of CuPy", busy and abs(float(result.mean()) - 1.0) < 1e-4, f"busy {busy}")
    table.append(("streams", "Torch: current, argument, number; CuPy", "in order, no call waits"))


@section
def jax():
    """Streams wait for one another both ways, and nothing is freed or overwritten before it has been read."""
    if not importlib.util.find_spec("jax"):
        return
    kind = jax_kind()
    import jax.numpy as jnp
    blur = mollify.Blur.gaussian(40.0, axes=(-2, -1))  # takes memory between its passes, and time
    image = random_array(random.Random(8), (4, 512, 512), "float32")
    x, on_gpu, wanted = kind.on_gpu(image), kind.on_gpu(image), image
    for _ in range(30):
        other = jnp.full_like(x, jnp.nan)  # what takes memory that is free
        x = jnp.sin(blur(x * 2.0)) * 0.25 + on_gpu * 0.5
        del other
    for _ in range(30):
        wanted = np.sin(blur(wanted * np.float32(2.0))) * np.float32(0.25) + image * np.float32(0.5)
    difference = np.abs(kind.to_host(x) - wanted).max()
    check("JAX in turns", difference < 1e-3, difference)
    try:
        blur(x, out=x)
        check("JAX out", False, "not refused")
    except TypeError as error:
        check("JAX out", "out" in str(error), error)
    table.append(("JAX, 30 blurs in turns with its own work", f"differs by {difference:.1e}", ""))


@section
def devices():
    """Arrays on each GPU, while another one is the current one."""
    array = random_array(random.Random(7), (3, 40, 50), "float32")
    count = torch.cuda.device_count()
    for sigma in (2.0, 40.0):
        blur = mollify.Blur.gaussian(sigma, axes=(-2, -1))
        wanted = blur(array)
        for device in range(count):
            image = torch.from_numpy(array).to(f"cuda:{device}")
            torch.cuda.set_device((device + 1) % count)
            side = torch.cuda.Stream(device)
            for result in (blur(image), blur(image, out=torch.empty_like(image)), blur(image, stream=side), blur(image[..., ::2])):
                side.synchronize()
                check(f"Torch on {device}", result.device == image.device, result.device)
                same = wanted if result.shape == wanted.shape else blur(array[..., ::2])
                check(f"Torch on {device}", np.abs(result.cpu().numpy() - same).max() < 5e-5, "not the same")
            if importlib.util.find_spec("cupy"):
                import cupy
                with cupy.cuda.Device(device):
                    image = cupy.asarray(array)
                with cupy.cuda.Device((device + 1) % count):
                    result = blur(image)
                check(f"CuPy on {device}", result.device.id == device, result.device)
                with cupy.cuda.Device(device):
                    check(f"CuPy on {device}", np.abs(cupy.asnumpy(result) - wanted).max() < 5e-5, "not the same")
    torch.cuda.set_device(0)
    table.append(("devices", f"{count}", "while another one is current"))


@section
def graphs():
    """A captured blur runs again on other pixels, also after the cache has been cleared."""
    image = torch.rand(3, 200, 210, device="cuda")
    for sigma in (1.5, 40.0):
        blur = mollify.Blur.gaussian(sigma, axes=(-2, -1))
        blur(image)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = blur(image)
        for again in range(3):
            image.copy_(torch.rand_like(image))
            if again == 2:
                mollify.clear_cache()
                for other in range(200):  # what takes freed memory
                    mollify.gaussian(image, 0.5 + other / 50, axes=(-2, -1))
            graph.replay()
            torch.cuda.synchronize()
            check(f"graph of sigma {sigma}", torch.equal(result, blur(image)), f"replay {again} differs")
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            mollify.gaussian(image, 3.125, axes=(-2, -1))
        check("graph of a new blur", False, "not refused")
    except RuntimeError as error:
        check("graph of a new blur", "captured" in str(error), error)
    table.append(("graphs", "sigma 1.5 and 40", "replays have the bits of calls"))


@section
def operators():
    """pymollify.torch as Torch's own operators are: opcheck, torch.compile, graphs, autocast, formats of memory, numbers."""
    arguments = ([2.0, 1.0], None, ["mirror", "nearest"], 0.0, None)
    for device in ("cpu", "cuda"):
        for needs_gradient in (False, True):
            image = torch.rand(2, 3, 24, 25, device=device, requires_grad=needs_gradient)
            for kernel in ("gaussian", "box"):
                tests = torch.library.opcheck(torch.ops.pymollify.blur.default, (image, kernel, *arguments))
                check(f"opcheck {device} {kernel}", all(result == "SUCCESS" for result in tests.values()), tests)
    image = torch.rand(2, 3, 64, 65, device="cuda", requires_grad=True)

    def loss(x, sigma):
        return (blurs.gaussian_blur(torch.sin(x), sigma, mode="mirror") + blurs.box_blur(x, 1.5)).square().sum()

    for mode in (None, "reduce-overhead"):
        compiled = torch.compile(loss, fullgraph=True, mode=mode)
        for sigma in (1.5, 2.5):
            (wanted,) = torch.autograd.grad(loss(image, sigma), image)
            for _ in range(3):
                (found,) = torch.autograd.grad(compiled(image, sigma), image)
            check(f"compile {mode}", torch.allclose(wanted, found, rtol=1e-4, atol=1e-4), (wanted - found).abs().max())
    for dtype in (torch.uint8, torch.float16, torch.bfloat16, torch.float32):
        image = torch.rand(2, 3, 40, 41, device="cuda").mul(255 if dtype == torch.uint8 else 1).to(dtype)
        with torch.autocast("cuda", dtype=torch.float16):
            result = blurs.gaussian_blur(image, 2.0)
        wanted = mollify.gaussian(image.cpu().float().numpy(), 2.0, axes=(-2, -1))
        difference = abs(result.float().cpu().numpy() - wanted).max()
        allowed = {torch.uint8: 0.63, torch.float16: 1e-3, torch.bfloat16: 5e-3, torch.float32: 5e-5}[dtype]
        check(f"autocast {dtype}", result.dtype == dtype and difference <= allowed, f"{result.dtype}, differs by {difference}")
        image = image.contiguous(memory_format=torch.channels_last)
        check(f"channels last {dtype}", blurs.gaussian_blur(image, 2.0).is_contiguous(memory_format=torch.channels_last))
    table.append(("operators", "opcheck, compile, graphs of compile, autocast, channels_last", "as Torch's own"))


@section
def gradients():
    """<A x, y> = <x, A* y>, with floats on the GPU; and the same checks in float64 on the processor."""
    choice = random.Random(5)
    worst = 0.0
    for _ in range(60):
        shape = [choice.randint(1, 3), choice.randint(1, 90), choice.randint(1, 90)]
        modes = [choice.choice(MODES) for _ in range(2)]
        sigma = [choice.choice((0.0, 0.7, 2.0, 6.0, 25.0)) for _ in range(2)]
        x = torch.rand(shape, device="cuda", requires_grad=True)
        y = torch.rand(shape, device="cuda")
        blur = choice.choice((lambda t: blurs.gaussian_blur(t, sigma, mode=modes),
                              lambda t: blurs.gaussian_blur(t, sigma, truncate=2.5, mode=modes),
                              lambda t: blurs.box_blur(t, [s / 2 for s in sigma], mode=modes)))
        result = blur(x)
        (gradient,) = torch.autograd.grad(result, x, y)
        one, other = (result.double() * y.double()).sum().item(), (x.double() * gradient.double()).sum().item()
        difference = abs(one - other) / y.double().sum().item()
        worst = max(worst, difference)
        check(f"gradient {shape} {modes} {sigma}", difference <= 4e-5, f"{one} is not {other}")
    x = torch.rand(1, 4, 6, dtype=torch.float64, requires_grad=True)
    for mode in MODES:
        check(f"gradcheck {mode}", torch.autograd.gradcheck(lambda t: blurs.gaussian_blur(t, (0.8, 1.7), mode=mode), (x,)))
        check(f"gradgradcheck {mode}", torch.autograd.gradgradcheck(lambda t: blurs.box_blur(t, 1.5, mode=mode), (x,)))
    x = torch.rand(3, 1, 5, 6, dtype=torch.float64)
    wanted = torch.stack([blurs.gaussian_blur(t, 1.0) for t in x])
    check("vmap", torch.allclose(torch.vmap(lambda t: blurs.gaussian_blur(t, 1.0))(x), wanted))
    for t in (x, x.float().cuda()):
        found = torch.func.grad(lambda t: blurs.gaussian_blur(t, 1.0).square().sum())(t)
        leaf = t.clone().requires_grad_()
        (wanted,) = torch.autograd.grad(blurs.gaussian_blur(leaf, 1.0).square().sum(), leaf)
        check("torch.func.grad", torch.allclose(found, wanted))
        each = torch.vmap(torch.func.grad(lambda t: blurs.gaussian_blur(t, 1.0).square().sum()))(t)
        check("torch.vmap of grad", torch.allclose(each, wanted))
    table.append(("gradients", "60 cases", f"|<Ax,y> - <x,A*y>| at most {worst:.1e} of the sum of y"))


@section
def transforms():
    """GaussianBlur among torchvision's transforms, and pymollify.compat on tensors of the GPU."""
    if not importlib.util.find_spec("torchvision"):
        return
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional

    from pymollify.compat import torchvision as compat
    image = tv_tensors.Image(torch.randint(0, 256, (3, 50, 60), dtype=torch.uint8, device="cuda"))
    mask = tv_tensors.Mask(torch.zeros(50, 60, dtype=torch.uint8, device="cuda"))
    pipeline = v2.Compose([v2.RandomHorizontalFlip(1.0), blurs.GaussianBlur((0.5, 2.0)), v2.ToDtype(torch.float32, scale=True)])
    out, label = pipeline({"image": image, "mask": mask}, 3)
    check("v2", label == 3 and type(out["image"]) is tv_tensors.Image and out["image"].dtype == torch.float32, out)
    check("v2", torch.equal(out["mask"], mask) and type(out["mask"]) is tv_tensors.Mask, "the mask is blurred")
    plain, label = pipeline(torch.rand(3, 50, 60, device="cuda"), torch.tensor(1))
    check("v2", label.item() == 1 and plain.shape == (3, 50, 60), plain.shape)
    for dtype, allowed in ((torch.uint8, 1.0), (torch.float32, 4e-5)):
        tensor = torch.rand(2, 3, 50, 60, device="cuda").mul(255 if dtype == torch.uint8 else 1).to(dtype)
        theirs = functional.gaussian_blur(tensor, [5, 9], [1.5, 2.5])
        difference = (compat.gaussian_blur(tensor, [5, 9], [1.5, 2.5]).double() - theirs.double()).abs().max().item()
        check(f"compat.torchvision {dtype}", difference <= allowed, difference)
    table.append(("torchvision", "v2.Compose, compat.torchvision", "images blurred, masks and labels not"))


@section
def refusals():
    """What is not there yet says so."""
    image = torch.zeros(8, 8, device="cuda")
    for kind, text, call in (
            (TypeError, "gradient", lambda: blurs.gaussian_blur(image, torch.ones(1, requires_grad=True))),
            (TypeError, "gradient", lambda: mollify.gaussian(image.clone().requires_grad_(), 1.0)),
            (ValueError, "device", lambda: mollify.gaussian(image, 1.0, device="cuda:1")),
            (TypeError, "out", lambda: mollify.gaussian(image, 1.0, out=image.cpu())),
            (ValueError, "one and the same", lambda: mollify.gaussian(image, 1.0, out=image[:1].expand(8, 8))),
            (TypeError, "stream", lambda: mollify.gaussian(image, 1.0, stream="fast"))):
        try:
            call()
            check(f"refusal of {text}", False, "not refused")
        except kind as error:
            check(f"refusal of {text}", text in str(error), error)
    table.append(("refusals", "6", "with their reasons"))


def microseconds(call, calls=2000):
    for _ in range(50):
        call()
    torch.cuda.synchronize()
    out = []
    for _ in range(7):
        started = time.perf_counter()
        for _ in range(calls // 7):
            call()
        out.append((time.perf_counter() - started) / (calls // 7) * 1e6)
        torch.cuda.synchronize()
    return statistics.median(out)


@section
def overhead():
    """Of one call from Python, with images so small that the GPU is faster than the calls."""
    image = torch.rand(64, 64, device="cuda")
    out = torch.empty_like(image)
    blur = mollify.Blur.gaussian(2.0)
    rows = {"torch.add": lambda: torch.add(image, image), "torch.empty_like": lambda: torch.empty_like(image),
            "gaussian": lambda: mollify.gaussian(image, 2.0), "Blur": lambda: blur(image), "Blur, out=": lambda: blur(image, out=out)}
    if importlib.util.find_spec("cupy"):
        import cupy
        other = cupy.asarray(image.cpu().numpy())
        rows |= {"cupy.add": lambda: cupy.add(other, other), "gaussian, CuPy": lambda: mollify.gaussian(other, 2.0)}
    for name, call in rows.items():
        table.append((f"64x64, {name}", f"{microseconds(call):.2f} us", ""))
    torch.library.define("pymollify_check::clone", "(Tensor image, str kernel, float[] extents, int[]? radii, str[] modes, float cval, "
                         "float? max_error) -> Tensor")
    torch.library.impl("pymollify_check::clone", "cuda")(lambda image, *_: image.clone())
    torch.library.register_autograd("pymollify_check::clone", lambda ctx, gradient: (gradient, *[None] * 6))
    operator = torch.ops.pymollify_check.clone
    needing = image.clone().requires_grad_()
    arguments = ("gaussian", [2.0, 2.0], None, ["nearest", "nearest"], 0.0, None)
    rows = {"an operator that clones": lambda: operator(image, *arguments),
            "pymollify.torch": lambda: blurs.gaussian_blur(image, 2.0),
            "an operator that clones, with a gradient": lambda: operator(needing, *arguments),
            "pymollify.torch, with a gradient": lambda: blurs.gaussian_blur(needing, 2.0)}
    for name, call in rows.items():
        table.append((f"64x64, {name}", f"{microseconds(call):.2f} us", ""))
    for sigma, name in ((0.5, "taps"), (60.0, "a wide blur")):
        started = time.perf_counter()
        for i in range(100):
            mollify.gaussian(image, sigma + i * 1e-4)
        torch.cuda.synchronize()
        table.append((f"64x64, a new sigma, {name}", f"{(time.perf_counter() - started) * 1e4:.0f} us", ""))


def main():
    wanted = sys.argv[1:] or list(SECTIONS)
    for name in wanted:
        print(f"# {name}: {(SECTIONS[name].__doc__ or '').strip()}", flush=True)
        started = time.perf_counter()
        try:
            SECTIONS[name]()
        except Exception as error:
            import traceback
            traceback.print_exc()
            check(name, False, repr(error))
        print(f"# {name}: {time.perf_counter() - started:.1f} s", flush=True)
    versions = [f"{name} {sys.modules[name].__version__}" for name in ("torch", "cupy", "numba", "jax", "torchvision") if name in sys.modules]
    print(f"{torch.cuda.get_device_name()}; pymollify {mollify.__version__}, {', '.join(versions)}")
    width = max(len(row[0]) for row in table)
    for row in table:
        print(f"{row[0]:{width}}  {row[1]}  {row[2]}")
    print(f"{len(failures)} failures")
    for failure in failures[:40]:
        print("FAILED", failure)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
