// All sections of the page except charts and classes: results, time, epochs, settings, events,
// hosts.

const PALETTE = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"];
const runColor = (run) => color(PALETTE[report.runs.indexOf(run) % PALETTE.length]);
const several = () => report.runs.length > 1;

const last = (values) => {
  for (let i = (values || []).length - 1; i >= 0; --i) if (isNumber(values[i])) return values[i];
  return null;
};
const mean = (values) => {
  const known = (values || []).filter(isNumber);
  return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
};

const phaseSum = (run) => Object.values(run.history.phases).reduce((a, b) => a + (b || 0), 0);

// Returns the best evaluation: from the summary if the run has ended, else from the history.
function bestOf(run) {
  const best = run.summary.best;
  if (best && isNumber(best.acc1)) {
    const epoch = run.history.epochs.find((e) => e.step === best.step);  // may be unfinished
    return { acc1: best.acc1, epoch: epoch ? epoch.epoch : best.epoch };
  }
  const found = run.history.epochs.find((e) => e.best);
  return found ? { acc1: found.deciding_acc1, epoch: found.epoch } : {};
}

// Results of a run, for the tiles of one run and the table of several. `up`: whether higher is better.
const RESULTS = [
  { title: "Best top-1", value: (run) => bestOf(run).acc1, text: percent, up: true,
    more: (run) => [run.history.valid_ema.acc1 ? "EMA" : "", isNumber(bestOf(run).epoch) ? "epoch " + bestOf(run).epoch : ""].filter(Boolean).join(", ") },
  { title: "Last top-1", value: (run) => last(run.history.valid.acc1), text: percent, up: true,
    more: (run) => (isNumber(last(run.history.valid.acc5)) ? "top-5 " + percent(last(run.history.valid.acc5)) : "") },
  { title: "EMA top-1", value: (run) => last(run.history.valid_ema.acc1), text: percent, up: true,
    more: (run) => (isNumber(last(run.history.valid_ema.acc5)) ? "top-5 " + percent(last(run.history.valid_ema.acc5)) : "") },
  { title: "Validation loss", value: (run) => last(run.history.valid.loss), text: (v) => fixed(v, 4), up: false,
    more: (run) => "train " + fixed(last(run.history.epochs.map((e) => e.loss)), 4) },
  { title: "Images/s", value: (run) => mean(run.history.epochs.map((e) => e.images_per_sec)), text: (v) => number(v, 3), up: true,
    more: (run) => percent(mean(run.history.epochs.map((e) => e.wait)), 1) + " waiting" },
  { title: "Epochs", value: (run) => run.summary.epoch ?? run.history.epochs.length, text: (v) => number(v),
    more: (run) => number(run.summary.step ?? last(run.history.train.step)) + " steps" },
  { title: "Time", value: phaseSum, text: duration, up: false,
    more: (run) => (run.summary.world_size ? run.summary.world_size + (run.summary.world_size === 1 ? " process" : " processes") : "") },
];

function chip(run) {
  const outcome = run.state;
  return el("span", { class: "chip " + outcome }, outcome);
}

function swatch(run) {
  return several() ? el("i", { class: "swatch", style: { background: runColor(run) } }) : null;
}

function facts(run) {
  const model = run.summary.model || {}, data = run.summary.data || {};
  return [
    model.name, isNumber(model.parameters) ? number(model.parameters) + " parameters" : null,
    run.evaluation ? number(run.evaluation.classes.length) + " classes" : null,
    data.train || null,
  ].filter(Boolean).join(" · ");
}

function header() {
  const [run] = report.runs;
  return el("header", {},
    el("div", { class: "line" },
      el("h1", {}, several() ? report.runs.length + " runs" : run.name), several() ? null : chip(run),
      el("span", { class: "grow" }),
      report.live ? el("span", { class: "live", id: "live" }, "live") : null,
      choice("theme", [["auto", "auto"], ["light", "light"], ["dark", "dark"]], state.theme, setTheme)),
    el("p", { class: "facts" }, several() ? report.runs.map((one) => one.name).join(", ") : facts(run)),
    several() ? null : run.summary.reason ? el("p", { class: "reason" }, run.summary.reason) : null,
    report.runs.map((one) => one.notes.map((note) =>
      el("p", { class: "note" }, (several() ? one.name + ": " : "") + note))));
}

function results() {
  if (!several())
    return el("div", { class: "tiles" }, RESULTS.map((result) => {
      const value = result.value(report.runs[0]);
      if (!isNumber(value)) return null;
      return el("div", { class: "tile" }, el("span", {}, result.title), el("strong", {}, result.text(value)),
        el("small", {}, result.more(report.runs[0])));
    }));
  const known = RESULTS.filter((result) => report.runs.some((run) => isNumber(result.value(run))));
  const columns = [
    { title: "Run", node: (run) => [swatch(run), el("b", {}, run.name)], class: "nowrap" },
    { title: "Outcome", node: chip },
    { title: "Model", text: (run) => (run.summary.model || {}).name || NONE },
    ...known.map((result) => {
      const values = report.runs.map(result.value).filter(isNumber);
      const best = result.up ? Math.max(...values) : Math.min(...values);
      return { title: result.title, number: true, text: (run) => result.text(result.value(run)),
        best: (run) => result.up != null && result.value(run) === best };
    }),
    { title: "Waiting", number: true, text: (run) => percent(mean(run.history.epochs.map((e) => e.wait)), 1) },
  ];
  return section("results", "Results", table(columns, report.runs));
}

const PHASES = [
  ["computing", "computing", "--c1"], ["waiting", "waiting for images", "--c2"],
  ["evaluating", "evaluating", "--c3"], ["rest", "rest: start, checkpoints", "--c4"],
];

function phases() {
  const most = Math.max(...report.runs.map(phaseSum));
  if (!(most > 0)) return null;
  return section("time", "Time", report.runs.map((run) => {
    const sum = phaseSum(run), of = run.history.phases;
    return el("div", { class: "phase" },
      several() ? el("span", { class: "name" }, swatch(run), run.name) : null,
      el("div", { class: "stack", style: { width: (100 * sum) / most + "%" } }, PHASES.map(([key, , tone]) =>
        el("i", { style: { flexGrow: of[key] || 0, background: `var(${tone})` } }))),
      el("div", { class: "legend" }, PHASES.map(([key, title, tone]) => el("span", { class: "key" },
        el("i", { class: "box", style: { color: `var(${tone})` } }), title + " ",
        el("b", {}, duration(of[key])), " " + percent((100 * (of[key] || 0)) / sum, 1)))),
      run.summary.bottleneck ? el("p", { class: "note" }, "Limited by ", run.summary.bottleneck) : null);
  }));
}

function epochTable(run) {
  const rows = run.history.epochs;
  const column = (title, key, text, more = {}) =>
    rows.some((e) => isNumber(e[key])) ? [{ title, number: true, text: (e) => text(e[key]), ...more }] : [];
  return table([
    ...column("Epoch", "epoch", (v) => number(v)),
    ...column("Step", "step", (v) => number(v)),
    ...column("Train loss", "loss", (v) => fixed(v, 4)),
    ...column("Train top-1", "acc1", percent),
    ...column("Val loss", "val_loss", (v) => fixed(v, 4)),
    ...column("Val top-1", "val_acc1", percent, { best: (e) => e.best && e.ema_acc1 == null }),
    ...column("Val top-5", "val_acc5", percent),
    ...column("EMA loss", "ema_loss", (v) => fixed(v, 4)),
    ...column("EMA top-1", "ema_acc1", percent, { best: (e) => e.best }),
    ...column("Learning rate", "lr", (v) => number(v, 3)),
    ...column("Images/s", "images_per_sec", (v) => number(v, 3)),
    ...column("Waiting", "wait", (v) => percent(v, 1)),
    ...column("Training", "train_seconds", duration),
    ...column("Evaluation", "val_seconds", duration),
  ], rows, { keep: "epochs-" + run.name });
}

function epochs() {
  const runs = report.runs.filter((run) => run.history.epochs.length);
  if (!runs.length) return null;
  if (!several()) return section("epochs", "Epochs", epochTable(runs[0]));
  return section("epochs", "Epochs", runs.map((run) => fold("epochs-" + run.name, [swatch(run), run.name], () => epochTable(run))));
}

// Returns one row per setting, and rows that compare version, commit, data and number of processes.
function settingRows() {
  const rows = new Map();
  const put = (name, i, value) => {
    if (value === undefined) return;
    if (!rows.has(name)) rows.set(name, { name, values: new Array(report.runs.length).fill(null) });
    rows.get(name).values[i] = typed(value);
  };
  report.runs.forEach((run, i) => {
    const data = run.summary.data || {};
    const known = { version: run.summary.version, commit: run.summary.commit, "train data": data.train,
      "validation data": data.val, processes: run.summary.world_size };
    for (const [name, value] of Object.entries({ ...known, ...run.settings })) put(name, i, value);
  });
  for (const row of rows.values()) row.differs = new Set(row.values).size > 1;
  return [...rows.values()];
}

function settings() {
  const rows = settingRows();
  if (!rows.length) return null;
  const commands = report.runs.filter((run) => run.summary.command).map((run) =>
    el("pre", { class: "command" }, several() ? "# " + run.name + "\n" : "", run.summary.command));
  if (!several())
    return section("settings", "Settings", commands, el("dl", { class: "settings" }, rows.map((row) =>
      el("div", {}, el("dt", {}, row.name), el("dd", { title: row.values[0] }, row.values[0])))));
  const differing = rows.filter((row) => row.differs);
  const shown = state.allSettings ? rows : differing;
  return section("settings", "Settings", commands,
    el("div", { class: "controls" }, choice("settings", [["some", differing.length + " that differ"], ["all", "all " + rows.length]],
      state.allSettings ? "all" : "some", (value) => update({ allSettings: value === "all" }))),
    shown.length ? table([
      { title: "Setting", text: (row) => row.name },
      ...report.runs.map((run, i) => ({ title: run.name, text: (row) => row.values[i] ?? NONE, best: (row) => row.differs && state.allSettings, class: "value" })),
    ], shown, { keep: "settings" }) : el("p", { class: "note" }, "No setting differs."));
}

const BAD_EVENTS = /spike|nonfinite|fail|unreadable|rollback|lost/;
const QUIET_EVENTS = /^(start|complete|slower|faster|loss_drop)$/;

function eventMarks() {
  const marks = [];
  for (const run of report.runs)
    for (const event of run.history.events) {
      if (QUIET_EVENTS.test(event.name) || !isNumber(event.step)) continue;
      const columns = { step: [event.step], time: [event.time] };
      marks.push({ x: X_AXES[state.x].of(run, columns, 0), bad: BAD_EVENTS.test(event.name) });
    }
  return marks;
}

function events() {
  const rows = report.runs.flatMap((run) => run.history.events.map((event) => ({ run, event })));
  const left = report.runs.reduce((sum, run) => sum + run.history.events_left_out, 0);
  const details = ({ event }) => Object.entries(event.values).filter(([, value]) => value !== "" && value != null)
    .map(([name, value]) => (name === "updates" ? "steps" : name.replaceAll("_", " ")) + " " + plain(value)).join(" · ");
  return section("events", "Events", rows.length ? table([
    ...(several() ? [{ title: "Run", node: ({ run }) => [swatch(run), run.name], class: "nowrap" }] : []),
    { title: "Time (UTC)", text: ({ event }) => utc(event.at), class: "nowrap when" },
    { title: "After", number: true, text: ({ event }) => duration(event.time) },
    { title: "Step", number: true, text: ({ event }) => number(event.step) },
    { title: "Event", node: ({ event }) => el("span", { class: BAD_EVENTS.test(event.name) ? "bad" : "" }, event.name.replaceAll("_", " ")), class: "nowrap" },
    { title: "Details", text: details, class: "details" },
  ], rows, { keep: "events" }) : el("p", { class: "note" }, "There were none."),
  left ? el("p", { class: "note" }, left + " earlier events are left out.") : null);
}

// Returns the hosts of each run, from its events that list hosts, else from its summary.
function hosts() {
  const rows = report.runs.map((run) => {
    const names = new Set(run.history.events.flatMap(({ values }) => (Array.isArray(values.hosts) ? values.hosts : [])));
    const { name } = run.summary.host || {};
    if (!names.size && name) names.add(name);
    return { run, names: [...names] };
  }).filter(({ names }) => names.length);
  if (!rows.length) return null;
  return section("hosts", "Hosts", table([
    ...(several() ? [{ title: "Run", node: ({ run }) => [swatch(run), run.name], class: "nowrap" }] : []),
    { title: "Hosts", text: ({ names }) => names.join(", "), class: "name" },
    { title: "Processes", number: true, text: ({ run }) => number(run.summary.world_size) },
  ], rows));
}
