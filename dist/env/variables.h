#pragma once
// Reading values out of variables, with errors that name the variable. For the env*.cpp and
// launcher.cpp of this folder.

#include <string>
#include <vector>

#include "dist/env/env.h"
#include "dist/env/launcher.h"

namespace shoal::dist {

// More processes than any job has: a larger number is a mistake.
inline constexpr int kMostProcesses = 1 << 20;

// Env::hosts on its way to our own workers.
inline constexpr const char* kHostsVariable = "SHOAL_HOSTS";

[[noreturn]] void bad_variable(const std::string& sentence);  // std::invalid_argument

// Null when absent or empty.
const std::string* find(const Variables& variables, const std::string& name);

// The text of variable `name` as a whole number from lowest to highest.
int number(const std::string& name, const std::string& text, int lowest, int highest);

// The names of a JSON list of host or group names, sorted; each at most once.
std::vector<std::string> name_list(const std::string& variable, const std::string& text);

// "A, B and C" without the "and".
std::string joined(const std::vector<std::string>& names);

// A port below the ones that Linux gives to outgoing connections, the same for the same text:
// processes of one job agree on it without talking, and two jobs on a host seldom meet.
uint16_t port_from(const std::string& text);

// A launcher's names for the four numbers; each of them is needed.
struct RankNames {
  const char *rank, *world_size, *local_rank, *local_world_size;
};

// Reads one launcher's variables and remembers which it used.
class Reader {
 public:
  // `family`: the variables that mean this launcher, for the sentence about a missing one.
  // `advice`: how to start with it.
  Reader(const Variables& variables, std::vector<std::string> family, std::string advice)
      : variables_(variables), family_(std::move(family)), advice_(std::move(advice)) {}

  // Of a launcher called `name` that sets all four numbers; `found` gets them and the name.
  Reader(const Variables& variables, const RankNames& names, std::string advice, const char* name,
         Launched& found);

  const std::string* find(const std::string& name);      // null when absent or empty
  const std::string& required(const std::string& name);  // bad_variable when it is
  // The first of these that is set; required() of the first when none is. Returns its name.
  std::string one_of(const std::vector<std::string>& names);
  int whole(const std::string& name, int lowest, int highest);  // of a required one

  void ranks(const RankNames& names, Env& env);
  // Ranks below their counts: bad_variable naming two variables otherwise.
  static void check_ranks(const RankNames& names, const Env& env);
  // Where rank 0 listens: MASTER_ADDR and MASTER_PORT where they are set; else `port` and loopback
  // when all processes are on this host, or `derived`. Returns whether the address is `derived`.
  // bad_variable with `advice` when there is none.
  bool master(Env& env, const std::string& derived, uint16_t port, const std::string& advice);
  void interface(Env& env);  // GLOO_SOCKET_IFNAME, else NCCL_SOCKET_IFNAME

  const std::vector<std::string>& used() const { return used_; }

 private:
  const Variables& variables_;
  std::vector<std::string> family_;
  std::string advice_;
  std::vector<std::string> used_;
};

// The kinds of launcher, one file each (env_*.cpp). Each expects that its variables were asked for.
Launched read_torchrun(const Variables&);
Launched read_open_mpi(const Variables&);
Launched read_pmi(const Variables&);
Launched read_horovod(const Variables&);
Launched read_slurm(const Variables&);
Launched read_pods(const Variables&);    // RANK and WORLD_SIZE of hosts, as Kubeflow sets them
Launched read_pet(const Variables&);     // PET_*: what torchrun would be told
Launched read_simple(const Variables&);  // SSM_* of simple-sagemaker

}  // namespace shoal::dist
