"""TIFF files of kinds that no library writes."""
import struct
import zlib

import imagecodecs
import numpy as np


def write_by_hand(path, fields, pixels, width, height, big=False):
    order = ">" if big else "<"
    usual = [(256, 4, [width]), (257, 4, [height]), (273, 4, [8]), (278, 4, [height]), (279, 4, [len(pixels)])]
    fields = fields + [each for each in usual if each[0] not in [field[0] for field in fields]]
    pixels += b"\0" * (len(pixels) % 2)
    at, entries, values = 8 + len(pixels), b"", b""
    for tag, kind, numbers in sorted(fields):
        if kind == 5:
            numbers = [number for n in numbers for number in (round(10000 * n), 10000 if n else 0)]
        data = b"".join(struct.pack(order + {2: "B", 3: "H", 4: "I", 5: "I", 12: "d"}[kind], n) for n in numbers)
        entries += struct.pack(order + "HHI", tag, kind, len(numbers) // (2 if kind == 5 else 1))
        if len(data) <= 4:
            entries += data.ljust(4, b"\0")
        else:
            entries += struct.pack(order + "I", at + 6 + 12 * len(fields) + len(values))
            values += data + b"\0" * (len(data) % 2)
    head = (b"MM" if big else b"II") + struct.pack(order + "HI", 42, at)
    path.write_bytes(head + pixels + struct.pack(order + "H", len(fields)) + entries + b"\0" * 4 + values)


def encoded(name, data):
    encoders = {"none": (1, bytes), "lzw": (5, imagecodecs.lzw_encode), "deflate": (8, zlib.compress),
                "packbits": (32773, imagecodecs.packbits_encode), "zstd": (50000, imagecodecs.zstd_encode)}
    number, encode = encoders[name]
    return number, bytes(encode(bytes(data)))


def codes_in_bytes(codes, kinds, big):
    """Rows of pixels; kinds are names such as "u5" and "f32". Whole bytes, and pixels of 16 or 32 bits, are in the order of the file. Of
    others the highest bit comes first."""
    depths = [int(kind[1:]) for kind in kinds]
    numbers = [[int(code).to_bytes(bits // 8, "big" if big else "little") if not any(each % 8 for each in depths)
                else f"{int(code):0{bits}b}" for code, bits in zip(row, depths * (len(row) // len(depths)))]
               for row in codes.reshape(len(codes), -1)]
    if not any(each % 8 for each in depths):
        return b"".join(b"".join(row) for row in numbers)
    rows = [np.packbits([int(bit) for bit in "".join(row)]) for row in numbers]
    if not big and sum(depths) in (16, 32):  # a pixel is one number
        rows = [row.reshape(-1, sum(depths) // 8)[:, ::-1] for row in rows]
    return b"".join(row.tobytes() for row in rows)


def write_mixed(path, codes, kinds, compression="none", tile=None, planar=False, big=False, predictor=1, photometric=2):
    """Codes of samples of any depths as strips of 5 rows or as tiles of this size, in one plane or in one for each."""
    height, width, samples = codes.shape
    formats, depths = [{"u": 1, "i": 2, "f": 3}[kind[0]] for kind in kinds], [int(kind[1:]) for kind in kinds]
    down, across = tile or (5, width)
    pieces = []
    for plane in range(samples) if planar else [slice(None)]:
        for y in range(0, height, down):
            for x in range(0, width, across):
                piece = codes[y:y + down, x:x + across].astype(object)
                if tile:
                    piece = np.pad(piece, [(0, down - piece.shape[0]), (0, across - piece.shape[1]), (0, 0)], "edge")
                if predictor == 2:
                    piece[:, 1:] = (piece[:, 1:] - piece[:, :-1]) % (2 ** np.array(depths, object))
                piece = piece[..., [plane]] if planar else piece
                number, data = encoded(compression, codes_in_bytes(piece, [kinds[plane]] if planar else kinds, big))
                pieces.append(data)
    offsets = [8 + sum(map(len, pieces[:i])) for i in range(len(pieces))]
    sizes = [len(piece) for piece in pieces]
    places = [(322, 4, [across]), (323, 4, [down]), (324, 4, offsets), (325, 4, sizes)] if tile else [(278, 4, [down]), (273, 4, offsets),
                                                                                                      (279, 4, sizes)]
    fields = [(258, 3, depths), (259, 3, [number]), (262, 3, [photometric]), (277, 3, [samples]), (284, 3, [1 + planar]),
              (317, 3, [predictor]), (339, 3, formats), *places]
    colours = 3 if photometric == 2 else 1
    if samples > colours:
        fields.append((338, 3, [0] * (samples - colours)))
    write_by_hand(path, fields, b"".join(pieces), width, height, big)
