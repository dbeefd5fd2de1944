#pragma once
// Continues runs of PyTorch's imagenet example (pytorch/examples, imagenet/main.py). Its
// checkpoint.pth.tar is the state at the end of an epoch:
//
//   {"epoch": finished epochs, "arch": …, "state_dict": …, "best_acc1": …,
//    "optimizer": SGD's state dict, "scheduler": StepLR's state dict (since 2022)}

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint/position.h"
#include "train/job/job.h"
#include "train/step/trainer.h"
#include "train/weights/checkpoint_file.h"

namespace shoal::train {

// Returns weights, momentum, epoch, best accuracy and the settings that the file contains. The
// result has no class names and no step numbers. Returns nullopt if `bytes` is another kind of
// file. Throws UserError if shoal cannot continue with the file's network or optimizer,
// std::runtime_error if the file is damaged; both name `file`.
std::optional<CheckpointData> read_imagenet_example(const std::vector<char>& bytes,
                                                    const std::string& file);

// Whether `data` comes from read_imagenet_example().
bool is_imagenet_example(const CheckpointData& data);

// Loads the result of read_imagenet_example() into the trainer. Returns the position at the start
// of the next epoch. Averaged weights (--ema) start as a copy of the weights. Reports changed
// settings, and what the file does not contain, to `warn`. Throws UserError if the number of
// classes or a setting that must not change differs.
Position restore_imagenet_example(Trainer& trainer, const CheckpointData& data,
                                  const ResolvedJob& job,
                                  const std::function<void(const std::string&)>& warn);

}  // namespace shoal::train
