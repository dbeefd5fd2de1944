"""Writes tests/golden/timm_args.yaml: the args.yaml that timm's train.py writes.

    python3 make_timm_args.py TIMM   # folder of a checkout of timm; needs torch, torchvision

Made with timm's commit aa4b5850. Arguments that are not in WORDS are in the file too, with timm's
defaults.
"""

import pathlib
import sys

OUT = pathlib.Path(__file__).resolve().parents[1] / "timm_args.yaml"
WORDS = """
--data-dir photos --model efficientnet_b0 --input-size 3 224 224 --batch-size 64 --epochs 450
--opt rmsproptf --opt-eps 0.001 --weight-decay 1e-5 --clip-grad 2
--sched step --lr 0.048 --decay-epochs 2.4 --decay-rate 0.97 --warmup-epochs 3 --warmup-lr 1e-6
--min-lr 1e-6 --patience-epochs 10 --cooldown-epochs 10
--aa rand-m9-mstd0.5 --reprob 0.2 --recount 2 --mixup 0.2 --smoothing 0.1 --drop 0.25
--model-ema --model-ema-decay 0.9999 --amp --channels-last
--checkpoint-hist 4 --log-interval 25 --workers 8
"""


def main():
    sys.path.insert(0, sys.argv[1])
    import train

    sys.argv[1:] = WORDS.split()
    _, text = train._parse_args()
    OUT.write_text("# Made by scripts/make_timm_args.py.\n" + text)


if __name__ == "__main__":
    main()
