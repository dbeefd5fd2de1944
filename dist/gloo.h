#pragma once
// Creates Gloo backends. For the files of this folder.

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

// Where this rank listens for its peers: on interfaces, or on one address.
struct GlooAddress {
  std::vector<std::string> interfaces;  // empty: use `address`
  std::string address;

  std::string text() const;  // for messages
};

// Returns env.interface if given (a name or, like NCCL, a prefix); loopback if all ranks run on
// this host; otherwise the address from which this host reaches the master. Throws
// std::invalid_argument if the interface does not exist.
GlooAddress gloo_address(const Env& env);

// Connects this rank with all others of the store. Collective. `connect_timeout` limits connecting,
// `timeout` each collective.
c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                            int size, const GlooAddress& address,
                                            std::chrono::milliseconds connect_timeout,
                                            std::chrono::milliseconds timeout);

}  // namespace shoal::dist
