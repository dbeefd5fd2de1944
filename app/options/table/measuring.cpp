// Rows of the option table for the section Measuring.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {

void add_measuring(std::vector<Option>& table) {
  add(table, "Measuring",
      {row("train", kBench | kCommon, "",
           "Measure training: loading random crops, or training steps (default unless --eval is "
           "given)",
           FIELD(bench.train)),
       row("eval", kBench | kCommon, "",
           "Measure evaluation: loading center crops, or evaluating batches", FIELD(bench.eval)),
       row("steps", kBench | kCommon, "N", "`bench step`: number of steps to measure",
           FIELD(bench.steps))
           .within(1, 1 << 20),
       row("warmup", kBench, "N", "`bench step`: number of steps before the measurement",
           FIELD(bench.warmup))
           .within(0, 1 << 20),
       row("trace", kBench | kCommon, "FILE",
           "`bench step`: write a trace of one step to FILE (JSON), for ui.perfetto.dev",
           FIELD(bench.trace))
           .unset_is("none"),
       choice<data::Resize>("mode", kBench | kCommon,
                            "`bench loader`: how to resize training images, as with `shoal train "
                            "--resize`",
                            {{"exact", data::Resize::exact}, {"fast", data::Resize::fast}},
                            FIELD(bench.mode)),
       row("seconds", kBench | kCommon, "SECONDS", "`bench loader`: duration of each measurement",
           FIELD(bench.seconds))
           .above(0, 3600),
       row("wanted", kBench | kCommon, "RATE",
           "`bench loader`: find how many threads are needed to load RATE images/s; 0: off",
           FIELD(bench.wanted))
           .at_least(0)});
}

}  // namespace shoal::app
