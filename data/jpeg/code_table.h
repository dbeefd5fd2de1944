#pragma once
// Builds look-up tables from the Huffman tables of a file.

#include "data/jpeg/header.h"
#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {

// Keeps the last table, because consecutive files often have the same Huffman table.
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
