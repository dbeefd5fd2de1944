#pragma once
// Who has started this process as one of several: torchrun, mpirun, srun, horovodrun, Kubeflow.
// Pure functions over variables; no torch.
//
// Looked for in this order; the first whose variables are there decides:
//
//   torchrun    TORCHELASTIC_RUN_ID, or RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR
//   OpenMPI     OMPI_COMM_WORLD_SIZE, _RANK, _LOCAL_SIZE, _LOCAL_RANK
//   Horovod     HOROVOD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE (horovodrun over Gloo)
//   MPI (PMI)   PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS (Intel MPI, MPICH)
//   Slurm       SLURM_PROCID in a step (SLURM_STEP_ID), SLURM_NTASKS, _LOCALID, _TASKS_PER_NODE
//   torchrun's settings
//               PET_NNODES, PET_NODE_RANK, PET_NPROC_PER_NODE: hosts (Kubeflow's trainer)
//   pods        RANK and WORLD_SIZE without LOCAL_RANK: of hosts (Kubeflow's PyTorchJob, PAI)
//   simple-sagemaker
//               SSM_NUM_NODES, SSM_HOST_RANK: of hosts, where SM_HOSTS is not set
//
// The hosts of a SageMaker job (env.h) come after all of these. Where a launcher names no master:
// loopback when all processes are on one host; Slurm's first host; the host of mpirun or
// horovodrun. The port, where none is set, follows from the job's name.

#include <optional>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

struct Launched {
  Env env;
  std::string launcher;                // "OpenMPI", as people call it
  std::vector<std::string> variables;  // that decided, in the order they were read
  // Where processes stand for hosts (pods): how many workers shoal starts in place of each when
  // --nproc does not say: a number, "auto" (one per GPU), or empty: one.
  std::string workers;
  // master_addr was worked out and not given: rank 0 had better be there.
  bool derived_master = false;
};

// Nothing when no launcher's variables are there. Throws std::invalid_argument naming the variable
// when a set is incomplete or contradicts itself.
std::optional<Launched> find_launcher(const Variables&);

// One sentence when SageMaker's variables count other processes than the launcher, whose word
// holds; else empty.
std::string contradiction(const Launched&, const Variables&);

// The hosts of Slurm's notation, in order: "node[01-03,7],gpu1" is node01, node02, node03, node7,
// gpu1. Throws std::invalid_argument naming `variable` when it cannot be read.
std::vector<std::string> expand_hosts(const std::string& variable, const std::string& text);

}  // namespace shoal::dist
