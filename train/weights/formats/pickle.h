#pragma once
// Reads Python pickles as plain values, for files of torch.save. Source: Python's pickletools.
//
// Executes nothing: a call of a class or function becomes a value with the callee's name and the
// arguments. Does not use LibTorch.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace shoal::train {

struct PickleValue {
  enum class Kind {
    other,       // None, bytes, large integers
    integer,     // also booleans
    real,        // floats
    text,        // strings
    name,        // class or function: "module name"
    sequence,    // list, tuple, set
    dict,        // items: key, value, key, value, …; also OrderedDict
    call,        // text: the callee; items: the arguments
    persistent,  // items: the parts of a persistent id
  };
  Kind kind = Kind::other;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<const PickleValue*> items;  // not owned; may contain cycles

  // Returns the value of a text key in a dict; null if there is none.
  const PickleValue* find(const std::string& key) const;
};

// Memory limit for a pickle's values in bytes. A tensor needs about 2 kB, so checkpoints of the
// largest networks need about 10 MB.
constexpr size_t kPickleMemory = size_t{256} << 20;

// Supports dicts, lists, tensors and plain objects in pickle protocols 2 to 5. Attributes of
// objects are ignored.
class Pickle {
 public:
  // Throws std::runtime_error if the bytes are not a pickle, end early, or need more memory than
  // kPickleMemory.
  Pickle(const char* bytes, size_t size);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;

  const PickleValue& root() const { return *root_; }                 // owned by this object
  const std::deque<PickleValue>& values() const { return values_; }  // all values, unordered
  size_t bytes() const { return bytes_; }                            // length of the pickle

 private:
  class Machine;
  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace shoal::train
