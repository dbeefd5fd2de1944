#pragma once
// A source of images for a loader: a Dataset (dataset.h), whose images can be read in any order, or
// a Stream (stream/stream.h), whose images can only be read one after the other.

#include <cstdint>
#include <string>
#include <vector>

namespace shoal::data {

enum class Access {
  random,      // a Dataset
  sequential,  // a Stream whose length is known
  pipe,        // a Stream whose length is not known until it has ended
};

// Immutable after construction. Thread-safe.
class Source {
 public:
  virtual ~Source() = default;
  virtual Access access() const = 0;
  // Number of images in an epoch, over all processes that read the source; 0 for Access::pipe.
  virtual int64_t size() const = 0;
  // Class names. A label is an index into them. Sorted, unless the user or a model gives the order.
  virtual const std::vector<std::string>& classes() const = 0;
};

}  // namespace shoal::data
