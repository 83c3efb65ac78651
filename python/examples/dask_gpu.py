"""Blurs a stack of images with Dask, on all NVIDIA GPUs of the machine.

    python3 dask_gpu.py [images]

With dask-cuda there is a worker for each GPU; without it Dask's threads share the first one. Blocks travel to a GPU, are blurred there as
arrays of CuPy, and travel back. Without CuPy they are arrays of NumPy, and the processor blurs them. It needs Dask.
"""
import contextlib
import importlib.util
import sys

import dask
import dask.array as da
import numpy as np

import pymollify as mollify

SIGMA = 2.0


def has(module):
    return importlib.util.find_spec(module) is not None


def blur(block):
    """A block of images, [image, height, width], on the GPU that is the worker's, where there is one."""
    if not has("cupy"):
        return mollify.gaussian(block, SIGMA, axes=(-2, -1), threads=1)  # several blocks at once
    import cupy
    return cupy.asnumpy(mollify.gaussian(cupy.asarray(block), SIGMA, axes=(-2, -1)))


@contextlib.contextmanager
def workers():
    if has("cupy") and has("dask_cuda"):
        from dask.distributed import Client
        from dask_cuda import LocalCUDACluster
        with LocalCUDACluster() as cluster, Client(cluster) as client:  # each worker sees its GPU as the first one
            yield f"{len(client.scheduler_info()['workers'])} workers of dask-cuda"
    else:
        with dask.config.set(scheduler="threads"):
            yield "Dask's threads"


def main(images):
    stack = da.random.default_rng(1).random((images, 512, 512), dtype=np.float32, chunks=(16, 512, 512))
    soft = stack.map_blocks(blur, dtype=stack.dtype)
    with workers() as what:
        before, after = dask.compute(stack, soft)
    error = np.abs(after - mollify.gaussian(before, SIGMA, axes=(-2, -1))).max()
    assert error < 1e-4, error
    print(f"{images} images blurred by {what}{', with CuPy' if has('cupy') else ''}; they differ from the processor's by {error:.1e}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
