// Rows of the option table for the section "Where it runs".
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {
namespace {

constexpr double kMaxSeconds = 1e6;

// Row of --nproc, whose value is a whole number (2.0 becomes 2) or a word.
Option nproc_row() {
  Option option = row("nproc", kRanks | kDoctor | kCommon, "N|auto",
                      "Processes on this host; auto: one per GPU, or 1 without GPUs", FIELD(nproc))
                      .unset_is("1, or as set by the launcher or SageMaker")
                      .also_called({"gpus", "nproc-per-node"});
  option.set = [](Arguments& arguments, const std::string& text) {
    int64_t count = 0;
    try {
      store(count, text);
      arguments.nproc = text_of(count);
    } catch (const std::invalid_argument&) {
      store(arguments.nproc, text);
    }
  };
  return option;
}

void add_hosts(std::vector<Option>& table, const char* group) {
  add(table, group,
      {row("instance-group", kRanks | kDoctor, "NAME",
           "SageMaker instance groups (comma-separated) whose hosts run the job",
           FIELD(instance_group))
           .unset_is("the SageMaker toolkit's selection, else all hosts; required if the job has "
                     "several groups and the toolkit selected none")
           .spells_lists(","),
       row("nnodes", kRanks | kDoctor, "N",
           "Number of hosts if you start shoal by hand on each host", FIELD(nodes.count))
           .within(1, kMaxHosts),
       row("node-rank", kRanks | kDoctor, "N",
           "Rank of this host, from 0 to the number of hosts - 1", FIELD(nodes.rank)),
       row("master-addr", kRanks | kDoctor, "HOST", "Address of host 0", FIELD(nodes.master_addr))
           .unset_is("value of MASTER_ADDR"),
       row("master-port", kRanks | kDoctor, "PORT",
           "Port on host 0 for the rendezvous; 0: value of MASTER_PORT", FIELD(nodes.master_port))
           .within(0, 65535),
       row("workers", kRanks | kCheck | kAverage | kPack | kPrepare, "N",
           "Threads per process that read and decode images", JOB(workers))
           .unset_is("the process's share of the CPU cores")
           .within(1, kMaxThreads),
       row("threads", kRanks | kAverage | kBench, "N",
           "Compute threads per process (`bench loader`: loader threads)", JOB(threads))
           .unset_is("OMP_NUM_THREADS, else the process's share of the CPU cores")
           .default_in(kBench,
                       "OMP_NUM_THREADS, else all CPU cores (`bench scaling`: divided by "
                       "--host-processes); `bench loader`: 1, 2, 4, … threads in turn, up to all "
                       "cores, or more if disk-bound")
           .within(1, kMaxThreads)});
}

Option kernels_row() {
  using models::Kernels;
  return choice<Kernels>(
             "kernels", kTrain | kBench,
             "Kernels of training steps and evaluations: reference (one operation at a time) or "
             "fused (CPU only; several operations in one pass, faster, less memory); auto: fused "
             "where possible",
             {{"auto", Kernels::automatic},
              {"reference", Kernels::reference},
              {"fused", Kernels::fused}},
             JOB(model.kernels))
      .in_bench({"step", "scaling"})
      .of_training();
}

}  // namespace

void add_machine(std::vector<Option>& table) {
  const char* const group = "Where it runs";
  add(table, group,
      {text_choice("device", kRanks | kBench | kCommon,
                   "Device; auto: a GPU if shoal can use one, else the CPU",
                   {"auto", "cpu", "cuda"}, JOB(device))
           .in_bench({"step", "scaling"}),
       text_choice("backend", kRanks,
                   "Communication backend; auto: nccl for GPUs, gloo for CPUs and for processes "
                   "that share a GPU",
                   {"auto", "nccl", "gloo"}, JOB(backend)),
       kernels_row(),
       row("deterministic", kTrain | kBench, "",
           "On a GPU, use only algorithms that give the same bits in every run, which may be "
           "slower; on the CPU, all runs give the same bits",
           JOB(deterministic))
           .in_bench({"step", "scaling"})
           .of_training(),
       nproc_row(),
       row("rendezvous-timeout", kRanks, "SECONDS",
           "Time limit for all processes to connect; when it expires, an error names the missing "
           "host",
           JOB(rendezvous_timeout))
           .within(1, kMaxSeconds),
       text_choice(
           "health-check", kTrain,
           "Test hosts and network before training: off, quick (transfers a few MB) or full "
           "(transfers 16 times as much)",
           {"off", "quick", "full"}, JOB(health_check))
           .off_is("off"),
       row("collective-timeout", kRanks, "SECONDS",
           "Stop the run if a collective operation takes longer than SECONDS, or if an input pipe "
           "delivers no data for SECONDS",
           JOB(collective_timeout))
           .within(1, kMaxSeconds),
       row("stall-warning", kRanks, "SECONDS",
           "Time without progress after which a warning names the late processes and what they are "
           "doing; 0: never",
           JOB(stall_warning))
           .within(0, kMaxSeconds)
           .off_is("0"),
       row("lost-host-timeout", kRanks, "SECONDS",
           "Time within which the run ends after a process or host stops answering; after half of "
           "this time, the process counts as lost and rank 0 saves a checkpoint (train); 0: never",
           JOB(lost_host_timeout))
           .within(0, kMaxSeconds)
           .off_is("0"),
       row("stop-timeout", kTrain, "SECONDS",
           "Time limit for a stop by SIGTERM, SIGHUP or SIGINT; if the run still waits for storage "
           "or other processes after half of this time, rank 0 saves a checkpoint without waiting",
           JOB(stop_timeout))
           .within(1, kMaxSeconds)});
  add_hosts(table, group);
}

}  // namespace shoal::app
