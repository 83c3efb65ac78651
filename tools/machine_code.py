#!/usr/bin/env python3
"""What NVIDIA's Vulkan driver made of shaders: disassembles a pipeline cache, with what each instruction waits for.

    rm -rf ~/.cache/mollify && mollify bench --device vulkan --case NAME --no-peers
    tools/machine_code.py ~/.cache/mollify/pipelines-*.bin > code.txt

Needs zstandard and nvidia-cuda-nvdisasm of PyPI. The driver keeps a program as a zstd frame (seen with 580); where in it the code
begins is found by going back from its end. A line: address, cycles until the next instruction may issue, the barrier that it sets when
its result is there (w) or its operands are read (r), the barriers that it waits for, the instruction.
"""
import argparse
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

FRAME = b"\x28\xb5\x2f\xfd"
EXIT = b"\x4d\x79\x00\x00\x00\x00\x00\x00"
BYTES = 16  # of an instruction


def fail(message):
    sys.exit(f"machine_code: {message}")


def disassembler():
    path = shutil.which("nvdisasm")
    if not path:
        found = [p for folder in sys.path for p in Path(folder).glob("nvidia/**/bin/nvdisasm")]
        path = str(found[0]) if found else fail("nvdisasm is not there: pip install nvidia-cuda-nvdisasm")
    return path


def programs(cache):
    try:
        import zstandard
    except ImportError:
        fail("zstandard is not there: pip install zstandard")
    at = cache.find(FRAME)
    while at >= 0:
        try:
            yield zstandard.ZstdDecompressor().decompressobj().decompress(cache[at:])
        except zstandard.ZstdError:
            pass  # these four bytes were no frame
        at = cache.find(FRAME, at + 1)


def disassembled(tool, chip, code):
    """Lines, or nothing where this is no code."""
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(code)
        file.flush()
        done = subprocess.run([tool, "-b", chip, file.name], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def code_of(tool, chip, program):
    """The bytes that end with the last EXIT."""
    end = program.rfind(EXIT)
    if end < 0:
        return b""
    begin = end
    for step in (256 * BYTES, 16 * BYTES, BYTES):
        while begin >= step and disassembled(tool, chip, program[begin - step:begin]):
            begin -= step
    return program[begin:end + 2 * BYTES]


def annotated(code, lines):
    for line in lines:
        address, _, rest = line.strip().removeprefix("/*").partition("*/")
        if not rest or len(address) < 4:
            continue
        at = int(address, 16)
        control = struct.unpack_from("<Q", code, at + 8)[0] >> 41
        written, read, waits = control >> 5 & 7, control >> 8 & 7, control >> 11 & 63
        sets = ("" if written == 7 else f"w{written}") + ("" if read == 7 else f"r{read}")
        waits = "".join(str(i) for i in range(6) if waits >> i & 1)
        yield f"{at:05x} {control & 15:2d} {sets:4s} {waits and 'wait ' + waits:11s} {rest.split(';')[0].strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--chip", default="SM90", help="as nvdisasm -b names it [SM90]")
    args = parser.parse_args()
    try:
        cache = args.cache.read_bytes()
    except OSError as error:
        fail(f"{args.cache}: {error.strerror}")
    tool = disassembler()
    found = False
    for number, program in enumerate(programs(cache), 1):
        code = code_of(tool, args.chip, program)
        if code:
            found = True
            print(f"# program {number}, {len(code)} bytes")
            print("\n".join(annotated(code, disassembled(tool, args.chip, code))))
    if not found:
        fail(f"{args.cache} holds no programs of {args.chip}")


if __name__ == "__main__":
    main()
