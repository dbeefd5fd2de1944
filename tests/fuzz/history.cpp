// Fuzzes the history of a run, as the table of epochs and `shoal report` read it.
#include "app/report/history.h"

#include <cstdint>

#include "tests/fuzz/support/memory_file.h"
#include "tests/support/temporary_directory.h"
#include "train/report/epochs/run_history.h"
#include "train/report/history_file.h"
#include "train/report/sinks.h"

using namespace shoal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const test::TemporaryDirectory folder;
  static const fuzz::MemoryFile history(folder.path() / train::kHistoryFile);
  static const fuzz::MemoryFile events(folder.path() / train::kEventsFile);
  const std::string text(reinterpret_cast<const char*>(data), size);
  train::epoch_table_text(train::read_history(text).epochs);
  history.fill(text);
  events.fill(size % 2 == 0 ? text : "");  // with and without rows of events
  std::vector<std::string> notes;
  app::read_history(folder.path(), notes)
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return 0;
}
