#pragma once
// Converts exceptions of file parsers to messages for the user. Does not use LibTorch.

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "base/log.h"
#include "train/job/job.h"

namespace shoal::train {

// Returns the result of parse(). Converts exceptions: their messages begin with `where`, the file's
// name. KIND stands for `kind`, such as "a checkpoint of shoal".
//
//   parse() throws      parse_file() throws
//   UserError           UserError: where + " " + the text
//   std::runtime_error  std::runtime_error: where + " is not KIND: " + the text. shoal's parsers
//                       throw these
//   std::bad_alloc      std::bad_alloc, also for LibTorch's out-of-memory errors
//   others              std::runtime_error: where + " is not KIND, or it is damaged". LibTorch and
//                       the JSON parser throw these. Their text describes internals, so it is only
//                       logged at level debug
template <class Parse>
auto parse_file(const std::string& where, const std::string& kind, const Parse& parse) {
  const std::string sentence = where + " is not " + kind;
  try {
    return parse();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const UserError& error) {
    throw UserError(where + " " + error.what());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(sentence + ": " + error.what());
  } catch (const std::exception& error) {
    if (std::string(error.what()).find("can't allocate memory") != std::string::npos)
      throw std::bad_alloc();
    log::debug(where + ": " + error.what());
    throw std::runtime_error(sentence + ", or it is damaged");
  }
}

}  // namespace shoal::train
