#pragma once
// Minimal declarations for ProcessGroupGloo.hpp, which includes five gloo headers that LibTorch's
// wheel does not contain.
//
// Gloo itself is part of libtorch_cpu. ProcessGroupGloo and its options hold gloo's types only
// through shared_ptr, and the vtables of all these classes are in libtorch_cpu. So opaque
// declarations are safe as long as we never construct GlooStore, never call gloo directly and never
// define GLOO_STORE_HAS_STORE_V2 (ProcessGroupGloo.hpp would then override functions of gloo's
// Store that are not declared here). Only dist/gloo.cpp has this folder on its include path.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

namespace transport {
class Device;
struct UnboundBuffer {
  virtual ~UnboundBuffer();
};
}  // namespace transport

namespace rendezvous {
class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& data) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};
}  // namespace rendezvous

}  // namespace gloo
