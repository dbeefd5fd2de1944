"""Draws the results of bench/loader: loader_chart.py FILE.json FILE.png

A bar shows the median; the line on it spans the slowest to the fastest round. All bars use the same
scale.
"""

import io
import json
import pathlib
import statistics
import sys

import matplotlib
from PIL import Image

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

OURS, THEIRS = "#1f6fb4", "#b9b9b9"
NAMES = {"torchvision_v2": "torchvision v2", "opencv": "OpenCV", "dali": "DALI (CPU)",
         "ffcv": "FFCV", "dataloader": "PyTorch DataLoader"}
# In inches: height of a bar, gap between panels, widths of a column and its bars.
ROW, GAP, WIDTH, BARS = 0.22, 0.5, 4.9, 2.75


def panels(results):
    """Returns two columns of panels. Each maps a panel's title to its rows [(name, rates)].

    Batches with one core and with all cores share a panel.
    """
    found = {}
    for title, rates in results.items():
        kind, _, cores = title.rpartition(", ")
        if title.startswith("crops"):
            found[title] = list(rates.items())
        else:
            rows = found.setdefault(kind, [])
            rows.extend((f"{name}, {cores}", own) for name, own in rates.items())
            rows.sort(key=lambda row: (not row[0].startswith("shoal"), row[0]))
    columns = [{}, {}]
    for title, rows in found.items():  # add the panel to the shorter column
        min(columns, key=lambda column: sum(map(len, column.values())))[title] = rows
    return [column for column in columns if column]


def readable(name):
    peer, _, rest = name.partition(",")
    return NAMES.get(peer, peer) + ("," + rest if rest else "")


def draw(axes, title, rows, widest):
    for place, (name, values) in enumerate(rows):
        middle = statistics.median(values)
        axes.barh(-place, middle, 0.74, color=OURS if name.startswith("shoal") else THEIRS,
                  xerr=[[middle - min(values)], [max(values) - middle]],
                  error_kw={"elinewidth": 1, "ecolor": "#222222", "capsize": 2})
        axes.text(max(values) + widest * 0.015, -place, f"{middle:.0f}", va="center", fontsize=8)
    axes.set_yticks([-place for place in range(len(rows))], [readable(name) for name, _ in rows],
                    fontsize=8)
    axes.set_xlim(0, widest * 1.12)
    axes.set_ylim(0.5 - len(rows), 0.5)
    axes.set_xticks([])
    axes.set_title(title, fontsize=9, loc="left", pad=4)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(left=False)


measured = json.loads(pathlib.Path(sys.argv[1]).read_text())
results = measured["rates"]
columns = panels(results)
width = WIDTH * len(columns)
height = 0.2 + max(sum(len(rows) * ROW + GAP for rows in column.values()) for column in columns)
widest = max(max(own) for rates in results.values() for own in rates.values())
figure = pyplot.figure(figsize=(width, height), dpi=100)
for number, column in enumerate(columns):
    bottom = height
    for title, rows in column.items():
        bottom -= len(rows) * ROW + GAP
        left = number * WIDTH + WIDTH - BARS - 0.1
        draw(figure.add_axes((left / width, (bottom + 0.1) / height, BARS / width,
                              len(rows) * ROW / height)), title, rows, widest)
figure.text(0.99, 0.02, f"{measured['unit']}: median, minimum, maximum", ha="right", fontsize=8)
drawn = io.BytesIO()
figure.savefig(drawn)
Image.open(drawn).convert("RGB").quantize(32).save(sys.argv[2], optimize=True)
