// From records to points that charts can draw, and the questions that charts ask of them.
"use strict";

const model = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  // Rows under one head; null stands for a field that a record lacks.
  const {fields, rows} = data.records;
  const records = rows.map(row => Object.fromEntries(fields.map((field, i) => [field, row[i]]).filter(([, value]) => value !== null)));
  const maxErrorOf = name => (/\/max_error=([^/]+)/.exec(name) || [])[1];
  const first = value => Array.isArray(value) ? value[0] : value;

  // "sep.shared:cache=f16/64x64/rgba8/gaussian:sigma=1/clamp": the algorithm as it was asked for, and the kernel.
  const parts = name => name.split("/");

  const families = {
    "gaussian cut": {name: "Gaussian cut at a radius", axis: "kernel width, pixels", hasWidth: true},
    "gaussian": {name: "Gaussian, not cut", axis: "sigma, pixels", hasWidth: false},
    "box": {name: "box", axis: "kernel width, pixels", hasWidth: true},
    "tent": {name: "tent", axis: "kernel width, pixels", hasWidth: true},
    "taps": {name: "1-D taps", axis: "kernel width, pixels", hasWidth: true},
    "matrix": {name: "matrix", axis: "kernel width, pixels", hasWidth: true},
  };

  function familyOf(record) {
    return record.kernel === "gaussian" && record.radius !== undefined ? "gaussian cut" : record.kernel;
  }

  // "gaussian:sigma=0.3333333333333333,radius=1" for people; the weights of taps and matrices are no reading matter.
  function kernelLabel(record, text) {
    const [name, rest] = text.split(/:(.*)/s);
    const fields = Object.fromEntries((rest || "").split(",").map(field => field.split("=")));
    const short = value => value.split("x").map(number => Number(Number(number).toPrecision(4))).join(" x ");
    if (name === "matrix") return `matrix ${fields.size}`;
    if (name === "taps") return `taps, radius ${first(record.radius)}`;
    return `${name} ${Object.entries(fields).map(([key, value]) => `${key} ${short(value)}`).join(", ")}`;
  }

  // Where a processor was measured with several instruction sets.
  const targetOf = record => record.backend === "cpu" ? (data.environments[record.environment] || {}).highway_target : undefined;
  const targets = new Set(records.map(targetOf).filter(Boolean));
  const otherTarget = record => targets.size > 1 && targetOf(record) ? `, ${targetOf(record)}` : "";

  function toPoint(record, index) {
    const family = familyOf(record);
    const [asked, , , kernelText] = parts(record.case);
    const median = record.time_ns.median;
    const pixels = record.width * record.height;
    const error = record.max_error !== undefined ? record.max_error : record.predicted_error;
    const batch = record.batch || 1;  // images that one run makes
    return {
      record, index, family,
      kernel: kernelLabel(record, kernelText),
      peer: record.peer,
      technique: record.peer ? `${record.peer} ${record.algorithm}` : record.algorithm,
      variant: record.peer ? `${record.peer} ${record.algorithm}` : asked === "auto" ? record.algorithm : asked,
      // Whether its error is larger than what the library allows by default. Where no error is known, what was asked for decides.
      loose: error === undefined ? maxErrorOf(record.case) !== undefined : error > record.default_error,
      options: record.peer || !asked.includes(":") ? "" : asked.slice(asked.indexOf(":") + 1),
      allowed: maxErrorOf(record.case) === undefined ? record.default_error : Number(maxErrorOf(record.case)),
      device: record.device + (record.threads > 1 ? `, ${record.threads} threads` : "") + otherTarget(record),
      size: `${record.width}x${record.height}` + (batch > 1 ? ` x${batch}` : ""),
      pixels,
      format: record.src_format === record.dst_format ? record.src_format : `${record.src_format}-${record.dst_format}`,
      bits: record.pixel_bits,
      x: family === "gaussian" ? first(record.sigma) : 2 * first(record.radius) + 1,
      ms: median / 1e6,
      low: record.time_ns.p10 / 1e6,
      high: record.time_ns.p90 / 1e6,
      submitMs: record.submit_ns === undefined ? undefined : record.submit_ns / 1e6,
      endToEndMs: record.end_to_end_ns === undefined ? undefined : record.end_to_end_ns / 1e6,
      ratio: record.copy_ns > 0 ? median / record.copy_ns : undefined,
      share: record.copy_ns > 0 ? record.copy_ns / median : undefined,
      nsPerPixel: median / pixels / batch,
      error: record.max_error,
      unstable: Boolean(record.unstable),
    };
  }

  const points = records.map(toPoint);

  // What was measured again later counts no more; the table still has it.
  const last = new Map();
  for (const point of points) {
    const key = [point.record.case, point.device, point.size, point.peer && point.technique].join("|");
    if (last.has(key)) last.get(key).outdated = true;
    last.set(key, point);
  }
  const current = points.filter(point => !point.outdated);

  const byNumber = (a, b) => a - b;
  function distinct(list, key, compare) {
    return [...new Set(list.map(key))].filter(value => value !== undefined).sort(compare);
  }
  const pixelsOf = size => size.split("x").reduce((product, length) => product * Number(length), 1);
  const bySize = (a, b) => pixelsOf(a) - pixelsOf(b);

  // `loose: true` also lets in what is beyond the default accuracy.
  function matching({loose, ...wanted}) {
    return current.filter(point => (loose || !point.loose) &&
      Object.entries(wanted).every(([key, value]) => value === undefined || point[key] === value));
  }

  // Which of a technique's variants speak for it at one place of a chart. Those within the default accuracy and others speak for themselves.
  function represent(list, variants, place) {
    if (variants === "all") return list;
    const chosen = new Map();
    for (const point of list) {
      if (variants === "default" && !point.peer && point.options) continue;
      const key = `${seriesName(point, variants)}|${place(point)}`;
      const other = chosen.get(key);
      if (!other || point.ms < other.ms) chosen.set(key, point);
    }
    return [...chosen.values()];
  }

  // A line joins points of one accuracy only: within the default or not, and, where all options are shown, of one allowed error.
  const beyond = ", beyond the default accuracy";
  function seriesName(point, variants) {
    const allowed = variants === "all" && maxErrorOf(point.record.case) !== undefined ? `, max_error ${look.number(point.allowed)}` : "";
    return (variants === "all" ? point.variant : point.technique) + allowed + (point.loose ? beyond : "");
  }

  const publishedName = row => `${row.technique}${row.options ? ` ${row.options.replaceAll(";", ", ")}` : ""}, published`;

  // How many points lie on curves of at least three: what a first view should have many of.
  function pointsOnCurves(list) {
    const xs = new Map();
    for (const point of list) {
      if (!xs.has(point.technique)) xs.set(point.technique, new Set());
      xs.get(point.technique).add(point.x);
    }
    return [...xs.values()].reduce((sum, {size}) => sum + (size > 2 ? size : 0), 0);
  }

  // Points that no other beats in both time and error, by growing error.
  function front(list) {
    const sorted = list.filter(point => point.error !== undefined).sort((a, b) => a.error - b.error || a.ms - b.ms);
    const best = [];
    for (const point of sorted) {
      if (best.length === 0 || point.ms < best[best.length - 1].ms) best.push(point);
    }
    return best;
  }

  return {data, points, families, distinct, byNumber, bySize, matching, represent, seriesName, publishedName, beyond, pointsOnCurves, front};
})();
