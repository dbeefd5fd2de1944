#!/usr/bin/env python3
"""Measures the limits of a GPU: copies, matrix products, EfficientNet-B0's convolutions, kernel
launches.

Usage: ceilings.py [--batch 256] [--json FILE] [--only REGEX] [--deadline SECONDS]
                   [--dry --device cpu]

Data is random. If it would fit into the L2 cache, calls alternate between several copies of it.
Calls are recorded as a CUDA graph, and twenty replays are timed.

  copy/device        device to device; gb_per_s counts bytes read and bytes written
  copy/host/...      one batch of uint8 images from host to device, from pinned and from pageable
                     memory
  gemm/N/...         square matrix products
  launch/...         microseconds per launch of a kernel that adds to one number, 1000 in a row
  pointwise/...      1x1 convolutions as matrix products (torch.mm): BLOCK.expand, BLOCK.project
  pointwise_conv/... the same convolutions by cuDNN
  depthwise/...      depthwise convolutions by cuDNN

Names of convolutions continue with BLOCK/IN-OUT/KERNEL/STRIDE/PIXELS/TYPE/PASS. blocks: number of
the network's blocks with this shape. bound_us: lower bound of the time, the larger of bytes / copy
rate and operations / matrix product rate, with the rates measured in this run or read from FILE.
of_bound: bound_us / us.

Exit status 1 if a measurement failed.
"""

import math
import sys
import time

import torch

import common

TITLE = "Limits of the GPU; EfficientNet-B0's convolutions"
# EfficientNet-B0's stages: expansion, kernel, stride, channels in, channels out, blocks.
STAGES = ((1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3),
          (6, 5, 1, 80, 112, 3), (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1))
PASSES = ("forward", "dgrad", "wgrad")
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
SQUARE = 8192
TIMINGS = 20
LIKELY_SECONDS = 10


def shapes(size):
    """Returns B0's depthwise and pointwise convolutions, as two dicts.

    Each is {(channels in, channels out, kernel, stride, input side in pixels):
    [first block, count]}.
    """
    depthwise, pointwise = {}, {}

    def add(kind, where, *shape):
        kind.setdefault(shape, [where, 0])[1] += 1

    pixels = size // 2
    for stage, (expansion, kernel, first_stride, first, out, blocks) in enumerate(STAGES, 1):
        for block in range(blocks):
            narrow, stride = (first, first_stride) if block == 0 else (out, 1)
            wide, where = narrow * expansion, f"{stage}.{block}"
            if expansion > 1:
                add(pointwise, where + ".expand", narrow, wide, 1, 1, pixels)
            add(depthwise, where, wide, wide, kernel, stride, pixels)
            pixels //= stride
            add(pointwise, where + ".project", wide, out, 1, 1, pixels)
    add(pointwise, "head", STAGES[-1][4], 1280, 1, 1, pixels)
    return depthwise, pointwise


class Ceilings:
    def __init__(self, options):
        self.options, self.device = options, options.device
        self.results = common.Results(TITLE, options,
                                      ("us", "gb_per_s", "tflops", "bound_us", "of_bound"))
        self.cache = 0
        if self.device == "cuda":
            self.cache = torch.cuda.get_device_properties(0).L2_cache_size

    def random(self, *shape, dtype=torch.bfloat16):
        return torch.empty(shape, dtype=dtype, device=self.device).normal_()

    def timings(self, call, make, size, graph=True):
        """Times call(*make()) several times. Returns a list of seconds per call.

        `size`: bytes that a call reads and writes. `graph`: on a GPU, record the calls as a CUDA
        graph.
        """
        sets = [make() for _ in range(min(64, max(1, math.ceil(4 * self.cache / size))))]
        kept = [None] * len(sets)

        def calls(count):
            for i in range(count):
                kept[i % len(sets)] = call(*sets[i % len(sets)])

        calls(len(sets))
        once = common.seconds_of(lambda: calls(len(sets)), self.device) / len(sets)
        count = min(1000, math.ceil(5e-3 / once / len(sets)) * len(sets))
        run = lambda: calls(count)  # noqa: E731
        if graph and self.device == "cuda":
            recorded = torch.cuda.CUDAGraph()
            with torch.cuda.graph(recorded):
                calls(count)
            run = recorded.replay
        run()
        return [common.seconds_of(run, self.device) / count
                for _ in range(2 if self.options.dry else TIMINGS)]

    def rates(self, seconds, size, operations=0):
        row = common.spread("us", [1e6 * each for each in seconds])
        median = row["us"] / 1e6
        row["gb_per_s"] = size / median / 1e9
        if operations:
            row["tflops"] = operations / median / 1e12
        return row

    def bound(self, row, size, operations, dtype):
        copy = self.results.get("copy/device", "gb_per_s")
        gemm = self.results.get(f"gemm/{self.square}/{dtype}", "tflops")
        if copy and gemm:
            row["bound_us"] = 1e6 * max(size / (1e9 * copy), operations / (1e12 * gemm))
            row["of_bound"] = row["bound_us"] / row["us"]
        return row

    @property
    def square(self):
        return 128 if self.options.dry else SQUARE

    def device_copy(self):
        size = 2**23 if self.options.dry else 8 * 2**30  # bytes read plus bytes written
        seconds = self.timings(lambda to, source: to.copy_(source),
                               lambda: (self.random(size // 4), self.random(size // 4)), size)
        return self.rates(seconds, size)

    def host_copy(self, pinned):
        shape = (self.options.batch, self.options.size, self.options.size, 3)
        size = math.prod(shape)

        def make():
            source = torch.randint(256, shape, dtype=torch.uint8)
            return torch.empty(shape, dtype=torch.uint8, device=self.device), (
                source.pin_memory() if pinned else source)

        return self.rates(self.timings(lambda to, source: to.copy_(source, non_blocking=True), make,
                                       size, graph=False), size)

    def gemm(self, dtype):
        n = self.square

        def make():
            a, b, c = (self.random(n, n, dtype=TYPES[dtype]) for _ in range(3))
            return c, a, b

        return self.rates(self.timings(lambda c, a, b: torch.mm(a, b, out=c), make, 6 * n * n),
                          6 * n * n, 2 * n**3)

    def launch(self, graph):
        number = torch.zeros(1, device=self.device)

        def thousand():
            for _ in range(1000):
                number.add_(1)

        thousand()
        run = thousand
        if graph:
            recorded = torch.cuda.CUDAGraph()
            with torch.cuda.graph(recorded):
                thousand()
            run = recorded.replay
            run()
        common.finish(self.device)
        return common.spread("us", [1e3 * common.seconds_of(run, self.device)
                                    for _ in range(TIMINGS)])

    def pointwise(self, shape, dtype, which):
        k, n, _, _, pixels = shape
        m = self.options.batch * pixels * pixels

        def make():
            x, w, y = (self.random(*each, dtype=TYPES[dtype]) for each in ((m, k), (k, n), (m, n)))
            return {"forward": (y, x, w), "dgrad": (x, y, w.t()), "wgrad": (w, x.t(), y)}[which]

        size, operations = 2 * (m * k + k * n + m * n), 2 * m * k * n
        seconds = self.timings(lambda out, a, b: torch.mm(a, b, out=out), make, size)
        return {"m": m} | self.bound(self.rates(seconds, size, operations), size, operations, dtype)

    def convolution(self, shape, dtype, which, depthwise):
        narrow, wide, kernel, stride, pixels = shape
        batch, out = self.options.batch, pixels // stride
        groups = narrow if depthwise else 1
        rest = ([stride] * 2, [kernel // 2] * 2, [1, 1], False, [0, 0], groups)

        def image(channels, side):
            return self.random(batch, side, side, channels, dtype=TYPES[dtype]).permute(0, 3, 1, 2)

        def make():
            w = self.random(wide, narrow // groups, kernel, kernel, dtype=TYPES[dtype])
            w = w.contiguous(memory_format=torch.channels_last)
            return image(narrow, pixels), w, image(wide, out)

        def call(x, w, y):
            if which == "forward":
                return torch.ops.aten.convolution(x, w, None, *rest)
            return torch.ops.aten.convolution_backward(y, x, w, None, *rest,
                                                       [which == "dgrad", which == "wgrad", False])

        weights = wide * narrow // groups * kernel**2
        size = 2 * (batch * (narrow * pixels**2 + wide * out**2) + weights)
        operations = 2 * batch * out**2 * weights
        seconds = self.timings(call, make, size)
        row = self.rates(seconds, size, operations)
        return self.bound(row, size, 0 if depthwise else operations, dtype)

    def cases(self):
        """Yields (name, function) for all measurements, the most important first."""
        depthwise, pointwise = shapes(self.options.size)
        yield "copy/device", self.device_copy
        for dtype in TYPES:
            yield f"gemm/{self.square}/{dtype}", lambda dtype=dtype: self.gemm(dtype)
        yield "launch/eager", lambda: self.launch(False)
        yield "copy/host/pageable", lambda: self.host_copy(False)
        if self.device == "cuda":
            yield "launch/graph", lambda: self.launch(True)
            yield "copy/host/pinned", lambda: self.host_copy(True)

        def network(kind, own_shapes, dtype, measure):
            for shape, (where, blocks) in own_shapes.items():
                narrow, wide, kernel, stride, pixels = shape
                for which in PASSES:
                    yield (f"{kind}/{where}/{narrow}-{wide}/{kernel}/{stride}/{pixels}/{dtype}/"
                           f"{which}",
                           lambda shape=shape, which=which, blocks=blocks:
                           {"blocks": blocks} | measure(shape, dtype, which))

        yield from network("pointwise", pointwise, "bf16", self.pointwise)
        yield from network("depthwise", depthwise, "bf16",
                           lambda *case: self.convolution(*case, True))
        yield from network("pointwise_conv", pointwise, "bf16",
                           lambda *case: self.convolution(*case, False))
        yield from network("pointwise", pointwise, "fp16", self.pointwise)

    def run(self):
        """Measures everything. Returns whether a measurement failed."""
        for name, work in self.cases():
            if not self.results.wanted(name):
                continue
            if self.results.seconds_left() < LIKELY_SECONDS:
                self.results.leave_out(name, LIKELY_SECONDS)
                continue
            begin = time.perf_counter()
            try:
                row = work()
            except Exception as error:
                row = {"error": common.described(error)}
            self.results.add({"name": name, **row,
                              "seconds": round(time.perf_counter() - begin, 1)})
            if self.device == "cuda":
                torch.cuda.empty_cache()
        return self.results.end()


parser = common.parser(__doc__)
parser.add_argument("--batch", type=int, default=256)
options = parser.parse_args()
options.size = 224
if options.dry:
    options.batch, options.size = 2, 64
torch.manual_seed(0)
torch.backends.cudnn.benchmark = True
sys.exit(Ceilings(options).run())
