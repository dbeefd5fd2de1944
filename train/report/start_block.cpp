#include "base/format/counted.h"
#include "base/format/grouped.h"
#include "base/processor.h"
#include "base/text.h"
#include "models/catalogue.h"
#include "train/report/sinks.h"

namespace shoal::train {

std::string top5_note(int64_t classes) {
  return strf("with only %s, Acc@5 counts every image as correct",
              counted(classes, "class").c_str());
}

std::string settings_block(const ResolvedJob& job, bool all) {
  std::vector<std::string> settings;
  for (const SavedSetting& setting : job.settings)
    if (all || !setting.is_default) settings.push_back(setting.name + "=" + setting.value);
  return wrapped("settings", settings, 9) +
         (all ? "" : "\n         all others have their default values");
}

std::string start_block(const ResolvedJob& job, const std::string& origin,
                        const std::string& kernels) {
  const int64_t side = job.eval_only ? job.val_size : job.progression.largest_side();
  models::Network network = models::make_network(job.model);
  models::set_image_size(network, side);
  std::string text =
      strf("%s, %s parameters, %.2f G multiply-adds per image at %ld px", network.info.name.c_str(),
           grouped(network.info.parameters).c_str(), network.info.multiply_adds / 1e9, side);
  if (job.frozen_stages > 0)
    text += strf(
        "\nfrozen   %s, %s",
        joined({job.model_info.stages.begin(), job.model_info.stages.begin() + job.frozen_stages})
            .c_str(),
        job.unfreeze_epoch > 0 ? strf("until epoch %ld", job.unfreeze_epoch).c_str()
                               : "in all epochs");
  const auto known = [](int64_t count) { return count > 0 ? std::to_string(count) : "a pipe of"; };
  const std::string train = job.eval_only ? "" : known(job.train_images) + " train and ";
  text += strf("\ndata     %s%s val images, %s", train.c_str(), known(job.val_images).c_str(),
               counted(job.model.classes, "class").c_str());
  text += strf("\nworld    %s, backend %s, device %s, %d compute and %s each",
               counted(job.world_size, "process").c_str(), job.backend.c_str(), job.device.c_str(),
               job.threads, counted(job.workers, "loader thread").c_str());
  text += "\nkernels  " + kernels;
  if (job.device == "cpu" && job.amp == Precision::bf16 && !processor().avx512_bf16)
    text += "; this CPU has no bfloat16 multiplication: --amp bf16 saves memory, but little time";
  text += strf("\nbatch    %ld per process × %ld × accumulate %ld = %ld per step", job.batch_size,
               job.world_size, job.accumulate, job.global_batch_size);
  const std::string steps = counted(job.steps_per_epoch, "step");
  const std::string left_out = counted(job.dropped_images, "image");
  if (!job.eval_only && job.open_ended)
    text +=
        strf("\nlength   each epoch ends when its pipe ends, %ld steps in total", job.last_step);
  else if (!job.eval_only && job.time_budget > 0)
    text += strf("\nlength   %s per epoch (%s left out), ending after %g s", steps.c_str(),
                 left_out.c_str(), job.time_budget);
  else if (!job.eval_only)
    text += strf("\nlength   %s per epoch (%s left out), %ld in all, stopping at %ld",
                 steps.c_str(), left_out.c_str(), job.total_steps, job.last_step);
  text += "\noutput   " + job.output + ", checkpoints " + job.checkpoint_dir;
  return text + "\nstart    " + origin;
}

}  // namespace shoal::train
