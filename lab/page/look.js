// Colours, symbols and numbers.
"use strict";

const look = (() => {
  // A hue for each family, shades and symbols within it: neighbours in a chart can be told apart, relatives recognised.
  const kinds = [
    ["nxn.", 350, ["nxn.direct", "nxn.shared"]],
    ["quad.", 52, ["quad.3x3"]],
    ["sep.", 210, ["sep.direct", "sep.shared", "sep.inline", "sep.inline_shared", "sep.sliding", "sep.inline_sliding",
      "sep.inline_sliding_shared", "sep.fused"]],
    ["box.", 25, ["box.nxn", "box.nxn_linear", "box.sep", "box.sep_linear", "box.running", "box.scan", "box.any"]],
    ["gauss.", 280, ["gauss.linear", "gauss.lerp_taps", "gauss.half_res", "gauss.recursive", "gauss.boxes",
      "gauss.decimate", "gauss.pyramid", "gauss.cut"]],
    ["kawase.", 318, ["kawase.dual"]],
    ["matrix.", 90, ["matrix.lowrank", "matrix.fft"]],
  ];
  const symbols = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond", "pin"];
  const greys = ["#5f6b7a", "#8a6d3b", "#3b7a72", "#7a3b5f", "#6d7a3b", "#3b4f7a", "#94755a"];

  const isDark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

  const known = new Map();
  function of(name) {
    const technique = name.split(":")[0];
    const kind = kinds.find(([prefix]) => technique.startsWith(prefix));
    if (!kind) {  // a peer
      if (!known.has(technique)) known.set(technique, known.size);
      const nth = known.get(technique);
      return {color: greys[nth % greys.length], symbol: symbols[(nth + 4) % symbols.length], dashed: true};
    }
    const nth = Math.max(0, kind[2].indexOf(technique));
    const count = kind[2].length;
    const turn = count === 1 ? 0 : (nth / (count - 1) - 0.5) * Math.min(90, 16 * count);
    const light = (isDark() ? 66 : 42) + (nth % 2 ? 8 : 0);
    return {color: `hsl(${(kind[1] + turn + 360) % 360} ${isDark() ? 75 : 70}% ${light}%)`,
      symbol: symbols[nth % symbols.length], dashed: false};
  }

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

  return {of, css, number, time, error, escape, isDark};
})();
