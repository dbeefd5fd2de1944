#!/usr/bin/env python3
"""Writes optimizers.txt and schedules.txt in the folder above: results of PyTorch and timm.

Needs torch and timm (made with torch 2.11.0, timm 1.0). Usage: python make_optimizers.py

optimizers.txt, one line per record:  CASE TYPE STEP WHAT VALUE...
    CASE  name of the settings, see CASES here and in tests/ops/optimizer_test.cpp
    TYPE  f32 or f64: type of parameters, gradients and state
    STEP  number of finished steps (1, 5, 20)
    WHAT  weight (20 values, weight decay), bias (5 values, no decay), norm (of the last gradients,
          before clipping), ema_weight
Initial values, gradients and rates follow optimizer_formulas.py, which the test repeats.
schedules.txt:  CASE VALUE...   the learning rate of step 0, 1, 2, ...
"""

import math
import pathlib

import torch
from optimizer_formulas import gradient, rate, start
from timm.optim.rmsprop_tf import RMSpropTF
from timm.scheduler import CosineLRScheduler, StepLRScheduler
from timm.utils import ModelEmaV2

HERE = pathlib.Path(__file__).resolve().parents[1]
DECAY = 1 / 128  # exact in float
STEPS = 20


class Model(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        values = torch.tensor([start(i) for i in range(25)], dtype=dtype)
        self.weight = torch.nn.Parameter(values[:20].clone())
        self.bias = torch.nn.Parameter(values[20:].clone())


def groups(model, decay):
    return [
        {"params": [model.weight], "weight_decay": decay},
        {"params": [model.bias], "weight_decay": 0.0},
    ]


CASES = {
    "sgd_plain": (lambda g: torch.optim.SGD(g, lr=1, foreach=False), DECAY, 0),
    "sgd_momentum": (lambda g: torch.optim.SGD(g, lr=1, momentum=0.9, foreach=False), DECAY, 0),
    "sgd_nesterov_clip": (
        lambda g: torch.optim.SGD(g, lr=1, momentum=0.9, nesterov=True, foreach=False), DECAY, 2.5),
    "rmsprop_plain": (lambda g: RMSpropTF(g, lr=1, alpha=0.9, eps=1e-3, foreach=False), DECAY, 0),
    "rmsprop_momentum": (
        lambda g: RMSpropTF(g, lr=1, alpha=0.9, eps=1e-3, momentum=0.9, foreach=False), DECAY, 0),
    "rmsprop_momentum_clip": (
        lambda g: RMSpropTF(g, lr=1, alpha=0.9, eps=1e-3, momentum=0.9, foreach=False), DECAY, 2.5),
    "rmsprop_torch_plain": (
        lambda g: torch.optim.RMSprop(g, lr=1, alpha=0.9, eps=1e-8, foreach=False), DECAY, 0),
    "rmsprop_torch_momentum_clip": (
        lambda g: torch.optim.RMSprop(g, lr=1, alpha=0.9, eps=1e-8, momentum=0.9, foreach=False),
        DECAY, 2.5),
    "adamw": (lambda g: torch.optim.AdamW(g, lr=1, betas=(0.9, 0.999), eps=1e-8, foreach=False),
              DECAY, 0),
    "adamw_clip": (
        lambda g: torch.optim.AdamW(g, lr=1, betas=(0.8, 0.99), eps=1e-8, foreach=False),
        DECAY, 2.5),
    "adam": (lambda g: torch.optim.Adam(g, lr=1, betas=(0.9, 0.999), eps=1e-8, foreach=False),
             DECAY, 0),
    "adam_clip": (
        lambda g: torch.optim.Adam(g, lr=1, betas=(0.8, 0.99), eps=1e-8, foreach=False),
        DECAY, 2.5),
}


def write_optimizers():
    lines = []
    for name, (make, decay, clip) in CASES.items():
        for type_name, dtype in (("f32", torch.float32), ("f64", torch.float64)):
            model = Model(dtype)
            optimizer = make(groups(model, decay))
            average = ModelEmaV2(model, decay=0.9)
            for step in range(STEPS):
                values = torch.tensor([gradient(i, step) for i in range(25)], dtype=dtype)
                model.weight.grad, model.bias.grad = values[:20].clone(), values[20:].clone()
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
                for group in optimizer.param_groups:
                    group["lr"] = rate(step)
                optimizer.step()
                average.update(model)
                if step + 1 in (1, 5, 20):
                    for what, tensor in (("weight", model.weight), ("bias", model.bias),
                                         ("norm", norm.reshape(1)),
                                         ("ema_weight", average.module.weight)):
                        numbers = " ".join(f"{v:.17g}" for v in tensor.detach().double().tolist())
                        lines.append(f"{name} {type_name} {step + 1} {what} {numbers}")
    (HERE / "optimizers.txt").write_text("\n".join(lines) + "\n")


def rates(optimizer, advance, steps):
    values = []
    for step in range(steps):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        advance(step + 1)
    return values


def write_schedules():
    """Writes schedules: 10 steps per epoch, 12 epochs, peak 0.4, warm-up 2.5 epochs."""
    per_epoch, total, warmup, lr = 10, 120, 25, 0.4
    cases = {}

    def fresh():
        return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr, momentum=0.9)

    schedulers = torch.optim.lr_scheduler
    optimizer = fresh()
    scheduler = schedulers.SequentialLR(
        optimizer,
        [schedulers.LinearLR(optimizer, start_factor=0.01, total_iters=warmup),
         schedulers.CosineAnnealingLR(optimizer, T_max=total - warmup, eta_min=1e-3)],
        milestones=[warmup])
    cases["cosine_pytorch"] = rates(optimizer, lambda step: scheduler.step(), total)

    optimizer = fresh()
    timm_cosine = CosineLRScheduler(
        optimizer, t_initial=total - warmup, lr_min=1e-3, warmup_t=warmup,
        warmup_lr_init=0.01 * lr, warmup_prefix=True, t_in_epochs=False)
    cases["cosine_timm"] = rates(optimizer, timm_cosine.step_update, total)

    optimizer = fresh()
    step_lr = schedulers.StepLR(optimizer, step_size=3 * per_epoch, gamma=0.1)
    cases["step_pytorch"] = rates(optimizer, lambda step: step_lr.step(), total)

    optimizer = fresh()
    timm_step = StepLRScheduler(
        optimizer, decay_t=2.4 * per_epoch, decay_rate=0.97, warmup_t=warmup,
        warmup_lr_init=0.01 * lr, warmup_prefix=False, t_in_epochs=False)
    cases["step_timm"] = rates(optimizer, timm_step.step_update, total)

    optimizer = fresh()
    one_cycle = schedulers.OneCycleLR(optimizer, max_lr=lr, total_steps=total)
    cases["onecycle_pytorch"] = rates(
        optimizer, lambda step: one_cycle.step() if step < total else None, total)

    lines = [f"{name} " + " ".join(f"{v:.17g}" for v in values) for name, values in cases.items()]
    (HERE / "schedules.txt").write_text("\n".join(lines) + "\n")


write_optimizers()
write_schedules()
