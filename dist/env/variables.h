#pragma once
// Parses values of environment variables, with errors that name the variable. For the .cpp files of
// dist/.

#include <string>
#include <vector>

#include "dist/env/env.h"
#include "dist/env/launcher.h"

namespace shoal::dist {

// Upper limit of process counts. A larger number is treated as a mistake.
inline constexpr int kMaxProcesses = 1 << 20;

// The variable that passes Env::hosts to shoal's own workers.
inline constexpr const char* kHostsVariable = "SHOAL_HOSTS";

[[noreturn]] void bad_variable(const std::string& sentence);  // throws std::invalid_argument

// Parses `text`, the value of variable `name`, as an integer between `lowest` and `highest`
// inclusive. Calls bad_variable() for any other text.
int number(const std::string& name, const std::string& text, int lowest, int highest);

// Parses `text`, the value of `variable`, as a JSON list of distinct names of hosts or groups.
// Returns the names sorted. Calls bad_variable() for any other text.
std::vector<std::string> name_list(const std::string& variable, const std::string& text);

// Derives one of shoal's ports (kFirstPort in network.h) from the text. Processes of one job get
// the same port without communication; two jobs on one host rarely collide.
uint16_t port_from(const std::string& text);

// A launcher's names for the four rank variables. The launcher must set all of them.
struct RankNames {
  const char *rank, *world_size, *local_rank, *local_world_size;
};

// Reads one launcher's variables. used() returns the names of those that were used.
class Reader {
 public:
  // `family`: the variables that identify this launcher. The error about a missing variable lists
  // those that are set. `advice`: how to start with this launcher, for the same error.
  Reader(const Variables& variables, std::vector<std::string> family, std::string advice)
      : variables_(variables), family_(std::move(family)), advice_(std::move(advice)) {}

  // For a launcher called `name` that sets all four rank variables. Stores their values and the
  // name in `found`.
  Reader(const Variables& variables, const RankNames& names, std::string advice, const char* name,
         Launched& found);

  const std::string* find(const std::string& name);      // null if absent or empty
  const std::string& required(const std::string& name);  // bad_variable() if absent or empty
  // Returns the first of `names` that is set. If none is set, fails like required(names[0]).
  std::string one_of(const std::vector<std::string>& names);
  int whole(const std::string& name, int lowest, int highest);  // number() for required(name)

  void ranks(const RankNames& names, Env& env);
  // Checks that each rank is below its count, and that the local rank and count are not above the
  // global ones. Otherwise calls bad_variable() with the names of two variables.
  static void check_ranks(const RankNames& names, const Env& env);
  // Sets the address and port of rank 0, unless the world size is 1. The address is MASTER_ADDR if
  // set; otherwise loopback if all processes run on this host; otherwise `derived`. The port is
  // MASTER_PORT if set, otherwise `port`. Returns whether `derived` is used. Calls bad_variable()
  // with `advice` if `derived` is needed but empty.
  bool master(Env& env, const std::string& derived, uint16_t port, const std::string& advice);
  // Sets env.interface to GLOO_SOCKET_IFNAME if set, otherwise to the interface that
  // nccl_interface() (network.h) returns for NCCL_SOCKET_IFNAME, which may be empty.
  void interface(Env& env);

  const std::vector<std::string>& used() const { return used_; }

 private:
  const Variables& variables_;
  std::vector<std::string> family_;
  std::string advice_;
  std::vector<std::string> used_;
};

// Each reads the variables of one launcher (env_*.cpp). Call only if that launcher was recognized.
Launched read_torchrun(const Variables&);
Launched read_open_mpi(const Variables&);
Launched read_pmi(const Variables&);
Launched read_horovod(const Variables&);
Launched read_slurm(const Variables&);
Launched read_pods(const Variables&);    // Kubeflow's RANK and WORLD_SIZE, which count hosts
Launched read_pet(const Variables&);     // PET_*: torchrun's options, set by Kubeflow
Launched read_simple(const Variables&);  // SSM_* of simple-sagemaker
Launched read_batch(const Variables&);   // AWS_BATCH_JOB_* of multi-node parallel jobs

}  // namespace shoal::dist
