#pragma once
// Builds the decoder's look-up tables (kernels.h) from the Huffman tables of a file.

#include "data/jpeg/header.h"
#include "data/jpeg/kernels.h"

namespace shoal::data::jpeg {

// Builds one table after another. Reuses the last one if the next file has the same Huffman table,
// which is common.
class CodeTableBuilder {
 public:
  explicit CodeTableBuilder(bool dc) : dc_(dc) {}

  // `spec` must have passed the checks of read_header(): with too many codes, this writes outside
  // the table. The result is valid until the next call.
  const CodeTable& build(const HuffmanSpec& spec);

 private:
  void add(int length, uint32_t code, uint8_t symbol);

  bool dc_;
  HuffmanSpec spec_;
  CodeTable table_{};
};

}  // namespace shoal::data::jpeg
