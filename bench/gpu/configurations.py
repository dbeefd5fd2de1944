"""The training steps that native.py measures with shoal and rivals.py with timm, all in bf16."""

from typing import NamedTuple


class Step(NamedTuple):
    model: str  # shoal's name of the network
    timm: str   # timm's name
    pixels: int
    batch: int


# Most important first. The batches of the last two fit into 80 GB with autograd.
B0 = Step("efficientnet_b0", "efficientnet_b0", 224, 256)
B0_SMALL = B0._replace(batch=32)
RESNET = Step("resnet50", "resnet50", 224, 256)
V2_S = Step("efficientnet_v2_s", "efficientnetv2_s", 300, 128)
B4 = Step("efficientnet_b4", "efficientnet_b4", 380, 64)
STEPS = (B0, B0_SMALL, RESNET, V2_S, B4)
# Modes of torch.compile. CUDA graphs (reduce-overhead) help where launches dominate.
COMPILED = ((B0, "compile"), (B0, "reduce-overhead"), (V2_S, "compile"), (B4, "compile"),
            (RESNET, "compile"), (B0_SMALL, "reduce-overhead"))
DRY = Step("resnet18", "resnet18", 64, 4)


def own_name(step):
    return f"{step.model} {step.pixels} {step.batch} bf16"


def rival_name(step, way):
    return f"{step.timm}/{step.pixels}/{step.batch}/bf16/{way}"


def own_names(dry):
    """Returns the names of shoal's steps, the most important first. The last ones show what
    --deterministic costs."""
    steps, again = ((DRY,), (DRY,)) if dry else (STEPS, (B0, RESNET))
    return [own_name(step) for step in steps] + [
        f"{own_name(step)} deterministic" for step in again]


def rival_names(dry):
    if dry:
        return [rival_name(DRY, way) for way in ("eager", "compile")]
    return [rival_name(step, "eager") for step in STEPS] + [
        rival_name(step, way) for step, way in COMPILED]


def own_name_of(rival):
    """Returns shoal's name of the step that timm's measurement `rival` computes."""
    timm, pixels, batch, *_ = rival.split("/")
    model = next((step.model for step in STEPS if step.timm == timm), timm)
    return own_name(Step(model, timm, pixels, batch))
