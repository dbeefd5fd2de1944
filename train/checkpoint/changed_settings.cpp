#include "train/checkpoint/changed_settings.h"

#include <algorithm>
#include <map>

namespace shoal::train {
namespace {

std::string filled(std::string advice, const std::string& value) {
  if (const size_t at = advice.find("{}"); at != advice.npos) advice.replace(at, 2, value);
  return advice;
}

}  // namespace

std::string changed_settings(const std::vector<std::pair<std::string, std::string>>& saved,
                             const std::vector<std::string>& without_effect, bool within_epoch,
                             const ResolvedJob& job) {
  const std::map<std::string, std::string> before(saved.begin(), saved.end());
  std::string changed;
  for (const SavedSetting& now : job.settings) {
    const auto was = before.find(now.name);
    if (was == before.end() || was->second == now.value) continue;
    const bool idle =
        !now.effective && std::ranges::find(without_effect, now.name) != without_effect.end();
    const MayDiffer may_differ = idle ? MayDiffer::always : now.may_differ;
    const bool fixed = may_differ == MayDiffer::never;
    if (job.eval_only && !(now.evaluation && fixed)) continue;
    const std::string difference = now.name + " " + was->second + ", this run has " + now.value +
                                   "; " + filled(now.advice, was->second);
    if (fixed) throw UserError("the checkpoint was made with " + difference);
    if (may_differ == MayDiffer::between_epochs && within_epoch)
      throw UserError("the checkpoint was made within an epoch with " + difference);
    changed += (changed.empty() ? "" : ", ") + now.name + " " + was->second + " → " + now.value;
  }
  return changed;
}

}  // namespace shoal::train
