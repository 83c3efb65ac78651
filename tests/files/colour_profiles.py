"""Colour profiles made by hand."""
import struct


def _fixed(value):
    return struct.pack(">i", round(value * 65536))


def _tag(kind, data):
    return kind + bytes(4) + data + bytes(-len(data) % 4)


def matrix_profile(gamma, name=b"test", samples=0, others=0):
    """ICC version 2 of three primaries, those of sRGB, and one exponent for all of them, or that curve as a table. `others` are so many bytes
    that mean nothing."""
    def colour(*xyz):
        return _tag(b"XYZ ", b"".join(map(_fixed, xyz)))

    curve = _tag(b"curv", struct.pack(">IH", 1, round(gamma * 256)) if gamma != 1 else bytes(4))
    if samples:
        table = [round(65535 * (i / (samples - 1)) ** gamma) for i in range(samples)]
        curve = _tag(b"curv", struct.pack(f">I{samples}H", samples, *table))
    description = _tag(b"desc", struct.pack(">I", len(name) + 1) + name + bytes(79))
    tags = {b"desc": description, b"cprt": _tag(b"text", b"none\0"), b"wtpt": colour(0.9642, 1, 0.8249),
            b"rXYZ": colour(0.4361, 0.2225, 0.0139), b"gXYZ": colour(0.3851, 0.7169, 0.0971), b"bXYZ": colour(0.1431, 0.0606, 0.7141),
            b"rTRC": curve, b"gTRC": curve, b"bTRC": curve}
    if others:
        tags[b"none"] = _tag(b"data", bytes(others))
    table, body, begin = struct.pack(">I", len(tags)), b"", 128 + 4 + 12 * len(tags)
    for key, data in tags.items():
        table += key + struct.pack(">II", begin + len(body), len(data))
        body += data
    header = struct.pack(">I4sI4s4s4s12x4s28x", begin + len(body), bytes(4), 0x02100000, b"mntr", b"RGB ", b"XYZ ", b"acsp")
    white = b"".join(map(_fixed, (0.9642, 1, 0.8249)))
    return (header + white).ljust(128, b"\0") + table + body
