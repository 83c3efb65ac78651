// The winner map, the table of everything, one measurement in full.
"use strict";

const tables = (() => {
  const cell = (tag, text, attributes = "") => `<${tag} ${attributes}>${look.escape(text)}</${tag}>`;

  function rank(list) {
    return [...list].sort((a, b) => a.ms - b.ms);
  }

  function byBits(a, b) {
    const bits = format => (model.points.find(point => point.format === format) || {}).bits || 0;
    return bits(a) - bits(b) || a.localeCompare(b);
  }

  function winners(box, filters) {
    const {device, family, loose} = filters;
    const list = model.matching({device, family, loose}).filter(point => !point.peer);
    const columns = model.distinct(list, point => point.x, model.byNumber);
    const rows = model.distinct(list, point => point.size, model.bySize).flatMap(size =>
      model.distinct(list.filter(point => point.size === size), point => point.format, byBits).map(format => ({size, format})));
    const cells = new Map();
    const at = (size, format, x) => cells.get(`${size}|${format}|${x}`) || [];
    for (const point of list) {
      const key = `${point.size}|${point.format}|${point.x}`;
      if (!cells.has(key)) cells.set(key, []);
      cells.get(key).push(point);
    }
    const head = `<tr><th>size, format</th>${columns.map(x => cell("th", look.number(x))).join("")}</tr>`;
    const body = rows.map(({size, format}) => `<tr><th>${look.escape(`${size} ${format}`)}</th>${columns.map(x => {
      const [best] = rank(at(size, format, x));
      if (!best) return "<td></td>";
      const chosen = at(size, format, x).find(point => point.record.chosen);
      const remarks = [];
      if (best.unstable) remarks.push("unstable");
      if (chosen && chosen.ms > 1.1 * best.ms) remarks.push(`planner +${Math.round((chosen.ms / best.ms - 1) * 100)} %`);
      return `<td class="win" style="--c:${marks.of(best.technique).color}" data-key="${look.escape(`${size}|${format}|${x}`)}">
        <button type="button"><b>${look.escape(best.technique)}</b><br>${look.number(best.ratio, 2)}&times; copy
        ${remarks.map(remark => `<br><i>${remark}</i>`).join("")}</button></td>`;
    }).join("")}</tr>`).join("");
    box.innerHTML = `<table class="winners"><thead>${head}</thead><tbody>${body}</tbody></table>`;
    box.querySelectorAll("td.win").forEach(td => td.addEventListener("click", () => {
      const [size, format, x] = td.dataset.key.split("|");
      showRanking(`${size} ${format}, ${model.families[family].axis} ${look.number(Number(x))}`, rank(at(size, format, x)));
    }));
  }

  // The time stands beside the name, so that a phone shows the column that the rows are sorted by.
  const headings = [
    ["technique", "technique", point => point.technique, true],
    ["ms", "ms", point => point.ms],
    ["ratio", "times a copy", point => point.ratio],
    ["error", "error", point => point.error],
    ["allowed", "max_error", point => point.allowed],
    ["size", "size", point => point.pixels],
    ["format", "format", point => point.format, true],
    ["kernel", "kernel", point => point.kernel, true],
    ["options", "options", point => point.options, true],
    ["spread", "spread", point => (point.high - point.low) / point.ms],
    ["device", "device", point => point.device, true],
  ];

  const shown = {
    size: point => point.size,
    spread: point => `${Math.round((point.high - point.low) / point.ms * 100)} %${point.unstable ? " !" : ""}`,
    error: point => `${look.number(point.error)}${point.loose ? " !" : ""}`,
    ms: point => look.number(point.ms), ratio: point => look.number(point.ratio), allowed: point => look.number(point.allowed),
  };

  const state = {sort: "ms", descending: false, text: "", all: false};
  const most = 30;

  function compare(a, b) {
    const [, , value, isText] = headings.find(([key]) => key === state.sort);
    const [left, right] = [value(a), value(b)];
    if (left === undefined || right === undefined) return (left === undefined) - (right === undefined);
    const order = isText ? left.localeCompare(right) : left - right;
    return state.descending ? -order : order;
  }

  function records(box, filters) {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const list = model.points.filter(point => {
      if (point.device !== filters.device) return false;
      const text = `${point.record.case} ${point.technique} ${point.device} ${point.unstable ? "unstable" : ""} ${
        point.outdated ? "outdated" : ""} ${point.loose ? "beyond" : ""}`.toLowerCase();
      return words.every(word => text.includes(word));
    }).sort(compare);
    const visible = state.all ? list : list.slice(0, most);
    const arrow = key => key === state.sort ? (state.descending ? " ▼" : " ▲") : "";
    const order = key => key !== state.sort ? "none" : state.descending ? "descending" : "ascending";
    const head = headings.map(([key, name, , isText]) => `<th ${isText ? "" : 'class="number"'} aria-sort="${order(key)}"><button type="button" data-sort="${key}">${name}${arrow(key)}</button></th>`).join("");
    const body = visible.map(point => `<tr data-index="${point.index}" tabindex="0">${headings.map(([key, , value, isText]) =>
      cell("td", shown[key] ? shown[key](point) : value(point), isText ? "" : 'class="number"')).join("")}</tr>`).join("");
    const more = list.length > visible.length ? `<p><button type="button" id="more">Show all ${list.length}</button></p>` : "";
    box.innerHTML = `<p class="muted">${list.length} measurements</p>
      <table class="records"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>${more}`;
    box.querySelectorAll("[data-sort]").forEach(button => button.addEventListener("click", () => {
      state.descending = state.sort === button.dataset.sort ? !state.descending : false;
      state.sort = button.dataset.sort;
      records(box, filters);
    }));
    box.querySelectorAll("tr[data-index]").forEach(row => {
      const open = () => showPoint(model.points[Number(row.dataset.index)]);
      row.addEventListener("click", open);
      row.addEventListener("keydown", event => event.key === "Enter" && open());
    });
    const button = box.querySelector("#more");
    if (button) button.addEventListener("click", () => { state.all = true; records(box, filters); });
  }

  function machines(box) {
    const rows = model.data.environments.map((environment, index) => {
      const own = model.points.filter(point => point.record.environment === index);
      return {environment, own, devices: model.distinct(own, point => point.device),
        drivers: model.distinct(own, point => point.record.driver)};
    }).filter(row => row.own.length > 0);
    const head = ["device", "driver", "processor", "cores", "compiler", "build", "commit", "measurements"];
    box.innerHTML = `<table><thead><tr>${head.map(name => cell("th", name)).join("")}</tr></thead><tbody>${rows.map(row =>
      `<tr>${[row.devices.join(", "), row.drivers.join(", ") || "–", row.environment.cpu || "–", row.environment.cores || "–",
        row.environment.compiler || "–", row.environment.build_type || "–", row.environment.commit || "–", row.own.length]
        .map(text => cell("td", text)).join("")}</tr>`).join("")}</tbody></table>`;
  }

  function open(html) {
    const dialog = document.getElementById("detail");
    dialog.querySelector("div").innerHTML = html;
    if (!dialog.open) dialog.showModal();
    return dialog;
  }

  function showPoint(point) {
    const {record} = point;
    const options = Object.entries(record.options || {}).map(([key, value]) => `${key}=${value}`).join(", ");
    const rows = [
      ["case", record.case], ["technique", point.technique], ["options", options], ["kernels", (record.kernels || []).join(", ")],
      ["device", point.device], ["driver", record.driver],
      ["time", `${look.time(point.ms)}, 10 to 90 %: ${look.time(point.low)} to ${look.time(point.high)}` +
        (record.time_ns.count ? `, ${record.time_ns.count} samples` : "")],
      ["outdated", point.outdated ? "yes, measured again later" : undefined],
      ["unstable", point.unstable ? `yes, the steadiest of ${record.attempts} attempts` : undefined],
      ["copy of the same bytes", look.time(record.copy_ns / 1e6)], ["times a copy", look.number(point.ratio)],
      ["submit to fence", point.submitMs && look.time(point.submitMs)],
      ["end to end, with transfers", point.endToEndMs && look.time(point.endToEndMs)],
      ["an empty dispatch", record.dispatch_ns && look.time(record.dispatch_ns / 1e6)],
      ["nothing at all", record.nothing_ns !== undefined && look.time(record.nothing_ns / 1e6)],
      ["error measured", point.error !== undefined && look.error(point.error)],
      ["error promised", record.predicted_error !== undefined && look.error(record.predicted_error)],
      ["sigma realised", record.realized_sigma && look.number(record.realized_sigma, 4)],
      ["border", [].concat(record.border).join(", ")], ["note", record.note],
      ["clocks", record.clocks && Object.entries(record.clocks).map(([key, value]) => `${key} ${look.number(value, 4)}`).join(", ")],
      ["planner's choice", record.chosen ? "yes" : undefined], ["measured", record.measured_at],
    ].filter(([, value]) => value);
    const command = record.command || `mollify bench --device ${record.backend} --case ${record.case}` +
      (record.batch > 1 ? ` --batch ${record.batch}` : "");
    const dialog = open(`<h2>${look.escape(point.variant)}</h2><table class="detail">${rows.map(([name, value]) =>
      `<tr><th>${name}</th><td>${look.escape(value)}</td></tr>`).join("")}</table>
      <p class="muted">Measure it again:</p><pre><code>${look.escape(command)}</code></pre><button type="button" class="copy">Copy</button>`);
    dialog.querySelector(".copy").addEventListener("click", event => {
      navigator.clipboard.writeText(command).then(() => { event.target.textContent = "Copied"; }, () => {});
    });
  }

  function showRanking(title, list) {
    const dialog = open(`<h2>${look.escape(title)}</h2><table class="records"><tbody>${list.slice(0, 40).map(point =>
      `<tr data-index="${point.index}" tabindex="0"><td>${look.escape(point.variant)}${point.record.chosen ? " (planner)" : ""}</td>
       <td class="number">${look.time(point.ms)}</td><td class="number">${look.number(point.ratio)}&times;</td></tr>`).join("")}</tbody></table>`);
    dialog.querySelectorAll("tr").forEach(row =>
      row.addEventListener("click", () => showPoint(model.points[Number(row.dataset.index)])));
  }

  function search(text) {
    state.text = text;
    state.all = false;
  }

  return {winners, records, machines, showPoint, search};
})();
