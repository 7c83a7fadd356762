// Charts are SVG, the map is a canvas.
/* ---------- charts ---------- */
const MARGIN = { left: 64, right: 18, top: 22, bottom: 36 };

// series: [{name, colour, x, y, dashed, exact: [..] shown on hover}]; axes may be logarithmic
function lineChart(holder, series, { logX = false, logY = false, xName, yName }) {
  holder.replaceChildren();
  const WIDTH = Math.max(280, holder.clientWidth - 14), HEIGHT = Math.round(Math.min(400, Math.max(240, WIDTH * .42)));
  holder.redraw = () => lineChart(holder, series, { logX, logY, xName, yName });
  const tx = logX ? Math.log10 : (v) => v, ty = logY ? Math.log10 : (v) => v;
  const good = (x, y) => Number.isFinite(x) && Number.isFinite(y) && (!logX || x > 0) && (!logY || y > 0);
  const drawn = series.map((one) => ({ ...one, points: one.x.map((x, k) => [x, one.y[k], k]).filter(([x, y]) => y !== null && good(x, y)) }))
    .filter((one) => one.points.length);
  if (!drawn.length) { holder.append(make("p", { class: "note" }, "Nothing to draw on these axes: all values are zero or negative.")); return; }
  const all = drawn.flatMap((one) => one.points);
  let [x0, x1] = [Math.min(...all.map((p) => tx(p[0]))), Math.max(...all.map((p) => tx(p[0])))];
  let [y0, y1] = [Math.min(...all.map((p) => ty(p[1]))), Math.max(...all.map((p) => ty(p[1])))];
  if (!logY) { y0 = Math.min(y0, 0); y1 = Math.max(y1, 0); }
  if (x0 === x1) { x0 -= .5; x1 += .5; }
  if (y0 === y1) { y0 -= .5; y1 += .5; }
  const pad = (y1 - y0) * .04; y1 += pad; if (y0 < 0 || logY) y0 -= pad;
  const X = (x) => MARGIN.left + (tx(x) - x0) / (x1 - x0) * (WIDTH - MARGIN.left - MARGIN.right);
  const Y = (y) => HEIGHT - MARGIN.bottom - (ty(y) - y0) / (y1 - y0) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${yName} against ${xName}` });
  for (const t of ticks(y0, y1, logY)) {
    const at = Y(logY ? 10 ** t : t);
    svg.append(make("line", { class: "grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: at, y2: at }),
      make("text", { x: MARGIN.left - 8, y: at + 4, "text-anchor": "end" }, !logY ? number(t) : Number.isInteger(t) ? `10^${t}` : number(10 ** t)));
  }
  for (const t of ticks(x0, x1, logX)) {
    const at = X(logX ? 10 ** t : t);
    svg.append(make("text", { x: at, y: HEIGHT - MARGIN.bottom + 20, "text-anchor": "middle" }, logX ? number(10 ** t) : number(t)));
  }
  svg.append(make("line", { class: "axis", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: HEIGHT - MARGIN.bottom, y2: HEIGHT - MARGIN.bottom }),
    make("text", { x: WIDTH - MARGIN.right, y: HEIGHT - 2, "text-anchor": "end" }, xName),
    make("text", { x: 4, y: 10 }, yName));
  for (const one of drawn) {
    const path = one.points.map(([x, y], k) => `${k ? "L" : "M"}${X(x).toFixed(1)},${Y(y).toFixed(1)}`).join("");
    svg.append(make("path", { d: path, fill: "none", style: `stroke:${one.colour}`, "stroke-width": one.dashed ? 1.6 : 2.4,
      "stroke-linejoin": "round", "stroke-dasharray": one.dashed ? "6 5" : null }));
  }
  const cursor = make("line", { class: "axis", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden" });
  svg.append(cursor);
  const tip = make("div", { class: "tip" });
  const legend = make("div", { class: "legend" }, ...drawn.map((one) => make("span", { class: one.dashed ? "dashed" : "", style: `--colour:${one.colour}` }, one.name)));
  const move = (event) => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * WIDTH;
    const rows = drawn.map((one) => [one, one.points.reduce((best, p) => Math.abs(X(p[0]) - x) < Math.abs(X(best[0]) - x) ? p : best)]);
    const near = rows.reduce((best, row) => Math.abs(X(row[1][0]) - x) < Math.abs(X(best[1][0]) - x) ? row : best)[1][0];
    cursor.setAttribute("x1", X(near)); cursor.setAttribute("x2", X(near)); cursor.setAttribute("visibility", "visible");
    tip.textContent = [`${xName} ${number(near)}`, ...rows.filter(([, p]) => Math.abs(X(p[0]) - X(near)) < 12)
      .map(([one, p]) => `${one.name}  ${one.exact ? one.exact(p[2]) : p[1].toPrecision(8)}`)].join("\n");
    tip.style.display = "block";
    const half = tip.offsetWidth, left = X(near) / WIDTH * box.width + 14;
    tip.style.left = `${Math.max(0, left + half > box.width ? left - half - 28 : left)}px`; tip.style.top = "14px";
  };
  svg.addEventListener("pointermove", move);
  svg.addEventListener("pointerleave", () => { tip.style.display = "none"; cursor.setAttribute("visibility", "hidden"); });
  holder.append(legend, svg, tip);
}

// rows: [{name, total, parts: [{name, value, colour}]}]; negative parts go to the left of zero
function barChart(holder, rows) {
  const width = 460, row = 46, left = 100;
  const most = Math.max(...rows.map((one) => one.parts.reduce((sum, p) => sum + Math.max(p.value, 0), 0)), 1e-12);
  const least = Math.min(...rows.map((one) => one.parts.reduce((sum, p) => sum + Math.min(p.value, 0), 0)), 0);
  const X = (v) => left + (v - least) / (most - least) * (width - left - 70);
  const svg = make("svg", { viewBox: `0 0 ${width} ${rows.length * row + 6}`, role: "img" });
  rows.forEach((one, k) => {
    let [up, down] = [0, 0];
    svg.append(make("text", { x: left - 8, y: k * row + 25, "text-anchor": "end" }, one.name));
    for (const part of one.parts) {
      const from = part.value >= 0 ? up : down + part.value;
      if (part.value >= 0) up += part.value; else down += part.value;
      svg.append(make("rect", { x: X(from), y: k * row + 10, width: Math.max(X(from + Math.abs(part.value)) - X(from), .5), height: 22, style: `fill:${part.colour}`, rx: 2 },
        make("title", {}, `${one.name}, ${part.name}: ${part.value.toPrecision(8)}`)));
    }
    svg.append(make("text", { x: X(up) + 6, y: k * row + 25 }, number(one.total)));
  });
  svg.append(make("line", { class: "axis", x1: X(0), x2: X(0), y1: 2, y2: rows.length * row }));
  const kinds = rows[0].parts;
  holder.replaceChildren(svg, make("div", { class: "legend" }, ...kinds.map((p) => make("span", { style: `--colour:${p.colour}` }, p.name))));
}

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  document.querySelectorAll(".chart").forEach((holder) => holder.redraw?.());
});

function choices(holder, names, pick) {
  const buttons = names.map((name) => make("button", { type: "button", "aria-pressed": "false", onclick: () => press(name) }, name));
  const press = (name) => { buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.textContent === name))); pick(name); };
  holder.replaceChildren(...buttons);
  press(names[0]);
}

/* ---------- the head ---------- */
$("#kicker").textContent = data.kicker;
$("#headline").textContent = data.headline;
$("#lede").textContent = data.lede;
$("#cards").replaceChildren(...data.learners.map((one) => make("div", { class: "card", style: `--colour:${colour[one.name]}` },
  make("h3", {}, one.name, one.badge ? make("small", {}, one.badge) : null),
  make("div", { class: "big" }, number(one.loss)),
  make("dl", {}, ...one.facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, number(value))])))));

/* ---------- regret ---------- */
(function regret() {
  const section = $("#regret"), curves = data.curves;
  $("h2", section).textContent = curves.title;
  $(".finding", section).textContent = curves.finding;
  $(".note", section).textContent = curves.note;
  const series = (scale) => [
    ...curves.learners.map((one) => ({ name: one.title, colour: colour[one.name], x: one.t, y: one.regret.map((r, k) => r === null ? null : scale(r, one.t[k])),
      exact: (k) => one.regret[k] === null ? "–" : one.regret[k].toPrecision(10) })),
    ...curves.bounds.map((one) => ({ name: one.name, colour: "var(--soft)", dashed: true, x: one.t, y: one.values.map((r, k) => scale(r, one.t[k])) })),
  ];
  // a bound that dwarfs the curves is shown on logarithmic axes only
  const comparable = (all) => {
    const most = Math.max(...all.filter((one) => !one.dashed).flatMap((one) => one.y.filter((y) => y !== null)));
    return all.filter((one) => !one.dashed || Math.max(...one.y) <= 2 * most);
  };
  const views = {
    "as it is": () => lineChart($("#regret-chart"), comparable(series((r) => r)), { xName: "round", yName: curves.what }),
    "divided by log t": () => lineChart($("#regret-chart"), series((r, t) => t > 1 ? r / Math.log(t) : null), { logX: true, xName: "round", yName: `${curves.what}, divided by log t` }),
    "log–log": () => lineChart($("#regret-chart"), series((r) => r), { logX: true, logY: true, xName: "round", yName: curves.what }),
  };
  choices($(".switch", section), Object.keys(views), (name) => views[name]());
})();

/* ---------- parts ---------- */
$("#parts h2").textContent = data.parts.title;
barChart($("#paid-chart"), data.learners.map((one) => ({ name: one.title, total: one.loss, parts: [
  { name: "state cost", value: one.state_cost, colour: "var(--a)" }, { name: "control cost", value: one.control_cost, colour: "var(--b)" }] })));
const split = data.learners.filter((one) => one.idealised !== null && one.comparator !== null);
if (split.length) barChart($("#parts-chart"), split.map((one) => ({ name: one.title, total: one.regret, parts: [
  { name: "idealised", value: one.idealised, colour: "var(--c)" }, { name: "transient", value: one.transient, colour: "var(--d)" },
  { name: "comparator", value: one.comparator, colour: "var(--e)" }] })));
else $("#parts-chart").textContent = "Not computed: the stationary law of each policy would take too long on this model.";

/* ---------- the map ---------- */
(function map() {
  const section = $("#map"), world = data.map;
  $("h2", section).textContent = world.title;
  $(".finding", section).textContent = world.finding;
  $(".note", section).textContent = world.note;
  if (world.kind === "table") { sortable($(".stage", section), world.columns, world.rows); $(".stage", section).style.display = "block"; return; }
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const cache = new Map();
  const field = (frame, key) => { const id = `${frame}/${key}`; if (!cache.has(id)) cache.set(id, bytes(world.frames[frame].fields[key].data)); return cache.get(id); };
  const FIELDS = { "cost now": "cost", "mean cost": "mean", ...(world.learners.length ? { "value": "value", "where it is": "law" } : {}) };
  let state = { frame: world.frames.length - 1, learner: world.learners[0], show: Object.keys(FIELDS).at(-1), playing: null };
  const canvas = make("canvas", { "aria-label": "the map at the chosen round" }), pen = canvas.getContext("2d");
  const scale = make("div", { class: "scale" }, make("span"), make("i"), make("span"));
  scale.style.setProperty("--ramp", `linear-gradient(0deg, ${world.ramp.join(",")})`);
  scale.style.setProperty("--ramp-across", `linear-gradient(90deg, ${world.ramp.join(",")})`);
  const slider = make("input", { type: "range", min: 0, max: world.frames.length - 1, value: world.frames.length - 1, "aria-label": "round", oninput: () => { state.frame = +slider.value; draw(); } });
  const label = make("output"), play = make("button", { type: "button", onclick: () => state.playing ? stop() : start() }, "play");
  const stop = () => { clearInterval(state.playing); state.playing = null; play.textContent = "play"; };
  const start = () => {
    if (state.frame >= world.frames.length - 1) { state.frame = 0; slider.value = 0; draw(); }
    play.textContent = "pause";
    state.playing = setInterval(() => { if (state.frame >= world.frames.length - 1) return stop(); state.frame += 1; slider.value = state.frame; draw(); }, 180);
  };
  const shows = make("div", { class: "row" }), who = make("div", { class: "row" });
  $(".controls", section).replaceChildren(make("div", { class: "row" }, play, slider, label), shows, who);
  $(".stage", section).replaceChildren(canvas, scale);
  const palette = world.ramp.map((text) => text.match(/\d+/g).map(Number));
  const shade = (level) => { const at = level / 255 * (palette.length - 1), k = Math.min(Math.floor(at), palette.length - 2), f = at - k;
    return palette[k].map((v, j) => Math.round(v + (palette[k + 1][j] - v) * f)); };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [xs, ys] = [world.x, world.y], unit = world.unit;
  const span = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const margin = world.kind === "grid" ? .5 : world.radius + .5;
  const cells = [(span[1] - span[0]) / unit + 2 * margin, (span[3] - span[2]) / unit + 2 * margin];
  const size = Math.max(4, Math.min(56, Math.floor(1100 / cells[0]), Math.floor(900 / cells[1])));
  canvas.width = Math.round(cells[0] * size); canvas.height = Math.round(cells[1] * size);
  canvas.style.maxWidth = `calc(78vh * ${(canvas.width / canvas.height).toFixed(4)})`;
  const px = (x) => ((x - span[0]) / unit + margin) * size, py = (y) => ((y - span[2]) / unit + margin) * size;
  function draw() {
    const frame = world.frames[state.frame], own = ["value", "law"].includes(FIELDS[state.show]);
    const key = own ? `${FIELDS[state.show]}:${state.learner}` : FIELDS[state.show], levels = field(state.frame, key), about = frame.fields[key];
    pen.fillStyle = world.kind === "grid" ? css("--wall") : css("--panel"); pen.fillRect(0, 0, canvas.width, canvas.height);
    if (world.kind === "graph") {
      pen.strokeStyle = css("--line"); pen.lineWidth = 1; pen.beginPath();
      for (let k = 0; k < world.edges.length; k += 2) { pen.moveTo(px(xs[world.edges[k]]), py(ys[world.edges[k]])); pen.lineTo(px(xs[world.edges[k + 1]]), py(ys[world.edges[k + 1]])); }
      pen.stroke();
    }
    for (let s = 0; s < xs.length; s++) {
      const [r, g, b] = shade(levels[s]); pen.fillStyle = `rgb(${r},${g},${b})`;
      if (world.kind === "grid") pen.fillRect(px(xs[s]) - size / 2, py(ys[s]) - size / 2, size, size);
      else { pen.beginPath(); pen.arc(px(xs[s]), py(ys[s]), world.radius * size, 0, 7); pen.fill(); }
    }
    const flow = frame.fields[`flow:${state.learner}`];
    if (flow && size >= 8) {
      const turns = field(state.frame, `flow:${state.learner}`), law = field(state.frame, `law:${state.learner}`);
      pen.strokeStyle = "#fff"; pen.lineWidth = Math.max(1, size / 14);
      for (let s = 0; s < xs.length; s++) {
        const dx = (turns[2 * s] - 127) / 127, dy = (turns[2 * s + 1] - 127) / 127, length = Math.hypot(dx, dy);
        if (length < .06) continue;
        const [x, y] = [px(xs[s]), py(ys[s])], ux = dx * size * .42, uy = dy * size * .42;
        pen.globalAlpha = state.show === "where it is" ? .25 + .75 * Math.min(1, law[s] / 90) : .75;
        pen.beginPath(); pen.moveTo(x - ux, y - uy); pen.lineTo(x + ux, y + uy);
        pen.moveTo(x + ux, y + uy); pen.lineTo(x + ux * .35 - uy * .4, y + uy * .35 + ux * .4);
        pen.moveTo(x + ux, y + uy); pen.lineTo(x + ux * .35 + uy * .4, y + uy * .35 - ux * .4); pen.stroke();
      }
      pen.globalAlpha = 1;
    }
    label.textContent = `round ${frame.t.toLocaleString("en")} of ${data.rounds.toLocaleString("en")}`;
    const [low, high] = about.flat ? ["", `${number(about.high, 3)} everywhere`] : apart(about.low, about.high);
    scale.classList.toggle("flat", about.flat); scale.firstChild.textContent = high; scale.lastChild.textContent = low;
    canvas.dataset.frame = frame.t;
  }
  choices(shows, Object.keys(FIELDS).reverse(), (name) => { state.show = name; draw(); });
  if (world.learners.length) choices(who, world.learners, (name) => { state.learner = name; draw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();

/* ---------- effort ---------- */
(function effort() {
  const section = $("#effort"), found = data.effort;
  $("h2", section).textContent = found.title;
  $(".finding", section).textContent = found.finding;
  const chart = (key, name) => () => lineChart($("#effort-chart"), found.learners.map((one) => ({ name: one.title, colour: colour[one.name], x: one.t, y: one[key] })),
    { logX: true, logY: true, xName: "round", yName: name });
  const views = { "gap of the certificate": chart("gap", "gap"), "steps a round": chart("steps", "steps"), "seconds a round": chart("seconds", "seconds") };
  choices($(".switch", section), Object.keys(views), (name) => views[name]());
})();

/* ---------- certificates, provenance ---------- */
(function certificates() {
  const section = $("#certificates"), found = data.certificates;
  $("h2", section).textContent = found.title;
  $(".finding", section).textContent = found.finding;
  $(".note", section).textContent = found.note;
  if (!found.rows.length) return;
  const tone = (cell) => ({ holds: "yes", FAILS: "no", "fails as printed": "dim" })[cell] ?? "dim";
  sortable($(".scroll", section), [{ name: "label" }, { name: "reading" }, { name: "left", number: true }, { name: "" }, { name: "right", number: true },
    { name: "verdict", tone }, { name: "where it is tightest" }], found.rows);
})();
$("#provenance .scroll").replaceChildren(make("table", {}, make("tbody", {}, ...data.provenance.map(([name, value]) =>
  make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, make("code", {}, value)))))));
