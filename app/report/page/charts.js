// Line charts over steps, epochs or time. All charts share the zoom of the x axis.

const charts = new Map(); // id → {box, legend, plot, at, graph, series, format, draw}

const X_AXES = {
  step: { title: "step", of: (run, column, i) => column.step[i] },
  epoch: { title: "epoch", of: (run, column, i) => column.step[i] / (run.history.steps_per_epoch || 1) },
  time: { title: "hours", of: (run, column, i) => (column.time[i] == null ? null : column.time[i] / 3600) },
};

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Returns the exponential moving average, corrected for the bias of its start at 0.
function smoothed(values, weight) {
  let mean = 0, norm = 0;
  return values.map((value) => {
    if (!isNumber(value)) return null;
    mean = weight * mean + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return mean / norm;
  });
}

// Returns the column `name` of a run as a series, or null if the column has no values.
function seriesOf(run, columns, name, look) {
  if (!columns || !columns[name] || !columns[name].some(isNumber)) return null;
  const axis = X_AXES[state.x];
  const x = [], y = [];
  columns[name].forEach((value, i) => {
    const at = axis.of(run, columns, i);
    if (isNumber(value) && isNumber(at)) x.push(at), y.push(value);
  });
  return x.length ? { x, y, ...look } : null;
}

// Returns the series with a smoothed line, where the raw values become faint. Short series stay as
// they are.
function withSmoothing(series) {
  if (!series) return [];
  if (state.smooth === 0 || series.y.length < 8) return [series];
  return [{ ...series, faint: true }, { ...series, y: smoothed(series.y, state.smooth), raw: series }];
}

// Returns the form that dygraphs needs: one table with a column per series.
function rowsOf(series) {
  const rows = new Map();
  series.forEach((one, k) => one.x.forEach((x, i) => {
    if (!rows.has(x)) rows.set(x, new Array(series.length).fill(null));
    rows.get(x)[k] = one.y[i];
  }));
  return [...rows].sort((a, b) => a[0] - b[0]).map(([x, values]) => [x, ...values]);
}

// Returns the value of the series at the position nearest to x.
function nearest(series, x) {
  let low = 0, high = series.x.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.x[middle] < x) low = middle + 1;
    else high = middle;
  }
  if (low > 0 && x - series.x[low - 1] < series.x[low] - x) --low;
  return series.y[low];
}

// Shows the values at position x, or the last values if x is null.
function showLegend(chart, x) {
  const at = x == null ? "" : X_AXES[state.x].title + " " + number(x);
  chart.at.textContent = at;
  chart.legend.replaceChildren(...chart.series.filter((one) => !one.faint).map((one) => {
    const value = (line) => chart.format(x == null ? line.y[line.y.length - 1] : nearest(line, x));
    return el("span", { class: "key" },
      el("i", { class: one.dash ? "dash" : one.points ? "dot" : "", style: { color: one.color } }),
      one.label + " ", el("b", {}, value(one.raw || one)), one.raw ? " smoothed " + value(one) : null);
  }));
}

// Marks events by vertical lines.
function drawEvents(canvas, area, graph) {
  const [left, right] = graph.xAxisRange();
  canvas.save();
  for (const mark of eventMarks()) {
    if (!(mark.x >= left && mark.x <= right)) continue;
    const at = Math.round(graph.toDomXCoord(mark.x)) + 0.5;
    canvas.strokeStyle = color(mark.bad ? "--bad" : "--mark");
    canvas.setLineDash(mark.bad ? [] : [3, 3]);
    canvas.beginPath();
    canvas.moveTo(at, area.y);
    canvas.lineTo(at, area.y + area.h);
    canvas.stroke();
  }
  canvas.restore();
}

// Returns the part of the x axis that contains all values of all runs, with a margin; null if there
// are none. All charts show it until the user zooms, so that they can be compared.
function wholeRange() {
  let first = Infinity, last = -Infinity;
  for (const run of report.runs)
    for (const columns of [run.history.train, run.history.valid, run.history.valid_ema, run.history.utilization || {}])
      (columns.step || []).forEach((step, i) => {
        const x = X_AXES[state.x].of(run, columns, i);
        if (isNumber(x)) [first, last] = [Math.min(first, x), Math.max(last, x)];
      });
  const margin = last > first ? 0.01 * (last - first) : 0.5;
  return first <= last ? [first - margin, last + margin] : null;
}

let zooming = false;
// `range`: part of the x axis; null: all of it.
function zoomAll(from, range) {
  if (zooming) return;
  zooming = true;
  state.zoom = range;
  for (const chart of charts.values())
    if (chart.graph && chart.graph !== from && chart.box.isConnected)
      chart.graph.updateOptions({ dateWindow: range || wholeRange() });
  zooming = false;
}

// Returns the library's interaction model without touch handlers: a finger on a chart must scroll
// the page.
function interaction() {
  const model = { ...Dygraph.defaultInteractionModel };
  for (const name of Object.keys(model)) if (name.startsWith("touch")) delete model[name];
  model.dblclick = () => zoomAll(null, null);
  return model;
}

function graphOptions(chart, options) {
  const series = {};
  chart.series.forEach((one, k) => {
    series["s" + k] = {
      color: one.color, strokeWidth: one.faint ? 1 : 1.6,
      strokePattern: one.dash ? [5, 3] : null,
      drawPoints: !!one.points && one.x.length <= 25, pointSize: 2.5,
    };
    if (one.faint) series["s" + k].color = one.color + "48";
  });
  return {
    labels: ["x", ...chart.series.map((one, k) => "s" + k)], series,
    connectSeparatedPoints: true, legend: "never", logscale: !!options.log,
    valueRange: options.range || null, includeZero: !!options.zero,
    dateWindow: state.zoom || wholeRange(), rightGap: 8, yRangePad: 8,
    highlightCircleSize: 3, gridLineColor: color("--line"), axisLineColor: color("--line"),
    axisLabelFontSize: 11, axisLineWidth: 1, gridLineWidth: 1,
    axes: {
      x: { drawGrid: false, pixelsPerLabel: 55, axisLabelFormatter: (x) => number(x, 3), axisLabelWidth: 60 },
      y: { axisLabelFormatter: (y) => number(y, 3), axisLabelWidth: 46, pixelsPerLabel: 30 },
    },
    interactionModel: interaction(),
    underlayCallback: drawEvents,
    zoomCallback: () => zoomAll(chart.graph, chart.graph.xAxisRange()),
    highlightCallback: (event, x) => showLegend(chart, x),
    unhighlightCallback: () => showLegend(chart, null),
  };
}

// Returns the box of a chart, or null if no series has values. Reuses the box of an earlier call
// with the same id, so that zoom and hover survive live updates.
function lineChart(id, title, unit, series, options = {}) {
  series = series.filter(Boolean);
  if (!series.length) return null;
  let chart = charts.get(id);
  if (!chart) {
    chart = { legend: el("div", { class: "legend" }), plot: el("div", { class: "plot" }), at: el("span", { class: "at" }) };
    chart.box = el("figure", { class: "chart", "data-chart": id },
      el("figcaption", {}, el("b", {}, title), unit ? el("span", { class: "unit" }, unit) : null, chart.at), chart.legend, chart.plot);
    charts.set(id, chart);
  }
  chart.series = series;
  chart.format = options.format || ((value) => number(value));
  chart.draw = () => {
    const rows = rowsOf(chart.series), drawn = graphOptions(chart, options);
    if (chart.graph) chart.graph.updateOptions({ file: rows, ...drawn });
    else chart.graph = new Dygraph(chart.plot, rows, drawn);
    chart.graph.resize();
  };
  showLegend(chart, null);
  return chart.box;
}

function drawCharts() {
  for (const chart of charts.values()) if (chart.box.isConnected) chart.draw();
}

// Returns the style of a series. With one run, the color shows the kind of series. With several
// runs, the color shows the run, and dashes and points show the kind.
function look(run, kind) {
  const one = report.runs.length === 1;
  const name = one ? kind.name : run.name + (kind.plain ? "" : " " + kind.name);
  return { label: name, color: one ? color(kind.color) : runColor(run), dash: kind.dash, points: kind.points };
}

const KINDS = {
  train: { name: "train", color: "--c1" },
  valid: { name: "validation", color: "--c2", points: true },
  ema: { name: "EMA", color: "--c3", dash: true, points: true },
};

function chartSection() {
  const per = (make) => report.runs.flatMap(make);
  const curves = (name) => per((run) => [
    ...withSmoothing(seriesOf(run, run.history.train, name, look(run, KINDS.train))),
    seriesOf(run, run.history.valid, name, look(run, KINDS.valid)),
    seriesOf(run, run.history.valid_ema, name, look(run, KINDS.ema)),
  ]);
  const single = (name, label, smooth) => per((run) => {
    const series = seriesOf(run, run.history.train, name, look(run, { name: label, color: "--c1", plain: true }));
    return smooth ? withSmoothing(series) : [series];
  });
  const each = Math.max(...report.runs.map((run) => run.history.train.rows_per_point));
  return section("charts", "Charts", controls(), el("div", { class: "grid" },
    lineChart("loss", "Loss", null, curves("loss"), { log: state.log }),
    lineChart("acc1", "Top-1 accuracy", "%", curves("acc1"), { format: (v) => percent(v) }),
    lineChart("lr", "Learning rate", null, single("lr", "learning rate"), { zero: true }),
    lineChart("speed", "Training speed", "images/s", single("images_per_sec", "images/s", true), { zero: true }),
    lineChart("wait", "Waiting for images", "% of step time", single("wait", "wait", true), { zero: true, format: (v) => percent(v, 1) }),
    lineChart("grad_norm", "Gradient norm", "before clipping", single("grad_norm", "gradient norm", true), { log: state.log })),
    el("p", { class: "note" }, "Training values are those of single steps" +
      (each > 1 ? `; one point is the mean of ${each} printed rows. ` : ". ") +
      "Drag to zoom, double-click to reset." + (eventMarks().length ? " Vertical lines: events." : "")),
    utilization());
}

const UNITS = [[/ percent$/, "%"], [/ gb$/, "GB"], [/ mb s$/, "MB/s"]];

// Returns title and unit of a quantity: "Disk read", "MB/s" for "disk read mb s".
function quantity(name) {
  const [pattern, unit] = UNITS.find(([pattern]) => pattern.test(name)) || [/$/, null];
  const title = name.replace(pattern, "").replace(/\b(cpu|gpu)\b/g, (word) => word.toUpperCase());
  return [title.charAt(0).toUpperCase() + title.slice(1), unit];
}

// Returns one chart per measured quantity. A chart has one line per device: gpu.0.busy and
// gpu.1.busy are the lines "0" and "1" of one chart.
function utilization() {
  const groups = new Map();
  for (const run of report.runs)
    for (const name of Object.keys(run.history.utilization || {}))
      if (!["step", "time", "rows_per_point"].includes(name)) {
        const parts = name.split(/[._]/), title = parts.filter((part) => !/^\d+$/.test(part)).join(" ");
        if (!groups.has(title)) groups.set(title, []);
        groups.get(title).push({ run, name, device: parts.filter((part) => /^\d+$/.test(part)).join(".") });
      }
  if (!groups.size) return null;
  const boxes = [...groups].slice(0, 24).map(([title, lines]) => lineChart("use-" + title, ...quantity(title),
    lines.slice(0, 16).map(({ run, name, device }, i) => seriesOf(run, run.history.utilization, name, {
      label: [several() ? run.name : "", device || (several() ? "" : quantity(title)[0])].filter(Boolean).join(" "),
      color: several() ? runColor(run) : color(PALETTE[i % PALETTE.length]),
    })), { zero: true }));
  return [el("h3", {}, "Utilization"), el("div", { class: "grid three" }, boxes)];
}
