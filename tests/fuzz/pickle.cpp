// Fuzzes the reader of Python pickles.
#include "train/weights/formats/pickle.h"

#include <cstdint>
#include <stdexcept>

using namespace shoal::train;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const Pickle pickle(reinterpret_cast<const char*>(data), size);
    if (pickle.bytes() > size) __builtin_trap();
    pickle.root().find("model");
    for (const PickleValue& value : pickle.values())
      for (const PickleValue* item : value.items)
        if (item->kind > PickleValue::Kind::persistent) __builtin_trap();
  } catch (const std::runtime_error&) {
  }
  return 0;
}
