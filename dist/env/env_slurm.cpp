// Reads the variables of srun, which starts the tasks of a job step. Slurm sets neither the
// master's address nor its port. Both are derived from values that all tasks share: the host list,
// the job ID and the step ID.

#include <algorithm>

#include "base/text.h"
#include "dist/env/variables.h"

namespace shoal::dist {

namespace {

constexpr size_t kMaxHosts = 1 << 16;

[[noreturn]] void unreadable(const std::string& variable, const std::string& text) {
  bad_variable(variable + " is '" + text + "', which is not a list of hosts");
}

// Expands the ranges in brackets: "01-03,7" becomes 01, 02, 03, 7.
std::vector<std::string> expand_ranges(const std::string& variable, const std::string& whole,
                                       const std::string& ranges) {
  std::vector<std::string> texts;
  for (size_t begin = 0; begin <= ranges.size();) {
    const size_t comma = std::min(ranges.find(',', begin), ranges.size());
    const std::string range = ranges.substr(begin, comma - begin);
    const std::string first = range.substr(0, range.find('-'));
    const std::string last = first.size() == range.size() ? first : range.substr(first.size() + 1);
    const auto from = parse_number<uint32_t>(first), to = parse_number<uint32_t>(last);
    if (!from || !to || *to < *from || *to - *from >= kMaxHosts) unreadable(variable, whole);
    for (uint64_t i = *from; i <= *to; ++i) {
      std::string text = std::to_string(i);
      if (text.size() < first.size()) text.insert(0, first.size() - text.size(), '0');
      texts.push_back(text);
    }
    begin = comma + 1;
  }
  return texts;
}

// Expands one host or "prefix[ranges]suffix". The suffix may itself contain bracketed ranges.
std::vector<std::string> expand_one(const std::string& variable, const std::string& whole,
                                    const std::string& text) {
  const size_t open = text.find('['), close = text.find(']');
  if (open == text.npos && close == text.npos) {
    if (text.empty()) unreadable(variable, whole);
    return {text};
  }
  if (open == text.npos || close == text.npos || close < open) unreadable(variable, whole);
  const std::string rest = text.substr(close + 1);
  const auto suffixes =
      rest.empty() ? std::vector<std::string>{""} : expand_one(variable, whole, rest);
  std::vector<std::string> hosts;
  for (const std::string& number :
       expand_ranges(variable, whole, text.substr(open + 1, close - open - 1)))
    for (const std::string& suffix : suffixes)
      hosts.push_back(text.substr(0, open) + number + suffix);
  if (hosts.size() > kMaxHosts) unreadable(variable, whole);
  return hosts;
}

// Returns the task count of host number `node` from a text such as "4(x2),1", which means 4, 4 and
// 1 tasks on hosts 0, 1 and 2.
int tasks_on(const std::string& variable, const std::string& text, int node) {
  int host = 0;
  for (const std::string& part : split(text, ',')) {
    const size_t times = part.find("(x");
    const int tasks = number(variable, part.substr(0, times), 1, kMaxProcesses);
    const std::string count =
        times == part.npos ? "1" : part.substr(times + 2, part.size() - times - 3);
    host += number(variable, count, 1, kMaxProcesses);
    if (node < host) return tasks;
  }
  bad_variable(variable + " is '" + text + "', which has no number for host " +
               std::to_string(node) + " (SLURM_NODEID)");
}

}  // namespace

std::vector<std::string> expand_hosts(const std::string& variable, const std::string& text) {
  std::vector<std::string> hosts;
  int depth = 0;
  for (size_t begin = 0, i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    for (const std::string& host : expand_one(variable, text, text.substr(begin, i - begin)))
      hosts.push_back(host);
    begin = i + 1;
  }
  return hosts;
}

Launched read_slurm(const Variables& variables) {
  Reader reader(variables, {"SLURM_PROCID", "SLURM_STEP_ID"}, "start with srun");
  Launched found;
  Env& env = found.env;
  found.launcher = env.origin = "Slurm";
  const std::string world = reader.one_of({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  const std::string counts = reader.one_of({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  env.rank = reader.whole("SLURM_PROCID", 0, kMaxProcesses);
  env.world_size = reader.whole(world, 1, kMaxProcesses);
  env.local_rank = reader.whole("SLURM_LOCALID", 0, kMaxProcesses);
  const int node = reader.whole("SLURM_NODEID", 0, kMaxProcesses);
  env.local_world_size = tasks_on(counts, reader.required(counts), node);
  Reader::check_ranks({"SLURM_PROCID", world.c_str(), "SLURM_LOCALID", counts.c_str()}, env);

  std::vector<std::string> hosts;
  std::string list;
  if (env.local_world_size < env.world_size) {
    list = reader.one_of({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
    hosts = expand_hosts(list, reader.required(list));
    // With one task per host, tasks are in host order whatever srun's --distribution is.
    if (static_cast<int>(hosts.size()) == env.world_size) env.hosts = hosts;
  }
  const uint16_t port =
      port_from(value_of(variables, "SLURM_JOB_ID") + "." + value_of(variables, "SLURM_STEP_ID"));
  if (reader.master(env, hosts.empty() ? "" : hosts.front(), port, "set it to the host of rank 0"))
    found.master_variable = list;
  reader.interface(env);
  found.variables = reader.used();
  return found;
}

}  // namespace shoal::dist
