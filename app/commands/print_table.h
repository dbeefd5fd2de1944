#pragma once
// Prints tables on stdout.

#include <string>
#include <vector>

#include "app/commands/printable_row.h"
#include "base/format/table.h"
#include "base/log.h"

namespace shoal::app {

// Prints table_lines(columns, rows), each as a printable_row().
inline void print_table(const std::vector<Column>& columns,
                        const std::vector<std::vector<std::string>>& rows) {
  for (const std::string& line : table_lines(columns, rows)) log::line(printable_row(line));
}

}  // namespace shoal::app
