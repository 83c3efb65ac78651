"""PNG files made and taken apart by hand, for tests."""
import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, RGB, PALETTE, GREY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGB_ALPHA: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]  # x, y, and their steps


def chunk(kind, body=b""):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def header(width, height, depth, colour, interlaced=False):
    return chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced)))


def packed_rows(pixels, depth):
    """Rows without a filter, of an array of numbers of so many bits."""
    rows = pixels.reshape(pixels.shape[0], -1)
    if depth == 16:
        return b"".join(b"\0" + row.astype(">u2").tobytes() for row in rows)
    if depth == 8:
        return b"".join(b"\0" + row.astype(np.uint8).tobytes() for row in rows)
    bits = np.unpackbits(rows.astype(np.uint8)[..., None], axis=2)[:, :, 8 - depth:].reshape(rows.shape[0], -1)
    return b"".join(b"\0" + np.packbits(row).tobytes() for row in bits)


def compressed(pixels, depth, interlaced=False):
    if not interlaced:
        return zlib.compress(packed_rows(pixels, depth))
    passes = [pixels[y::step_y, x::step_x] for x, y, step_x, step_y in ADAM7]
    return zlib.compress(b"".join(packed_rows(each, depth) for each in passes if each.size > 0))


def idat(data, pieces=1):
    step = -(-len(data) // pieces)
    return b"".join(chunk(b"IDAT", data[i:i + step]) for i in range(0, len(data), step))


def image(pixels, depth, colour, before=b"", between=b"", after=b"", trailer=b"", interlaced=False, pieces=1):
    """`before` the palette and the pixels, or, `between` them and `after` them."""
    height, width = pixels.shape[:2]
    return (SIGNATURE + header(width, height, depth, colour, interlaced) + before + between +
            idat(compressed(pixels, depth, interlaced), pieces) + after + chunk(b"IEND") + trailer)


def chunks(data):
    """(kind, body) of each, with right checksums."""
    assert data.startswith(SIGNATURE)
    at, found = 8, []
    while at < len(data):
        length, = struct.unpack(">I", data[at:at + 4])
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body), kind
        found.append((kind, body))
        at += 12 + length
        if kind == b"IEND":
            break
    return found, data[at:]


def pixels_of(data):
    """Decodes a file of 8 or 16 bits without interlacing, whose rows have no filter: an array of (height, width, channels)."""
    found, _ = chunks(data)
    width, height, depth, colour = struct.unpack(">IIBB", found[0][1][:10])
    assert depth in (8, 16) and found[0][1][12] == 0
    return pixels_of_rows(b"".join(body for kind, body in found if kind == b"IDAT"), width, height, depth, colour)


def pixels_of_rows(stream, width, height, depth, colour):
    numbers = width * CHANNELS[colour]
    step = numbers * depth // 8
    rows = zlib.decompress(stream)
    assert len(rows) == height * (step + 1)
    lines, above = [], np.zeros(step, np.uint8)
    for y in range(height):
        line = np.frombuffer(rows, np.uint8, step, y * (step + 1) + 1).copy()
        kind, back = rows[y * (step + 1)], CHANNELS[colour] * depth // 8
        if kind == 1:
            for i in range(back, step):
                line[i] = (int(line[i]) + int(line[i - back])) & 255
        elif kind == 2:
            line += above
        else:
            assert kind == 0, f"this test decodes no filter {kind}"
        lines.append(line)
        above = line
    data = np.concatenate(lines).tobytes()
    return np.frombuffer(data, ">u2" if depth == 16 else "u1").astype(np.uint16 if depth == 16 else np.uint8).reshape(height, width, -1)


def text(kind, keyword, body, language=b"", translated=b"", is_compressed=False):
    if kind == b"tEXt":
        return chunk(kind, keyword + b"\0" + body)
    if kind == b"zTXt":
        return chunk(kind, keyword + b"\0\0" + zlib.compress(body))
    if is_compressed:
        body = zlib.compress(body)
    return chunk(kind, keyword + bytes([0, int(is_compressed), 0]) + language + b"\0" + translated + b"\0" + body)


def texts(data):
    """{keyword: (text in UTF-8, language, translated keyword)} of all three kinds of chunks."""
    result = {}
    for kind, body in chunks(data)[0]:
        if kind not in (b"tEXt", b"zTXt", b"iTXt"):
            continue
        keyword, rest = body.split(b"\0", 1)
        if kind == b"tEXt":
            result[keyword] = (rest.decode("latin-1").encode(), b"", b"")
        elif kind == b"zTXt":
            result[keyword] = (zlib.decompress(rest[1:]).decode("latin-1").encode(), b"", b"")
        else:
            is_compressed = rest[0]
            language, translated, body = rest[2:].split(b"\0", 2)
            result[keyword] = (zlib.decompress(body) if is_compressed else body, language, translated)
    return result


def raw_profile(kind, body, wrap=36):
    lines = "\n".join(body[i:i + wrap].hex() for i in range(0, len(body), wrap))
    return text(b"zTXt", b"Raw profile type " + kind, f"\n{kind.decode()}\n{len(body):8d}\n{lines}\n".encode())


def raw_profiles(data):
    result = {}
    for keyword, (body, _, _) in texts(data).items():
        if keyword.startswith(b"Raw profile type "):
            _, _, length, digits = body.split(b"\n", 3)
            profile = bytes.fromhex(digits.decode().replace("\n", ""))
            assert len(profile) == int(length)
            result[keyword[17:]] = profile
    return result
