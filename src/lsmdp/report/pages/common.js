"use strict";
// What all pages share. A page draws itself from the one JSON object in it; nothing is loaded.
const data = JSON.parse(document.getElementById("data").textContent);
const COLOURS = ["--a", "--b", "--c", "--d", "--e", "--f", "--g", "--h"];
const colour = Object.fromEntries(data.learners.map((one, k) => [one.name ?? one, `var(${COLOURS[k % COLOURS.length]})`]));
const $ = (selector, root = document) => root.querySelector(selector);

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "text", "rect", "circle", "title"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function number(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value === "infinite" ? "∞" : value;
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return power(value, 2);
  return unsigned(value.toLocaleString("en", { maximumFractionDigits: size >= 1000 ? 1 : size >= 10 ? 2 : digits }));
}

// 1.2e-9 as it is written by hand: 1.2·10⁻⁹
function raised(exponent) { return `10${String(exponent).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)])}`; }
function power(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits).split("e");
  const short = mantissa.replace(/\.?0+$/, "").replace("-", "−");
  return short === "1" ? raised(Number(exponent)) : `${short}·${raised(Number(exponent))}`;
}

// the numbers of a column, all with the same decimals
const fixed = (value, decimals) => value === null || value === undefined ? "–"
  : value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");

// formulas as the theory writes them in plain text: R_T, 10^-6 and lambda become what a book would print
const GREEK = { lambda: "λ", alpha: "α", tau: "τ", mu: "μ", pi: "π", kappa: "κ", delta: "δ", sigma: "σ", theta: "θ", rho: "ρ", Lambda: "Λ", eps: "ε", inf: "∞", infinity: "∞", infinite: "∞" };
function typeset(text) {
  const word = (part) => part.replace(/[A-Za-z]+/g, (name) => GREEK[name] ?? name).replace(/<=/g, "≤").replace(/>=/g, "≥");
  const parts = text.split(/([_^](?:\{[^}]*\}|-?\d+|\*|[A-Za-z]+(?:[+-]\d)?))/);
  return parts.map((part) => /^[_^]./.test(part) ? make(part[0] === "_" ? "sub" : "sup", {}, word(part.slice(1).replace(/^\{|\}$/g, ""))) : word(part));
}

// a sentence with commands between backticks, which break over lines between words only
function prose(text) {
  const words = (command) => command.split(" ").flatMap((word, k) => [k ? " " : "", make("span", {}, word)]);
  return text.split("`").map((part, k) => k % 2 ? make("code", { class: "command" }, ...words(part)) : part);
}

// what rounds to zero has no sign, and a minus is no hyphen
const unsigned = (text) => text === "-0" ? "0" : text.replace("-", "−");

// two different numbers, with as many digits as it takes to tell them apart
function apart(low, high) {
  const shown = (value, digits) => {
    const size = Math.abs(value);
    return size !== 0 && (size < 1e-4 || size >= 1e7) ? power(value, digits - 1) : unsigned(value.toLocaleString("en", { maximumSignificantDigits: digits }));
  };
  let digits = 3;
  while (digits < 12 && shown(low, digits) === shown(high, digits)) digits += 1;
  return [shown(low, digits), shown(high, digits)];
}

function ticks(low, high, log, most = 8) {
  if (log) {
    const step = Math.max(1, Math.ceil((high - low) / most)), found = [];
    for (let e = Math.ceil(low - 1e-9); e <= high + 1e-9; e += step) found.push(e);
    return found.length ? found : [low, high];  // within a decade: the ends
  }
  const rough = (high - low) / 5 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough * .999) * power, found = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return found;
}

function sortable(holder, columns, rows) {
  let by = -1, up = true;
  const body = make("tbody");
  const heads = columns.map((column, k) => make("th", { "data-sort": k, tabindex: 0, scope: "col", class: column.number ? "number" : "",
    onclick: () => sort(k), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(k); } } }, column.name));
  const fill = () => body.replaceChildren(...rows.map((row) => make("tr", {}, ...columns.map((column, k) => {
    const cell = row[k], shown = column.show ? column.show(cell, row) : column.number ? number(cell) : String(cell ?? "–");
    return make("td", { class: [column.number ? "number" : "", column.tone ? column.tone(cell) : ""].join(" ").trim() || null, title: column.exact?.(cell) }, ...[shown].flat());
  }))));
  const value = (cell) => cell === "infinite" ? Infinity : cell === "-infinite" ? -Infinity : cell;
  function sort(k) {
    up = by === k ? !up : true; by = k;
    heads.forEach((head, j) => j === k ? head.setAttribute("aria-sort", up ? "ascending" : "descending") : head.removeAttribute("aria-sort"));
    const order = (a, b) => {
      const [x, y] = [value(a[k]), value(b[k])];
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true })) * (up ? 1 : -1);
    };
    rows = [...rows].sort(order); fill();
  }
  fill();
  holder.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
}
