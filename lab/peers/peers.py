"""Blurs of Python libraries, for `mollify lab run --python PYTHON`. Whatever of them is installed takes part.

Speaks JSON lines: a request on stdin, an answer on stdout.
  {"op": "hello", "gpu": false, "threads": 2}   -> {"peers": ["scipy 1.17.0", ...]}
  {"op": "prepare", "peer": NAME, "case": {width, height, component: "u8|u16|f16|f32", channels, kernel, border}}
      -> {"id": 1, "function": "...", "options": {...}, "note": "...", "border": "clamp"} or {"refused": "why"}
  {"op": "run", "id": 1, "src": FILE, "dst": FILE} -> {}      packed rows, interleaved channels
  {"op": "turn", "id": 1} -> {"ns": [...], "copy_ns": [...]}  some runs on noise, where the peer's images are, and on GPUs
                                                              as many copies of the image
  {"op": "forget", "id": 1} -> {}
  and {"error": "..."} where something broke.
"""
import functools
import json
import math
import os
import sys
import time
from typing import NamedTuple

import numpy as np

DTYPES = {"u8": np.uint8, "u16": np.uint16, "f16": np.float16, "f32": np.float32}
TURN_SECONDS = 0.02
ROTATION_BYTES = 256 << 20  # several images in turn, together larger than any cache
MOST_PRODUCTS = 1e11  # of one run: more take seconds


class Refusal(Exception):
    pass


def gaussian_of(case):
    """(sigma x, sigma y, radius x, radius y) with None where the library is to choose the radius."""
    kernel = case["kernel"]
    if kernel["name"] != "gaussian":
        raise Refusal("has no such kernel")
    radius = kernel["radius"] or [None, None]
    return (*kernel["sigma"], *radius)


def box_of(case):
    kernel = case["kernel"]
    if kernel["name"] != "box" or kernel["before"] != kernel["after"] or any(r != int(r) for r in kernel["before"]):
        raise Refusal("has only boxes of whole radii")
    return [int(r) for r in kernel["before"]]


def gaussian_weights(sigma, radius):
    w = np.exp(-0.5 * (np.arange(-radius, radius + 1) / max(sigma, 1e-9)) ** 2)
    return w / w.sum()


def cut_at_four_sigma(sx, sy, rx, ry):
    """(width and height of the kernel, note), for libraries that want to be told a size."""
    if rx is None:
        return (2 * math.ceil(4 * sx) + 1, 2 * math.ceil(4 * sy) + 1), "cut at 4 sigma"
    return (2 * rx + 1, 2 * ry + 1), ""


def unorm_round(values, dtype, library=np):
    """Back to whole numbers, rounded: what an honest use of a float library has to do, so it is timed."""
    if dtype in (np.uint8, np.uint16):
        return library.clip(library.rint(values), 0, np.iinfo(dtype).max).astype(dtype)
    return values.astype(dtype)


# --- Processor ---------------------------------------------------------------------------------------------------------

class Scipy:
    """Interleaved channels, float32 within."""
    module = "scipy"
    gpu = False
    borders = {"clamp": "nearest", "mirror": "mirror", "reflect": "reflect", "wrap": "wrap", "constant": "constant"}

    def __init__(self):
        import scipy
        from scipy import ndimage
        self.name, self.ndimage, self.array = f"scipy {scipy.__version__}", ndimage, np

    def prepare(self, case):
        mode = self.borders[case["border"]]
        dtype = DTYPES[case["component"]]
        within = np.float32
        if case["kernel"]["name"] == "gaussian":
            sx, sy, rx, ry = gaussian_of(case)
            extra = {} if rx is None else {"radius": (ry, rx, 0)}
            note = "cuts the Gaussian at 4 sigma" if rx is None else ""

            def blur(image):
                out = self.ndimage.gaussian_filter(image, (sy, sx, 0), mode=mode, output=within, **extra)
                return unorm_round(out, dtype, self.array)
            return "gaussian_filter", {"output": "float32"}, note, blur
        rx, ry = box_of(case)

        def blur(image):
            out = self.ndimage.uniform_filter(image, (2 * ry + 1, 2 * rx + 1, 1), mode=mode, output=within)
            return unorm_round(out, dtype, self.array)
        return "uniform_filter", {"output": "float32"}, "", blur


class Skimage:
    module = "skimage"
    gpu = False
    borders = {"clamp": "nearest", "mirror": "mirror", "reflect": "reflect", "wrap": "wrap", "constant": "constant"}

    def __init__(self):
        import skimage
        from skimage import filters
        self.name, self.filters = f"scikit-image {skimage.__version__}", filters

    def prepare(self, case):
        sx, sy, rx, _ = gaussian_of(case)
        if case["component"] != "f32":
            raise Refusal("returns floats whatever it is given")
        if rx is not None:
            raise Refusal("takes no radius")
        mode = self.borders[case["border"]]
        return "filters.gaussian", {}, "cuts the Gaussian at 4 sigma", lambda image: self.filters.gaussian(
            image, (sy, sx), mode=mode, channel_axis=2, preserve_range=True)


class Pillow:
    module = "PIL"
    gpu = False
    borders = {"clamp": "clamp"}

    def __init__(self):
        import PIL
        from PIL import Image, ImageFilter
        self.name, self.Image, self.ImageFilter = f"pillow {PIL.__version__}", Image, ImageFilter

    def prepare(self, case):
        if case["component"] != "u8" or case["channels"] == 2:
            raise Refusal("blurs 8-bit images of 1, 3 or 4 channels")
        if case["kernel"]["name"] == "gaussian":
            sx, sy, rx, _ = gaussian_of(case)
            if rx is not None:
                raise Refusal("takes no radius")
            function, note = "GaussianBlur", "3 extended boxes in place of a Gaussian"
            filter_ = self.ImageFilter.GaussianBlur((sx, sy))
        else:
            function, note, filter_ = "BoxBlur", "", self.ImageFilter.BoxBlur(tuple(box_of(case)))
        squeeze = case["channels"] == 1

        def blur(image):
            out = np.asarray(self.Image.fromarray(image[:, :, 0] if squeeze else image).filter(filter_))
            return out[:, :, None] if squeeze else out
        return function, {}, note, blur


class OpenCv:
    module = "cv2"
    gpu = False

    def __init__(self):
        import cv2
        self.name, self.cv2 = f"opencv-python {cv2.__version__}", cv2
        self.borders = {"clamp": cv2.BORDER_REPLICATE, "mirror": cv2.BORDER_REFLECT_101, "reflect": cv2.BORDER_REFLECT,
                        "constant": cv2.BORDER_CONSTANT}

    def prepare(self, case):
        if case["component"] == "f16":
            raise Refusal("does not filter half floats")
        border = self.borders[case["border"]]
        if case["kernel"]["name"] == "gaussian":
            sx, sy, rx, ry = gaussian_of(case)
            size = (0, 0) if rx is None else (2 * rx + 1, 2 * ry + 1)
            note = "cuts the Gaussian itself: about 3 sigma for 8 bits, 4 sigma for others" if rx is None else ""
            return "GaussianBlur", {}, note, lambda image: self.cv2.GaussianBlur(image, size, sx, sigmaY=sy, borderType=border)
        rx, ry = box_of(case)
        return "blur", {}, "", lambda image: self.cv2.blur(image, (2 * rx + 1, 2 * ry + 1), borderType=border)


class PyVips:
    """Lazy: everything is computed when the result is written to memory."""
    module = "pyvips"
    gpu = False
    borders = {"clamp": "clamp"}
    formats = {"u8": "uchar", "u16": "ushort", "f32": "float"}

    def __init__(self):
        import pyvips
        pyvips.cache_set_max(0)  # or the second run would find the first one's result
        self.name = "pyvips " + ".".join(str(pyvips.version(i)) for i in range(3))
        self.pyvips = pyvips

    def prepare(self, case):
        if case["component"] not in self.formats:
            raise Refusal("has no half floats")
        if case["kernel"]["name"] == "gaussian":
            (sx, sy, rx, ry), note = gaussian_of(case), ""
            if (sx, rx) != (sy, ry):
                raise Refusal("has one sigma and one radius for both axes")
            if rx is None:
                function, options = "gaussblur", {"min_ampl": "0.003", "precision": "float"}
                note = "cut where weights fall below 0.003 of the centre's"
                filter_ = lambda image: image.gaussblur(sx, min_ampl=0.003, precision="float")
            else:
                function, options, filter_ = self.convsep(gaussian_weights(sx, rx))
        else:
            rx, ry = box_of(case)
            if rx != ry:
                raise Refusal("is asked for boxes of one radius")
            (function, options, filter_), note = self.convsep(np.full(2 * rx + 1, 1 / (2 * rx + 1))), ""
        format_, dtype = self.formats[case["component"]], DTYPES[case["component"]]
        shape = (case["height"], case["width"], case["channels"])

        def blur(image):
            source = self.pyvips.Image.new_from_memory(image.data, shape[1], shape[0], shape[2], format_)
            out = filter_(source)
            if out.format != format_:
                out = out.rint().cast(format_)
            return np.frombuffer(out.write_to_memory(), dtype).reshape(shape)
        return function, options, note, blur

    def convsep(self, weights):
        row = self.pyvips.Image.new_from_array([list(map(float, weights))])
        return "convsep", {"precision": "float"}, lambda image: image.convsep(row, precision="float")


class KorniaRs:
    module = "kornia_rs"
    gpu = False
    borders = {"clamp": "clamp"}

    def __init__(self):
        import kornia_rs
        from kornia_rs import imgproc
        self.name, self.imgproc = f"kornia-rs {kornia_rs.__version__}", imgproc

    def prepare(self, case):
        if case["component"] != "u8" or case["channels"] == 2:
            raise Refusal("blurs 8-bit images of 1, 3 or 4 channels")
        if case["kernel"]["name"] == "gaussian":
            sx, sy, rx, ry = gaussian_of(case)
            size, note = cut_at_four_sigma(sx, sy, rx, ry)
            return "imgproc.gaussian_blur", {}, note, lambda image: self.imgproc.gaussian_blur(image, size, (sx, sy))
        rx, ry = box_of(case)
        return "imgproc.box_blur", {}, "", lambda image: self.imgproc.box_blur(image, (2 * rx + 1, 2 * ry + 1))


class Torch:
    """Planar channels; two depthwise convolutions with weights computed in float64."""
    module = "torch"
    gpu = False
    borders = {"clamp": "replicate", "mirror": "reflect"}

    def __init__(self, gpu=False):
        import torch
        if gpu and not torch.cuda.is_available():
            raise ImportError("torch sees no GPU")
        self.torch, self.gpu, self.device = torch, gpu, "cuda" if gpu else "cpu"
        self.name = f"torch {torch.__version__}{' cuda' if gpu else ''}"

    def prepare(self, case):
        torch, channels = self.torch, case["channels"]
        if case["component"] == "u16":
            raise Refusal("has no 16-bit unsigned images")
        if case["component"] == "f16" and not self.gpu:
            raise Refusal("half floats are for GPUs")
        if case["kernel"]["name"] == "gaussian":
            sx, sy, rx, ry = gaussian_of(case)
            (width, height), note = cut_at_four_sigma(sx, sy, rx, ry)
            wx, wy = gaussian_weights(sx, width // 2), gaussian_weights(sy, height // 2)
        else:
            rx, ry = box_of(case)
            wx, wy, note = np.full(2 * rx + 1, 1 / (2 * rx + 1)), np.full(2 * ry + 1, 1 / (2 * ry + 1)), ""
        if max(len(wx) // 2 - case["width"], len(wy) // 2 - case["height"]) >= 0:
            raise Refusal("pads by less than the image only")
        within = torch.float16 if case["component"] == "f16" else torch.float32
        as_taps = lambda w, shape: torch.tensor(w, dtype=within, device=self.device).view(shape).repeat(channels, 1, 1, 1)
        kx, ky = as_taps(wx, (1, 1, 1, -1)), as_taps(wy, (1, 1, -1, 1))
        pad = (len(wx) // 2,) * 2 + (len(wy) // 2,) * 2
        mode = self.borders[case["border"]]
        conv, padded = torch.nn.functional.conv2d, torch.nn.functional.pad

        def blur(image):
            out = padded(image.to(within), pad, mode=mode)
            out = conv(conv(out, kx, groups=channels), ky, groups=channels)
            return out.round().clamp(0, 255).to(torch.uint8) if image.dtype == torch.uint8 else out
        return "conv2d", {"layout": "planar", "within": str(within).split(".")[1]}, note, blur

    def put(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))[None].to(self.device)

    def get(self, image):
        return np.ascontiguousarray(image[0].permute(1, 2, 0).cpu().numpy())

    def copy(self, source, destination):
        destination.copy_(source)

    def time(self, run, count):
        if not self.gpu:
            return time_by_host(run, count)
        event = lambda: self.torch.cuda.Event(enable_timing=True)
        events = [(event(), event()) for _ in range(count)]
        for begin, end in events:
            begin.record()
            run()
            end.record()
        self.torch.cuda.synchronize()
        return [begin.elapsed_time(end) * 1e6 for begin, end in events]

    def wait(self):
        if self.gpu:
            self.torch.cuda.synchronize()


class Torchvision(Torch):
    module = "torchvision"
    borders = {"clamp": None, "mirror": None}  # it has one border, whatever it is asked for

    def __init__(self, gpu=False):
        super().__init__(gpu)
        import torchvision
        from torchvision.transforms.v2 import functional
        self.functional = functional
        self.name = f"torchvision {torchvision.__version__}{' cuda' if gpu else ''}"

    def prepare(self, case):
        sx, sy, rx, ry = gaussian_of(case)
        if case["component"] == "u16" or case["component"] == "f16" and not self.gpu:
            raise Refusal("does not blur this format")
        size, _ = cut_at_four_sigma(sx, sy, rx, ry)
        if size[0] // 2 >= case["width"] or size[1] // 2 >= case["height"]:
            raise Refusal("pads by less than the image only")
        size, sigma = list(size), [max(sx, 1e-3), max(sy, 1e-3)]
        products = size[0] * size[1] * case["width"] * case["height"] * case["channels"]
        if products > MOST_PRODUCTS:
            raise Refusal(f"would sum {products:.0e} products, as it convolves in two dimensions")
        return ("gaussian_blur", {"layout": "planar", "border": "mirror"}, "one 2-D convolution; its border is always mirror",
                lambda image: self.functional.gaussian_blur(image, size, sigma))


class Kornia(Torch):
    module = "kornia"
    borders = {"clamp": "replicate", "mirror": "reflect", "wrap": "circular", "constant": "constant"}

    def __init__(self, gpu=False):
        super().__init__(gpu)
        import kornia
        self.filters = kornia.filters
        self.name = f"kornia {kornia.__version__}{' cuda' if gpu else ''}"

    def prepare(self, case):
        if case["component"] == "u16" or case["component"] == "f16" and not self.gpu:
            raise Refusal("does not blur this format")
        mode = self.borders[case["border"]]
        if case["kernel"]["name"] == "gaussian":
            sx, sy, rx, ry = gaussian_of(case)
            (width, height), note = cut_at_four_sigma(sx, sy, rx, ry)
            sigma = (max(sy, 1e-3), max(sx, 1e-3))
            function, filter_ = "gaussian_blur2d", lambda image: self.filters.gaussian_blur2d(image, (height, width), sigma, mode)
        else:
            rx, ry = box_of(case)
            (width, height), note = (2 * rx + 1, 2 * ry + 1), ""
            function, filter_ = "box_blur", lambda image: self.filters.box_blur(image, (height, width), mode)
        if case["border"] in ("clamp", "mirror") and (width // 2 >= case["width"] or height // 2 >= case["height"]):
            raise Refusal("pads by less than the image only")
        torch = self.torch

        def blur(image):
            if image.dtype != torch.uint8:
                return filter_(image)
            return filter_(image.to(torch.float32)).round().clamp(0, 255).to(torch.uint8)
        return f"filters.{function}", {"layout": "planar"}, note, blur


class CvCuda(Torch):
    """Interleaved channels; memory and clock are Torch's, as CV-CUDA blurs arrays of other libraries."""
    module = "cvcuda"
    borders = {"clamp": "REPLICATE", "mirror": "REFLECT101", "reflect": "REFLECT", "wrap": "WRAP", "constant": "CONSTANT"}

    class Image(NamedTuple):
        memory: object  # of Torch
        view: object    # the same memory, as CV-CUDA wants it

    def __init__(self):
        super().__init__(gpu=True)
        import cvcuda
        stream = self.torch.cuda.Stream()
        self.torch.cuda.set_stream(stream)  # of all of Torch's peers, so that its events stand in the stream that blurs
        self.cvcuda, self.stream = cvcuda, cvcuda.as_stream(stream)
        self.name = f"cv-cuda {cvcuda.__version__}"

    def prepare(self, case):
        if case["component"] == "f16" or case["channels"] == 2:
            raise Refusal("blurs images of 1, 3 or 4 channels, and no half floats")
        border = getattr(self.cvcuda.Border, self.borders[case["border"]])
        if case["kernel"]["name"] == "gaussian":
            sx, sy, rx, ry = gaussian_of(case)
            size, note = cut_at_four_sigma(sx, sy, rx, ry)
            return "gaussian", {}, note, lambda image: self.cvcuda.gaussian(image.view, size, (sx, sy), border, stream=self.stream)
        rx, ry = box_of(case)
        size = (2 * rx + 1, 2 * ry + 1)
        return "averageblur", {}, "", lambda image: self.cvcuda.averageblur(image.view, size, (-1, -1), border, stream=self.stream)

    def put(self, array):
        memory = self.torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
        return self.Image(memory, self.cvcuda.as_tensor(memory, "HWC"))

    def get(self, image):
        return self.torch.as_tensor(image.cuda(), device=self.device).cpu().numpy()

    def copy(self, source, destination):
        destination.memory.copy_(source.memory)


class CuPy(Scipy):
    module = "cupy"
    gpu = True

    def __init__(self):
        import cupy
        from cupyx.scipy import ndimage
        cupy.cuda.runtime.getDeviceCount()
        self.name, self.ndimage, self.array, self.cupy = f"cupy {cupy.__version__}", ndimage, cupy, cupy

    def put(self, array):
        return self.cupy.asarray(array)

    def get(self, image):
        return self.cupy.asnumpy(image)

    def copy(self, source, destination):
        self.cupy.copyto(destination, source)

    def time(self, run, count):
        events = [(self.cupy.cuda.Event(), self.cupy.cuda.Event()) for _ in range(count)]
        for begin, end in events:
            begin.record()
            run()
            end.record()
        events[-1][1].synchronize()
        return [self.cupy.cuda.get_elapsed_time(begin, end) * 1e6 for begin, end in events]

    def wait(self):
        self.cupy.cuda.Device().synchronize()


# --- The runner --------------------------------------------------------------------------------------------------------

def time_by_host(run, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - begin)
    return times


def find_peers(gpu, threads):
    os.environ["VIPS_CONCURRENCY"] = os.environ["RAYON_NUM_THREADS"] = str(threads)  # read when the libraries are loaded
    found = []
    makers = ([lambda: Torch(True), lambda: Torchvision(True), lambda: Kornia(True), CuPy, CvCuda] if gpu else
              [Scipy, Skimage, Pillow, OpenCv, PyVips, KorniaRs, Torch, Torchvision, Kornia])
    for make in makers:
        try:
            found.append(make())
        except Exception:  # not installed, or broken: it takes no part
            continue
    for peer in found:
        if not gpu and peer.module == "torch":
            peer.torch.set_num_threads(threads)
        if not gpu and peer.module == "cv2":
            peer.cv2.setNumThreads(threads)
    return {peer.name: peer for peer in found}


@functools.lru_cache(maxsize=1)  # peers take part one after the other in the same cases
def noise(shape, dtype):
    random = np.random.default_rng(1)
    count = max(2, min(16, ROTATION_BYTES // (math.prod(shape) * np.dtype(dtype).itemsize)))
    if np.issubdtype(dtype, np.integer):
        return [random.integers(0, np.iinfo(dtype).max + 1, shape, dtype) for _ in range(count)]
    return [random.random(shape, np.float32).astype(dtype) for _ in range(count)]


class Prepared:
    def __init__(self, peer, case):
        if case["border"] not in peer.borders:
            raise Refusal(f"has no border {case['border']}")
        self.peer, self.case = peer, case
        self.function, self.options, self.note, self.blur = peer.prepare(case)
        self.shape = (case["height"], case["width"], case["channels"])
        self.dtype = DTYPES[case["component"]]
        self.sources, self.next = [], 0

    def put(self, array):
        return self.peer.put(array) if hasattr(self.peer, "put") else array

    def run(self, src, dst):
        image = np.fromfile(src, self.dtype).reshape(self.shape)
        out = self.blur(self.put(image))
        out = self.peer.get(out) if hasattr(self.peer, "get") else out
        if out.dtype != self.dtype or out.shape != self.shape:
            raise RuntimeError(f"{out.dtype} {out.shape} came out in place of {np.dtype(self.dtype)} {self.shape}")
        np.ascontiguousarray(out).tofile(dst)

    def once(self):
        self.next = (self.next + 1) % len(self.sources)
        return self.blur(self.sources[self.next])

    def copy(self):
        self.next = (self.next + 1) % len(self.sources)
        self.peer.copy(self.sources[self.next], self.sources[self.next - 1])

    def turn(self):
        timer = getattr(self.peer, "time", time_by_host)
        if not self.sources:
            self.sources = [self.put(image) for image in noise(self.shape, self.dtype)]
            self.once()
            getattr(self.peer, "wait", lambda: None)()
            self.count = max(1, min(64, int(TURN_SECONDS * 1e9 / max(1, timer(self.once, 1)[0]))))
        answer = {"ns": timer(self.once, self.count)}
        if self.peer.gpu:
            answer["copy_ns"] = timer(self.copy, max(2, self.count))
        return answer


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not get between the answers
    peers, prepared = {}, {}
    for number, line in enumerate(sys.stdin, 1):
        request = json.loads(line)
        operation = request["op"]
        try:
            answer = {}
            if operation == "hello":
                peers = find_peers(request["gpu"], request["threads"])
                answer["peers"] = list(peers)
            elif operation == "prepare":
                one = Prepared(peers[request["peer"]], request["case"])
                prepared[number] = one
                answer = {"id": number, "function": one.function, "options": one.options, "note": one.note,
                          "border": one.options.get("border", request["case"]["border"])}
            elif operation == "run":
                prepared[request["id"]].run(request["src"], request["dst"])
            elif operation == "turn":
                answer = prepared[request["id"]].turn()
            elif operation == "forget":
                prepared.pop(request["id"], None)
        except Refusal as refusal:
            answer = {"refused": str(refusal)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
