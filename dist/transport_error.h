#pragma once
// Messages of errors that c10d, Gloo and NCCL throw.

#include <exception>
#include <string>

namespace shoal::dist {

// Returns the first line of the error's message, without C++ backtrace, leading source position,
// list of keys (one per rank) and final period: "Connection closed by peer".
std::string transport_message(const std::exception& error);

}  // namespace shoal::dist
