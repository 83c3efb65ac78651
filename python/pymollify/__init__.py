"""Blurs arrays: the true Gaussian, boxes, tents and your own weights, with an error that you set."""
from ._core import (Blur, CaseFailure, Device, Plan, Timing, Verification, Windows, bench, box, clear_cache, convolve, devices, gaussian,
                    plan, separable, tent, unsharp, verify, version)
from ._each import gaussian_each

__version__ = version()
__all__ = ["Blur", "CaseFailure", "Device", "Plan", "Timing", "Verification", "Windows", "bench", "box", "clear_cache", "convolve",
           "devices", "gaussian", "gaussian_each", "plan", "separable", "tent", "unsharp", "verify", "version"]
