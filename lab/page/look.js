// Colours, symbols and numbers.
"use strict";

const look = (() => {
  // A symbol for each family, and colours within it that a person tells apart. The first of a pair is for light pages, the second for dark
  // ones. A test measures how far they are from each other and from the page.
  const palette = [
    ["#1668d6", "#4d94ff"], ["#e06c00", "#ff9d3c"], ["#12813c", "#22b868"], ["#d023b5", "#ff8fe0"], ["#6b4300", "#a8783a"],
    ["#00a0b0", "#4de3f0"], ["#c8102e", "#ff4d4d"], ["#3d1f9e", "#b9a6ff"], ["#7f9400", "#d4ee5a"], ["#66707d", "#8d98a8"],
  ];
  // The prefix, the symbol, the place of the first colour, and the techniques.
  const families = [
    ["sep.", "circle", 0, ["sep.fused", "sep.direct", "sep.shared", "sep.inline", "sep.inline_shared", "sep.sliding", "sep.inline_sliding",
      "sep.inline_sliding_shared"]],
    ["gauss.", "rect", 3, ["gauss.decimate", "gauss.linear", "gauss.lerp_taps", "gauss.half_res", "gauss.recursive", "gauss.boxes",
      "gauss.pyramid", "gauss.cut"]],
    ["box.", "triangle", 6, ["box.any", "box.nxn", "box.nxn_linear", "box.sep", "box.sep_linear", "box.running", "box.scan"]],
    ["nxn.", "diamond", 8, ["nxn.direct", "nxn.shared"]],
    ["quad.", "pin", 4, ["quad.3x3"]],
    ["kawase.", "arrow", 1, ["kawase.dual"]],
    ["matrix.", "roundRect", 2, ["matrix.lowrank", "matrix.fft"]],
  ];
  const isDark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

  const colour = nth => palette[nth % palette.length][isDark() ? 1 : 0];

  const known = new Map();  // techniques that no family names, and peers, in the order in which they are met
  const nthOfOthers = name => {
    if (!known.has(name)) known.set(name, known.size);
    return known.get(name);
  };

  // Of a technique, with options or without: peers are dashed, and their marks are hollow squares.
  function of(name) {
    const technique = name.split(/[:,]/)[0];
    const family = families.find(([prefix]) => technique.startsWith(prefix));
    if (!family) return {color: colour(nthOfOthers(technique) + 1), symbol: "rect", dashed: true};
    const [, symbol, first, members] = family;
    // Options of one technique share its symbol, and each has its own colour.
    const isPlain = technique === name && members.includes(technique);
    return {color: colour(isPlain ? first + members.indexOf(technique) : nthOfOthers(name)), symbol, dashed: false};
  }

  // The colours of a mark. A hollow one is filled with the card that it lies on; the library's own hollow symbols are white on dark cards.
  const mark = (color, isHollow) => isHollow ? {color: css("--card"), borderColor: color, borderWidth: 2} : {color};

  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function number(value, digits = 3) {
    if (value === undefined || value === null || Number.isNaN(value)) return "–";
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3) return value.toExponential(digits - 1).replace(/\.?0*e\+?/, "e");
    return String(Number(value.toPrecision(size >= 1000 ? Math.max(digits, 4) : digits)));
  }

  function time(ms) {
    if (ms === undefined) return "–";
    if (ms < 0.001) return `${number(ms * 1e6)} ns`;
    if (ms < 1) return `${number(ms * 1e3)} µs`;
    return ms < 1000 ? `${number(ms)} ms` : `${number(ms / 1e3)} s`;
  }

  // Into HTML, wherever a text comes from a record.
  function escape(text) {
    const entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"};
    return String(text).replace(/[&<>"']/g, character => entities[character]);
  }

  const error = value => value === undefined ? "–" : `${number(value)} of full scale (${number(value * 255)} 8-bit steps)`;

  return {of, palette, mark, css, number, time, error, escape, isDark};
})();
