#pragma once
// What a SageMaker container decides when the user does not. Torch-free.

#include <filesystem>

#include "dist/env.h"
#include "train/job.h"

namespace shoal::app {

// SAGEMAKER_BASE_DIR, else /opt/ml.
std::filesystem::path platform_base(const dist::Variables& environment);

// True in a SageMaker training container: BASE/input/config/resourceconfig.json is there.
bool on_platform(const dist::Variables& environment);

// In such a container: the variables with SM_HOSTS, SM_CURRENT_HOST, SM_NETWORK_INTERFACE_NAME and
// SM_RESOURCE_CONFIG from resourceconfig.json, and SM_NUM_GPUS = `gpus`, where a toolkit has not
// set them. Elsewhere the variables as they are. Throws std::runtime_error naming the file when it
// cannot be understood: a job of several hosts must not become several jobs.
dist::Variables with_platform_hosts(dist::Variables environment, int gpus);

// In such a container: sets job.on_platform, and job.checkpoint_dir where it is unset, to LocalPath
// of BASE/input/config/checkpointconfig.json, else BASE/checkpoints. Elsewhere does nothing. Throws
// std::runtime_error naming the file when it is no JSON.
void adapt_to_platform(train::Job& job, const dist::Variables& environment);

}  // namespace shoal::app
