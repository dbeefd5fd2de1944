#pragma once
// Creates Gloo backends. Private to dist/.

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

// Where this rank listens for connections from other ranks: on interfaces, or on one address.
struct GlooAddress {
  std::vector<std::string> interfaces;  // empty: use `address`
  std::string address;

  std::string text() const;  // for messages
};

// Returns the interfaces in env.interface if it is set (names or, as in NCCL, prefixes of names);
// otherwise own_address() (network.h). Throws std::invalid_argument if an interface does not exist.
// Ignores an interface that SageMaker names but that does not exist, as in its local mode. Throws
// std::runtime_error if own_address() does.
GlooAddress gloo_address(const Env& env);

// Connects this rank with the `size` ranks that use `store`. Collective. `connect_timeout` limits
// the time to connect, `timeout` the time of each later collective.
c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                            int size, const GlooAddress& address,
                                            std::chrono::milliseconds connect_timeout,
                                            std::chrono::milliseconds timeout);

}  // namespace shoal::dist
