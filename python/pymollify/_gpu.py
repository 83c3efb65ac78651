"""What libraries of arrays on GPUs do for a blur: the stream that their work goes to, new arrays, and copies."""
import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib import import_module
from typing import Any


def stream_of(stream: Any) -> int:
    """The address of a stream of CUDA: a number, or an object of any library that has one."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr"):  # older ones of Torch and CuPy
        if isinstance(getattr(stream, name, None), int):
            return int(getattr(stream, name))
    raise TypeError(f"stream: a number or a stream of CUDA is needed, not {type(stream).__name__}")


_DEFAULT_STREAM = 1


@cache
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


class Library:
    """One that makes no arrays for others."""

    stream_of = staticmethod(stream_of)
    has_current_stream = False
    hands_over = False  # arrays that are not written to again

    def empty_like(self, image: Any) -> Any:
        kind = f"{type(image).__module__}.{type(image).__qualname__}"
        raise TypeError(f"image: no new {kind} can be made; give a view of it, as by torch.from_dlpack() or cupy.from_dlpack()")

    def empty_bytes(self, count: int, device: int) -> Any:
        """Memory that no stream but the current one uses."""
        raise TypeError("image: the blur needs memory on the GPU; give a view of it, as by torch.from_dlpack() or cupy.from_dlpack()")

    def gather(self, image: Any) -> Any:
        """A copy in the order of elements of empty_like(image)."""
        return self.empty_like(image)

    def assign(self, destination: Any, source: Any) -> None:
        self.empty_like(destination)

    def stream(self, image: Any, device: int) -> int:
        """The stream that blurs of the image run in."""
        interface = getattr(image, "__cuda_array_interface__", {})
        return interface.get("stream") or _DEFAULT_STREAM

    def device(self, image: Any, address: int) -> int:
        """The GPU that memory lies on."""
        device = ctypes.c_int(0)
        driver = _driver()
        if driver is not None:  # else the blur finds it missing, too
            device_ordinal = 9
            driver.cuPointerGetAttribute(ctypes.byref(device), device_ordinal, ctypes.c_void_p(address))
        return device.value

    def on(self, stream: int, device: int) -> AbstractContextManager[Any]:
        """Makes the stream the library's current one."""
        return nullcontext()

    def is_capturing(self) -> bool:
        return False


class _Torch(Library):
    has_current_stream = True

    def __init__(self) -> None:
        self.torch = import_module("torch")
        setattr(self, "empty_like", self.torch.empty_like)  # without a call between

    def empty_bytes(self, count: int, device: int) -> Any:
        return self.torch.empty(count, dtype=self.torch.uint8, device=f"cuda:{device}")

    def gather(self, image: Any) -> Any:
        return self.torch.empty_like(image).copy_(image)

    def assign(self, destination: Any, source: Any) -> None:
        destination.copy_(source)

    def stream(self, image: Any, device: int) -> int:
        return int(self.torch.cuda.current_stream(device).cuda_stream)

    def on(self, stream: int, device: int) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = self.torch.cuda.stream(self.torch.cuda.ExternalStream(stream, device=device))
        return context

    def is_capturing(self) -> bool:
        return bool(self.torch.cuda.is_current_stream_capturing())


class _CuPy(Library):
    has_current_stream = True

    def __init__(self) -> None:
        self.cupy = import_module("cupy")

    def empty_like(self, image: Any) -> Any:
        with self._at(image.device.id):
            return self.cupy.empty_like(image)

    def empty_bytes(self, count: int, device: int) -> Any:
        with self._at(device):
            return self.cupy.empty(count, self.cupy.uint8)

    def gather(self, image: Any) -> Any:
        out = self.empty_like(image)
        self.assign(out, image)
        return out

    def assign(self, destination: Any, source: Any) -> None:
        with self._at(destination.device.id):
            destination[...] = source

    def stream(self, image: Any, device: int) -> int:
        with self._at(device):
            return int(self.cupy.cuda.get_current_stream().ptr)

    def on(self, stream: int, device: int) -> AbstractContextManager[Any]:
        context: AbstractContextManager[Any] = self.cupy.cuda.ExternalStream(stream, device)
        return context

    def is_capturing(self) -> bool:
        return bool(self.cupy.cuda.get_current_stream().is_capturing())

    def _at(self, device: int) -> AbstractContextManager[Any]:
        if self.cupy.cuda.runtime.getDevice() == device:
            return nullcontext()
        context: AbstractContextManager[Any] = self.cupy.cuda.Device(device)
        return context


class _Numba(Library):
    def __init__(self) -> None:
        self.cuda = import_module("numba.cuda")

    def empty_like(self, image: Any) -> Any:
        return self.cuda.device_array_like(image)

    def empty_bytes(self, count: int, device: int) -> Any:
        return self.cuda.device_array(count, "u1")

    def gather(self, image: Any) -> Any:
        out = self.empty_like(image)
        self.assign(out, image)
        return out

    def assign(self, destination: Any, source: Any) -> None:
        destination.copy_to_device(source, stream=self.cuda.external_stream(self.stream(source, 0)))


class _Exported:
    """An array that another stream makes, for DLPack."""

    def __init__(self, array: Any, make_wait: Callable[[int], None]) -> None:
        self.array, self.make_wait = array, make_wait

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream: int | None = None) -> Any:
        if stream is not None:
            self.make_wait(stream)
        return self.array.__dlpack__()


class _Jax(Library):
    """It has no current stream. Ours waits for the image, and what JAX does with the result waits for ours. What a blur works on lives
    until it has run, because JAX knows nothing of it."""

    hands_over = True

    def __init__(self) -> None:
        self.jax = import_module("jax")
        self.dlpack = import_module("jax.dlpack")
        self.contexts: dict[int, ctypes.c_void_p] = {}
        self.streams: dict[int, int] = {}
        self.running: deque[tuple[ctypes.c_void_p, Any]] = deque()

    def empty_like(self, image: Any) -> Any:
        return self.jax.numpy.empty_like(image, device=image.device)

    def empty_bytes(self, count: int, device: int) -> Any:
        return self.jax.numpy.empty(count, "uint8", device=self.jax.local_devices(backend="gpu")[device])

    def gather(self, image: Any) -> Any:
        return self.jax.numpy.array(image, copy=True)

    def stream(self, image: Any, device: int) -> int:
        if device not in self.streams:
            stream, not_with_the_default_one = ctypes.c_void_p(), 1
            with self._context(device) as driver:
                _succeed(driver.cuStreamCreate(ctypes.byref(stream), not_with_the_default_one))
            self.streams[device] = stream.value or 0
        return self.streams[device]

    def finished(self, result: Any, stream: int, device: int, kept: Any) -> Any:
        """What the caller gets."""
        event, without_time = ctypes.c_void_p(), 2
        with self._context(device) as driver:
            while self.running and driver.cuEventQuery(self.running[0][0]) == 0:
                driver.cuEventDestroy_v2(self.running.popleft()[0])
            _succeed(driver.cuEventCreate(ctypes.byref(event), without_time))
            _succeed(driver.cuEventRecord(event, ctypes.c_void_p(stream)))
        self.running.append((event, kept))

        def make_wait(other: int) -> None:
            with self._context(device) as driver:
                _succeed(driver.cuStreamWaitEvent(ctypes.c_void_p(other), event, 0))

        return self.dlpack.from_dlpack(_Exported(result, make_wait))

    @contextmanager
    def _context(self, device: int) -> Iterator[Any]:
        driver, context = _driver(), ctypes.c_void_p()
        if device not in self.contexts:
            _succeed(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
            self.contexts[device] = context
        _succeed(driver.cuCtxPushCurrent_v2(self.contexts[device]))
        try:
            yield driver
        finally:
            driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def _succeed(result: int) -> None:
    if result != 0:
        raise RuntimeError(f"CUDA's driver failed: error {result}")


_LIBRARIES = {"torch": _Torch, "cupy": _CuPy, "numba": _Numba, "jax": _Jax, "jaxlib": _Jax}


def library_of(kind: type) -> Library:
    """What the library of this kind of arrays does."""
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        if root in _LIBRARIES:
            return _LIBRARIES[root]()
    return Library()
