#pragma once
// The edge at which files are parsed with the help of other libraries. Torch-free.

#include <exception>
#include <stdexcept>
#include <string>

#include "base/log.h"
#include "train/job.h"

namespace shoal::train {

// Returns parse(). What it throws becomes a sentence that begins with the file's name, `where`:
//
//   UserError           where + " " + its text
//   std::runtime_error  where + " is not KIND: " + its text; our own parsers throw it
//   others              where + " is not KIND, or it is damaged". LibTorch and JSON throw these:
//                       their text is about internals, so it goes to the debug log
template <class Parse>
auto parse_file(const std::string& where, const std::string& kind, const Parse& parse) {
  const std::string sentence = where + " is not " + kind;
  try {
    return parse();
  } catch (const UserError& error) {
    throw UserError(where + " " + error.what());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(sentence + ": " + error.what());
  } catch (const std::exception& error) {
    log::debug(where + ": " + error.what());
    throw std::runtime_error(sentence + ", or it is damaged");
  }
}

}  // namespace shoal::train
