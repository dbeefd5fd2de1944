#pragma once
// Shares one pipe between the processes of a host: the first one reads it and passes images on to
// the others in turn, through one pipe per process in a shared folder.

#include <cstdint>
#include <memory>
#include <string>

#include "data/stream/pipe_source.h"
#include "data/stream/record_stream.h"

namespace shoal::data {

// For the first process: returns its own images of `stream` and sends image k to process
// (k + 1) % count, so that the counts of the processes differ by at most one. Creates the pipes
// `folder`/`epoch`_1 … and removes each as soon as its reader has opened it. Skips a process that
// has stopped reading. A process that is slow makes the others wait once they have used up the
// images that they keep ready. Throws what `stream` throws, and std::runtime_error if a process does
// not open its pipe in time.
std::unique_ptr<RecordStream> open_relay(std::unique_ptr<RecordStream> stream,
                                         const StreamRelay& relay, int64_t epoch,
                                         std::shared_ptr<Interrupt> interrupt,
                                         const PipePatience& patience);

// For the other processes: the images sent to process relay.place. Throws std::invalid_argument if
// the first process ends early.
std::unique_ptr<RecordStream> open_relayed(const StreamRelay& relay, int64_t epoch,
                                           std::shared_ptr<Interrupt> interrupt,
                                           const PipePatience& patience);

}  // namespace shoal::data
