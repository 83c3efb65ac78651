"""What the stubs speak of."""
from typing import Any, Literal, Protocol, TypeVar


class Array(Protocol):
    """An array of NumPy, Torch, or another library that speaks DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)
Mode = Literal["nearest", "reflect", "mirror", "wrap", "constant", "grid-mirror", "grid-wrap", "grid-constant"]
