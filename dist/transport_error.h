#pragma once
// Messages of errors that c10d, Gloo and NCCL throw.

#include <exception>
#include <string>

namespace shoal::dist {

// Returns the first line of the error's message, such as "Connection closed by peer". Leaves out
// the C++ backtrace, a leading source position, a list of store keys and the final period.
std::string transport_message(const std::exception& error);

}  // namespace shoal::dist
