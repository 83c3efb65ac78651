"""Blurs arrays: the true Gaussian, boxes, tents and your own weights, with an error that you set."""
from ._core import (Blur, CaseFailure, Device, Plan, Timing, Verification, Windows, bench, box, clear_cache, convolve, devices, gaussian,
                    plan, separable, tent, unsharp, verify, version)

__version__ = version()
__all__ = ["Blur", "CaseFailure", "Device", "Plan", "Timing", "Verification", "Windows", "bench", "box", "clear_cache", "convolve",
           "devices", "gaussian", "plan", "separable", "tent", "unsharp", "verify", "version"]
