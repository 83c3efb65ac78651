#!/usr/bin/env python3
"""Writes a tiled BigTIFF of 8-bit grey of any size, without holding it: noise on a gradient, different in every tile.

  tools/large_tiff.py OUT WIDTH HEIGHT [--tile 256] [--seed 1]
"""
import argparse
import struct

import numpy as np

SHORT, LONG8 = 3, 16


def write_header(file, directory):
    file.seek(0)
    file.write(struct.pack("<2sHHHQ", b"II", 43, 8, 0, directory))


def write_directory(file, width, height, tile, offsets):
    """Behind the tiles. The arrays of places come first, then the directory that says where they are."""
    arrays = file.tell()
    file.write(offsets.astype("<u8").tobytes())
    file.write(np.full(len(offsets), tile * tile, "<u8").tobytes())
    inline = len(offsets) == 1
    places = (int(offsets[0]), tile * tile) if inline else (arrays, arrays + 8 * len(offsets))
    fields = [(256, LONG8, 1, width), (257, LONG8, 1, height), (258, SHORT, 1, 8), (259, SHORT, 1, 1), (262, SHORT, 1, 1),
              (277, SHORT, 1, 1), (322, LONG8, 1, tile), (323, LONG8, 1, tile), (324, LONG8, len(offsets), places[0]),
              (325, LONG8, len(offsets), places[1])]
    directory = file.tell()
    file.write(struct.pack("<Q", len(fields)))
    for field in fields:
        file.write(struct.pack("<HHQQ", *field))
    file.write(struct.pack("<Q", 0))
    return directory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("width", type=int)
    parser.add_argument("height", type=int)
    parser.add_argument("--tile", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    random, side = np.random.default_rng(args.seed), args.tile
    noise = random.integers(0, 128, 4 * side * side, dtype=np.uint8)  # tiles begin at random places of it
    across, down = -(-args.width // side), -(-args.height // side)
    with open(args.out, "wb") as file:
        write_header(file, 0)
        for y in range(down):
            level = (np.arange(side * side, dtype=np.int64) // side + y * side) * 127 // args.height
            for begin in random.integers(0, 3 * side * side, across):
                file.write(noise[begin:begin + side * side] + level.astype(np.uint8))
        offsets = 16 + side * side * np.arange(across * down, dtype=np.uint64)
        write_header(file, write_directory(file, args.width, args.height, side, offsets))


if __name__ == "__main__":
    main()
