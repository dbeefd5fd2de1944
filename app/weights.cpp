#include "app/weights.h"

#include "train/resume.h"

namespace shoal::app {

Weights open_weights(const train::Job& job) {
  const auto [data, file] = train::open_checkpoint(job.checkpoint);
  Weights weights;
  weights.file = file;
  weights.job = job;
  weights.classes = data.classes;
  weights.ema = !data.ema.empty();
  weights.epoch = data.integer("epoch");
  weights.step = data.integer("step");
  weights.val_split = train::val_split_in(data.settings);
  weights.job.model.name = data.string("arch");
  weights.job.model.classes = data.integer("classes");
  weights.job.classes = data.integer("classes");
  weights.job.eval_only = true;
  if (!job.val_size) weights.job.val_size = data.integer("val_size");
  if (!job.interpolation || *job.interpolation == "random")
    weights.job.interpolation = data.string("interpolation");
  weights.model = models::create(weights.job.model);
  train::load_weights(*weights.model, data, weights.ema);

  weights.transform.eval_size = *weights.job.val_size;
  weights.transform.eval_resize =
      train::evaluation_resize(weights.transform.eval_size, weights.model->info());
  weights.transform.interpolation = *weights.job.interpolation == "bicubic"
                                        ? data::Interpolation::bicubic
                                        : data::Interpolation::bilinear;
  return weights;
}

std::string Weights::origin() const {
  return "weights of " + file + " (epoch " + std::to_string(epoch) + ", update " +
         std::to_string(step) + ")" + (ema ? ", averaged (EMA)" : "");
}

}  // namespace shoal::app
