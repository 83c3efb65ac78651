"""The report in a real browser: charts are there, nothing complains, filters and taps do what they say."""
import copy
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from browser import Browser

RESULTS = Path(os.environ["MOLLIFY_RESULTS"])
CHARTS = ("width", "share", "error", "size")
STUDIES = ("h200-study", "epyc-peers")  # of the folder of RESULTS: many techniques with options, and many peers
# The SVG paths of a chart whose marks carry data, by the library's own account.
SERIES = "lab.instances.{}.getOption().series.filter(s => s.data.length > 0).map(s => s.name)"


def linear_rgb(colour):
    values = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]


def contrast(a, b):
    """The ratio of luminances that WCAG 2 defines."""
    lights = sorted(sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear_rgb(colour))) + 0.05 for colour in (a, b))
    return lights[1] / lights[0]


def oklab(colour, vision="all cones"):
    """A colour in Oklab, where distances are about as people see them (Ottosson 2020)."""
    r, g, b = (max(0, sum(weight * value for weight, value in zip(row, linear_rgb(colour)))) for row in VISIONS[vision])
    long, medium, short = (
        (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3),
        (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3),
        (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3))
    return (0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short)


# How people see a colour, as linear RGB, whose eyes lack the cones for long waves (protanopia) or middle ones (deuteranopia): the matrices
# of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", 2009.
VISIONS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}

# All series that some choice of filters shows: chart, what is shown of whom, name, colour, mark, and how opaque it is. The library draws
# the points of a scatter chart at 0.8 unless it is told otherwise.
ALL_SERIES = """(backwards => {
    const places = [...new Map(model.points.map(p => [[p.device, p.size, p.format, p.family].join(), p])).values()];
    const found = [];
    for (const {device, size, format, family} of backwards ? places.reverse() : places) {
        const kernels = new Set(model.matching({device, size, format, family, loose: true}).map(point => point.kernel));
        for (const variants of ["best", "all"]) {
            const filters = {device, size, format, family, variants, loose: true};
            const drawn = [["width", charts.width(filters, {published: true}, 1000)]];
            for (const kernel of kernels) {
                for (const chart of ["error", "size"]) drawn.push([chart, charts[chart](filters, {kernel}, 1000)]);
            }
            drawn.forEach(([chart, {series}], i) => series.filter(line => line.symbol && line.symbol !== "none").forEach(line => {
                const {color, borderColor, opacity = line.type === "scatter" ? 0.8 : 1} = line.itemStyle;
                found.push([chart, [i, ...Object.values(filters)].join(), line.name, borderColor || color,
                            `${borderColor ? "hollow" : "filled"} ${line.symbol}`, Math.min(opacity, (line.lineStyle || {}).opacity || 1)]);
            }));
        }
    }
    return found;
})"""

# The marks of a chart by their outlines' kinds and colours; those of the legend, with the name beside them, and those above it.
DRAWN_MARKS = """(() => {
    const svg = document.querySelector("#error svg");
    const names = new Set(lab.instances.error.getOption().series.filter(s => s.type === "scatter" && s.name).map(s => s.name));
    const texts = [...svg.querySelectorAll("text")].filter(text => names.has(text.textContent));
    const top = Math.min(...texts.map(text => text.getBoundingClientRect().top));
    const kind = path => [path.getAttribute("d").replace(/[^A-Z]/gi, ""), path.getAttribute("fill"), path.getAttribute("stroke")].join();
    const paths = [...svg.querySelectorAll("path")].map(path => ({box: path.getBoundingClientRect(), kind: kind(path)}));
    return {
        names: [...names], above: paths.filter(({box}) => box.bottom < top).map(path => path.kind),
        legend: texts.map(text => {
            const {left, top, bottom} = text.getBoundingClientRect();
            return [text.textContent, paths.filter(({box}) => left - 12 < box.right && box.right <= left + 1 && box.left > left - 24 &&
                Math.abs(box.top + box.bottom - top - bottom) < 8).map(path => path.kind)];
        })};
})()"""


def blend(colour, opacity, page):
    """A colour on a page, as the browser computes it."""
    channels = [(int(colour[i:i + 2], 16), int(page[i:i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(opacity * over + (1 - opacity) * under):02x}" for over, under in channels)


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([os.environ["MOLLIFY_TOOL"], "lab", "report", RESULTS, "-o", cls.folder.name], check=True,
                       stdout=subprocess.DEVNULL)
        cls.page = Path(cls.folder.name) / "index.html"
        cls.browser = Browser()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.problems.clear()
        self.browser.view(1200, 900)
        self.browser.open(self.page)

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])

    def ask(self, expression):
        return self.browser.evaluate(expression)

    def choose(self, label, value):
        self.assertTrue(self.ask(f"""(() => {{
            const label = [...document.querySelectorAll("label")].find(l => l.textContent.startsWith({label!r}));
            const select = label && label.querySelector("select");
            if (!select || ![...select.options].some(o => o.value === {value!r})) return false;
            select.value = {value!r};
            select.dispatchEvent(new Event("change"));
            return true;
        }})()"""), f"{label} has no {value}")

    def shoot(self, name):
        folder = os.environ.get("MOLLIFY_SCREENSHOTS")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.browser.screenshot(Path(folder) / f"{name}.png")

    def test_every_chart_is_drawn(self):
        for chart in CHARTS:
            self.assertGreater(len(self.ask(SERIES.format(chart))), 0, chart)
            marks = self.ask(f"document.querySelectorAll('#{chart} svg path').length")
            self.assertGreaterEqual(marks, 20, chart)
        self.assertGreater(self.ask("document.querySelectorAll('td.win').length"), 5)
        self.assertEqual(self.ask("document.querySelectorAll('#records tbody tr').length"), 30)
        self.assertIn("201 measurements", self.ask("document.querySelector('#summary').textContent"))
        self.shoot("light")

    def test_filters_change_what_is_drawn(self):
        self.assertIn("sep.inline", self.ask(SERIES.format("width")))
        before = self.ask("JSON.stringify(lab.instances.width.getOption().series[0].data)")
        self.choose("Format", "rgba32f")
        self.assertNotEqual(self.ask("JSON.stringify(lab.instances.width.getOption().series[0].data)"), before)
        self.choose("Kernel", "box")
        self.assertIn("box.sep", self.ask(SERIES.format("width")))
        self.assertNotIn("sep.inline", self.ask(SERIES.format("width")))
        self.choose("Kernel", "gaussian cut")
        self.choose("Variants", "all")
        self.assertTrue(any(":" in name for name in self.ask(SERIES.format("width"))) or
                        len(self.ask(SERIES.format("width"))) > 5)

    def test_units_and_published_times(self):
        plain = self.ask(SERIES.format("width"))
        self.choose("Format", "rgba32f")
        self.ask("document.querySelector('#width input[type=checkbox]').click()")
        overlaid = self.ask(SERIES.format("width"))
        published = [name for name in overlaid if name.endswith("published")]
        self.assertGreater(len(published), 5)
        self.assertEqual([n for n in overlaid if n not in published], plain)
        self.shoot("published")
        self.choose("Axis", "copies")
        self.assertEqual([n for n in self.ask(SERIES.format("width")) if n.endswith("published")], [])
        self.choose("Clock", "endToEndMs")
        self.choose("Axis", "ms")
        self.assertIn("end to end", self.ask("lab.instances.width.getOption().yAxis[0].name"))

    def test_published_times_that_there_are_not(self):
        self.choose("Size", "512x512")
        self.assertIn("no published times for 512x512 rgba8", self.ask("document.querySelector('#width .controls').textContent"))

    def test_what_is_beyond_the_default_accuracy_is_marked_and_off(self):
        self.choose("Kernel", "gaussian")
        names = ("[...new Set(['width', 'share', 'size'].filter(id => lab.instances[id]).flatMap(id => lab.instances[id].getOption().series)"
                 ".flatMap(s => s.data.map(d => [s.name, d.point.loose, d.point.error, d.point.record.default_error])))]")
        self.assertTrue(self.ask(names))
        self.assertEqual([row for row in self.ask(names) if row[1]], [])
        self.assertEqual([row for row in self.ask(names) if row[2] > row[3]], [])
        self.ask("""[...document.querySelectorAll('#filters label')].find(l => l.textContent.startsWith('also beyond'))
            .querySelector('input').click()""")
        loose = [row for row in self.ask(names) if row[1]]
        self.assertTrue(loose)
        self.assertTrue(all(row[2] > row[3] for row in loose))
        self.assertTrue(any("beyond the default accuracy" in name for name in self.ask(SERIES.format("width"))))

    def test_a_line_joins_one_accuracy_only(self):
        record = json.loads(RESULTS.read_text().split("\n", 1)[0])
        wider = {**record, "radius": 20}
        self.open_report_of(record, {**wider, "case": wider["case"] + "/max_error=0.0001"}, {**wider, "case": wider["case"] + "/max_error=0.01"},
                            {**wider, "radius": 30, "case": wider["case"] + "/max_error=0.02", "max_error": 0.015})
        self.choose("Variants", "all")
        self.ask("lab.filters.loose = true; lab.refresh()")
        self.assertEqual(len(self.ask(SERIES.format("width"))), 4)
        self.choose("Variants", "best")
        self.assertEqual(len(self.ask(SERIES.format("width"))), 2)

    def test_bars_have_whole_names(self):
        for width in (1200, 390):
            self.browser.view(width, 844)
            self.browser.open(self.page)
            self.choose("Variants", "all")
            labels = self.ask("[...document.querySelectorAll('#share svg text')].map(t => t.textContent.trim())")
            self.assertEqual([label for label in labels if "…" in label or label.endswith("...")], [])
            shown = "".join(labels).replace(" ", "")
            names = self.ask("lab.instances.share.getOption().yAxis[0].data")
            self.assertEqual([name for name in names if name.replace("\n", "").replace(" ", "") not in shown], [])

    def test_the_first_view_has_curves(self):
        records = [json.loads(line) for line in RESULTS.read_text().splitlines()]
        curves = [r for r in records if r["width"] == 512 and r["kernel"] == "gaussian" and "radius" in r]
        # More records, but of one width.
        others = [r for r in records if r["width"] == 4096 and r.get("radius") == 4]
        many = [{**r, "case": f"{r['case']}/{n}"} for n in range(9) for r in others]
        self.open_report_of(*curves, *many)
        self.assertEqual(self.ask("lab.filters.size"), "512x512")

    def test_the_error_that_is_allowed_by_default_is_a_line(self):
        self.assertIn("allowed by default", self.ask("lab.instances.error.renderToSVGString()"))

    def test_the_chart_of_errors_opens_on_more_than_one_point(self):
        records = [json.loads(line) for line in RESULTS.read_text().splitlines()]
        ended = [r for r in records if r["width"] == 512 and r["src_format"] == "rgba8" and r["kernel"] == "gaussian" and "radius" in r]
        endless = {key: value for key, value in ended[0].items() if key != "radius"}
        self.open_report_of(*ended, {**endless, "sigma": 5.0, "case": "auto/512x512/rgba8/gaussian:sigma=5/clamp"})
        self.assertIn("radius", self.ask("lab.controls.error.kernel"))

    def test_one_size_draws_no_axis_for_many(self):
        self.open_report_of(*[r for r in map(json.loads, RESULTS.read_text().splitlines()) if r["width"] == 512])
        self.assertTrue(self.ask("document.querySelector('#size').hidden"))

    def test_colours_can_be_told_apart(self):
        palette = self.ask("marks.palette")
        for column in (0, 1):
            for vision, least in (("all cones", 0.15), ("protanopia", 0.07), ("deuteranopia", 0.07)):
                colours = [oklab(pair[column], vision) for pair in palette]
                distances = [math.dist(a, b) for i, a in enumerate(colours) for b in colours[:i]]
                self.assertGreater(min(distances), least, vision)

    def test_marks_stand_out_from_the_card(self):
        for dark in (False, True):
            self.browser.view(1200, 900, dark=dark)
            self.open_results(*STUDIES)
            card = self.ask("look.css('--card')")
            faint = {(name, colour, opacity) for _, _, name, colour, _, opacity in self.ask(ALL_SERIES + "(false)")
                     if contrast(blend(colour, opacity, card), card) < 3}  # what WCAG 2.1 asks of graphics
            self.assertEqual(sorted(faint), [], card)

    def test_no_two_series_of_a_chart_look_alike(self):
        for studies in ([STUDIES[0]], [STUDIES[1]], STUDIES):
            self.open_results(*studies)
            seen = {}
            for chart, where, name, colour, mark, _ in self.ask(ALL_SERIES + "(false)"):
                seen.setdefault((chart, where, colour, mark), set()).add(name)
            self.assertGreater(len(seen), 100)
            self.assertEqual([names for names in seen.values() if len(names) > 1], [], studies)

    def test_a_series_looks_the_same_on_every_chart(self):
        looks = {}
        for backwards in (False, True):
            self.open_results(*STUDIES, backwards=backwards)
            for _, _, name, colour, mark, _ in self.ask(f"{ALL_SERIES}({str(backwards).lower()})"):
                looks.setdefault(name, set()).add((colour, mark))
        self.assertGreater(len(looks), 200)
        self.assertEqual({name: look for name, look in looks.items() if len(look) > 1}, {})

    def test_the_legend_shows_the_marks(self):
        for dark in (False, True):
            self.browser.view(1400, 900, dark=dark)
            self.open_results(STUDIES[0])
            self.ask("Object.assign(lab.filters, {family: 'gaussian', size: '2048x2048', format: 'rgba8'}); "
                     "lab.controls.error.kernel = 'gaussian sigma 100'; lab.refresh()")
            drawn = self.ask(DRAWN_MARKS)
            self.assertGreater(len(drawn["names"]), 10)
            self.assertEqual(sorted(name for name, _ in drawn["legend"]), sorted(drawn["names"]))
            self.assertEqual([(name, kinds) for name, kinds in drawn["legend"] if len(kinds) != 1 or kinds[0] not in drawn["above"]], [])
            kinds = [kinds[0] for _, kinds in drawn["legend"]]
            self.assertEqual(len(set(kinds)), len(kinds))

    def test_a_narrow_legend_is_whole(self):
        self.browser.view(390, 844, mobile=True)
        for study in STUDIES:
            self.open_results(study)
            for loose in ("false", "true"):
                self.ask(f"lab.filters.loose = {loose}; lab.refresh()")
                for chart in ("width", "error"):
                    cut = self.ask(f"""(() => {{
                        const svg = document.querySelector("#{chart} svg");
                        const [left, right] = [svg.getBoundingClientRect().left, svg.getBoundingClientRect().right];
                        return [...svg.querySelectorAll(":is(path, text):not(clipPath *)")].filter(part =>
                            part.getBoundingClientRect().left < left || part.getBoundingClientRect().right > right).map(part => part.textContent || part.getAttribute("d"));
                    }})()""")
                    self.assertEqual(cut, [], (study, chart))

    def test_series_beyond_the_marks_are_counted(self):
        record = json.loads(RESULTS.read_text().split("\n", 1)[0])
        asked, rest = record["case"].split("/", 1)
        algorithm = asked.split(":")[0]
        self.open_report_of(*({**record, "case": f"{algorithm}:group={n}x1/{rest}"} for n in range(300)))
        self.assertNotIn("of another", self.ask("document.querySelector('#summary').textContent"))
        self.open_report_of(*({**record, "case": f"{algorithm}:group={n}x1/{rest}"} for n in range(600)))
        self.assertRegex(self.ask("document.querySelector('#summary').textContent"), r"\d+ series with the colour and mark of another")

    def test_the_table_sorts_and_searches(self):
        times = "[...document.querySelectorAll('#records tbody tr')].map(r => Number(r.cells[1].textContent))"
        fastest = self.ask(times)
        self.assertEqual(fastest, sorted(fastest))
        self.ask("document.querySelector('[data-sort=ms]').click()")
        slowest = self.ask(times)
        self.assertEqual(slowest, sorted(slowest, reverse=True))
        self.assertGreater(slowest[0], fastest[0])
        self.ask("""(() => { const input = document.querySelector('#records input'); input.value = 'kawase rgba8';
            input.dispatchEvent(new Event('input')); })()""")
        names = self.ask("[...document.querySelectorAll('#records tbody tr')].map(r => r.cells[0].textContent)")
        self.assertTrue(names and all("kawase" in name for name in names), names)

    def test_a_point_names_its_case_and_command(self):
        self.ask("""(() => { const chart = lab.instances.width; const series = chart.getOption().series[0];
            const [x, y] = chart.convertToPixel({seriesIndex: 0}, series.data[0].value);
            const box = chart.getDom().getBoundingClientRect();
            window.at = [box.left + x, box.top + y]; })()""")
        x, y = self.ask("at")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.assertTrue(self.ask("document.querySelector('#detail').open"))
        text = self.ask("document.querySelector('#detail').textContent")
        self.assertIn("mollify bench", text)
        self.assertIn("4096x4096/rgba8/gaussian", text)
        self.shoot("detail")

    def test_a_cell_of_the_winner_map_shows_the_ranking(self):
        self.ask("document.querySelector('td.win button').click()")
        self.assertGreater(self.ask("document.querySelectorAll('#detail tr').length"), 5)

    def open_results(self, *studies, backwards=False):
        lines = [line for study in studies for line in RESULTS.with_name(f"{study}.jsonl").read_text().splitlines()]
        self.open_report_of(*map(json.loads, reversed(lines) if backwards else lines))

    def open_report_of(self, *records):
        results = Path(self.folder.name) / "some.jsonl"
        results.write_text("".join(json.dumps(record) + "\n" for record in records))
        folder = Path(self.folder.name) / "some"
        subprocess.run([os.environ["MOLLIFY_TOOL"], "lab", "report", results, "-o", folder], check=True, stdout=subprocess.DEVNULL)
        self.browser.open(folder / "index.html")

    def test_the_last_measurement_of_a_case_counts(self):
        record = json.loads(RESULTS.read_text().split("\n", 1)[0])
        again = copy.deepcopy(record)
        again["time_ns"]["median"] = 3 * record["time_ns"]["median"]
        again["unstable"] = True
        self.open_report_of(record, again)
        self.assertIn("2 measurements", self.ask("document.querySelector('#summary').textContent"))
        self.assertIn("1 unstable, 1 outdated", self.ask("document.querySelector('#summary').textContent"))
        self.assertEqual(self.ask("lab.instances.share.getOption().series[0].data.length"), 1)
        self.assertAlmostEqual(self.ask("lab.instances.share.getOption().series[0].data[0].value"),
                               record["copy_ns"] / again["time_ns"]["median"], places=4)
        self.assertEqual(self.ask("document.querySelectorAll('#records tbody tr').length"), 2)
        self.assertIn("unstable", self.ask("document.querySelector('td.win').textContent"))

    def test_times_of_a_processor_are_no_device_times(self):
        record = json.loads(RESULTS.read_text().split("\n", 1)[0])
        self.open_report_of(record)
        self.assertEqual(self.ask("lab.instances.width.getOption().yAxis[0].name"), "device time, ms")
        record["backend"] = "cpu"
        self.open_report_of(record)
        self.assertEqual(self.ask("lab.instances.width.getOption().yAxis[0].name"), "time, ms")

    def test_a_record_without_a_time_breaks_nothing(self):
        record = json.loads(RESULTS.read_text().split("\n", 1)[0])
        self.open_report_of(record, {key: value for key, value in record.items() if key != "time_ns"})
        summary = self.ask("document.querySelector('#summary').textContent")
        self.assertTrue(summary.startswith("1 measurements") and summary.endswith("not timed: 1 without a time"), summary)

    def test_nothing_could_run(self):
        record = json.loads(RESULTS.read_text().split("\n", 1)[0])
        self.open_report_of({**record, "outcome": "refused"})
        self.assertEqual(self.ask("document.querySelector('#summary').textContent"),
                         "There are no measurements in these results; not timed: 1 refused")

    def test_saved_charts_are_pictures_of_their_own(self):
        wrong = self.ask("""Object.entries(lab.figures()).filter(([, svg]) => svg.length < 5000 ||
            new DOMParser().parseFromString(svg, 'image/svg+xml').querySelector('parsererror')).map(([name]) => name)""")
        self.assertEqual(wrong, [])
        self.assertEqual(sorted(self.ask("Object.keys(lab.figures())")), sorted(CHARTS))

    def test_a_saved_chart_is_of_what_was_asked_for(self):
        tool = Path(__file__).resolve().parents[2] / "tools" / "figures.py"
        for wrong, said in (("size=7x7", "size=7x7"), ("kernel=gaussian sigma 7", "kernel=gaussian sigma 7 for error")):
            done = subprocess.run([sys.executable, tool, self.page, self.folder.name, "error", wrong], capture_output=True, text=True)
            self.assertEqual(done.stderr.strip(), f"figures.py: the page has no points of {said}")

    def test_dark(self):
        self.browser.view(1200, 900, dark=True)
        self.browser.open(self.page)
        background = self.ask("getComputedStyle(document.body).backgroundColor")
        self.assertLess(sum(int(n) for n in background[4:-1].split(",")), 150, background)
        self.shoot("dark")
        self.ask("document.querySelector('#theme').click()")
        self.assertNotEqual(self.ask("getComputedStyle(document.body).backgroundColor"), background)

    def test_phone(self):
        self.browser.view(390, 844, mobile=True)
        self.browser.open(self.page)
        self.assertLessEqual(self.ask("document.documentElement.scrollWidth"), 390)
        for chart in CHARTS:
            self.assertLessEqual(self.ask(f"document.querySelector('#{chart} svg').getBoundingClientRect().right"), 390, chart)
        sorted_by = self.ask("document.querySelector('#records th[aria-sort=ascending]').getBoundingClientRect().right")
        self.assertLessEqual(sorted_by, 390)
        self.shoot("phone")


if __name__ == "__main__":
    unittest.main(verbosity=2)
