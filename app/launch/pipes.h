#pragma once
// Assigns pipes of images ("pipe:PATH", such as SageMaker's input mode Pipe) to processes, so that
// each pipe has exactly one reader. Does no I/O and does not use LibTorch.

#include <cstdint>
#include <string>

#include "dist/env/env.h"

namespace shoal::app {

// The pipe that a process opens, and which of its images are used.
struct PipeShare {
  std::string source;            // just "pipe:": this process reads no pipe
  int64_t index = 0, count = 1;  // the images index, index + count, ... are used
  // Whether the host's first process reads the pipe for all processes of the host
  // (data/stream/relay.h).
  bool relayed = false;
  bool operator==(const PipeShare&) const = default;
};

struct PipeUse {
  std::string option;     // the option that gives the source, "--train"; for messages
  bool training = false;  // false: evaluation, which must read every image exactly once
  bool sharded = false;   // whether the pipes of different hosts deliver different images
};

// Returns the pipe and the images that this process uses. `source`: "pipe:PATH"
// (data/sources/pipes.h).
//
// {0..N-1} in PATH denotes N pipes with one reader each. N must be the number of processes per host
// or in the whole job; otherwise throws UserError. A PATH without braces is one pipe per host. In
// training, the first process of a host reads it for all processes of the host. In evaluation, only
// rank 0 reads it or, with `sharded`, the first process of each host. If the pipes of all hosts
// deliver the same images, host h of H uses the images h, h + H, ...
PipeShare pipe_share(const std::string& source, const PipeUse& use, const dist::Env& env);

}  // namespace shoal::app
