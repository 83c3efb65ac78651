"""What the tests of the tool share: running it, and images written and read as stored."""
import os
import subprocess
import sys

import numpy as np
import OpenImageIO as oiio

TOOL = os.environ["MOLLIFY_TOOL"]

TYPES = {np.dtype(np.uint8): "uint8", np.dtype(np.uint16): "uint16", np.dtype(np.float16): "half",
         np.dtype(np.float32): "float", np.dtype(np.float64): "double", np.dtype(np.uint32): "uint",
         np.dtype(np.int16): "int16", np.dtype(np.int32): "int"}


def run(*args, **options):
    return subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, timeout=300, **options)


def blur(*args):
    """Must succeed without a word on stderr; returns what it printed."""
    result = run("blur", *args)
    assert result.returncode == 0, f"blur {args}: exit code {result.returncode}: {result.stderr}"
    assert result.stderr == "", result.stderr
    return result.stdout


def make_spec(pixels, attributes=None, names=None):
    height, width, channels = pixels.shape
    spec = oiio.ImageSpec(width, height, channels, TYPES[pixels.dtype])
    if names:
        spec.channelnames = names
        spec.alpha_channel = names.index("A") if "A" in names else -1
    for name, value in (attributes or {}).items():
        if isinstance(value, bytes):
            spec.attribute(name, oiio.TypeDesc(f"uint8[{len(value)}]"), np.frombuffer(value, np.uint8))
        else:
            spec.attribute(name, value)
    return spec


def write(path, pixels, attributes=None, names=None):
    """Writes the numbers as they are: unassociated alpha is not touched."""
    spec = make_spec(pixels, {"oiio:UnassociatedAlpha": 1, **(attributes or {})}, names)
    out = oiio.ImageOutput.create(str(path))
    assert out.open(str(path), spec), out.geterror()
    assert out.write_image(np.ascontiguousarray(pixels)), out.geterror()
    assert out.close(), out.geterror()


def write_parts(path, parts, attributes=None, names=None):
    """Several images of one file; `names` of channels for each."""
    names = names or [None] * len(parts)
    specs = [make_spec(p, {**(attributes or {}), "oiio:subimagename": f"part{i}"}, n)
             for i, (p, n) in enumerate(zip(parts, names))]
    out = oiio.ImageOutput.create(str(path))
    if out.supports("appendsubimage"):
        for i, (spec, pixels) in enumerate(zip(specs, parts)):
            assert out.open(str(path), spec, "AppendSubimage" if i else "Create"), out.geterror()
            assert out.write_image(pixels), out.geterror()
    else:
        assert out.open(str(path), specs), out.geterror()
        for i, (spec, pixels) in enumerate(zip(specs, parts)):
            assert i == 0 or out.open(str(path), spec, "AppendSubimage"), out.geterror()
            assert out.write_image(pixels), out.geterror()
    assert out.close(), out.geterror()


class File:
    """All images of a file: `specs` and `pixels`, in order, mip levels after their image."""

    def __init__(self, path, raw=False):
        hints = oiio.ImageSpec()
        hints.attribute("oiio:RawColor", int(raw))
        hints.attribute("oiio:UnassociatedAlpha", 1)
        source = oiio.ImageInput.open(str(path), hints)
        assert source, oiio.geterror()
        self.format = source.format_name()
        self.specs, self.pixels, self.levels = [], [], []
        subimage = 0
        while source.seek_subimage(subimage, 0):
            level = 0
            while source.seek_subimage(subimage, level):
                self.specs.append(oiio.ImageSpec(source.spec()))
                self.levels.append((subimage, level))
                kind = oiio.UNKNOWN if not source.spec().channelformats else "float"
                pixels = source.read_image(subimage, level, 0, source.spec().nchannels, kind)
                assert pixels is not None, source.geterror()
                self.pixels.append(np.array(pixels))
                level += 1
            subimage += 1
        source.close()

    def attributes(self, part=0):
        """Arrays as lists. Asks by name: the values of OpenImageIO's own iterator may outlive what they point into."""
        spec = self.specs[part]
        names = [spec.extra_attribs[i].name for i in range(len(spec.extra_attribs))]
        return {name: np.asarray(spec.getattribute(name)).tolist() for name in names}

    def attribute(self, name, part=0):
        return self.attributes(part).get(name)


def read(path):
    return File(path).pixels[0]


def full_scale(dtype):
    return float(np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else 1.0


def fresh_random():
    """Fresh numbers in each run; the seed is printed so that a failure can be repeated with MOLLIFY_SEED."""
    seed = int(os.environ.get("MOLLIFY_SEED", np.random.SeedSequence().entropy % 2**32))
    print(f"seed {seed}: repeat with MOLLIFY_SEED={seed}", file=sys.stderr)
    return np.random.default_rng(seed)
