#pragma once
// A pickle of Python's, as values; for files of torch.save. Source: Python's pickletools.
//
// Nothing in it is executed: a call of a class or function becomes a value that says who was to be
// called with what. Torch-free.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace shoal::train {

struct PickleValue {
  enum class Kind {
    other,       // None, floats, bytes, large integers
    integer,     // and booleans
    text,        //
    name,        // of a class or function: "module name"
    sequence,    // list, tuple, set
    dict,        // items: key, value, key, value, …; an OrderedDict too
    call,        // text: whose; items: the arguments
    persistent,  // items: what a persistent id consists of
  };
  Kind kind = Kind::other;
  int64_t integer = 0;
  std::string text;
  std::vector<const PickleValue*> items;  // may lead back here

  // Of a dict: the value of a text key; null where there is none.
  const PickleValue* find(const std::string& key) const;
};

// Understands what protocols 2 to 5 write for dicts, lists, tensors and plain objects (whose
// attributes are passed over).
class Pickle {
 public:
  // Throws std::runtime_error when the bytes are no pickle, or end early.
  Pickle(const char* bytes, size_t size);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const { return *root_; }                 // lives as long as this
  const std::deque<PickleValue>& values() const { return values_; }  // all, in no special order
  size_t bytes() const { return bytes_; }                            // that it takes of those given

 private:
  class Machine;
  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace shoal::train
