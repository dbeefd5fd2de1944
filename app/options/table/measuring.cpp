// Rows of the option table for the section Measuring.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {

void add_measuring(std::vector<Option>& table) {
  add(table, "Measuring",
      {row("train", kBench | kCommon, "",
           "Measure training, the default without --eval: `bench loader` loads random crops, "
           "`bench step` runs training steps",
           FIELD(bench.train))
           .in_bench({"loader", "step"}),
       row("eval", kBench | kCommon, "",
           "Measure evaluation: `bench loader` loads center crops, `bench step` evaluates batches",
           FIELD(bench.eval))
           .in_bench({"loader", "step"}),
       row("steps", kBench | kCommon, "N", "`bench step` and `scaling`: number of steps to measure",
           FIELD(bench.steps))
           .in_bench({"step", "scaling"})
           .within(1, 1 << 20),
       row("warmup", kBench, "N",
           "`bench step` and `scaling`: number of steps before the measurement",
           FIELD(bench.warmup))
           .in_bench({"step", "scaling"})
           .within(0, 1 << 20),
       row("trace", kBench | kCommon, "FILE",
           "`bench step`: write a trace of one step to FILE (JSON), for ui.perfetto.dev",
           FIELD(bench.trace))
           .in_bench({"step"})
           .unset_is("none"),
       choice<data::Resize>("mode", kBench | kCommon,
                            "`bench loader`: how to resize training images, as with `shoal train "
                            "--resize`",
                            {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}},
                            FIELD(bench.mode))
           .in_bench({"loader"}),
       row("seconds", kBench | kCommon, "SECONDS", "`bench loader`: duration of each measurement",
           FIELD(bench.seconds))
           .in_bench({"loader"})
           .above(0, 3600),
       row("wanted", kBench | kCommon, "RATE",
           "`bench loader`: find how many threads are needed to load RATE images/s; 0: off",
           FIELD(bench.wanted))
           .in_bench({"loader"})
           .at_least(0),
       row("hosts", kBench | kCommon, "N",
           "`bench scaling`: predict the speed on 1, 2, 4, … up to N hosts", FIELD(scaling.hosts))
           .in_bench({"scaling"})
           .within(1, kMaxHosts),
       row("host-processes", kBench | kCommon, "N",
           "`bench scaling`: number of processes per host, usually one per GPU",
           FIELD(scaling.processes))
           .in_bench({"scaling"})
           .within(1, 1024),
       row("link-gbps", kBench | kCommon, "GBPS",
           "`bench scaling`: speed of a host's network in each direction, in Gbit/s",
           FIELD(scaling.link_gbps))
           .in_bench({"scaling"})
           .above(0, 1e5),
       row("link-us", kBench, "US", "`bench scaling`: latency between hosts, in microseconds",
           FIELD(scaling.link_us))
           .in_bench({"scaling"})
           .within(0, 1e5),
       row("local-gbps", kBench, "GBPS",
           "`bench scaling`: speed between the processes of a host in each direction, in Gbit/s",
           FIELD(scaling.local_gbps))
           .in_bench({"scaling"})
           .unset_is("16; between GPUs: 2400")
           .above(0, 1e5),
       row("step-ms", kBench | kCommon, "MS",
           "`bench scaling`: milliseconds per step of one process, if measured elsewhere",
           FIELD(scaling.step_ms))
           .in_bench({"scaling"})
           .unset_is("measured on this machine")
           .above(0, 1e5)});
}

}  // namespace shoal::app
