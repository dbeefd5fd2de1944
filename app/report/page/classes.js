// The evaluation of one run: confused classes, accuracy per class, calibration, and the images with
// the highest losses.

const evaluated = () => report.runs.filter((run) => run.evaluation);
const chosen = () => evaluated().find((run) => run.name === state.run) || evaluated()[0];

const MOST_PAIRS = 25;

// Returns [{truth, predicted, count, share}], mistakes only, most frequent first.
function mistakes(evaluation) {
  const pairs = [], flat = evaluation.confusion;
  for (let i = 0; i < flat.length; i += 3)
    if (flat[i] !== flat[i + 1])
      pairs.push({ truth: flat[i], predicted: flat[i + 1], count: flat[i + 2],
        share: flat[i + 2] / (evaluation.per_class.images[flat[i]] || 1) });
  return pairs;
}

function pairTable(evaluation) {
  const names = evaluation.classes, pairs = mistakes(evaluation).slice(0, MOST_PAIRS);
  if (!pairs.length) return el("p", { class: "note" }, "No image was misclassified.");
  return table([
    { title: "Class", text: (pair) => names[pair.truth], class: "name" },
    { title: "Predicted", text: (pair) => names[pair.predicted], class: "name" },
    { title: "Images", number: true, text: (pair) => number(pair.count) },
    { title: "of class", number: true, text: (pair) => percent(100 * pair.share, 1), bar: (pair) => pair.share },
  ], pairs, { keep: "pairs" });
}

function classTable(run) {
  const { classes: names, per_class: columns } = run.evaluation;
  const rows = names.map((name, i) => ({ i, name }));
  const share = (value) => (isNumber(value) ? percent(100 * value, 1) : NONE);
  // The label of a class may differ between runs, so their classes are matched by name.
  const accuracy = (other) => {
    const place = new Map(other.evaluation.classes.map((name, i) => [name, i]));
    return (row) => other.evaluation.per_class.recall[place.get(row.name)];
  };
  const measure = (title, value) => ({ title, number: true, value, text: (row) => share(value(row)) });
  return table([
    { title: "Class", value: (row) => row.name, text: (row) => row.name, class: "name" },
    { title: "Images", number: true, value: (row) => columns.images[row.i], text: (row) => number(columns.images[row.i]) },
    ...evaluated().map((other) => {
      const value = accuracy(other);
      return { title: several() ? other.name : "Accuracy", number: true, value, text: (row) => share(value(row)), bar: value };
    }),
    measure("Precision", (row) => columns.precision[row.i]),
    measure("F1", (row) => columns.f1[row.i]),
  ], rows, { sort: state.sort, redraw: () => update({}), keep: "classes" });
}

// Draws accuracy over confidence as bars. The diagonal shows perfect calibration.
function calibration(evaluation) {
  const { ece, bins } = evaluation.calibration;
  const side = 220, pad = 26, scale = (v) => v * (side - pad);
  const chart = svg("svg", { viewBox: `0 0 ${side + 4} ${side}`, role: "img", class: "reliability", "aria-label": "accuracy over confidence" });
  const most = Math.max(1, ...bins.map((bin) => bin[2] || 0));
  for (const t of [0, 0.5, 1]) {
    const y = side - pad - scale(t) + 4;
    chart.append(svg("line", { x1: pad, x2: side, y1: y, y2: y, class: "rule" }),
      svg("text", { x: pad - 5, y: y + 3, "text-anchor": "end" }, 100 * t),
      svg("text", { x: pad + scale(t), y: side - 6, "text-anchor": t === 1 ? "end" : t === 0 ? "start" : "middle" }, 100 * t));
  }
  bins.forEach(([confidence, accuracy, images], i) => {
    if (!images || !isNumber(accuracy)) return;
    const width = scale(1 / bins.length), height = scale(accuracy);
    chart.append(svg("rect", { x: pad + i * width + 1, y: side - pad - height + 4, width: Math.max(1, width - 2), height,
      class: "bin", "fill-opacity": 0.3 + (0.7 * images) / most },
      svg("title", {}, `confidence ${percent(100 * confidence, 1)}, accuracy ${percent(100 * accuracy, 1)}, ${number(images)} images`)));
  });
  chart.append(svg("line", { x1: pad, y1: side - pad + 4, x2: side, y2: 4, class: "diagonal" }));
  return el("div", { class: "calibration" }, el("h3", {}, "Calibration"), chart,
    el("p", { class: "note" }, "Accuracy (%) over confidence (%). Expected calibration error ", el("b", {}, percent(100 * ece)), "."));
}

function worstImages(evaluation) {
  const names = evaluation.classes;
  return el("div", { class: "worst" }, evaluation.worst.map((image) => {
    const thumbnail = image.image ? el("img", { src: image.image, alt: "" })
      : el("div", { class: "gone" }, image.path.split("/").pop());
    if (image.image) thumbnail.addEventListener("load", () => thumbnail.classList.toggle("small", thumbnail.naturalWidth < 64));
    return el("figure", { title: image.path }, thumbnail, el("figcaption", {},
      el("b", {}, names[image.label]),
      el("span", { class: image.predicted === image.label ? null : "bad" }, names[image.predicted] + " " + percent(100 * image.probability, 0)),
      el("small", {}, "loss " + fixed(image.loss, 2))));
  }));
}

function evaluationSection() {
  const runs = evaluated();
  if (!runs.length) return null;
  const run = chosen(), evaluation = run.evaluation;
  const facts = [
    "top-1 " + percent(evaluation.top1), "top-5 " + percent(evaluation.top5), "loss " + fixed(evaluation.loss, 4),
    number(evaluation.images) + " images", isNumber(evaluation.epoch) ? "epoch " + number(evaluation.epoch) : null,
    evaluation.ema ? "averaged weights (EMA)" : null,
  ].filter(Boolean).join(" · ");
  return section("evaluation", "Evaluation by class",
    runs.length > 1 ? el("div", { class: "controls" }, choice("run", runs.map((one) => [one.name, one.name]), run.name, (name) => update({ run: name }))) : null,
    el("p", { class: "facts" }, facts),
    el("div", { class: "grid wide" },
      el("div", {}, el("h3", {}, "Most confused"), pairTable(evaluation)),
      heatMap(run)),
    el("div", { class: "grid wide" },
      el("div", {}, el("h3", {}, "Accuracy per class"), classTable(run)),
      evaluation.calibration ? calibration(evaluation) : null),
    evaluation.worst && evaluation.worst.length ? [el("h3", {}, "Images with the highest loss"),
      el("p", { class: "note" }, "True class, predicted class with its probability, and loss."), worstImages(evaluation)] : null);
}
