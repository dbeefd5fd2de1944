// The table of launchers. Each row has two functions: one recognizes the launcher by some of its
// variables; the other (env_*.cpp) reads all of them and throws if one is missing.

#include "dist/env/launcher.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "base/format/counted.h"
#include "dist/env/variables.h"

namespace shoal::dist {

namespace {

bool all_of(const Variables& variables, std::initializer_list<const char*> names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const char* name) { return find(variables, name); });
}

bool any_of(const Variables& variables, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return find(variables, name); });
}

// Requires MASTER_ADDR, because smddprun sets RANK etc. together with mpirun's variables but
// without a master. In that case mpirun's variables are used.
bool is_torchrun(const Variables& variables) {
  return find(variables, "TORCHELASTIC_RUN_ID") ||
         all_of(variables, {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR"});
}

bool is_open_mpi(const Variables& variables) {
  return any_of(variables, {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"});
}

bool is_horovod(const Variables& variables) {
  return any_of(variables, {"HOROVOD_RANK", "HOROVOD_SIZE"});
}

// Recognizes a task of srun. The shells of sbatch and salloc also have Slurm's variables, but are
// single processes: they have no step ID or a special one (batch, interactive, external).
bool is_slurm(const Variables& variables) {
  const std::string* step = find(variables, "SLURM_STEP_ID");
  const bool special = step && step->size() >= 10 && *step >= "4294967280";
  return step && !special && find(variables, "SLURM_PROCID");
}

// `srun --mpi` sets the variables of PMI or PMIx in addition to Slurm's. Then Slurm's are used,
// because they also describe the hosts.
bool is_pmi(const Variables& variables) {
  if (any_of(variables, {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"})) return true;
  return any_of(variables, {"PMI_RANK", "PMI_SIZE", "PMIX_RANK"}) && !is_slurm(variables);
}

// Recognizes Kubeflow's trainer, except PET_NNODES=1 without a node rank: that describes a job on
// this host alone.
bool is_pet(const Variables& variables) {
  const std::string* nodes = find(variables, "PET_NNODES");
  const bool one = nodes && (*nodes == "1" || *nodes == "1:1");
  return nodes && (!one || find(variables, "PET_NODE_RANK"));
}

// Recognizes the variables that shoal's launcher sets for a single worker.
bool is_alone(const Variables& variables) {
  const std::string* world = find(variables, "WORLD_SIZE");
  return world && *world == "1" && all_of(variables, {"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"});
}

// Recognizes an incomplete set of torchrun's variables, so that read_torchrun() names the missing
// one.
bool is_ranked(const Variables& variables) {
  return any_of(variables, {"LOCAL_RANK", "LOCAL_WORLD_SIZE"});
}

bool is_pods(const Variables& variables) {
  return any_of(variables, {"RANK", "WORLD_SIZE"});
}

bool is_simple(const Variables& variables) {
  return any_of(variables, {"SSM_NUM_NODES", "SSM_HOST_RANK"}) &&
         !any_of(variables, {"SM_HOSTS", "SM_CURRENT_HOST"});
}

// Recognizes a multi-node parallel job of AWS Batch. AWS_BATCH_JOB_NUM_NODES=1 alone is not enough:
// a single host needs no launcher.
bool is_batch(const Variables& variables) {
  const std::string* nodes = find(variables, "AWS_BATCH_JOB_NUM_NODES");
  return (nodes && *nodes != "1") ||
         any_of(variables, {"AWS_BATCH_JOB_NODE_INDEX", "AWS_BATCH_JOB_MAIN_NODE_INDEX",
                            "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"});
}

struct Row {
  bool (*recognizes)(const Variables&);
  Launched (*read)(const Variables&);
};

constexpr Row kLaunchers[] = {
    {is_torchrun, read_torchrun}, {is_alone, read_torchrun},  {is_open_mpi, read_open_mpi},
    {is_horovod, read_horovod},   {is_pmi, read_pmi},         {is_slurm, read_slurm},
    {is_pet, read_pet},           {is_ranked, read_torchrun}, {is_pods, read_pods},
    {is_simple, read_simple},     {is_batch, read_batch},
};

}  // namespace

std::optional<Launched> find_launcher(const Variables& variables) {
  for (const Row& row : kLaunchers)
    if (row.recognizes(variables)) return row.read(variables);
  return std::nullopt;
}

std::string contradiction(const Launched& launched, const Variables& variables) {
  std::optional<Hosts> hosts;
  try {
    hosts = from_sagemaker(variables);
  } catch (const std::invalid_argument&) {
    return "";  // invalid SageMaker variables; not used, because a launcher was found
  }
  const int world = launched.env.world_size;
  const int count = hosts ? static_cast<int>(hosts->hosts.size()) : 0;
  if (!hosts || world == count * hosts->workers_per_host) return "";
  return launched.launcher + " has started " + counted(world, "process") +
         "; SM_HOSTS and SM_NUM_GPUS describe " + counted(count, "host") + " with " +
         counted(hosts->workers_per_host, "process") + " each and are ignored";
}

}  // namespace shoal::dist
