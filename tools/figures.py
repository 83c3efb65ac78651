#!/usr/bin/env python3
"""Static pictures of a report's charts, for documents that cannot run it.

    tools/figures.py REPORT/index.html FOLDER [CHART...] [FILTER=VALUE...]

Charts are width, share, error and size; all by default. Filters are the page's: device, family ("gaussian cut", "gaussian", "box"),
size, format, variants (best, default, all), loose=true for runs beyond the default accuracy, and kernel for the charts of one kernel. Needs Chromium.
"""
import json
import sys
from pathlib import Path

from browser import Browser


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    filters = dict(word.split("=", 1) for word in sys.argv[3:] if "=" in word)
    wanted = [word for word in sys.argv[3:] if "=" not in word]
    kernel = filters.pop("kernel", None)
    browser = Browser()
    try:
        browser.view(960, 900)
        browser.open(page)
        browser.evaluate(f"Object.assign(lab.filters, {json.dumps(filters)})")
        if kernel:
            browser.evaluate(f"Object.values(lab.controls).forEach(control => control.kernel = {json.dumps(kernel)})")
        browser.evaluate("lab.refresh()")
        # The page takes other values where it has no points of those asked for.
        shown, controls = browser.evaluate("lab.filters"), browser.evaluate("lab.controls")
        others = [f"{key}={value}" for key, value in filters.items() if shown.get(key) != value]
        others += [f"kernel={kernel} for {chart}" for chart in wanted if kernel and controls.get(chart, {}).get("kernel") != kernel]
        if others:
            sys.exit(f"figures.py: the page has no points of {', '.join(others)}")
        figures = browser.evaluate("lab.figures()")
        unknown = set(wanted) - set(figures)
        if unknown:
            sys.exit(f"figures.py: there is no chart {', '.join(sorted(unknown))}; there are {', '.join(figures)}")
        folder.mkdir(parents=True, exist_ok=True)
        for name in wanted or figures:
            path = folder / f"{name}.svg"
            path.write_text(figures[name])
            print(path)
        if browser.problems:
            sys.exit(f"figures.py: the page complains: {browser.problems[0]}")
    finally:
        browser.close()


if __name__ == "__main__":
    main()
