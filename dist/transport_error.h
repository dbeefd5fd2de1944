#pragma once
// Messages of errors that c10d, Gloo and NCCL throw.

#include <exception>
#include <string>

namespace shoal::dist {

// Returns the first line of the error's message, such as "Connection closed by peer". Leaves out
// the C++ backtrace, a leading source position, a list of store keys and the final period.
std::string transport_message(const std::exception& error);

// Returns transport_message(), or an empty text if the error only says that a wait timed out.
// Callers that split a wait into pieces report the duration of the whole wait instead. Removes
// TCPStore's own count of attempts from the message.
std::string message_beyond_timeout(const std::exception& error);

}  // namespace shoal::dist
