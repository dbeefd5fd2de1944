// Reads the variables of mpirun: OpenMPI's (also set by SageMaker's toolkits and smddprun) and
// those of the process managers of Intel MPI and MPICH. shoal uses only the launcher, not MPI
// itself.

#include "base/text.h"
#include "dist/env/variables.h"

namespace shoal::dist {

namespace {

// Extracts the address of mpirun's host from a URI such as
// "3021.0;tcp://10.0.0.5,172.17.0.1:41573;...". Returns the first address that is neither loopback
// nor Docker's bridge, or an empty string.
std::string address_of_mpirun(const std::string& uri) {
  const std::string scheme = "tcp://";
  const size_t start = uri.find(scheme);
  if (start == uri.npos) return "";
  const size_t first = start + scheme.size();
  const std::string list = uri.substr(first, uri.find_first_of(":;", first) - first);
  for (const std::string& address : split(list, ','))
    if (!address.starts_with("127.") && !address.starts_with("172.17.")) return address;
  return "";
}

}  // namespace

Launched read_open_mpi(const Variables& variables) {
  constexpr RankNames kNames = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
  Launched found;
  Reader reader(variables, kNames, "start with mpirun", "OpenMPI", found);
  const bool several_hosts = found.env.local_world_size < found.env.world_size;
  const std::string* uri = several_hosts ? find(variables, "OMPI_MCA_orte_hnp_uri") : nullptr;
  const std::string* job = find(variables, "PMIX_NAMESPACE");
  const bool sagemaker = find(variables, "SM_HOSTS") != nullptr;
  const uint16_t port = sagemaker || !job ? kDefaultPort : port_from(*job);
  if (reader.master(found.env, uri ? address_of_mpirun(*uri) : "", port,
                    "name the host of rank 0: mpirun -x MASTER_ADDR=HOST …")) {
    found.master_variable = "OMPI_MCA_orte_hnp_uri";
    reader.find(found.master_variable);
  }
  reader.interface(found.env);
  found.variables = reader.used();
  return found;
}

Launched read_pmi(const Variables& variables) {
  constexpr RankNames kNames = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
  Reader reader(
      variables,
      {kNames.rank, kNames.world_size, kNames.local_rank, kNames.local_world_size, "PMIX_RANK"},
      "start with the mpirun of OpenMPI, Intel MPI or MPICH, or with torchrun");
  Launched found;
  found.launcher = found.env.origin = "MPI (PMI)";
  reader.ranks(kNames, found.env);
  reader.master(found.env, "", kDefaultPort,
                "name the host of rank 0: mpirun -genv MASTER_ADDR HOST …");
  reader.interface(found.env);
  found.variables = reader.used();
  return found;
}

}  // namespace shoal::dist
