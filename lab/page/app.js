// Filters, controls, and drawing again what they change.
"use strict";

(() => {
  const $ = selector => document.querySelector(selector);
  const filters = {};
  const controls = {width: {}, share: {}, winners: {}, error: {}, size: {}, records: {}};
  const instances = {};

  // --- Choices -------------------------------------------------------------------------------------------------------

  function select(label, value, options, change) {
    const element = document.createElement("label");
    element.innerHTML = `<span>${look.escape(label)}</span><select>${options.map(([key, name]) =>
      `<option value="${look.escape(key)}" ${key === value ? "selected" : ""}>${look.escape(name)}</option>`).join("")}</select>`;
    element.querySelector("select").addEventListener("change", event => change(event.target.value));
    return element;
  }

  function checkbox(label, value, change) {
    const element = document.createElement("label");
    element.className = "check";
    element.innerHTML = `<input type="checkbox" ${value ? "checked" : ""}><span>${look.escape(label)}</span>`;
    element.querySelector("input").addEventListener("change", event => change(event.target.checked));
    return element;
  }

  function hint(text) {
    const element = document.createElement("p");
    element.className = "hint";
    element.textContent = text;
    return element;
  }

  function countBy(list, key) {
    const counts = new Map();
    for (const point of list) counts.set(point[key], (counts.get(point[key]) || 0) + 1);
    return counts;
  }

  // The value of most points where the current one does not occur.
  function settle(current, list, key) {
    const counts = countBy(list, key);
    return counts.has(current) ? current : [...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value)[0];
  }

  // The first view is the one with most points on curves of three or more. Later choices stay where they occur.
  function settleFilters() {
    const keys = ["device", "family", "size", "format"];
    filters.variants = filters.variants || "best";
    if (filters.device === undefined) {
      const groups = new Map();
      for (const point of model.matching({})) {
        const key = keys.map(name => point[name]).join("|");
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(point);
      }
      const rank = list => [model.pointsOnCurves(list), list.length];
      const best = [...groups.values()].sort((a, b) => rank(b)[0] - rank(a)[0] || rank(b)[1] - rank(a)[1])[0];
      if (best) for (const key of keys) filters[key] = best[0][key];
    }
    const wanted = {loose: true};
    for (const key of keys) {
      filters[key] = settle(filters[key], model.matching(wanted), key);
      wanted[key] = filters[key];
    }
  }

  function showFilters() {
    const wanted = {loose: true};
    const choice = (key, label, compare, name = value => value) => {
      const values = model.distinct(model.matching(wanted), point => point[key], compare).map(value => [value, name(value)]);
      wanted[key] = filters[key];
      return select(label, filters[key], values, value => { filters[key] = value; refresh(); });
    };
    $("#filters").replaceChildren(
      choice("device", "Device"),
      choice("family", "Kernel", undefined, value => (model.families[value] || {name: value}).name),
      choice("size", "Size", model.bySize),
      choice("format", "Format"),
      select("Variants", filters.variants, [["best", "the fastest of each technique"], ["default", "as they are by default"],
        ["all", "all options"]], value => { filters.variants = value; refresh(); }),
      checkbox("also beyond the default accuracy", filters.loose, value => { filters.loose = value; refresh(); }));
  }

  function kernelSelect(section, list) {
    const own = controls[section];
    own.kernel = settle(own.kernel, list, "kernel");
    const order = new Map(list.map(point => [point.kernel, point.x]));
    const kernels = [...order].sort((a, b) => a[1] - b[1]).map(([kernel]) => [kernel, kernel]);
    return select("Kernel", own.kernel, kernels, value => { own.kernel = value; draw(section); });
  }

  const setControls = (section, ...elements) => $(`#${section} .controls`).replaceChildren(...elements);

  const makeControls = {
    width() {
      const own = controls.width;
      const set = key => value => { own[key] = value; draw("width"); };
      const known = model.matching({device: filters.device, loose: true});
      const clocks = Object.entries(charts.clocks).filter(([, clock]) => known.some(point => clock.of(point) !== undefined));
      const elements = [
        select("Axis", own.unit || "ms", [["ms", "milliseconds"], ["copies", "times a copy"]], set("unit")),
        select("Scale", own.scale || "log", [["log", "logarithmic"], ["linear", "linear"]], set("scale"))];
      if (clocks.length > 1) {
        elements.push(select("Clock", own.clock || "ms", clocks.map(([key, clock]) => [key, clock.name]), set("clock")));
      }
      const published = charts.publishedSeries(filters).length;
      elements.push(published ? checkbox("published times", own.published, set("published"))
        : hint(`no published times for ${filters.size} ${filters.format} ${filters.family}`));
      elements.push(hint("Times a copy: the time divided by that of a copy of the same bytes in the same run."));
      setControls("width", ...elements);
    },
    share() { setControls("share", kernelSelect("share", model.matching(pick("device", "size", "format", "family", "loose")))); },
    winners() {},  // the filters alone choose
    error() {
      const list = model.matching({...pick("device", "size", "format"), loose: true});
      // Gaussians without an end differ most in error; other kernels take their place where one or two points are all there is of any.
      const gaussians = list.filter(point => point.family === "gaussian");
      const most = Math.max(0, ...countBy(gaussians, "kernel").values());
      setControls("error", kernelSelect("error", most > 2 ? gaussians : list));
    },
    size() {
      const list = model.matching(pick("device", "format", "family", "loose"));
      const sizes = kernel => model.distinct(list.filter(point => point.kernel === kernel), point => point.size).length;
      const many = list.filter(point => sizes(point.kernel) > 1);
      $("#size").hidden = many.length === 0;  // one size is no curve
      if (many.length) setControls("size", kernelSelect("size", many));
    },
    records() {
      if ($("#records input")) return;
      const label = document.createElement("label");
      label.innerHTML = '<span>Search</span><input type="search" placeholder="sep. rgba8 4096 unstable">';
      label.querySelector("input").addEventListener("input", event => { tables.search(event.target.value); draw("records"); });
      setControls("records", label, hint("Rows that have all of these words in their case, technique or device, or as a mark: unstable, " +
        "outdated, beyond (the default accuracy)."));
    },
  };

  const pick = (...keys) => Object.fromEntries(keys.map(key => [key, filters[key]]));

  // --- Drawing -------------------------------------------------------------------------------------------------------

  function drawChart(section) {
    const box = $(`#${section} .chart`);
    if ($(`#${section}`).hidden) return;
    const option = charts[section](filters, controls[section], box.clientWidth);
    box.classList.toggle("empty", option.series.every(line => line.data.length === 0));
    box.style.height = `${option.height}px`;
    delete option.height;
    if (!instances[section]) {
      instances[section] = echarts.init(box, null, {renderer: "svg"});
      instances[section].on("click", event => event.data && event.data.point && tables.showPoint(event.data.point));
    }
    instances[section].resize();
    instances[section].setOption(option, {notMerge: true});
  }

  function draw(section) {
    if (charts[section]) return drawChart(section);
    tables[section]($(`#${section} .table-box`), filters, controls[section]);
  }

  function refresh() {
    settleFilters();
    showFilters();
    for (const section of Object.keys(controls)) {
      makeControls[section]();
      draw(section);
    }
  }

  function summarize() {
    const {points, data} = model;
    const count = (is, what) => points.some(is) ? [`${points.filter(is).length} ${what}`] : [];
    const left = Object.entries(data.left_out).map(([outcome, number]) => `${number} ${outcome}`).join(", ");
    const devices = model.distinct(points, point => point.device);
    const measured = points.length > 0 ? `${points.length} measurements on ${devices.join(" and ")}` : "There are no measurements in these results";
    const parts = [measured, ...count(point => point.loose, "beyond the default accuracy"),
      ...count(point => point.unstable, "unstable"), ...count(point => point.outdated, "outdated"),
      ...(marks.shared.length ? [`${marks.shared.length} series with the colour and mark of another`] : [])];
    $("#summary").textContent = parts.join(", ") + (left ? `; not timed: ${left}` : "");
  }

  // Pictures of all charts, for documents: by the name of their section.
  const figures = () => Object.fromEntries(Object.entries(instances).map(([name, chart]) => {
    chart.setOption({toolbox: {show: false}});  // there is nothing to click in a picture
    const svg = chart.renderToSVGString();
    chart.setOption({toolbox: {show: true}});
    return [name, svg];
  }));
  window.lab = {figures, filters, controls, refresh, instances};

  summarize();
  if (model.points.length === 0) {
    $("main").hidden = true;
    return;
  }
  refresh();
  tables.machines($("#machines .table-box"));
  addEventListener("resize", () => Object.keys(instances).forEach(draw));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
  $("#theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = look.isDark() ? "light" : "dark";
    refresh();
  });
})();
