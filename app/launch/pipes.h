#pragma once
// Which pipe a process reads: one pipe has one reader. Pure. Torch-free.

#include <cstdint>
#include <string>

#include "dist/env/env.h"

namespace shoal::app {

// What this process opens, and which of its images are its own: number index of each count.
struct PipeShare {
  std::string source;  // "pipe:" alone: this process reads nothing
  int64_t index = 0, count = 1;
  // The processes of this host share the pipe: the first reads it for all (data/stream/relay.h).
  bool relayed = false;
  bool operator==(const PipeShare&) const = default;
};

struct PipeUse {
  std::string option;     // that names it, "--train"; for messages
  bool training = false;  // else evaluation, where every image counts once
  bool sharded = false;   // each host's pipes bring images of their own
};

// `source`: "pipe:PATH" (data/stream/pipes.h). With {0..N-1} in it these are N pipes, each for one
// process: N is the number of processes on a host, or of all. One pipe is for the processes
// of its host, the first of which reads it for all; in evaluation for rank 0, or for the first of
// each host where they are sharded. Where several hosts' pipes bring the same, the hosts take turns
// in its images. Throws UserError where numbers do not fit.
PipeShare pipe_share(const std::string& source, const PipeUse& use, const dist::Env& env);

}  // namespace shoal::app
