// What each chart shows, as options of the charting library. Pure: from a choice of filters to a description.
"use strict";

const charts = (() => {
  const clocks = {
    ms: {name: "device time", of: point => point.ms},
    submitMs: {name: "submit to fence", of: point => point.submitMs},
    endToEndMs: {name: "end to end, with transfers", of: point => point.endToEndMs},
  };

  const errorFloor = 1e-9;  // where an error of 0 is drawn on a logarithmic axis

  function axis(name, type, extra = {}) {
    const line = {lineStyle: {color: look.css("--line")}};
    return {name, type, nameLocation: "middle", nameGap: 30, nameTextStyle: {color: look.css("--muted")},
      axisLabel: {color: look.css("--muted"), formatter: value => look.number(value), hideOverlap: true},
      axisLine: line, axisTick: line, splitLine: line, minorSplitLine: {show: false}, ...extra};
  }

  // The library's rows of a legend, and lines of a name in it.
  const legendRoom = {item: 46, letter: 6.6, gap: 10, border: 1, line: 14};

  // A name that is wider than the chart is in several lines: the library would cut off the marks of all.
  const legendName = (name, width) => inLines(name, Math.floor((width - 10 - legendRoom.item) / legendRoom.letter));

  // One below the other where some name takes several lines, which the library cannot place side by side.
  const isList = (names, width) => names.some(name => legendName(name, width).includes("\n"));

  // A legend that wraps below the axis name needs room in proportion to its rows.
  function legendHeight(names, width) {
    const rows = [];
    const alone = isList(names, width);
    let room = 0;
    for (const name of names) {
      const lines = legendName(name, width).split("\n");
      const length = legendRoom.item + legendRoom.letter * lines[0].length;
      if (alone || length > room) {
        rows.push(legendRoom.gap + legendRoom.border + legendRoom.line * lines.length);
        room = width - 10;
      }
      room -= length;
    }
    return rows.length ? rows.reduce((sum, height) => sum + height) : legendRoom.gap + legendRoom.line;
  }

  // `plot`: the height of the chart without its legend.
  function base(names = [], width = 1000, plot = 400) {
    const below = legendHeight(names, width);
    return {
      height: plot + below,
      animation: false, aria: {enabled: true}, backgroundColor: look.css("--card"),
      textStyle: {fontFamily: look.css("--font"), color: look.css("--text")},
      grid: {left: 34, right: 20, top: 18, bottom: 40 + below, containLabel: true},
      legend: {data: names, bottom: 0, orient: isList(names, width) ? "vertical" : "horizontal", itemGap: legendRoom.gap, itemWidth: 22,
        itemHeight: legendRoom.line, formatter: name => legendName(name, width),
        textStyle: {color: look.css("--text"), lineHeight: legendRoom.line}},
      tooltip: {trigger: "item", confine: true, backgroundColor: look.css("--card"), borderColor: look.css("--line"),
        textStyle: {color: look.css("--text"), fontSize: 13}, formatter: tooltip},
      toolbox: {right: 4, top: -6, itemSize: 13, iconStyle: {borderColor: look.css("--muted")},
        feature: {saveAsImage: {type: "svg", title: "SVG", name: "mollify-lab"}}},
    };
  }

  function tooltip(item) {
    const point = item.data && item.data.point;
    if (!point) return look.escape(item.seriesName) + (item.data && item.data.note ? `<br>${look.escape(item.data.note)}` : "");
    const rows = [
      ["time", `${look.time(point.ms)} (${look.time(point.low)} to ${look.time(point.high)})`],
      ["copies", look.number(point.ratio)],
      ["error", look.error(point.error)],
    ];
    if (point.loose) rows.push(["accuracy", `beyond the default, ${look.number(point.record.default_error)}`]);
    if (point.unstable) rows.push(["unstable", "runs differed by more than 15 %"]);
    return `<b>${look.escape(point.variant)}</b><br>${look.escape(`${point.size} ${point.format} ${point.kernel}`)}` +
      rows.map(([name, value]) => `<br><span class="muted">${name}</span> ${look.escape(value)}`).join("");
  }

  // Points into one series a name, sorted along x.
  function series(list, variants, x, y, {sizeOf = point => point.unstable ? 7 : 10, ...extra} = {}) {
    const groups = new Map();
    for (const point of list) {
      const value = y(point);
      if (!(value > 0)) continue;
      const name = model.seriesName(point, variants);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push({value: [x(point), value], point});
    }
    return [...groups.keys()].sort().map(name => {
      const data = groups.get(name).sort((a, b) => a.value[0] - b.value[0]);
      const style = marks.of(name);
      const isLoose = data[0].point.loose;
      return {name, type: "line", data, symbol: style.symbol,
        symbolSize: (value, item) => style.scale * sizeOf(item.data.point), itemStyle: marks.fill(style.color, isLoose),
        lineStyle: {color: style.color, width: isLoose ? 1.2 : 2, type: isLoose ? "dotted" : style.dashed ? "dashed" : "solid"},
        emphasis: {focus: "series"}, ...extra};
    });
  }

  function publishedSeries(filters) {
    if (!model.families[filters.family].hasWidth) return [];
    const [width, height] = filters.size.split("x").map(Number);
    const bits = (model.matching({format: filters.format, loose: true})[0] || {}).bits;
    const rows = model.data.published.filter(row => row.kernel_width && row.width === width && row.height === height &&
      row.bits_per_pixel === bits && row.technique.startsWith("box.") === (filters.family === "box"));
    const groups = new Map();
    for (const row of rows) {
      const name = model.publishedName(row);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push({value: [row.kernel_width, row.milliseconds],
        note: `${row.milliseconds} ms on ${row.device}, ${row.source}`});
    }
    return [...groups].map(([name, data]) => {
      const {color, symbol, scale} = marks.of(name);
      return {name, type: "line", data, symbol, symbolSize: 8 * scale, itemStyle: {color}, lineStyle: {color, width: 1.2, type: "dotted"},
        emphasis: {focus: "series"}};
    });
  }

  const names = lines => lines.map(line => line.name);

  // Powers of two; of ten where those are too many for the library, which would then label every tenth. The name keeps clear of labels.
  function logAxis(name, values) {
    const positive = values.filter(value => value > 0);
    const [least, most] = positive.length ? [Math.min(...positive), Math.max(...positive)] : [1, 1];
    const logBase = most / least >= 1000 ? 10 : 2;
    const exponent = value => Math.log(value) / Math.log(logBase);
    let longest = 0;
    for (let i = Math.floor(exponent(least)); i <= Math.ceil(exponent(most)); ++i) {
      longest = Math.max(longest, look.number(logBase ** i).length);
    }
    return axis(name, "log", {logBase, nameGap: 18 + 6.6 * longest});
  }

  const heights = lines => lines.flatMap(line => line.data.map(item => item.value[1]));

  // Kernel widths are odd: ticks on them.
  function widthAxis(name, xs) {
    const [least, most] = [Math.min(...xs), Math.max(...xs)];
    if (most / least > 12) return axis(name, "log", {logBase: 2, min: "dataMin", max: "dataMax"});
    const interval = 2 * Math.max(1, Math.ceil((most - least) / 24));
    return axis(name, "value", xs.every(Number.isInteger) ? {interval, min: least > interval ? least - interval : least, max: most + interval} : {});
  }

  function width(filters, controls, room) {
    const {device, size, format, family, variants, loose} = filters;
    const all = model.matching({device, size, format, family, loose});
    const list = model.represent(all, variants, point => point.x);
    const clock = clocks[controls.clock] || clocks.ms;
    const inCopies = controls.unit === "copies";
    const lines = series(list, variants, point => point.x, inCopies ? point => point.ratio : clock.of);
    if (controls.published && !inCopies) lines.push(...publishedSeries(filters));
    const xs = lines.flatMap(line => line.data.map(item => item.value[0]));
    const onGpu = all.some(point => point.record.backend !== "cpu");
    const unit = inCopies ? "times a copy" : `${onGpu ? clock.name : "time"}, ms`;
    return {...base(names(lines), room), series: lines, xAxis: widthAxis(model.families[family].axis, xs),
      yAxis: controls.scale === "linear" ? axis(unit, "value", {nameGap: 44, min: 0}) : logAxis(unit, heights(lines))};
  }

  function share(filters, controls, room) {
    const {device, size, format, family, variants, loose} = filters;
    const list = model.represent(model.matching({device, size, format, family, loose, kernel: controls.kernel}), variants, () => 0)
      .filter(point => point.share !== undefined).sort((a, b) => b.share - a.share).slice(0, 30).reverse();
    const most = Math.max(1, ...list.map(point => point.share));
    const labels = barLabels(list.map(point => model.seriesName(point, variants)), room);
    return {...base(), legend: undefined, height: Math.max(160, labels.row * list.length + 70),
      grid: {left: 16, right: 52, top: 6, bottom: 40, containLabel: true},
      xAxis: axis("share of copy speed", "value", {min: 0, max: Math.ceil(most * 10) / 10, splitNumber: room < 600 ? 2 : 5,
        axisLabel: {color: look.css("--muted"), hideOverlap: true,
          formatter: value => `${Math.round(value * 100)} %`}}),
      yAxis: axis("", "category", {data: labels.texts, splitLine: {show: false}, axisTick: {show: false}, z: 5, axisLabel: labels.style}),
      series: [{name: "share", type: "bar", barMaxWidth: 18,
        data: list.map(point => ({value: point.share, point,
          itemStyle: {...marks.fill(marks.of(model.seriesName(point, variants)).color, point.loose), borderRadius: 2}})),
        label: {show: true, position: "right", color: look.css("--text"),
          formatter: item => `${look.number(item.value * 100, 2)} %`},
        markLine: {silent: true, symbol: "none", data: [{xAxis: 1}], label: {show: false},
          lineStyle: {color: look.css("--accent"), type: "solid", width: 2}}}]};
  }

  // The names of bars are whole: beside the bars where there is room, else above them, in lines that end after a comma, a colon or a space.
  function barLabels(names, room) {
    const pixelsOfLetter = 6.8;
    const longest = Math.max(0, ...names.map(name => name.length));
    const color = look.css("--text");
    if (longest * pixelsOfLetter < 0.4 * room) return {texts: names, row: 26, style: {color, formatter: name => name}};
    const letters = Math.floor((room - 40) / pixelsOfLetter);
    const texts = names.map(name => inLines(name, letters));
    const lines = Math.max(1, ...texts.map(text => text.split("\n").length));
    const height = 16 * lines;
    return {texts, row: height + 28, style: {color, inside: true, align: "left", verticalAlign: "bottom", lineHeight: 16, margin: 2,
      padding: [0, 0, 11, 0], formatter: name => name}};
  }

  function inLines(name, letters) {
    const lines = [""];
    for (const part of name.split(/(?<=[,: ])/)) {
      if (lines[lines.length - 1] && lines[lines.length - 1].length + part.length > letters) lines.push("");
      lines[lines.length - 1] += part;
    }
    return lines.join("\n");
  }

  function error(filters, controls, room) {
    const {device, size, format} = filters;
    const list = model.matching({device, size, format, kernel: controls.kernel, loose: true}).filter(point => point.error !== undefined);
    const x = point => Math.max(point.error, errorFloor);
    const dots = series(list, "best", x, point => point.ms, {type: "scatter", lineStyle: undefined, sizeOf: () => 12});
    const front = model.front(list).map(point => [x(point), point.ms]);
    if (front.length) front.push([1, front[front.length - 1][1]]);
    const frontName = "fastest within the error";
    const frame = base([frontName, ...names(dots)], room);
    // The library rounds its first tick to as many digits as the least value has, which can make it 0: so there is a value at the tick.
    const unseen = list.length ? [{type: "scatter", data: [[errorFloor, list[0].ms]], symbolSize: 0, silent: true}] : [];
    const decades = room < 600 ? 3 : 1;  // between two labels
    const decade = value => value <= errorFloor * 1.5 ? "0" : Math.round(Math.log10(value)) % decades === 0 ? look.number(value) : "";
    return {...frame, legend: {...frame.legend, itemWidth: 14, data: [{name: frontName, icon: marks.line}, ...names(dots)]},
      xAxis: axis("largest error, full scale = 1", "log", {min: errorFloor, max: 1, axisLabel: {color: look.css("--muted"),
        formatter: decade}}),
      yAxis: logAxis("ms", list.map(point => point.ms)),
      series: [{name: frontName, type: "line", step: "end", data: front, symbol: "none", silent: true, z: 1,
        lineStyle: {color: look.css("--accent"), width: 2}, itemStyle: {color: look.css("--accent")},
        markLine: defaultAccuracy(list)}, ...dots, ...unseen]};
  }

  // A line at the error that is allowed by default.
  function defaultAccuracy(list) {
    const {default_error: allowed} = (list[0] || {record: {}}).record;
    if (allowed === undefined) return undefined;
    // The library rounds to two decimals, which is 0 and beyond the axis, unless it is told not to.
    return {silent: true, symbol: "none", precision: -1, data: [{xAxis: allowed}], lineStyle: {color: look.css("--muted"), type: "dashed", width: 1},
      label: {formatter: "allowed by default", position: "end", distance: 3, color: look.css("--muted")}};
  }

  function size(filters, controls, room) {
    const {device, format, family, variants, loose} = filters;
    const all = model.matching({device, format, family, loose, kernel: controls.kernel});
    const list = model.represent(all, variants, point => point.size);
    const lines = series(list, variants, point => point.pixels, point => point.nsPerPixel);
    return {...base(names(lines), room), series: lines,
      xAxis: axis("pixels", "log", {logBase: 4, min: "dataMin", max: "dataMax",
        axisLabel: {color: look.css("--muted"), hideOverlap: true, formatter: pixels}}),
      yAxis: logAxis("ns per pixel", heights(lines))};
  }

  function pixels(value) {
    if (value >= 1e9) return `${look.number(value / 1e9)} G`;
    return value >= 1e6 ? `${look.number(value / 1e6)} M` : value >= 1e3 ? `${look.number(value / 1e3)} k` : String(value);
  }

  return {clocks, width, share, error, size, publishedSeries};
})();
