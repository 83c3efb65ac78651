"""Blurs arrays: the true Gaussian, boxes, tents and your own weights, with an error that you set."""
from ._core import Blur, Device, Plan, Windows, box, clear_cache, convolve, devices, gaussian, plan, separable, tent, unsharp, version

__version__ = version()
__all__ = ["Blur", "Device", "Plan", "Windows", "box", "clear_cache", "convolve", "devices", "gaussian", "plan", "separable", "tent",
           "unsharp", "version"]
