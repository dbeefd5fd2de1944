#pragma once
// Detects the launcher that started this process as part of a distributed run: torchrun, mpirun,
// srun, horovodrun, Kubeflow or AWS Batch. Results depend only on the variables and on this host's
// network interfaces. Does not use LibTorch.
//
// Launchers are checked in this order. The first one whose variables are set is used:
//
//   torchrun    TORCHELASTIC_RUN_ID, or RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR
//               (MASTER_ADDR is optional if WORLD_SIZE is 1)
//   OpenMPI     OMPI_COMM_WORLD_SIZE, _RANK, _LOCAL_SIZE, _LOCAL_RANK
//   Horovod     HOROVOD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE (horovodrun over Gloo)
//   MPI (PMI)   PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS (Intel MPI, MPICH)
//   Slurm       SLURM_PROCID in a step (SLURM_STEP_ID), SLURM_NTASKS, _LOCALID, _TASKS_PER_NODE
//   PET_*       PET_NNODES, PET_NODE_RANK, PET_NPROC_PER_NODE: torchrun's settings, set by
//               Kubeflow's trainer
//   pods        RANK and WORLD_SIZE, without LOCAL_RANK (Kubeflow's PyTorchJob, PAI)
//   simple-sagemaker
//               SSM_NUM_NODES, SSM_HOST_RANK, if SM_HOSTS and SM_CURRENT_HOST are not set
//   AWS Batch   AWS_BATCH_JOB_NUM_NODES, _NODE_INDEX, _MAIN_NODE_INDEX, and except on the main node
//               _MAIN_NODE_PRIVATE_IPV4_ADDRESS (multi-node parallel jobs)
//
// The last four launchers count hosts, not processes. If no launcher is found, the hosts of a
// SageMaker job are used (env.h).
//
// torchrun, PET_*, pods and simple-sagemaker must also set MASTER_ADDR and MASTER_PORT, unless the
// world size is 1. (PET_NNODES may come with PET_MASTER_ADDR and PET_MASTER_PORT instead.) With the
// others, both variables are optional. Without MASTER_ADDR, the master is loopback if all processes
// run on one host. On several hosts, it is Slurm's first host, the host of mpirun or horovodrun, or
// AWS Batch's main node; MPI (PMI) then requires MASTER_ADDR. Without MASTER_PORT, the port is
// derived from an ID of the job. It is 7777 if the launcher provides no ID, for mpirun in a
// SageMaker job, and for AWS Batch.

#include <optional>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace shoal::dist {

struct Launched {
  Env env;
  std::string launcher;                // display name: "OpenMPI"
  std::vector<std::string> variables;  // names of the variables used, in the order of their use
  // If the launcher started one process per host: number of workers that shoal starts per host if
  // --nproc is not given. A number, "auto" (one per GPU), or empty (one).
  std::string workers;
  // The variable from which master_addr was derived; empty if master_addr was given or is loopback.
  // A derived address can be wrong: rank 0 may run on another host.
  std::string master_variable;
};

// Returns nullopt if no launcher's variables are set. Throws std::invalid_argument naming the
// variable if a set is incomplete or contradictory.
std::optional<Launched> find_launcher(const Variables&);

// Returns one sentence if SageMaker's variables imply a different number of processes than the
// launcher started; otherwise an empty string. shoal uses the launcher's number.
std::string contradiction(const Launched&, const Variables&);

// Expands Slurm's host notation in order: "node[01-03,7],gpu1" is node01, node02, node03, node7,
// gpu1. Throws std::invalid_argument naming `variable` if it is malformed.
std::vector<std::string> expand_hosts(const std::string& variable, const std::string& text);

}  // namespace shoal::dist
