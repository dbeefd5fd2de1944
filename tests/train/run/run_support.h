#pragma once
// Small training runs on synthetic images, and functions that read their files.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "tests/support/program.h"
#include "train/checkpoint/checkpoint_store.h"
#include "train/run/loop.h"

namespace shoal::test {

using Rows = std::vector<std::string>;

std::shared_ptr<const data::Dataset> synthetic_images(int64_t count);

// Returns a job of two epochs with three steps each, on 12 images, with 5 validation images.
train::ResolvedJob job_in(const std::filesystem::path& folder,
                          const std::function<void(train::Job&)>& change = {}, int64_t rank = 0,
                          int64_t world_size = 1);

// Run the job. `train`, `val`: the images; null: synthetic ones.
train::RunResult run_job(const train::ResolvedJob& job, dist::Communicator& communicator,
                         const std::shared_ptr<const data::Source>& train = nullptr,
                         const std::shared_ptr<const data::Source>& val = nullptr);
train::RunResult run_alone(const train::ResolvedJob& job,
                           const std::shared_ptr<const data::Source>& train = nullptr,
                           const std::shared_ptr<const data::Source>& val = nullptr);

nlohmann::json summary_of(const train::ResolvedJob& job);
// Returns "EVENT STEP" for each row of the history, without the rows of evaluation batches.
Rows history_of(const train::ResolvedJob& job);
std::vector<train::CheckpointEntry> checkpoints_of(const train::ResolvedJob& job);

}  // namespace shoal::test
