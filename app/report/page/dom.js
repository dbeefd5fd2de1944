"use strict";
// Creates elements and formats numbers. Text from a run becomes a text node or an attribute, never
// HTML.

// Returns an element. `attributes`: strings are attributes, functions are listeners ("onclick").
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const isNumber = (value) => typeof value === "number" && isFinite(value);
const NONE = "–";

// Formats a number with `digits` significant digits: 4,020,358; 0.1234; 1.2e-7. Whole numbers and
// numbers from 10,000 are shown with all digits before the decimal point.
function number(value, digits = 4) {
  if (!isNumber(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e15) return value.toExponential(2).replace(/\.?0+e/, "e");
  if (Number.isInteger(value) || size >= 1e4)
    return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  const places = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en-US", { maximumFractionDigits: places, minimumFractionDigits: 0 });
}

const fixed = (value, places) => (isNumber(value) ? value.toFixed(places) : NONE);
const percent = (value, places = 2) => (isNumber(value) ? value.toFixed(places) + " %" : NONE);

function duration(seconds) {
  if (!isNumber(seconds)) return NONE;
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return Math.floor(seconds / 60) + " min " + String(Math.floor(seconds % 60)).padStart(2, "0") + " s";
  return Math.floor(minutes / 60).toLocaleString("en-US") + " h " + String(minutes % 60).padStart(2, "0") + " min";
}

const utc = (text) => (text ? String(text).slice(0, 19).replace("T", " ") : NONE);

// Returns a value of a run's JSON as one line of text.
function plain(value) {
  if (value == null) return NONE;
  if (isNumber(value)) return number(value);
  if (Array.isArray(value)) return value.map(plain).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// Returns the value of a setting as a user would type it.
const typed = (value) => (value == null ? NONE : typeof value === "object" ? JSON.stringify(value)
  : isNumber(value) && !Number.isInteger(value) ? String(Number(value.toPrecision(8))) : String(value));

function section(id, title, ...children) {
  return el("section", { id }, el("h2", {}, title), children);
}

// Returns a table. Each column: {title, value(row), text(row) or node(row), number, best(row),
// bar(row), class}. If `sort` ({column, down}) and `redraw` are given, a click on a column's title
// changes `sort` and calls `redraw`. `keep`: name under which render() keeps the scroll position.
function table(columns, rows, { sort, redraw, keep } = {}) {
  let ordered = rows;
  if (sort && sort.column != null) {
    const value = columns[sort.column].value;
    const order = (a, b) => {
      if (a == null || b == null) return (a == null) - (b == null);  // unknown values come last
      return (sort.down ? -1 : 1) * (a < b ? -1 : a > b ? 1 : 0);
    };
    ordered = [...rows].sort((a, b) => order(value(a), value(b)));
  }
  const head = columns.map((column, i) => {
    const kind = column.number ? "n" : /when/.test(column.class) ? "when" : null;
    if (!redraw) return el("th", { class: kind, scope: "col" }, column.title);
    const on = sort.column === i;
    const press = () => {
      sort.down = on ? !sort.down : !!column.number;
      sort.column = i;
      redraw();
    };
    const mark = on ? (sort.down ? " ↓" : " ↑") : "";
    return el("th", { class: kind, scope: "col", "aria-sort": on ? (sort.down ? "descending" : "ascending") : "none" },
      el("button", { type: "button", onclick: press }, column.title + mark));
  });
  const body = ordered.map((row) => el("tr", {}, columns.map((column) => {
    const content = column.node ? column.node(row) : column.text(row);
    const best = column.best && column.best(row);
    const cell = el("td", { class: [column.number ? "n" : "", best ? "best" : "", column.class || ""].join(" ").trim() || null }, content);
    const share = column.bar && column.bar(row);
    if (isNumber(share)) {
      cell.classList.add("bar");
      cell.style.setProperty("--share", Math.max(0, Math.min(1, share)));
    }
    return cell;
  })));
  return el("div", { class: "scroll", "data-keep": keep },
    el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}
