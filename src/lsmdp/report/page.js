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
  const marks = ticks(y0, y1, logY), powers = logY && marks.some((t) => t < -3 || t > 5);
  for (const t of marks) {
    const at = Y(logY ? 10 ** t : t);
    svg.append(make("line", { class: "grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: at, y2: at }),
      make("text", { x: MARGIN.left - 8, y: at + 4, "text-anchor": "end" }, !logY ? number(t) : powers && t !== 0 && Number.isInteger(t) ? raised(t) : number(10 ** t)));
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
      .map(([one, p]) => `${one.name}  ${number(one.exact ? one.exact(p[2]) : p[1])}`)].join("\n");
    tip.style.display = "block";
    const half = tip.offsetWidth, left = X(near) / WIDTH * box.width + 14;
    tip.style.left = `${Math.max(0, left + half > box.width ? left - half - 28 : left)}px`; tip.style.top = "14px";
  };
  svg.addEventListener("pointermove", move);
  svg.addEventListener("pointerleave", () => { tip.style.display = "none"; cursor.setAttribute("visibility", "hidden"); });
  holder.append(legend, svg, tip);
}

// rows: [{name, total, parts: [{name, value, colour}]}]; negative parts go to the left of zero
function barChart(holder, rows, decimals) {
  const width = Math.max(290, Math.min(460, holder.clientWidth || 460)), row = 46, left = 100;
  const most = Math.max(...rows.map((one) => one.parts.reduce((sum, p) => sum + Math.max(p.value, 0), 0)), 1e-12);
  const least = Math.min(...rows.map((one) => one.parts.reduce((sum, p) => sum + Math.min(p.value, 0), 0)), 0);
  const X = (v) => left + (v - least) / (most - least) * (width - left - 84);
  const svg = make("svg", { viewBox: `0 0 ${width} ${rows.length * row + 6}`, role: "img" });
  rows.forEach((one, k) => {
    let [up, down] = [0, 0];
    svg.append(make("text", { x: left - 8, y: k * row + 25, "text-anchor": "end" }, one.name));
    for (const part of one.parts) {
      const from = part.value >= 0 ? up : down + part.value;
      if (part.value >= 0) up += part.value; else down += part.value;
      svg.append(make("rect", { x: X(from), y: k * row + 10, width: Math.max(X(from + Math.abs(part.value)) - X(from), .5), height: 22, style: `fill:${part.colour}`, rx: 2 },
        make("title", {}, `${one.name}, ${part.name}: ${number(part.value)}`)));
    }
    const mixed = up > 0 && down < 0;  // then no end of the bar is the total
    if (mixed) svg.append(make("line", { class: "net", x1: X(one.total), x2: X(one.total), y1: k * row + 6, y2: k * row + 36 }));
    svg.append(make("text", { class: mixed ? "net" : null, x: X(up) + 6, y: k * row + 25 }, `${mixed ? "net " : ""}${fixed(one.total, decimals)}`));
  });
  svg.append(make("line", { class: "axis", x1: X(0), x2: X(0), y1: 2, y2: rows.length * row }));
  const kinds = rows[0].parts;
  holder.replaceChildren(svg, make("div", { class: "legend" }, ...kinds.map((p) => make("span", { class: "box", style: `--colour:${p.colour}` }, p.name))));
}

let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  document.querySelectorAll(".chart").forEach((holder) => holder.redraw?.());
});

function choices(holder, names, pick, first = names[0]) {
  const buttons = names.map((name) => make("button", { type: "button", "aria-pressed": "false", onclick: () => press(name) }, name));
  const press = (name) => { buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.textContent === name))); pick(name); };
  holder.replaceChildren(...buttons);
  press(first);
}

/* ---------- the head ---------- */
$("#kicker").textContent = data.kicker;
$("#headline").textContent = data.headline;
$("#lede").textContent = data.lede;
$("#compare").replaceChildren(make("table", {},
  make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "learner"), ...data.comparison.map((column) => make("th", { scope: "col", class: "number" }, column.name)))),
  make("tbody", {}, ...data.learners.map((one, k) => make("tr", {},
    make("th", { scope: "row", style: `--colour:${colour[one.name]}` }, one.name, one.badge ? make("small", {}, one.badge) : null),
    ...data.comparison.map((column) => make("td", { class: "number" }, fixed(column.values[k], column.decimals))))))));
const decimalsOf = (name) => data.comparison.find((column) => column.name === name)?.decimals ?? 2;

/* ---------- regret ---------- */
(function regret() {
  const section = $("#regret"), curves = data.curves;
  $("h2", section).textContent = curves.title;
  $(".finding", section).textContent = curves.finding;
  $(".note", section).textContent = curves.note;
  const series = (scale) => [
    ...curves.learners.map((one) => ({ name: one.title, colour: colour[one.name], x: one.t, y: one.regret.map((r, k) => r === null ? null : scale(r, one.t[k])),
      exact: (k) => one.regret[k] })),
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
  { name: "state cost", value: one.state_cost, colour: "var(--state)" }, { name: "control cost", value: one.control_cost, colour: "var(--control)" }] })), decimalsOf("loss"));
const split = data.learners.filter((one) => one.idealised !== null && one.comparator !== null);
if (split.length) barChart($("#parts-chart"), split.map((one) => ({ name: one.title, total: one.regret, parts: [
  { name: "idealised", value: one.idealised, colour: "var(--idealised)" }, { name: "transient", value: one.transient, colour: "var(--transient)" },
  { name: "comparator", value: one.comparator, colour: "var(--comparator)" }] })), decimalsOf("regret against the leader"));
else $("#parts-chart").textContent = "Not computed: the stationary law of each policy would take too long on this model.";

if (data.parts.note) $("#parts-chart").append(make("p", { class: "note" }, data.parts.note));

/* ---------- what pools leaned on ---------- */
if (!data.pools.length) $("#pools").remove();
for (const pool of data.pools) {
  const table = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "the experts compared" });
  $("#pools").append(make("h2", {}, pool.title), make("p", { class: "finding" }, pool.finding), table, make("p", { class: "note" }, pool.note));
  sortable(table, [{ name: "expert", show: (cell, row) => [cell, row[3] ? make("small", {}, row[3]) : ""] },
    { name: "paid alone", number: true, show: (cell) => fixed(cell, pool.decimals) }, { name: "trust, %", number: true, show: (cell) => fixed(cell, 1) }], pool.rows);
}

/* ---------- the price of not knowing the future ---------- */
(function dynamic() {
  const section = $("#dynamic"), found = data.dynamic;
  $("h2", section).textContent = found.title;
  $(".finding", section).replaceChildren(...prose(found.finding));
  $(".note", section).textContent = found.note;
  if (!found.learners.length) { $("#dynamic-chart").remove(); $(".switch", section).remove(); return; }
  const chart = (x, y, yName) => () => lineChart($("#dynamic-chart"), found.learners.map((one) => ({ name: one.title, colour: colour[one.name], x: one[x], y: one[y] })), { xName: "round", yName });
  const views = { "added up": chart("t", "total", "dynamic regret up to the round"), "a round": chart("middle", "each", "dynamic regret a round") };
  choices($(".switch", section), Object.keys(views), (name) => views[name]());
  const show = () => { [...$("#map").querySelectorAll("button")].find((one) => one.textContent === "price of not knowing").click(); $("#map").scrollIntoView(); };
  if (data.map.still) $(".switch", section).append(make("button", { type: "button", onclick: show }, "on the map"));
})();

/* ---------- the map ---------- */
(function map() {
  const section = $("#map"), world = data.map;
  $("h2", section).textContent = world.title;
  $(".finding", section).textContent = world.finding;
  $(".note", section).textContent = world.note;
  if (world.kind === "table") { sortable($(".stage", section), world.columns, world.rows); $(".stage", section).style.display = "block"; return; }
  const grid = world.kind === "grid", dark = matchMedia("(prefers-color-scheme: dark)");
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const cache = new Map();
  const field = (frame, key) => { const id = `${frame}/${key}`; if (!cache.has(id)) cache.set(id, bytes(world.frames[frame].fields[key].data)); return cache.get(id); };
  const stills = new Map();  // what is of all rounds together
  const still = (name) => { if (!stills.has(name)) stills.set(name, bytes(world.still[name].data)); return stills.get(name); };
  const FIELDS = { ...(world.still && world.learners.length ? { "price of not knowing": "price" } : {}), "cost now": "cost", "mean cost": "mean", ...(world.learners.length ? { "value": "value", "where it is": "law" } : {}) };
  let state = { frame: world.frames.length - 1, learner: world.first ?? world.learners[0], show: Object.keys(FIELDS).at(-1), playing: null };
  const canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": "the map at the chosen round; arrow keys move it, + and − zoom, 0 shows the whole" }), pen = canvas.getContext("2d");
  const scale = make("div", { class: "scale" }, make("span"), make("i"), make("span"));
  const slider = make("input", { type: "range", min: 0, max: world.frames.length - 1, value: world.frames.length - 1, "aria-label": "round", oninput: () => { state.frame = +slider.value; draw(); } });
  const label = make("output"), play = make("button", { type: "button", onclick: () => state.playing ? stop() : start() }, "play");
  const stop = () => { clearInterval(state.playing); state.playing = null; play.textContent = "play"; };
  const start = () => {
    if (state.frame >= world.frames.length - 1) { state.frame = 0; slider.value = 0; draw(); }
    play.textContent = "pause";
    state.playing = setInterval(() => { if (state.frame >= world.frames.length - 1) return stop(); state.frame += 1; slider.value = state.frame; draw(); }, 180);
  };
  const shows = make("div", { class: "row" }), who = make("div", { class: "row" });
  const zoom = make("div", { class: "zoom", role: "group", "aria-label": "zoom" }, ...[["+", "zoom in", () => magnify(1.5)], ["−", "zoom out", () => magnify(1 / 1.5)], ["whole", "the frame of the beginning", () => { frame(); draw(); }]]
    .map(([name, what, act]) => make("button", { type: "button", title: what, "aria-label": what, onclick: act }, name)));
  $(".controls", section).replaceChildren(make("div", { class: "row" }, play, slider, label), make("div", { class: "row" }, shows, zoom), who);
  $(".stage", section).replaceChildren(make("div", { class: "picture" }, canvas), scale);
  // on a grid dark is little; on a network little is as light as the paper, and much stands out
  const ramp = () => grid ? world.ramp : dark.matches ? ["rgb(46,56,62)", "rgb(38,98,122)", "rgb(44,160,150)", "rgb(150,214,90)", "rgb(253,243,150)"]
    : ["rgb(222,228,228)", "rgb(142,205,200)", "rgb(38,150,165)", "rgb(38,84,160)", "rgb(72,16,110)"];
  let palette = [];
  const shade = (level) => { const at = level / 255 * (palette.length - 1), k = Math.min(Math.floor(at), palette.length - 2), f = at - k;
    return `rgb(${palette[k].map((v, j) => Math.round(v + (palette[k + 1][j] - v) * f)).join(",")})`; };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const [xs, ys] = [world.x, world.y], [left, right, top, bottom] = world.frame, n = xs.length;
  let width = 0, height = 0, view = { x: 0, y: 0, k: 1 }, whole = 1;
  const px = (x) => width / 2 + (x - view.x) * view.k, py = (y) => height / 2 + (y - view.y) * view.k;
  // the bulk of the states, with room for dots and names at the border
  function frame() {
    const pad = grid ? 0 : Math.min(34, width * .06), border = grid ? .5 : 0;
    const [w, h] = [right - left + 2 * border || 1, bottom - top + 2 * border || 1];
    height = Math.round(Math.min((width - 2 * pad) * h / w + 2 * pad, Math.max(width * (grid ? 2 : width < 500 ? 1.25 : .8), 260), 900));
    whole = Math.min((width - 2 * pad) / w, (height - 2 * pad) / h);
    view = { x: (left + right) / 2, y: (top + bottom) / 2, k: whole };
    const fine = devicePixelRatio || 1;
    canvas.width = Math.round(width * fine); canvas.height = Math.round(height * fine);
    canvas.style.height = `${height}px`;
  }
  function magnify(by, x = width / 2, y = height / 2) {
    const k = Math.min(Math.max(view.k * by, whole / 8), whole * 200), keep = 1 / view.k - 1 / k;
    view = { x: view.x + (x - width / 2) * keep, y: view.y + (y - height / 2) * keep, k };
    canvas.style.touchAction = k > whole * 1.01 ? "none" : "pan-y";
    draw();
  }
  const shift = (dx, dy) => { view.x -= dx / view.k; view.y -= dy / view.k; draw(); };
  canvas.addEventListener("wheel", (event) => { if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault(); magnify(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY); }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { canvas.focus({ preventScroll: true }); canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => { if (event.buttons) shift(event.movementX, event.movementY); });
  canvas.addEventListener("keydown", (event) => {
    const act = { ArrowLeft: () => shift(40, 0), ArrowRight: () => shift(-40, 0), ArrowUp: () => shift(0, 40), ArrowDown: () => shift(0, -40),
      "+": () => magnify(1.5), "=": () => magnify(1.5), "-": () => magnify(1 / 1.5), "0": () => { frame(); draw(); } }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  const visible = (x, y, far = 30) => x > -far && y > -far && x < width + far && y < height + far;
  function head(x, y, ux, uy, size) {
    pen.moveTo(x, y); pen.lineTo(x - ux * size - uy * size * .6, y - uy * size + ux * size * .6);
    pen.moveTo(x, y); pen.lineTo(x - ux * size + uy * size * .6, y - uy * size - ux * size * .6);
  }
  function network(levels) {
    const spacing = Math.sqrt((right - left || 1) * (bottom - top || 1) / n) * view.k, most = Math.min(11, Math.max(1.3, spacing * .2));
    const radius = (s) => Math.max(most * (.62 + .38 * levels[s] / 255), 1 + levels[s] / 150);
    pen.strokeStyle = css("--line"); pen.lineWidth = 1; pen.beginPath();
    for (let s = 0; s < n && world.ends.length; s++) for (let k = world.starts[s]; k < world.starts[s + 1]; k++) {
      const to = world.ends[k]; if (to === s) continue;
      const [x, y, x2, y2] = [px(xs[s]), py(ys[s]), px(xs[to]), py(ys[to])];
      if (visible(x, y, 400) || visible(x2, y2, 400)) { pen.moveTo(x, y); pen.lineTo(x2, y2); }
    }
    pen.stroke();
    const order = [...levels.keys()].sort((a, b) => levels[a] - levels[b]);  // what matters is drawn last
    for (const s of order) {
      const [x, y] = [px(xs[s]), py(ys[s])]; if (!visible(x, y)) continue;
      pen.fillStyle = shade(levels[s]); pen.beginPath(); pen.arc(x, y, radius(s), 0, 7); pen.fill();
      if (most > 3) { pen.strokeStyle = css("--soft"); pen.lineWidth = .7; pen.stroke(); }
    }
    let arrows = 0;
    const flow = FIELDS[state.show] === "price" ? null : world.frames[state.frame].fields[`flow:${state.learner}`];  // arrows are of one round
    if (flow && world.ends.length) {
      const turns = field(state.frame, `flow:${state.learner}`), law = field(state.frame, `law:${state.learner}`);
      pen.strokeStyle = css("--ink"); pen.lineCap = "round";
      for (let s = 0; s < n; s++) {
        if (turns[2 * s] === 255 || (spacing < 18 && law[s] < 40)) continue;  // where it is dense: only where the learner may be
        const to = world.ends[world.starts[s] + turns[2 * s]], [x, y] = [px(xs[s]), py(ys[s])];
        const [dx, dy] = [px(xs[to]) - x, py(ys[to]) - y], length = Math.hypot(dx, dy), gap = radius(s) + 2, room = length - gap - radius(to) - 2;
        if (room < 7 || !visible(x, y)) continue;
        const [ux, uy] = [dx / length, dy / length], long = Math.min(room, Math.max(7, length * .42)), tip = gap + long;
        pen.globalAlpha = .3 + .7 * turns[2 * s + 1] / 255; pen.lineWidth = Math.min(2, .8 + most / 9);
        const [ox, oy] = [x - uy * 2, y + ux * 2];  // to the right of the line, so that two that meet pass each other
        pen.beginPath(); pen.moveTo(ox + ux * gap, oy + uy * gap); pen.lineTo(ox + ux * tip, oy + uy * tip);
        head(ox + ux * tip, oy + uy * tip, ux, uy, Math.min(6, long * .5)); pen.stroke(); arrows += 1;
      }
      pen.globalAlpha = 1;
    }
    canvas.dataset.arrows = arrows;
    pen.font = "12px system-ui, sans-serif"; pen.textBaseline = "middle"; pen.lineJoin = "round";
    (world.names ?? []).forEach((name, s) => {
      const [x, y] = [px(xs[s]), py(ys[s])], wide = pen.measureText(name).width, far = radius(s) + 4;
      const across = x + far + wide > width - 2 ? x - far - wide : x + far;
      pen.strokeStyle = css("--panel"); pen.lineWidth = 3; pen.strokeText(name, across, y - far * .7);
      pen.fillStyle = css("--ink"); pen.fillText(name, across, y - far * .7);
    });
  }
  function cells(levels) {
    const size = view.k;
    for (let s = 0; s < n; s++) {
      const [x, y] = [Math.floor(px(xs[s] - .5)), Math.floor(py(ys[s] - .5))]; if (!visible(x, y, size)) continue;
      pen.fillStyle = shade(levels[s]); pen.fillRect(x, y, Math.floor(px(xs[s] + .5)) - x, Math.floor(py(ys[s] + .5)) - y);
    }
    const flow = FIELDS[state.show] === "price" ? null : world.frames[state.frame].fields[`flow:${state.learner}`];
    if (!flow || size < 8) return;
    const turns = field(state.frame, `flow:${state.learner}`), law = field(state.frame, `law:${state.learner}`);
    pen.strokeStyle = "#fff"; pen.lineWidth = Math.max(1, size / 14);
    for (let s = 0; s < n; s++) {
      const dx = (turns[2 * s] - 127) / 127, dy = (turns[2 * s + 1] - 127) / 127;
      if (Math.hypot(dx, dy) < .06) continue;
      const [x, y] = [px(xs[s]), py(ys[s])], ux = dx * size * .42, uy = dy * size * .42;
      pen.globalAlpha = state.show === "where it is" ? .25 + .75 * Math.min(1, law[s] / 90) : .75;
      pen.beginPath(); pen.moveTo(x - ux, y - uy); pen.lineTo(x + ux, y + uy);
      pen.moveTo(x + ux, y + uy); pen.lineTo(x + ux * .35 - uy * .4, y + uy * .35 + ux * .4);
      pen.moveTo(x + ux, y + uy); pen.lineTo(x + ux * .35 + uy * .4, y + uy * .35 - ux * .4); pen.stroke();
    }
    pen.globalAlpha = 1;
  }
  function draw() {
    const shot = world.frames[state.frame], own = ["value", "law"].includes(FIELDS[state.show]), priced = FIELDS[state.show] === "price";
    const key = own ? `${FIELDS[state.show]}:${state.learner}` : FIELDS[state.show];
    const levels = priced ? still(state.learner) : field(state.frame, key), about = priced ? world.still[state.learner] : shot.fields[key];
    palette = ramp().map((text) => text.match(/\d+/g).map(Number));
    scale.style.setProperty("--ramp", `linear-gradient(0deg, ${ramp().join(",")})`);
    scale.style.setProperty("--ramp-across", `linear-gradient(90deg, ${ramp().join(",")})`);
    const fine = canvas.width / width;
    pen.setTransform(fine, 0, 0, fine, 0, 0);
    pen.fillStyle = grid ? css("--wall") : css("--panel"); pen.fillRect(0, 0, width, height);
    if (grid) cells(levels); else network(levels);
    label.textContent = priced ? `all ${data.rounds.toLocaleString("en")} rounds` : `round ${shot.t.toLocaleString("en")} of ${data.rounds.toLocaleString("en")}`;
    const [low, high] = about.flat ? ["", `${number(about.high, 3)} everywhere`] : apart(about.low, about.high);
    scale.classList.toggle("flat", about.flat); scale.firstChild.textContent = high;
    scale.lastChild.textContent = about.low > 0 && about.low < 1e-6 * about.high ? "nearly 0" : low;
    canvas.dataset.frame = shot.t; canvas.dataset.bounds = [Math.min(...xs.map(px)), Math.max(...xs.map(px)), Math.min(...ys.map(py)), Math.max(...ys.map(py))].map(Math.round).join(",");
  }
  const fit = () => { width = canvas.clientWidth || 600; frame(); };
  fit();
  addEventListener("resize", () => { if (canvas.clientWidth !== width) { fit(); draw(); } });
  choices(shows, Object.keys(FIELDS).reverse(), (name) => { state.show = name; draw(); });
  if (world.learners.length) choices(who, world.learners, (name) => { state.learner = name; draw(); }, state.learner);
  dark.addEventListener("change", draw);
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
  const section = $("#certificates"), found = data.certificates, fold = $("details", section);
  $("h2", section).textContent = found.title;
  $(".finding", section).replaceChildren(...prose(`${found.finding} ${found.looked_at}`));
  $(".note", section).replaceChildren(...prose(found.note));
  if (!found.rows.length) { fold.replaceWith($(".note", section)); return; }
  $("summary", fold).textContent = `All ${found.rows.length.toLocaleString("en")} lines, statement by statement`;
  fold.open = found.open;
  const tone = (cell) => ({ holds: "yes", FAILS: "no", "fails as printed": "dim" })[cell] ?? "dim";
  // what is left of an identity is rounding: a number with 29 zeros tells nobody more than that
  const side = (cell) => typeof cell === "number" && cell !== 0 && Math.abs(cell) < 1e-9 ? "nearly 0" : number(cell);
  const exact = (cell) => typeof cell === "number" ? number(cell, 8) : null;
  sortable($(".scroll", section), [{ name: "label", show: (cell, row) => [cell, row[7] ? make("small", {}, ...typeset(row[7])) : ""] },
    { name: "reading" }, { name: "left", number: true, show: side, exact }, { name: "" }, { name: "right", number: true, show: side, exact },
    { name: "verdict", tone }, { name: "where it is tightest", show: (cell) => typeset(cell ?? "–") }], found.rows);
})();
$("#provenance .scroll").replaceChildren(make("table", {}, make("tbody", {}, ...data.provenance.map(([name, value]) =>
  make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, make("code", {}, value)))))));
