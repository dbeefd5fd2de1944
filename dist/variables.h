#pragma once
// Reading values out of variables, with errors that name the variable. For the env*.cpp of this
// folder.

#include <string>

#include "dist/env.h"

namespace shoal::dist {

// More processes than any job has: a larger number is a mistake.
inline constexpr int kMostProcesses = 1 << 20;

[[noreturn]] void bad_variable(const std::string& sentence);  // std::invalid_argument

// Null when absent or empty.
const std::string* find(const Variables& variables, const std::string& name);

// The text of variable `name` as a whole number from lowest to highest.
int number(const std::string& name, const std::string& text, int lowest, int highest);

}  // namespace shoal::dist
