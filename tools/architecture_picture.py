#!/usr/bin/env python3
"""A picture of the folders: who includes whose headers, read from the sources.

    tools/architecture_picture.py PICTURE.svg    draws it by Graphviz; also PICTURE.png, and PICTURE.dot without Graphviz
    tools/architecture_picture.py --list         prints the arrows and how many includes each stands for

An arrow leads from the folder that includes to the one that is included. One that follows from others is left out: if cli includes lab and
lab includes bench, there is none from cli to bench. A folder may know its own subfolders, as a registry does, which makes no arrow. Folders
that include each other, also by way of others, are joined by red arrows, and are an error.
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOPS = ("include", "src", "cli", "bench", "lab")
# The folders that are drawn in one frame, by how their names begin.
FRAMES = {"src/algorithms": "algorithms", "src/backends": "backends"}
COLOURS = {"include": "#fff2cc", "src": "#e8f0fe", "src/algorithms": "#e2f0d9", "src/backends": "#fce4d6", "cli": "#eeeeee", "lab": "#eeeeee",
           "bench": "#eeeeee"}


def sources():
    return sorted(path for top in TOPS for path in (ROOT / top).rglob("*") if path.suffix in (".h", ".cpp"))


def folder_of(path):
    """Folders of the library each; all that belongs to a program, and all public headers, count as one."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:-1]) if parts[0] == "src" else parts[0]


def included_file(path, name):
    for base in (path.parent, ROOT / "src", ROOT / "include", ROOT):
        if (base / name).is_file():
            return base / name
    return None  # a header that the build makes, or one of another library


def includes(files):
    """{(folder, included folder): how many includes}"""
    found = Counter()
    for path in files:
        for name in re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(encoding="utf-8"), re.M):
            file = included_file(path, name)
            source, target = folder_of(path), folder_of(file.resolve()) if file else None
            if target and target != source and not target.startswith(source + "/"):
                found[source, target] += 1
    return found


def reached(edges, start, without=None):
    """The folders that can be reached by these arrows, without one of them."""
    seen, waiting = set(), [start]
    while waiting:
        at = waiting.pop()
        for source, target in edges:
            if source == at and (source, target) != without and target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen


def circular(edges):
    return {(a, b) for a, b in edges if a in reached(edges, b)}


def needed(edges):
    """The arrows that do not follow from others. Those of circles all stay."""
    kept = set(edges)
    for edge in sorted(set(edges) - circular(edges)):
        if edge[1] in reached(kept, edge[0], without=edge):
            kept.remove(edge)
    return kept


def colour(folder):
    return next(COLOURS[start] for start in sorted(COLOURS, key=len, reverse=True) if folder.startswith(start))


def label(folder):
    return "include/mollify" if folder == "include" else folder.removeprefix("src/")


def graph(files, edges):
    sizes = Counter(folder_of(path) for path in files)
    lines = ['digraph folders {', '  rankdir=TB; ranksep=0.45; nodesep=0.3; bgcolor=white;',
             '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=12, color="#808080"];',
             '  edge [color="#707070", arrowsize=0.7];']

    def node(folder):
        count = f"{sizes[folder]} file" + "s" * (sizes[folder] != 1)
        return f'"{folder}" [label="{label(folder)}\\n{count}", fillcolor="{colour(folder)}"];'

    framed = {folder: start for folder in sizes for start in FRAMES if folder.startswith(start)}
    for start, title in FRAMES.items():
        lines += [f'  subgraph "cluster_{title}" {{', f'    label="{title}"; fontname="sans-serif"; color="#b0b0b0"; style=rounded;']
        lines += [f"    {node(folder)}" for folder in sorted(sizes) if framed.get(folder) == start] + ["  }"]
    lines += [f"  {node(folder)}" for folder in sorted(sizes) if folder not in framed]
    circles = circular(edges)
    for source, target in sorted(needed(edges)):
        red = ' [color="#d00000", penwidth=2]' if (source, target) in circles else ""
        lines.append(f'  "{source}" -> "{target}"{red};')
    return "\n".join(lines + ["}", ""])


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-") and sys.argv[1] != "--list":
        sys.exit(__doc__.strip())
    files = sources()
    edges = includes(files)
    if sys.argv[1] == "--list":
        circles = circular(edges)
        print("\n".join(f"{a} -> {b}: {edges[a, b]}" + (" (in a circle)" if (a, b) in circles else "") for a, b in sorted(edges)))
        return
    picture = Path(sys.argv[1])
    text = graph(files, edges)
    if picture.suffix == ".dot":
        picture.write_text(text)
    else:
        subprocess.run(["dot", f"-T{picture.suffix[1:]}", "-o", picture], input=text, text=True, check=True)
    circles = circular(edges)
    if circles:
        sys.exit("architecture_picture.py: folders include each other: " + ", ".join(f"{a} -> {b}" for a, b in sorted(circles)))


if __name__ == "__main__":
    main()
