#pragma once
// The commands that compute: run inside shoal-worker, which links LibTorch. Each returns an exit
// code and throws what guarded_main (failure.h) turns into one line.

#include "app/options/options.h"

namespace shoal::app {

int train_command(const Arguments& arguments);
int eval_command(const Arguments& arguments);
int predict_command(const Arguments& arguments);
int pack_command(const Arguments& arguments);
int prepare_command(const Arguments& arguments);
int bench_command(const Arguments& arguments);
int models_command(const Arguments& arguments);
int doctor_worker(const Arguments& arguments);

}  // namespace shoal::app
