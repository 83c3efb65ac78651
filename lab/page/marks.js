// The colour and the mark of each series: no two of the loaded records share both, so that a series keeps its own on every chart.
"use strict";

const marks = (() => {
  // For light pages and for dark ones. The dark ones are the eight colours of Okabe and Ito, "Color Universal Design", 2008, with white for
  // their black. Five of theirs are dark enough for a white page; the other three are of the schemes "bright", "muted" and "dark" of
  // Paul Tol, "Colour Schemes", technical note SRON/EPS/TN/09-002, 2021. Both choose for people with weak or no red or green vision.
  const palette = [
    ["#0072b2", "#56b4e9"], ["#d55e00", "#d55e00"], ["#009e73", "#009e73"], ["#cc79a7", "#cc79a7"],
    ["#000000", "#ffffff"], ["#aa3377", "#f0e442"], ["#663333", "#e69f00"], ["#332288", "#0072b2"],
  ];

  // Outlines that fill a square of 20, clockwise. With the middle and the radius of the hole that they have room for.
  const outlines = {
    circle: ["M10 0A10 10 0 0 1 10 20A10 10 0 0 1 10 0Z", [10, 10, 6]],
    square: ["M0 0H20V20H0Z", [10, 10, 6.5]],
    triangle: ["M10 0L20 20H0Z", [10, 13.5, 4.5]],
    diamond: ["M10 0L20 10L10 20L0 10Z", [10, 10, 5]],
    down: ["M0 0H20L10 20Z", [10, 6.5, 4.5]],
    cross: ["M5 0L10 5L15 0L20 5L15 10L20 15L15 20L10 15L5 20L0 15L5 10L0 5Z"],
    star: ["M10 0L13 7.2L20 7.7L14.6 12.4L16.2 20L10 15.8L3.8 20L5.4 12.4L0 7.7L7 7.2Z"],
    plus: ["M7 0H13V7H20V13H13V20H7V13H0V7H7Z"],
    right: ["M0 0L20 10L0 20Z", [6.5, 10, 4.5]],
    left: ["M20 0V20L0 10Z", [13.5, 10, 4.5]],
    hourglass: ["M0 0H20L12 10L20 20H0L8 10Z"],
    bowtie: ["M0 0L10 8L20 0V20L10 12L0 20Z"],
    dome: ["M0 20A10 20 0 0 1 20 20Z", [10, 12, 5.5]],
    bowl: ["M0 0H20A10 20 0 0 1 0 0Z", [10, 8, 5.5]],
    house: ["M10 0L20 10V20H0V10Z", [10, 11.5, 6]],
    arrow: ["M10 0L20 20L10 14L0 20Z"],
    tee: ["M0 0H20V7H13.5V20H6.5V7H0Z"],
    corner: ["M0 0H8V12H20V20H0Z"],
  };
  // Counterclockwise, so that they are cut out. They are seen although a level line goes through the middle, and never leave a mere rim,
  // which would look like a hollow mark.
  const rectangle = (left, top, right, bottom) => `M${left} ${top}V${bottom}H${right}V${top}Z`;
  const holes = {
    slot: (x, y, r) => rectangle(x - 0.4 * r, y - r, x + 0.4 * r, y + r),
    top: (x, y, r) => rectangle(x - 0.8 * r, y - 0.9 * r, x + 0.8 * r, y - 0.1 * r),
    bottom: (x, y, r) => rectangle(x - 0.8 * r, y + 0.1 * r, x + 0.8 * r, y + 0.9 * r),
  };
  const shapes = new Map(Object.entries(outlines).map(([shape, [outline]]) => [shape, outline]));
  for (const [hole, path] of Object.entries(holes)) {
    for (const [shape, [outline, room]] of Object.entries(outlines)) {
      if (room) shapes.set(`${shape} ${hole}`, outline + path(...room));
    }
  }

  // The techniques that the page knows have the same colour and mark on every page: a shape for each family, a colour for each member.
  const techniques = {
    circle: ["sep.fused", "sep.direct", "sep.shared", "sep.inline", "sep.inline_shared", "sep.sliding", "sep.inline_sliding",
      "sep.inline_sliding_shared"],
    square: ["gauss.recursive", "gauss.linear", "gauss.lerp_taps", "gauss.boxes", "gauss.pyramid", "gauss.half_res", "gauss.cut",
      "gauss.decimate"],
    // None in the colour of sep.fused, which does boxes, too.
    triangle: [undefined, "box.any", "box.running", "box.scan", "box.sep", "box.sep_linear", "box.nxn", "box.nxn_linear"],
    diamond: ["quad.3x3", "kawase.dual", "matrix.lowrank", "matrix.fft", "nxn.direct", "nxn.shared"],
  };
  // Of all others, peers above all.
  const shapesOfOthers = Object.keys(outlines).filter(shape => !(shape in techniques));

  const taken = new Map();  // from "shape|nth colour" to the series that has it
  const styles = new Map();  // from a series to {shape, nth, dashed}
  const shared = [];  // series for which no pair was left

  // The first free pair: all colours of one shape, from the wanted colour on, before the next shape.
  function give(name, wanted, order, dashed) {
    const pairs = order.flatMap(shape => palette.map((_, i) => ({shape, nth: (wanted + i) % palette.length})));
    const free = pairs.find(({shape, nth}) => !taken.has(`${shape}|${nth}`));
    if (!free) shared.push(name);
    const {shape, nth} = free || pairs[0];
    taken.set(`${shape}|${nth}`, name);
    styles.set(name, {shape, nth, dashed});
  }

  const hash = text => [...text].reduce((sum, character) => (sum * 31 + character.codePointAt(0)) % 65521, 7);

  // Those of a technique with options, of one allowed error, or published: its own shape with a hole, then those that no family has.
  function giveVariant(name, technique) {
    const {shape, nth, dashed} = styles.get(technique) || {shape: familyShape(technique), nth: hash(technique), dashed: false};
    const own = [...shapes.keys()].filter(key => key.startsWith(`${shape} `));
    give(name, nth, [...own, ...[...shapesOfOthers].reverse(), ...[...shapes.keys()].reverse()], dashed);
  }

  function familyShape(technique) {
    const family = technique.split(".")[0] + ".";
    const hasFamily = shape => techniques[shape].some(member => member && member.startsWith(family));
    return Object.keys(techniques).find(hasFamily) || shapesOfOthers[0];
  }

  // Without what is said by hollow marks.
  const nameOf = name => name.replace(model.beyond, "");

  for (const [shape, members] of Object.entries(techniques)) members.forEach((name, i) => name && give(name, i, [shape], false));
  const peers = new Set(model.points.filter(point => point.peer).map(point => point.technique));
  const others = new Set(model.points.map(point => point.technique).filter(name => !styles.has(name)));
  // A peer of another version has the same colour if it is free.
  const withoutVersion = name => name.replace(/ [\d.]+\S*/, "");
  for (const name of [...others].sort()) {
    if (peers.has(name)) give(name, hash(withoutVersion(name)), [...shapesOfOthers, ...shapes.keys()], true);
    else giveVariant(name, name);
  }
  const variants = new Map(model.points.map(point => [nameOf(model.seriesName(point, "all")), point.technique]));
  for (const name of [...variants.keys()].sort()) if (!styles.has(name)) giveVariant(name, variants.get(name));
  for (const row of model.data.published) if (!styles.has(model.publishedName(row))) giveVariant(model.publishedName(row), row.technique);

  // Of a series, by its name.
  function of(name) {
    const {shape, nth, dashed} = styles.get(nameOf(name));
    // A diamond looks smaller than it is wide.
    return {color: palette[nth][look.isDark() ? 1 : 0], symbol: `path://${shapes.get(shape)}`,
      scale: shape.startsWith("diamond") ? 1.3 : 1, dashed};
  }

  // The colours of a mark. A hollow one is filled with the card that it lies on; the library's own hollow symbols are white on dark cards.
  // Opaque, where the library's points are not, which takes contrast.
  const fill = (color, isHollow) =>
    isHollow ? {color: look.css("--card"), borderColor: color, borderWidth: 2, opacity: 1} : {color, opacity: 1};

  // What a legend shows of a line that has no marks.
  const line = "path://M0 0ZM0 8H20V12H0ZM20 20Z";

  return {of, fill, line, palette, shared};
})();
