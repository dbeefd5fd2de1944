#pragma once
// Shares one pipe between the processes of a host: the first process reads the pipe and passes
// images to all processes in turn, through one pipe per process in a shared folder.

#include <cstdint>
#include <memory>
#include <string>

#include "data/container/record_stream.h"
#include "data/stream/pipe_source.h"

namespace shoal::data {

// For the first process (place 0). Image k of `stream` goes to process (k + 1) % count: the result
// returns the images of process 0 and sends the others. So the counts of the processes differ by at
// most one. Creates the pipes FOLDER/EPOCH_1, FOLDER/EPOCH_2, … and removes each as soon as its
// reader has opened it. Drops the images of a process that has stopped reading. A slow process
// blocks the others once they have used up the images that they read ahead. The result's next()
// throws what `stream` throws, and std::runtime_error if a process does not open its pipe in time.
std::unique_ptr<RecordStream> open_relay(std::unique_ptr<RecordStream> stream,
                                         const StreamRelay& relay, int64_t epoch,
                                         std::shared_ptr<Interrupt> interrupt,
                                         const PipePatience& patience);

// For the other processes: returns the images sent to process relay.place. The result's next()
// throws std::invalid_argument if the first process ends early.
std::unique_ptr<RecordStream> open_relayed(const StreamRelay& relay, int64_t epoch,
                                           std::shared_ptr<Interrupt> interrupt,
                                           const PipePatience& patience);

}  // namespace shoal::data
