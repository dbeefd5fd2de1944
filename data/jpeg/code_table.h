#pragma once
// From a Huffman table as the file has it to one for look-ups.

#include "data/jpeg/header.h"
#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {

// Keeps what it was built from: many files in a row have the same tables.
class CodeTableBuilder {
 public:
  explicit CodeTableBuilder(bool dc) : dc_(dc) {}

  const CodeTable& build(const HuffmanSpec& spec);

 private:
  void add(int length, uint32_t code, uint8_t symbol);

  bool dc_;
  HuffmanSpec spec_;
  CodeTable table_{};
};

}  // namespace shoal::data::jpeg
