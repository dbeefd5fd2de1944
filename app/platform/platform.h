#pragma once
// A SageMaker training container: where its files lie, and who its hosts are. Torch-free.

#include <filesystem>

#include "dist/env/env.h"

namespace shoal::app {

// SAGEMAKER_BASE_DIR, else /opt/ml.
std::filesystem::path platform_base(const dist::Variables& environment);

// True in a SageMaker training container: the folder BASE/input/config is there.
bool on_platform(const dist::Variables& environment);

// In such a container: the variables with SM_HOSTS, SM_CURRENT_HOST, SM_NETWORK_INTERFACE_NAME and
// SM_RESOURCE_CONFIG from resourceconfig.json, and SM_NUM_GPUS = `gpus`, where a toolkit has not
// set them. Elsewhere, and without that file, as they are. Throws UserError naming it when
// it cannot be understood: a job of several hosts must not become several jobs.
dist::Variables with_platform_hosts(dist::Variables environment, int gpus);

}  // namespace shoal::app
