// Draws the confusion matrix on a canvas: rows are true classes, columns are predicted classes. The
// view can zoom into a square part of the matrix, so thousands of classes are no problem.

const NAMED_CELLS = 24; // names and counts are drawn up to this number of cells per side

function heatMap(run) {
  const { classes: names, confusion: flat, per_class: columns } = run.evaluation;
  const all = names.length, tip = el("div", { class: "tip" }, " ");
  const canvas = el("canvas", { class: "heat", tabindex: "0", role: "img", "aria-label": "confusion matrix" });
  if (!state.views.has(run.name)) state.views.set(run.name, { left: 0, top: 0, cells: all });
  const view = state.views.get(run.name);
  const counts = new Map();
  for (let i = 0; i < flat.length; i += 3) counts.set(flat[i] * all + flat[i + 1], flat[i + 2]);
  const share = (truth, predicted) => (counts.get(truth * all + predicted) || 0) / (columns.images[truth] || 1);

  const place = () => {
    const named = view.cells <= NAMED_CELLS, ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
    const edge = named ? Math.min(92, width / 4) : 0;
    return { named, ratio, width, edge, cell: (width - edge) / view.cells };
  };
  function draw() {
    const { named, ratio, width, edge, cell } = place();
    if (!width) return;
    canvas.width = canvas.height = Math.round(width * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.fillStyle = color("--panel");
    pen.fillRect(0, 0, width, width);
    const hit = color("--c3"), miss = color("--bad"), ink = color("--ink"), size = Math.max(cell - (named ? 1 : 0), 1);
    const least = view.cells > 100 ? 0.35 : 0.08;
    pen.font = "11px " + getComputedStyle(document.body).fontFamily;
    for (const [key, count] of counts) {
      const truth = Math.floor(key / all), predicted = key % all;
      const x = edge + (predicted - view.left) * cell, y = edge + (truth - view.top) * cell;
      if (x < edge - 0.01 || y < edge - 0.01 || x >= width - 0.01 || y >= width - 0.01) continue;
      // The square root keeps rare mistakes visible.
      const strength = least + (1 - least) * Math.sqrt(Math.min(1, share(truth, predicted)));
      pen.globalAlpha = strength;
      pen.fillStyle = truth === predicted ? hit : miss;
      pen.fillRect(x, y, size, size);
      pen.globalAlpha = 1;
      if (named && cell > 24) write(pen, number(count), x + cell / 2, y + cell / 2 + 4, "center", strength > 0.8 ? color("--panel") : ink, cell - 4);
    }
    if (!named) return;
    for (let i = 0; i < view.cells; ++i) {
      write(pen, names[view.top + i], edge - 5, edge + (i + 0.5) * cell + 4, "right", ink, edge - 8);
      pen.save();
      pen.translate(edge + (i + 0.5) * cell + 4, edge - 5);
      pen.rotate(-Math.PI / 2);
      write(pen, names[view.left + i], 0, 0, "left", ink, edge - 8);
      pen.restore();
    }
  }
  const cellAt = (event) => {
    const box = canvas.getBoundingClientRect(), { edge, cell } = place();
    const column = Math.floor((event.clientX - box.left - edge) / cell), row = Math.floor((event.clientY - box.top - edge) / cell);
    const inside = column >= 0 && row >= 0 && column < view.cells && row < view.cells;
    return inside ? { truth: view.top + row, predicted: view.left + column } : null;
  };
  const limit = (value) => Math.max(0, Math.min(all - view.cells, Math.round(value)));
  function show(cells, truth, predicted) {
    view.cells = Math.max(Math.min(all, 6), Math.min(all, Math.round(cells)));
    view.top = limit(truth - view.cells / 2);
    view.left = limit(predicted - view.cells / 2);
    draw();
  }
  const middle = () => [view.top + view.cells / 2, view.left + view.cells / 2];
  canvas.addEventListener("mousemove", (event) => {
    const cell = cellAt(event);
    if (!cell) return;
    const count = counts.get(cell.truth * all + cell.predicted) || 0;
    tip.textContent = `${names[cell.truth]} → ${names[cell.predicted]}: ${number(count)} of ${number(columns.images[cell.truth])} images, ${percent(100 * share(cell.truth, cell.predicted), 1)}`;
  });
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell && all > NAMED_CELLS) show(view.cells / (event.shiftKey ? 0.4 : 2.5), cell.truth + 0.5, cell.predicted + 0.5);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step || view.cells === all) return;
    event.preventDefault();
    const [truth, predicted] = middle(), far = Math.max(1, view.cells / 4);
    show(view.cells, truth + step[0] * far, predicted + step[1] * far);
  });
  new ResizeObserver(draw).observe(canvas);
  const button = (text, title, press) => el("button", { type: "button", title, onclick: press }, text);
  return el("div", {}, el("h3", {}, "Confusion matrix",
    all > NAMED_CELLS ? el("span", { class: "buttons" },
      button("−", "zoom out", () => show(view.cells * 2.5, ...middle())), button("+", "zoom in", () => show(view.cells / 2.5, ...middle())),
      button("all", "show all classes", () => show(all, 0, 0))) : null),
  canvas, tip, el("p", { class: "note" }, "Rows: true classes. Columns: predicted classes. Color: share of the true class." +
    (all > NAMED_CELLS ? " Click to zoom in, Shift-click to zoom out, arrow keys to move." : "")));
}

function write(pen, text, x, y, align, ink, most) {
  pen.fillStyle = ink;
  pen.textAlign = align;
  let shown = text;
  while (shown.length > 1 && pen.measureText(shown).width > most) shown = shown.slice(0, -2) + "…";
  pen.fillText(shown, x, y);
}
