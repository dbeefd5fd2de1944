"""Writes tests/golden/places.txt: rows of logits with ties, infinities and NaN, and whether their label
counts for top-1 and top-5 in torch's stable sort.

    python3 make_places.py          # needs torch

Each line: classes label top1 top5, then one logit per class. A row with a NaN counts in neither.
"""

import pathlib

import torch

OUT = pathlib.Path(__file__).resolve().parents[1] / "places.txt"
SPECIAL = [float("inf"), float("-inf"), float("nan")]


def word(value):
    return {"inf": "inf", "-inf": "-inf", "nan": "nan"}.get(str(value), f"{value:g}")


def main():
    torch.manual_seed(1)
    rows = []
    for classes in (2, 3, 5, 8, 40):
        for kind in ("equal", "few", "distinct", "infinite", "nan", "all nan", "all inf", "all -inf"):
            for _ in range(3):
                logits = torch.randint(-2, 3, (classes,)).float()
                if kind == "equal":
                    logits.fill_(0)
                if kind == "distinct":
                    logits = torch.randperm(classes).float()
                if kind == "infinite":
                    logits[torch.randint(classes, (2,))] = SPECIAL[torch.randint(2, ()).item()]
                if kind == "nan":
                    logits[torch.randint(classes, ())] = SPECIAL[2]
                if kind.startswith("all "):
                    logits.fill_(float(kind[4:]))
                rows.append((logits, torch.randint(classes, ()).item()))
    lines = []
    for logits, label in rows:
        order = torch.sort(logits, descending=True, stable=True).indices.tolist()
        valid = not bool(logits.isnan().any())
        top1, top5 = (int(valid and label in order[:k]) for k in (1, 5))
        if valid:
            assert top1 == int(logits.argmax().item() == label)
        values = " ".join(word(v) for v in logits.tolist())
        lines.append(f"{len(logits)} {label} {top1} {top5} {values}")
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
