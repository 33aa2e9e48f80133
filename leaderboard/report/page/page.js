"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const sections = [...document.querySelectorAll("section.mode")];
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  const made = ["svg", "g", "line", "path", "rect", "text", "title", "polyline", "clipPath"].includes(name)
    ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Sorting: every body of a table, so that another stratum is in the same order of the same column.
for (const table of document.querySelectorAll("table.board")) {
  const heads = [...table.tHead.rows[1].cells];
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const key = row => row.cells[column].dataset.value;
    const number = row => { const value = Number(key(row)); return Number.isNaN(value) ? Infinity : value; };
    const compare = column === 0 ? (a, b) => key(a).localeCompare(key(b)) : (a, b) => number(a) - number(b);
    for (const body of table.tBodies) body.append(...[...body.rows].sort((a, b) => (descending ? -1 : 1) * (compare(a, b) || 0)));
  }));
}

// Filters.
const filters = document.getElementById("filters");
function filter() {
  const { suite, mode, kind, find, all, whole } = Object.fromEntries(new FormData(filters));
  for (const table of document.querySelectorAll("table.board")) table.classList.toggle("brief", !whole);
  for (const section of sections)
    section.hidden = (suite && section.dataset.suite !== suite) || (mode && section.dataset.mode !== mode);
  const wanted = find.trim().toLowerCase();
  for (const row of document.querySelectorAll("tbody tr")) {
    const name = row.cells[0].dataset.value;
    const folded = row.classList.contains("variant") && !(all || kind || wanted || row.closest("section").unfolded?.has(row.dataset.family));
    row.hidden = name && (folded || (kind && !row.classList.contains(kind)) || !name.toLowerCase().includes(wanted));
  }
}
for (const button of document.querySelectorAll("button.more"))
  button.addEventListener("click", () => {
    const section = button.closest("section"), family = button.closest("tr").dataset.family;
    section.unfolded ??= new Set();
    if (!section.unfolded.delete(family)) section.unfolded.add(family);
    for (const other of section.querySelectorAll("button.more"))
      other.setAttribute("aria-expanded", section.unfolded.has(other.closest("tr").dataset.family));
    filter();
  });
filters.addEventListener("input", filter);
filters.addEventListener("submit", event => event.preventDefault());
filter();
for (const select of document.querySelectorAll("select.stratum"))
  select.addEventListener("input", () => {
    const table = select.closest("section").querySelector("table.board");
    for (const body of table.tBodies) {
      body.hidden = body.dataset.stratum !== select.value;
      if (!body.hidden) [...table.querySelectorAll(".axis span")].forEach((end, i) => { end.textContent = i ? body.dataset.high : body.dataset.low; });
    }
  });

// Charts.
const LEFT = 34, TOP = 22, BOTTOM = 20;

function ticks(most, wanted) {
  const rough = most / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

function axes(svg, width, height, mostX, mostY, labelX, labelY) {
  const x = value => LEFT + (width - LEFT - 6) * value / mostX, y = value => height - BOTTOM - (height - TOP - BOTTOM) * value / mostY;
  for (const tick of ticks(mostY, 4)) {
    svg.append(element("line", { class: "grid", x1: LEFT, x2: width - 6, y1: y(tick), y2: y(tick) }));
    svg.append(element("text", { x: LEFT - 5, y: y(tick) + 3, "text-anchor": "end" }, String(+tick.toPrecision(6))));
  }
  for (const tick of ticks(mostX, width > 500 ? 8 : 4))
    svg.append(element("text", { x: x(tick), y: height - 6, "text-anchor": "middle" }, String(+tick.toPrecision(6))));
  svg.append(element("text", { x: width - 6, y: height + 5, "text-anchor": "end" }, labelX));
  svg.append(element("text", { x: LEFT, y: TOP - 9 }, labelY));
  return { x, y };
}

function stroke(name) {
  const [colour, dashes, width] = data.strokes[name];
  return { stroke: colour, "stroke-dasharray": dashes, "stroke-width": width, fill: "none" };
}

function panel({ pair, curves }, systems, drawn) {
  const width = 300, height = 190;
  const shown = systems.map((name, i) => [name, curves[i]]).filter(([name, curve]) => drawn.has(name) && curve.length);
  const most = Math.max(100, ...shown.map(([, [first, ...shares]]) => {
    const enough = shares.findIndex(share => share >= 0.985 * shares.at(-1));
    return (first + (enough < 0 ? shares.length : enough) + 1) * data.step_ms;
  }));
  const svg = element("svg", { viewBox: `0 0 ${width} ${height + 8}`, class: "chart", role: "img", "aria-label": `${pair}: share of packets by delay` });
  const { x, y } = axes(svg, width, height, most, 100, "ms", "% of packets sent");
  for (const [name, [first, ...shares]] of shown) {
    const points = [[x(0), y(0)], [x(Math.min(most, Math.max(0, first - 1) * data.step_ms)), y(0)]];
    shares.forEach((share, i) => { if ((first + i) * data.step_ms <= most) points.push([x((first + i) * data.step_ms), y(share / 10)]); });
    points.push([x(most), points.at(-1)[1]]);
    svg.append(element("polyline", { ...stroke(name), points: points.map(point => point.map(v => v.toFixed(1)).join()).join(" ") }, element("title", {}, name)));
  }
  return element("figure", {}, element("figcaption", {}, pair), svg);
}

function timeline(figure, session, systems, drawn) {
  figure.replaceChildren();
  if (!session) return;
  const shown = systems.map((name, i) => [name, session.lines[i]]).filter(([name, line]) => drawn.has(name) && line);
  const width = Math.max(320, Math.round(figure.clientWidth || 900)), height = 260, strip = 24;
  const bins = shown.length ? shown[0][1].median.length : 1, second = session.bin / 100;
  const medians = shown.flatMap(([, line]) => line.median), all = shown.flatMap(([, line]) => line.most);
  const most = Math.max(50, Math.min(Math.max(...all, 0), 2 * Math.max(...medians, 0)) * 1.05);
  const tall = height + 12 + strip * shown.length;
  const svg = element("svg", { viewBox: `0 0 ${width} ${tall}`, class: "chart", role: "img", "aria-label": `${session.title}: delay and path over time` });
  const { x, y } = axes(svg, width, height, bins * second, most, "s", "ms");
  const at = bin => x(bin * second), up = value => y(Math.min(value, most));
  shown.forEach(([name, line], row) => {
    const { stroke: colour } = stroke(name);
    // A bin in which nothing was emitted breaks the line.
    let shade = "", path = "", open = false;
    line.median.forEach((value, bin) => {
      if (value < 0) { open = false; return; }
      const [a, b] = [at(bin).toFixed(1), at(bin + 1).toFixed(1)];
      path += `${open ? "L" : "M"}${a},${up(value).toFixed(1)}L${b},${up(value).toFixed(1)}`;
      shade += `M${a},${up(value).toFixed(1)}V${up(line.most[bin]).toFixed(1)}H${b}V${up(value).toFixed(1)}Z`;
      open = true;
    });
    if (shown.length <= 4) svg.append(element("path", { d: shade, fill: colour, opacity: .16 }));
    svg.append(element("path", { d: path, ...stroke(name) }, element("title", {}, name)));
    for (const [bin] of line.runs.slice(1))
      if (line.median[bin] >= 0)
        svg.append(element("path", { class: "change", d: `M${at(bin).toFixed(1)},${(up(line.median[bin]) - 3).toFixed(1)}l-3.5,-7h7z`, fill: colour }));
    const top = height + 10 + row * strip;
    line.runs.forEach(([bin, path], i) => {
      const [from, to] = [at(bin), at(line.runs[i + 1]?.[0] ?? bins)], label = session.paths[path];
      const one = element("rect", { x: from, y: top, width: Math.max(.5, to - from - .8), height: 12, fill: colour, opacity: i % 2 ? .7 : 1 },
        element("title", {}, `${name}: ${label} from ${(bin * second).toFixed(1)} s`));
      svg.append(one);
      if (to - from > 9 + 5 * label.length) svg.append(element("text", { class: "path", x: from + 4, y: top + 9 }, label));
    });
    for (const [bin, count] of Object.entries(line.missing))
      svg.append(element("rect", { x: at(+bin), y: top + 13, width: Math.max(1, (at(1) - at(0))), height: 4, fill: "var(--agent)", opacity: Math.min(1, .25 + count / session.bin) },
        element("title", {}, `${name}: ${count} of ${session.bin} packets missing`)));
  });
  const summary = element("ul", { class: "summary" });
  for (const [name, line] of shown) {
    const heard = line.median.filter(value => value >= 0).sort((a, b) => a - b);
    const missing = Object.values(line.missing).reduce((sum, count) => sum + count, 0);
    summary.append(element("li", {}, swatch(name), ` ${name}: median ${heard[heard.length >> 1] ?? "n/a"} ms, ${line.changes} path changes, ${missing} packets missing`));
  }
  figure.append(svg, summary);
}

function swatch(name) {
  const svg = element("svg", { class: "swatch", "aria-hidden": "true", viewBox: "0 0 24 8" });
  svg.append(element("line", { x1: 0, x2: 24, y1: 4, y2: 4, ...stroke(name) }));
  return svg;
}

sections.forEach((section, number) => {
  const { systems, drawn: first, scenarios, sessions } = data.modes[number];
  const explore = section.querySelector(".explore"), drawn = new Set(first);
  const [boxes, panels, note, figure] = ["fieldset", ".panels", ".note", ".session"].map(one => explore.querySelector(one));
  const scenario = explore.querySelector(".scenario"), which = explore.querySelector(".which");
  for (const name of systems) {
    const box = element("input", { type: "checkbox", value: name });
    box.checked = drawn.has(name);
    boxes.append(element("label", {}, box, swatch(name), name));
  }
  scenario.append(...scenarios.map(one => element("option", {}, one.scenario)));
  which?.append(...sessions.map((one, i) => element("option", { value: i }, one.title)));
  const drawPanels = () => {
    const one = scenarios[scenario.selectedIndex];
    note.textContent = one.note + (one.left_out ? ` (${one.left_out} more pairs left out)` : "");
    panels.replaceChildren(...one.pairs.map(pair => panel(pair, systems, drawn)));
  };
  const drawSession = () => { if (figure) timeline(figure, sessions[which.selectedIndex], systems, drawn); };
  boxes.addEventListener("change", event => {
    if (event.target.checked) drawn.add(event.target.value); else drawn.delete(event.target.value);
    drawPanels();
    drawSession();
  });
  scenario.addEventListener("input", drawPanels);
  which?.addEventListener("input", drawSession);
  explore.hidden = false;
  drawPanels();
  // A hidden section has no width; it is drawn when it has one.
  let width = 0;
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) < 1) return;
    width = entry.contentRect.width;
    requestAnimationFrame(drawSession);
  }).observe(explore);
});

let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach(one => { one.open = true; });
});
addEventListener("afterprint", () => opened.forEach(one => { one.open = false; }));
