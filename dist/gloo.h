#pragma once
// Makes Gloo backends. For the files of this folder.

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <string>
#include <vector>

#include "dist/env/env.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace shoal::dist {

// Where this rank listens for its peers: at interfaces, or at one address.
struct GlooAddress {
  std::vector<std::string> interfaces;  // empty: use `address`
  std::string address;

  std::string text() const;  // for messages
};

// env.interface when given (a name, or like NCCL's a prefix of names); loopback when all ranks are
// on this host; else the address from which this host reaches the master. Throws
// std::invalid_argument for an interface that is not there.
GlooAddress gloo_address(const Env& env);

// Connects this rank with all others of the store. Collective. `connect_timeout` bounds that,
// `timeout` every collective.
c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                            int size, const GlooAddress& address,
                                            std::chrono::milliseconds connect_timeout,
                                            std::chrono::milliseconds timeout);

}  // namespace shoal::dist
