"""Blocks of Exif made by hand: directories, thumbnails, and the notes of makers with their previews."""
import struct


class Block:
    """An Exif block under construction: `place` puts bytes and returns their offset from the beginning."""

    def __init__(self, order):
        self.order = order
        self.bytes = bytearray((b"II" if order == "<" else b"MM") + struct.pack(order + "HI", 42, 0))

    def pack(self, kinds, *values):
        return struct.pack(self.order + kinds, *values)

    def place(self, data):
        self.bytes += b"\0" * (len(self.bytes) % 2)
        self.bytes += data
        return len(self.bytes) - len(data)

    def directory(self, entries, following=0, base=0):
        """Entries are (tag, type, count, value): bytes go out of line where they are longer than four."""
        packed = b""
        for tag, kind, count, value in sorted(entries, key=lambda entry: entry[0]):
            if isinstance(value, bytes) and len(value) > 4:
                value = self.pack("I", self.place(value) - base)
            elif isinstance(value, int):
                value = self.pack("I", value) if kind == 4 else self.pack("HH", value, 0)
            packed += self.pack("HHI", tag, kind, count) + value.ljust(4, b"\0")
        return self.place(self.pack("H", len(entries)) + packed + self.pack("I", following))

    def finish(self, first):
        self.bytes[4:8] = self.pack("I", first)
        return bytes(self.bytes)


MAKES = {"nikon": b"NIKON", "olympus": b"OLYMPUS", "old olympus": b"OLYMPUS", "olympus thumbnail": b"OLYMPUS", "pentax": b"PENTAX", "new pentax": b"PENTAX",
         "canon": b"Canon", "sony": b"SONY", "panasonic": b"Panasonic", "leica": b"LEICA", "fujifilm": b"FUJIFILM", "samsung": b"SAMSUNG"}
ORDINARY = [(0x110, 2, 9, b"Clam 900\0"), (0x112, 3, 1, 6), (0x100, 3, 1, 640), (0x101, 4, 1, 480)]


def exif_with(order, note_of=None, following_of=None, comment=None, more=(), make=b"Mollus"):
    block = Block(order)
    entries = [(0x9003, 2, 20, b"2026:11:27 01:02:03\0"), (0xA002, 4, 1, 640), (0xA003, 3, 1, 480), (0x829D, 5, 1, block.pack("II", 28, 10))]
    if comment:
        entries.append((0x9286, 7, len(comment), comment))
    if note_of:
        note = note_of(block)
        entries.append((0x927C, 7, note[1], block.pack("I", note[0])))
    exif = block.directory(entries)
    following = following_of(block) if following_of else 0
    return block.finish(block.directory(ORDINARY + [(0x10F, 2, len(make) + 1, make + b"\0"), (0x8769, 4, 1, exif)] + [m(block) for m in more], following))


def thumbnail_directory(picture):
    def make(block):
        at = block.place(picture)
        return block.directory([(0x103, 3, 1, 6), (0x201, 4, 1, at), (0x202, 4, 1, len(picture))])
    return make


def strips_directory(picture):
    def make(block):
        half = len(picture) // 2
        offsets = block.pack("II", block.place(picture[:half]), block.place(picture[half:]))
        return block.directory([(0x103, 3, 1, 1), (0x111, 4, 2, offsets), (0x117, 4, 2, block.pack("II", half, len(picture) - half))])
    return make


def note(prefix, entries_of, at_note=False):
    """A maker's note: its directory lies behind the prefix, its values behind that."""
    def make(block):
        begin = block.place(prefix)
        base = begin if at_note else 0
        entries = entries_of(block, base)
        # The directory comes right behind the prefix, so values are placed into a copy to learn their offsets.
        size = 2 + 12 * len(entries) + 4
        block.bytes += bytes(size)
        packed = b""
        for tag, kind, count, value in sorted(entries, key=lambda entry: entry[0]):
            if callable(value):
                value = value()
            if isinstance(value, bytes) and len(value) > 4:
                value = block.pack("I", block.place(value) - base)
            elif isinstance(value, int):
                value = block.pack("I", value) if kind == 4 else block.pack("HH", value, 0)
            packed += block.pack("HHI", tag, kind, count) + value.ljust(4, b"\0")
        at = begin + len(prefix)
        block.bytes[at:at + size] = block.pack("H", len(entries)) + packed + block.pack("I", 0)
        return begin, len(block.bytes) - begin
    return make


def placed(block, base, picture):
    return lambda: struct.pack(block.order + "I", block.place(picture) - base)


def nikon(picture):
    def make(block):
        inner = Block(block.order)
        at = inner.place(picture)
        preview = inner.directory([(0x103, 3, 1, 6), (0x201, 4, 1, at), (0x202, 4, 1, len(picture))])
        inner.finish(inner.directory([(0x0001, 7, 4, b"0210"), (0x0004, 2, 6, b"FINE \0"), (0x0011, 4, 1, preview)]))
        data = b"Nikon\0\x02\x10\0\0" + bytes(inner.bytes)
        return block.place(data), len(data)
    return make


def notes(picture, order):
    length = len(picture)
    mark = b"II" if order == "<" else b"MM"
    pair = lambda start, size: lambda block, base: [(start, 4, 1, placed(block, base, picture)), (size, 4, 1, length), (0x0001, 2, 9, b"constant\0")]
    def canon(block, base):
        return [(0x06, 2, 9, b"constant\0"), (0xB6, 4, 6, lambda: block.pack("6I", 24, 1, length, 64, 48, block.place(picture)))]
    data = lambda tag: lambda block, base: [(tag, 7, length, picture), (0x0001, 2, 9, b"constant\0")]
    return {
        "nikon": nikon(picture),
        "olympus": note(b"OLYMPUS\0" + mark + b"\3\0", pair(0x88, 0x89), at_note=True),
        "old olympus": note(b"OLYMP\0\1\0", pair(0x88, 0x89)),
        "olympus thumbnail": note(b"OLYMP\0\1\0", data(0x100)),
        "pentax": note(b"AOC\0" + mark, pair(0x04, 0x03)),
        "new pentax": note(b"PENTAX \0" + mark, pair(0x04, 0x03), at_note=True),
        "canon": note(b"", canon),
        "sony": note(b"SONY DSC \0\0\0", data(0x2001)),
        "panasonic": note(b"Panasonic\0\0\0", data(0x4321)),
        "leica": note(b"LEICA\0\0\0", data(0x300)),
        "fujifilm": note(b"FUJIFILM\x0c\0\0\0", data(0x4321), at_note=True),
        "samsung": note(b"", data(0x81)),
    }
