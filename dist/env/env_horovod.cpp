// Reads the variables of horovodrun over Gloo. Over MPI, horovodrun uses mpirun, whose variables
// take precedence. shoal uses only Horovod's launcher, not Horovod itself.

#include "dist/env/variables.h"

namespace shoal::dist {

Launched read_horovod(const Variables& variables) {
  constexpr RankNames kNames = {"HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK",
                                "HOROVOD_LOCAL_SIZE"};
  Launched found;
  Reader reader(variables, kNames, "start with horovodrun", "Horovod", found);
  // Horovod's driver already uses the rendezvous port, which differs between jobs. shoal derives
  // another port from its number.
  if (reader.master(found.env, value_of(variables, "HOROVOD_GLOO_RENDEZVOUS_ADDR"),
                    port_from(value_of(variables, "HOROVOD_GLOO_RENDEZVOUS_PORT")),
                    "set it to the host of rank 0, the first of horovodrun's list")) {
    found.master_variable = "HOROVOD_GLOO_RENDEZVOUS_ADDR";
    reader.find(found.master_variable);
  }
  reader.interface(found.env);
  if (found.env.interface.empty())
    if (const std::string* interface = reader.find("HOROVOD_GLOO_IFACE"))
      found.env.interface = interface->substr(0, interface->find(','));
  found.variables = reader.used();
  return found;
}

}  // namespace shoal::dist
