// The page of one solve. The map is a canvas; everything else is text, bars and tables.
$("#kicker").textContent = data.kicker;
$("#headline").textContent = data.headline;
$("#lede").textContent = data.lede;

/* ---------- what it costs ---------- */
const PARTS = { states: ["--a", "states"], moves: ["--c", "moves"], steering: ["--b", "steering"] };
(function bars() {
  const total = (row) => row.parts.reduce((sum, [, value]) => sum + value, 0);
  if (!data.bars.length || data.bars.some((row) => row.parts.some(([, value]) => value < 0))) return;  // a bar has no negative part
  const most = Math.max(...data.bars.map(total)) || 1;
  $("#bars").replaceChildren(...data.bars.map((row) => make("div", { class: "bar" }, make("span", {}, row.name),
    make("div", { class: "track" }, ...row.parts.map(([name, value]) =>
      make("div", { style: `width:${100 * value / most}%;background:var(${PARTS[name][0]})`, title: `${PARTS[name][1]}: ${value.toPrecision(8)}` }))),
    make("b", {}, row.total))));
  const seen = Object.keys(PARTS).filter((name) => data.bars.some((row) => row.parts.some(([part]) => part === name)));
  $("#bar-legend").replaceChildren(...seen.map((name) => make("span", { style: `--colour:var(${PARTS[name][0]})` }, PARTS[name][1])));
})();

const percent = (share) => {
  const value = 100 * share, size = Math.abs(value);
  return size === 0 ? "0%" : size < 0.01 ? `${value < 0 ? "−" : ""}< 0.01%`.replace("−< ", "> −") : `${value < 0 ? "−" : ""}${size.toFixed(2)}%`;
};

/* ---------- the map ---------- */
(function map() {
  const section = $("#map"), world = data.map;
  if (!world) { section.remove(); return; }
  $("h2", section).textContent = world.title;
  $(".note", section).textContent = world.note;
  const { x: xs, y: ys, fields, names, arrows } = world, grid = world.kind === "grid", n = xs.length;
  const TITLES = { time: "where it spends its time", value: "value", cost: "cost", change: "what steering changed" };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const rgb = (text) => text.startsWith("#") ? [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) : text.match(/\d+/g).map(Number);
  const blend = (stops, share) => {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2), f = at - k;
    return `rgb(${stops[k].map((v, j) => Math.round(v + (stops[k + 1][j] - v) * f)).join(",")})`;
  };
  const stops = { time: ["--pale", "--middle", "--deep"], change: ["--less", "--zero", "--more"] };
  const ramp = (show) => stops[show] ? stops[show].map((name) => rgb(css(name))) : world.ramp.map(rgb);
  const ends = (values) => { const known = values.filter((v) => v !== null); return [Math.min(...known), Math.max(...known)]; };
  const share = (show) => {  // of the way along the ramp, for each state
    const values = fields[show], [low, high] = ends(values);
    if (show === "time") return values.map((v) => Math.sqrt(v / (high || 1)));
    if (show === "change") { const most = Math.max(-low, high) || 1; return values.map((v) => .5 + .5 * Math.sign(v) * Math.sqrt(Math.abs(v) / most)); }
    return values.map((v) => v === null ? null : high > low ? (v - low) / (high - low) : .5);  // null: infinite, left blank
  };
  const holder = $(".picture", section), canvas = make("canvas", { role: "img" }), tip = make("div", { class: "tip" });
  const zooms = make("div", { class: "zoom" }, ...[["+", 1.6, "closer"], ["−", 1 / 1.6, "farther"], ["all", 0, "everything"]]
    .map(([text, factor, title]) => make("button", { type: "button", title, "aria-label": title, onclick: () => zoom(factor) }, text)));
  holder.replaceChildren(canvas, zooms, tip);
  const pen = canvas.getContext("2d"), all = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const wide = (box) => Math.max(box[1] - box[0], (box[3] - box[2]) * .2, 1e-12), tall = (box) => Math.max(box[3] - box[2], 1e-12);
  let show = Object.keys(fields)[0], view = null, whole = null, scale = 1, offset = [0, 0], size = 1, width = 0, height = 0, shown = null;

  function fit(box) {
    const pad = grid ? 0 : world.named ? 34 : 14, half = grid ? .5 : 0;
    const [w, h] = [wide(box) + 2 * half, tall(box) + 2 * half];
    width = holder.clientWidth;
    const free = Math.min(innerHeight * .78, 760);
    scale = Math.min((width - 2 * pad) / w, (free - 2 * pad) / h);
    height = Math.round(Math.max(h * scale + 2 * pad, 160));
    view = [(box[0] + box[1]) / 2, (box[2] + box[3]) / 2];
    whole = { scale, view: [...view] };
  }
  const px = (x) => (x - view[0]) * scale + width / 2, py = (y) => (y - view[1]) * scale + height / 2;
  function zoom(factor) {
    if (!factor) fit(all); else scale *= factor;
    holder.classList.toggle("moved", scale > whole.scale * 1.01);
    draw();
  }
  function radius(level) {
    const room = Math.sqrt(width * height / n) * .24 * Math.sqrt(scale / whole.scale), most = Math.min(Math.max(room, 1.6), 11);
    return show === "time" ? most * (.45 + .75 * level) : most * .8;
  }
  function arrow(x0, y0, x1, y1, head) {
    const d = Math.hypot(x1 - x0, y1 - y0) || 1, ux = (x1 - x0) / d, uy = (y1 - y0) / d;
    pen.beginPath(); pen.moveTo(x0, y0); pen.lineTo(x1, y1);
    pen.moveTo(x1, y1); pen.lineTo(x1 - head * (ux - .6 * uy), y1 - head * (uy + .6 * ux));
    pen.moveTo(x1, y1); pen.lineTo(x1 - head * (ux + .6 * uy), y1 - head * (uy - .6 * ux)); pen.stroke();
  }
  const haloed = (lineWidth, stroke) => {  // readable on every colour
    pen.strokeStyle = css("--halo"); pen.lineWidth = lineWidth + 2; stroke();
    pen.strokeStyle = css("--arrow"); pen.lineWidth = lineWidth; stroke();
  };
  function draw() {
    const dots = devicePixelRatio || 1;
    canvas.width = Math.round(width * dots); canvas.height = Math.round(height * dots); canvas.style.height = `${height}px`;
    pen.setTransform(dots, 0, 0, dots, 0, 0);
    pen.fillStyle = css(grid ? "--wall" : "--panel"); pen.fillRect(0, 0, width, height);
    pen.lineCap = pen.lineJoin = "round";
    const levels = share(show), colours = ramp(show);
    const inside = (s, r) => { const x = px(xs[s]), y = py(ys[s]); return x > -r && x < width + r && y > -r && y < height + r; };
    if (grid) {
      for (let s = 0; s < n; s++) if (inside(s, scale)) {
        pen.fillStyle = levels[s] === null ? css("--panel") : blend(colours, levels[s]);
        pen.fillRect(px(xs[s]) - scale / 2, py(ys[s]) - scale / 2, scale + .6, scale + .6);
      }
      if (scale >= 9) arrows.forEach(([dx, dy], s) => {
        const length = Math.hypot(dx, dy);
        if (length < .02 || !inside(s, scale)) return;
        const reach = Math.min(.42, .12 + length * .6) * scale / length, x = px(xs[s]), y = py(ys[s]);
        haloed(Math.max(1, scale / 20), () => arrow(x - dx * reach, y - dy * reach, x + dx * reach, y + dy * reach, scale * .2));
      });
    } else {
      pen.strokeStyle = css("--line"); pen.lineWidth = n > 2000 ? .6 : 1.2; pen.beginPath();
      for (let k = 0; k < world.edges.length; k += 2) { const [a, b] = [world.edges[k], world.edges[k + 1]]; pen.moveTo(px(xs[a]), py(ys[a])); pen.lineTo(px(xs[b]), py(ys[b])); }
      pen.stroke();
      const order = [...levels.keys()].sort((a, b) => Math.abs(levels[a] - (show === "change" ? .5 : 0)) - Math.abs(levels[b] - (show === "change" ? .5 : 0)));
      for (const s of order) if (inside(s, 20)) {
        pen.fillStyle = levels[s] === null ? css("--faint") : blend(colours, levels[s]); pen.beginPath(); pen.arc(px(xs[s]), py(ys[s]), radius(levels[s]), 0, 7); pen.fill();
        if (n <= 1500) { pen.strokeStyle = css("--panel"); pen.lineWidth = 1; pen.stroke(); }
      }
      const drawn = [];  // where arrows lie, so that no name is written over one
      for (const [a, b, gain] of arrows) {
        if (!inside(a, 40)) continue;
        const [x0, y0, x1, y1] = [px(xs[a]), py(ys[a]), px(xs[b]), py(ys[b])], d = Math.hypot(x1 - x0, y1 - y0);
        const from = radius(levels[a]) + 3, to = Math.min(d - radius(levels[b]) - 3, from + 34);
        if (to - from < 5) continue;  // too short to be seen between two dots
        const at = (r) => [x0 + (x1 - x0) / d * r, y0 + (y1 - y0) / d * r];
        for (let r = from; r <= to; r += 5) { const [x, y] = at(r); drawn.push([x - 5, y - 5, x + 5, y + 5, -1]); }
        pen.globalAlpha = Math.min(1, .35 + 2 * gain);
        haloed(n > 300 ? 1.1 : 1.6, () => arrow(...at(from), ...at(to), Math.min(6, (to - from) * .5)));
      }
      pen.globalAlpha = 1;
      if (world.named || (n <= 2000 && scale > 6 * whole.scale)) label(levels, drawn);
    }
    legend(colours);
    canvas.setAttribute("aria-label", `${TITLES[show]}, on a map of ${n.toLocaleString("en")} states`);
    canvas.dataset.show = show;
  }
  function label(levels, arrowed) {  // names beside the dots, where no other name, dot or arrow is in the way
    pen.font = "12px ui-sans-serif, system-ui, sans-serif"; pen.textBaseline = "middle";
    const taken = xs.map((x, s) => { const r = radius(levels[s]); return [px(x) - r, py(ys[s]) - r, px(x) + r, py(ys[s]) + r, s]; }).concat(arrowed);
    for (let s = 0; s < n; s++) {
      const w = pen.measureText(names[s]).width, r = radius(levels[s]) + 4, x = px(xs[s]), y = py(ys[s]);
      const spots = [[x + r, y - 7], [x - r - w, y - 7], [x - w / 2, y - r - 14], [x - w / 2, y + r], [x + r * .7, y - r - 9], [x + r * .7, y + r - 5],
        [x - r * .7 - w, y - r - 9], [x - r * .7 - w, y + r - 5]];
      const free = spots.find(([a, b]) => a >= 2 && a + w <= width - 2 && b >= 2 && b + 14 <= height - 2
        && taken.every(([l, t, e, f, o]) => o === s || a + w < l || a > e || b + 14 < t || b > f));
      if (!free) continue;
      const [a, b] = free;
      taken.push([a, b, a + w, b + 14, -1]);
      pen.lineWidth = 3; pen.strokeStyle = css("--panel"); pen.strokeText(names[s], a, b + 7);
      pen.fillStyle = css("--ink"); pen.fillText(names[s], a, b + 7);
    }
  }
  function legend(colours) {
    const line = $(".legend-line", section), [low, high] = ends(fields[show]), most = Math.max(-low, high);
    const shown = show === "time" ? ["0%", percent(high)] : show === "change" ? [`${percent(-most)} of the time`, `+${percent(most)}`] : low < high ? apart(low, high) : ["", `${number(high)} everywhere`];
    [line.firstChild.textContent, line.lastChild.textContent] = shown;
    $("i", line).style.background = `linear-gradient(90deg, ${colours.map((c) => `rgb(${c.join(",")})`).join(",")})`;
  }
  function near(event) {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = -1, least = grid ? scale * .75 : 24;
    for (let s = 0; s < n; s++) { const d = Math.hypot(px(xs[s]) - x, py(ys[s]) - y); if (d < least) { least = d; best = s; } }
    return [best, x, y];
  }
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { if (holder.classList.contains("moved")) { drag = [event.clientX, event.clientY, ...view]; canvas.setPointerCapture(event.pointerId); } });
  canvas.addEventListener("pointerup", () => { drag = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) { view = [drag[2] - (event.clientX - drag[0]) / scale, drag[3] - (event.clientY - drag[1]) / scale]; tip.style.display = "none"; return draw(); }
    const [s, x, y] = near(event);
    tip.style.display = s < 0 ? "none" : "block";
    if (s < 0) return;
    tip.textContent = [names[s], ...Object.keys(fields).map((key) => `${key}  ${fields[key][s] === null ? "infinite" : stops[key] ? percent(fields[key][s]) : number(fields[key][s])}`)].join("\n");
    tip.style.left = `${Math.max(0, Math.min(x + 14, width - tip.offsetWidth - 6))}px`; tip.style.top = `${Math.max(0, Math.min(y + 14, height - tip.offsetHeight - 6))}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  const keys = ["time", "change", "value", "cost"].filter((key) => fields[key]);
  const buttons = keys.map((key) => make("button", { type: "button", "aria-pressed": "false", onclick: () => pick(key) }, TITLES[key]));
  const pick = (key) => { show = key; buttons.forEach((button, k) => button.setAttribute("aria-pressed", String(keys[k] === key))); draw(); };
  $(".switch", section).replaceChildren(...buttons);
  fit(world.frame);
  pick(keys[0]);
  addEventListener("resize", () => { if (holder.clientWidth !== width) { fit(world.frame); holder.classList.remove("moved"); draw(); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();

/* ---------- what steering changed, the certificate, provenance ---------- */
(function tables() {
  const found = data.changes, section = $("#changes");
  $("h2", section).textContent = found.title;
  $(".finding", section).textContent = found.finding;
  // numbers have the same decimals down a column, and shares are percentages
  const places = (k) => { const most = Math.max(...found.rows.map((row) => Math.abs(row[k] ?? 0)), 1e-300); return Math.max(0, Math.min(8, 3 - Math.floor(Math.log10(most)))); };
  const shown = found.columns.map((one, k) => {
    if (one.share) return (cell) => (one.name === "change" && cell > 0 ? "+" : "") + percent(cell);
    if (!one.number) return String;
    const digits = places(k);
    return (cell) => cell.toFixed(digits).replace("-", "−");
  });
  const tone = (one, cell) => one.name !== "change" || !cell ? "" : cell > 0 ? " more" : " less";
  const kind = (one) => (one.number ? (one.kept ? "number" : "number wide") : one.share ? "number" : "");
  $(".scroll", section).replaceChildren(make("table", {},
    make("thead", {}, make("tr", {}, ...found.columns.map((one) => make("th", { scope: "col", class: kind(one) }, one.name)))),
    make("tbody", {}, ...found.rows.map((row) => make("tr", {}, ...row.map((cell, k) =>
      make("td", { class: kind(found.columns[k]) + tone(found.columns[k], cell) }, cell === null ? "–" : shown[k](cell))))))));

  const proof = data.certificate;
  $("#certificate h2").textContent = proof.title;
  $("#certificate .finding").textContent = proof.finding;
  const rows = (list) => make("table", {}, make("tbody", {}, ...list.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, value)))));
  $("#certificate .scroll").replaceChildren(rows(proof.rows));
  if (proof.story.length) $("#certificate details div").replaceChildren(...proof.story.map((line) => make("p", { class: "note" }, line)));
  else $("#certificate details").remove();
  $("#provenance .scroll").replaceChildren(rows(data.provenance));
})();
document.body.dataset.drawn = "yes";
