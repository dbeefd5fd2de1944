#pragma once
// One pipe for several processes of a host: the first one reads it and hands the others their
// images, in turns, through pipes of their own in a folder that they share.

#include <cstdint>
#include <memory>
#include <string>

#include "data/stream/pipe_source.h"
#include "data/stream/record_stream.h"

namespace shoal::data {

// Of the first process: gives its own images out of `stream`, and hands image k to process
// (k + 1) % count, so that all have as many when the first has one more. Makes `folder`/`epoch`_1 …
// and takes each away when its reader has it open. A process that stops reading is passed over. A
// process that takes no images keeps the others waiting: their lead is what they keep ready.
// Throws what `stream` throws, std::runtime_error where a process does not come within the
// patience.
std::unique_ptr<RecordStream> open_relay(std::unique_ptr<RecordStream> stream,
                                         const StreamRelay& relay, int64_t epoch,
                                         std::shared_ptr<Interrupt> interrupt,
                                         const PipePatience& patience);

// Of the other ones: what the first hands to process relay.place. Throws std::invalid_argument
// where that ends before it has said so.
std::unique_ptr<RecordStream> open_relayed(const StreamRelay& relay, int64_t epoch,
                                           std::shared_ptr<Interrupt> interrupt,
                                           const PipePatience& patience);

}  // namespace shoal::data
