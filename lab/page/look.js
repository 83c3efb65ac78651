// The colours of the page, and numbers for people.
"use strict";

const look = (() => {
  const isDark = () => document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

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

  return {css, number, time, error, escape, isDark};
})();
