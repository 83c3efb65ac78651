#!/usr/bin/env python3
"""Writes a C++ source that holds files as strings: embed.py OUT.cpp FILE...

It defines `std::string_view mollify::lab::page_file(std::string_view name)`, by the files' own names.
"""
import sys
from pathlib import Path

CHUNK = 8000  # compilers promise no more than 65536 characters in one literal


def literal(data: bytes) -> str:
    def character(byte: int) -> str:
        if byte == 0x0A:
            return "\\n"
        if byte in (0x22, 0x5C):
            return "\\" + chr(byte)
        if 0x20 <= byte < 0x7F and byte != 0x3F:  # a question mark could begin a trigraph
            return chr(byte)
        return f"\\{byte:03o}"
    return '"' + "".join(map(character, data)) + '"'


def main() -> None:
    out, files = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    lines = ["// Made by lab/embed.py.", '#include "lab/page_files.h"', "", "namespace mollify::lab {", "namespace {", ""]
    for i, file in enumerate(files):
        data = file.read_bytes()
        lines.append(f"constexpr char kFile{i}[] =")
        lines += ["    " + literal(data[at:at + CHUNK]) for at in range(0, len(data), CHUNK)] or ['    ""']
        lines[-1] += ";"
    lines += ["", "}  // namespace", "", "std::string_view page_file(std::string_view name) {"]
    for i, file in enumerate(files):
        lines.append(f'  if (name == "{file.name}") return {{kFile{i}, sizeof(kFile{i}) - 1}};')
    lines += ["  return {};", "}", "", "}  // namespace mollify::lab", ""]
    out.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
