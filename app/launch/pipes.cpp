#include "app/launch/pipes.h"

#include <regex>

#include "train/job/job.h"

namespace shoal::app {

PipeShare pipe_share(const std::string& source, const PipeUse& use, const dist::Env& env) {
  static const std::regex braces("\\{([0-9]{1,6})\\.\\.([0-9]{1,6})\\}");
  const int64_t hosts = env.world_size / env.local_world_size;
  const int64_t host = env.rank / env.local_world_size;
  // Without --sharded, the pipes of all hosts deliver the same images, so the hosts take turns.
  const PipeShare turns = use.sharded ? PipeShare{} : PipeShare{"", host, hosts, false};
  std::smatch found;
  if (!std::regex_search(source, found, braces)) {
    if (use.training) return {source, turns.index, turns.count, env.local_world_size > 1};
    const bool reads = use.sharded ? env.local_rank == 0 : env.rank == 0;
    return {reads ? source : "pipe:"};
  }
  const int64_t first = std::stoll(found[1]), count = std::stoll(found[2]) - first + 1;
  const auto named = [&](int64_t number) {
    std::string digits = std::to_string(first + number);
    const auto width = static_cast<size_t>(found[1].length());  // keeps leading zeros
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    return found.prefix().str() + digits + found.suffix().str();
  };
  if (count == env.local_world_size)
    return {named(env.local_rank), turns.index, turns.count, false};
  if (count == env.world_size) return {named(env.rank)};
  throw UserError(
      use.option + " " + source + " names " + std::to_string(count) + " pipes, but each host has " +
      std::to_string(env.local_world_size) + " of the " + std::to_string(env.world_size) +
      " processes. Each pipe needs one reader: use one pipe per process of a host (--nproc " +
      std::to_string(count) + "), or one per process of the whole job");
}

}  // namespace shoal::app
