#pragma once
// SageMaker training containers: the base folder and the hosts of the job. Does not use LibTorch.

#include <filesystem>

#include "app/platform/files.h"
#include "dist/env/env.h"

namespace shoal::app {

// Returns the base folder: SAGEMAKER_BASE_DIR, else /opt/ml.
std::filesystem::path platform_base(const dist::Variables& environment);

// Whether this is a SageMaker training container: BASE/input/config exists.
bool on_platform(const dist::Variables& environment, const Files& files = real_files());

// Adds variables that are not set (SageMaker's training toolkit may set them): SM_HOSTS,
// SM_CURRENT_HOST, SM_NETWORK_INTERFACE_NAME and SM_RESOURCE_CONFIG from resourceconfig.json, and
// SM_NUM_GPUS = `gpus`. Returns the variables unchanged if that file does not exist. Throws
// UserError if it is not valid: otherwise each host would silently train on its own.
dist::Variables with_platform_hosts(dist::Variables environment, int gpus,
                                    const Files& files = real_files());

}  // namespace shoal::app
