// What a visitor of the page of a run does: move the slider, switch, sort, and write down what was seen.
(function () {
  const pixels = (canvas) => { const d = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    let sum = 0; for (let k = 0; k < d.length; k += 7) sum = (sum * 31 + d[k]) % 1000003; return sum; };
  const press = (root, name) => [...document.querySelectorAll(root + " button")].find((b) => b.textContent === name)?.click();
  const canvas = document.querySelector("#map canvas"), slider = document.querySelector("#map input[type=range]");
  if (canvas) {
    seen.last = [canvas.dataset.frame, pixels(canvas)];
    slider.value = 0; slider.dispatchEvent(new Event("input"));
    seen.first = [canvas.dataset.frame, pixels(canvas)];
    slider.value = slider.max; slider.dispatchEvent(new Event("input"));
    press("#map", "value"); seen.value = pixels(canvas);
    press("#map", "mean cost"); seen.mean = pixels(canvas);
    press("#map", "where it is"); press("#map", "passive"); seen.passive = pixels(canvas);
    const [top, bar, bottom] = document.querySelector("#map .scale").children, ramp = getComputedStyle(bar).backgroundImage;
    const along = (node) => { const box = node.getBoundingClientRect(); return ramp.includes("90deg") ? box.left : -box.top; };
    seen.ramp = ramp.match(/rgb\([^)]*\)/g).map((text) => text.match(/\d+/g).map(Number));
    seen.legend = [top, bar, bottom].sort((a, b) => along(a) - along(b)).map((node) => node.textContent);
  }
  for (const name of ["divided by log t", "log–log", "as it is"]) { press("#regret", name); seen[name] = document.querySelectorAll("#regret path").length; }
  const chart = document.querySelector("#regret svg"), box = chart.getBoundingClientRect();
  chart.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 20, bubbles: true }));
  seen.tip = document.querySelector("#regret .tip").textContent;
  const table = document.querySelector(document.querySelector("#map table") ? "#map table" : "#certificates table");
  const column = (k) => [...table.querySelectorAll("tbody tr")].map((row) => row.children[k].textContent);
  if (table) { table.querySelectorAll("th")[0].click(); seen.up = column(0); table.querySelectorAll("th")[0].click(); seen.down = column(0); }
  seen.table = [...document.querySelectorAll("#compare tr")].map((row) => [...row.children].map((cell) => cell.textContent));
  const fold = document.querySelector("#certificates details");
  seen.open = fold?.open; seen.statements = document.querySelectorAll("#certificates tbody tr").length;
  if (fold) fold.open = true;
  seen.text = document.querySelector("main").innerText;
  seen.marks = document.querySelectorAll("#parts-chart line.net").length;
  seen.fills = ["#paid-chart", "#parts-chart"].map((id) => [...new Set([...document.querySelectorAll(id + " rect")].map((bar) => getComputedStyle(bar).fill))]);
  seen.strokes = [...new Set([...document.querySelectorAll("#regret path")].map((line) => getComputedStyle(line).stroke))];
  if (canvas) {
    const keys = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
    const bounds = () => canvas.dataset.bounds.split(",").map(Number);
    seen.canvas = [canvas.clientWidth, canvas.clientHeight]; seen.bounds = bounds(); seen.arrows = Number(canvas.dataset.arrows);
    keys("+"); seen.zoomed = bounds(); keys("ArrowLeft"); seen.moved = bounds(); keys("0"); seen.again = bounds();
    seen.chosen = [...document.querySelectorAll("#map button[aria-pressed=true]")].map((button) => button.textContent);
  }
  seen.axis = [...document.querySelectorAll("#regret svg text")].at(-1).textContent;
  seen.ticks = ["#regret", "#effort"].map((id) => document.querySelectorAll(id + " svg .grid").length);
  seen.figures = [-0, -0.0004, -0.4, 0].map((value) => number(value, 3));
  seen.headings = [...document.querySelectorAll("h1, h2")].map((h) => h.textContent);
  seen.requests = performance.getEntriesByType("resource").length;
  seen.width = innerWidth;
  seen.over = [...document.querySelectorAll("main *")].filter((node) => !node.closest(".scroll, svg, .tip")
    && node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.tagName + "." + node.className);
  seen.scroll = document.documentElement.scrollWidth;
  const note = document.createElement("pre"); note.id = "seen"; note.textContent = JSON.stringify(seen); document.body.append(note);
})();
