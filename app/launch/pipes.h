#pragma once
// Assigns pipes to processes: each pipe has exactly one reader. Pure. Torch-free.

#include <cstdint>
#include <string>

#include "dist/env/env.h"

namespace shoal::app {

// The pipe that a process opens, and its share: of each `count` images, the one at `index`.
struct PipeShare {
  std::string source;  // "pipe:" alone: this process reads no pipe
  int64_t index = 0, count = 1;
  // The host's first process reads the pipe for all processes of the host (data/stream/relay.h).
  bool relayed = false;
  bool operator==(const PipeShare&) const = default;
};

struct PipeUse {
  std::string option;     // the option that gave the source, "--train"; for messages
  bool training = false;  // else evaluation, which counts every image once
  bool sharded = false;   // each host's pipes carry different images
};

// `source`: "pipe:PATH" (data/stream/pipes.h). {0..N-1} in PATH stands for N pipes with one reader
// each; N must be the number of processes per host or in the whole job. A single pipe serves its
// host: in training the first process reads it for all, in evaluation rank 0 reads it (sharded: the
// first process of each host). If the pipes of several hosts carry the same images, the hosts take
// turns. Throws UserError if N does not fit.
PipeShare pipe_share(const std::string& source, const PipeUse& use, const dist::Env& env);

}  // namespace shoal::app
