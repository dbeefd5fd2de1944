// The state of the page, and the functions that render it.

let report = JSON.parse(document.getElementById("data").textContent);

const state = {
  x: "step", smooth: Math.max(...report.runs.map((run) => run.history.train.step?.length || 0)) > 300 ? 0.9 : 0.6, log: false, zoom: null, theme: "auto", allSettings: false, run: null,
  sort: { column: null, down: false }, folds: new Map(), views: new Map(),
};

// Returns a group of buttons, one of which is pressed.
function choice(name, options, value, change) {
  return el("span", { class: "choice", role: "group", "aria-label": name }, options.map(([key, title]) =>
    el("button", { type: "button", "aria-pressed": String(key === value), onclick: () => change(key) }, title)));
}

// Returns a collapsible part. `state` remembers whether it is open, also after render().
function fold(id, title, make) {
  const content = el("div");
  const box = el("details", { open: state.folds.get(id) || false }, el("summary", {}, title), content);
  const fill = () => {
    state.folds.set(id, box.open);
    content.replaceChildren(...(box.open ? [make()] : []));
  };
  box.addEventListener("toggle", fill);
  fill();
  return box;
}

function controls() {
  const smooth = el("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: state.smooth, "aria-label": "smoothing",
    oninput: () => update({ smooth: Number(smooth.value) }, "charts") });
  return el("div", { class: "controls" },
    choice("x axis", Object.keys(X_AXES).map((key) => [key, X_AXES[key].title]), state.x, (x) => update({ x, zoom: null })),
    choice("loss axis", [["linear", "linear"], ["log", "log"]], state.log ? "log" : "linear", (value) => update({ log: value === "log" })),
    el("label", {}, "smoothing ", smooth, el("output", {}, state.smooth.toFixed(2))));
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  update({ theme });
}

function footer() {
  return el("footer", {}, `Written ${utc(report.written)} UTC by shoal ${report.version} · charts: dygraphs (MIT)`);
}

// Redraws everything, but keeps the zoom of charts, scroll positions and the focused control.
function render() {
  const page = document.getElementById("page"), scrolled = new Map(), focused = document.activeElement;
  const label = focused && focused.getAttribute && focused.getAttribute("aria-label");
  for (const part of page.querySelectorAll("[data-keep]")) scrolled.set(part.dataset.keep, [part.scrollTop, part.scrollLeft]);
  const at = window.scrollY;
  page.replaceChildren(...[header(), results(), chartSection(), phases(), epochs(), evaluationSection(), settings(), hosts(),
    events(), footer()].filter(Boolean));
  for (const part of page.querySelectorAll("[data-keep]"))
    [part.scrollTop, part.scrollLeft] = scrolled.get(part.dataset.keep) || [0, 0];
  drawCharts();
  window.scrollTo(0, at);
  if (label) [...page.querySelectorAll("[aria-label]")].find((part) => part.getAttribute("aria-label") === label)?.focus();
  document.title = report.runs.map((run) => run.name).join(", ") + " – shoal report";
}

// Changes the state and redraws. With "charts", redraws only the charts: replacing a control while
// the user drags it would end the drag.
function update(changes, part) {
  Object.assign(state, changes);
  if (part !== "charts") return render();
  const shown = document.getElementById("charts");
  const redrawn = (part) => !part.matches("h2, .controls");
  const fresh = [...chartSection().children].filter(redrawn);
  [...shown.children].filter(redrawn).forEach((part) => part.remove());
  shown.append(...fresh);
  drawCharts();
  document.querySelector(".controls output").textContent = state.smooth.toFixed(2);
}

// With `shoal report --serve`: fetches the numbers again whenever the server reports a change.
function follow() {
  const source = new EventSource("events" + location.search);
  const show = (text) => { const mark = document.getElementById("live"); if (mark) mark.textContent = text; };
  source.onopen = () => show("live");
  source.onerror = () => show("connecting…");
  source.onmessage = async () => {
    const answer = await fetch("data" + location.search);
    if (!answer.ok) return show("error " + answer.status);
    report = await answer.json();
    render();
  };
}

render();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
if (report.live) follow();
