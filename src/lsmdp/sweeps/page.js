/* ---------- the panels ---------- */
const WIDTH = 280, HEIGHT = 190, LEFT = 46, RIGHT = 8, TOP = 10, BOTTOM = 24;
const VIEWS = {
  "log–log": { logY: true, of: (r) => r, name: "regret" },
  "R / log t": { logY: false, of: (r, t) => t > 1 ? r / Math.log(t) : null, name: "regret / log t" },
  "R": { logY: false, of: (r) => r, name: "regret" },
};
const shown = new Set(data.learners);
let view = Object.keys(VIEWS)[0];

function panel(game) {
  const { logY, of, name } = VIEWS[view];
  const value = (one, level, k) => one[level][k] === null ? null : of(one[level][k], one.t[k]);
  const good = (y, t) => y !== null && Number.isFinite(y) && (!logY || y > data.resolution * t);
  const curves = data.learners.filter((learner) => shown.has(learner) && game.curves[learner]).map((learner) => {
    const one = game.curves[learner];
    const points = one.t.map((t, k) => ({ t, y: value(one, "median", k), low: value(one, "low", k), high: value(one, "high", k) })).filter((p) => good(p.y, p.t));
    return { learner, points };
  }).filter((one) => one.points.length);
  const caption = make("figcaption", {}, `${game.model}, ${game.costs}`,
    make("small", {}, game.about));
  const holder = make("figure", {}, caption);
  if (!curves.length) { holder.append(make("p", { class: "note" }, "Nothing positive to draw on these axes.")); return holder; }
  const ty = logY ? Math.log10 : (v) => v, all = curves.flatMap((one) => one.points);
  const [x0, x1] = [0, Math.log10(Math.max(game.rounds, 10))];
  let y0 = Math.min(...all.map((p) => ty(p.y))), y1 = Math.max(...all.map((p) => ty(p.y)));
  if (!logY) { y0 = Math.min(y0, 0); y1 = Math.max(y1, 0); }
  if (y1 - y0 < 1e-12) { y0 -= .5; y1 += .5; }
  const pad = (y1 - y0) * .05; y1 += pad; if (logY || y0 < 0) y0 -= pad;
  const X = (t) => LEFT + (Math.log10(t) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT);
  const Y = (y) => HEIGHT - BOTTOM - (Math.min(Math.max(ty(y), y0), y1) - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM);
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${name} over rounds, ${game.model} against ${game.costs}` });
  for (const v of ticks(y0, y1, logY, 4)) {
    const at = Y(logY ? 10 ** v : v);
    svg.append(make("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }),
      make("text", { x: LEFT - 5, y: at + 4, "text-anchor": "end" }, number(logY ? 10 ** v : v)));
  }
  for (const e of ticks(x0, x1, true, 4))
    svg.append(make("text", { x: X(10 ** e), y: HEIGHT - 6, "text-anchor": "middle" }, number(10 ** e)));
  svg.append(make("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }));
  const line = (points) => points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
  for (const { learner, points } of curves) {
    const floor = (y, t) => good(y, t) ? y : 10 ** y0;  // a band may go below what a logarithm can show
    const up = points.map((p) => [X(p.t), Y(floor(p.high, p.t))]), down = points.map((p) => [X(p.t), Y(floor(p.low, p.t))]).reverse();
    svg.append(make("path", { d: `${line([...up, ...down])}Z`, style: `fill:${colour[learner]}`, opacity: .16 }));
  }
  for (const { learner, points } of curves)
    svg.append(make("path", { d: line(points.map((p) => [X(p.t), Y(p.y)])), fill: "none", style: `stroke:${colour[learner]}`, "stroke-width": 2, "stroke-linejoin": "round" }));
  const tip = make("div", { class: "tip" });
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * WIDTH;
    const t = all.reduce((best, p) => Math.abs(X(p.t) - x) < Math.abs(X(best) - x) ? p.t : best, all[0].t);
    const rows = curves.map(({ learner, points }) => [learner, points.find((p) => p.t === t)]).filter(([, p]) => p);
    tip.textContent = [`round ${t.toLocaleString("en")}: ${name}`, ...rows.map(([learner, p]) => `${data.titles[learner]}  ${number(p.y)}  [${number(p.low)}, ${number(p.high)}]`)].join("\n");
    tip.style.display = "block";
    tip.style.left = `${Math.max(0, Math.min(X(t) / WIDTH * box.width, holder.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = `${caption.offsetHeight + 14 - tip.offsetHeight}px`;
  });
  svg.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  holder.append(svg, tip);
  return holder;
}

const draw = () => $("#panels .panels").replaceChildren(...data.panels.games.map(panel));

$("#panels .axes").replaceChildren(...Object.keys(VIEWS).map((name) => make("button", { type: "button", "aria-pressed": String(name === view), onclick: (event) => {
  view = name;
  for (const button of event.target.parentNode.children) button.setAttribute("aria-pressed", String(button === event.target));
  draw();
} }, name)));
$("#panels .learners").replaceChildren(...data.learners.map((name) => make("button", { type: "button", "aria-pressed": "true", style: `--colour:${colour[name]}`, onclick: (event) => {
  const button = event.currentTarget;
  if (shown.has(name)) shown.delete(name); else shown.add(name);
  button.setAttribute("aria-pressed", String(shown.has(name)));
  draw();
} }, make("span", { class: "dot" }), data.titles[name])));

for (const id of ["kicker", "headline", "lede"]) $(`#${id}`).textContent = data[id];
for (const id of ["panels", "growth"]) $(`#${id} .finding`).textContent = data[id].finding;
for (const id of ["panels", "growth", "best"]) $(`#${id} h2`).textContent = data[id].title;
$("#cards").replaceChildren(...data.cards.map((one) => make("div", { class: "card", style: `--colour:${colour[one.name]}` },
  make("h3", {}, data.titles[one.name]),
  ...(one.least === null ? [] : [make("div", { class: "big" }, `${one.least} of ${data.panels.games.length}`),
    make("p", { class: "caption" }, "games with the least regret")]),
  make("dl", {}, ...one.facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, number(value))])))));
draw();
const names = [{ name: "model" }, { name: "costs" }, { name: "rounds", number: true }];
sortable($("#best .scroll"), [...names, { name: "least regret" }, { name: "its median", number: true },
  { name: `median of ${data.best.subject}`, number: true }, { name: `seeds in which ${data.best.subject} has less` }], data.best.rows);
sortable($("#growth .scroll"), [...names, { name: "learner" }, { name: "median regret at T", number: true }, { name: "grows like" },
  { name: "off by %", number: true }, { name: "a [95%]" }, { name: "b [95%]" }, { name: "p [95%]" }], data.growth.rows);
if (data.failed.rows.length) {
  $("#failed h2").textContent = data.failed.title;
  sortable($("#failed .scroll"), [...names, { name: "seed", number: true }, { name: "why" }],
    data.failed.rows.map((one) => [one.model, one.costs, one.rounds, one.seed, one.why]));
} else $("#failed").remove();
$("#provenance .scroll").replaceChildren(make("table", {}, make("tbody", {}, ...data.provenance.map(([name, value]) =>
  make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, make("code", {}, value)))))));
