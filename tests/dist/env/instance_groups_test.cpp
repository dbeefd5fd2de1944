#include "dist/env/instance_groups.h"

#include <catch2/catch.hpp>

using namespace shoal::dist;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kDict =
    R"({"data":{"hosts":["algo-3"],"instance_group_name":"data","instance_type":"ml.c5.2xlarge"},)"
    R"("gpu":{"hosts":["algo-2","algo-1"],"instance_group_name":"gpu","instance_type":"ml.p4d"}})";
constexpr const char* kResource =
    R"({"current_host":"algo-1","hosts":["algo-1","algo-2","algo-3"],"instance_groups":[)"
    R"({"instance_group_name":"gpu","instance_type":"ml.p4d","hosts":["algo-2","algo-1"]},)"
    R"({"instance_group_name":"data","instance_type":"ml.c5.2xlarge","hosts":["algo-3"]}]})";

Hosts three(const std::string& current) {
  Hosts hosts;
  hosts.hosts = {"algo-1", "algo-2", "algo-3"};
  hosts.current_host = current;
  return hosts;
}

}  // namespace

TEST_CASE("instance groups are read from the toolkit's variables or the platform's file") {
  const auto from_dict = instance_groups({{"SM_INSTANCE_GROUPS_DICT", kDict}});
  CHECK(from_dict == instance_groups({{"SM_RESOURCE_CONFIG", kResource}}));
  CHECK(from_dict.at("gpu") == std::vector<std::string>{"algo-1", "algo-2"});
  CHECK(instance_groups({}).empty());
  CHECK(instance_groups({{"SM_RESOURCE_CONFIG", R"({"hosts":["algo-1"]})"}}).empty());
  for (const char* bad : {"[1]", "x", R"({"gpu":1})", R"({"gpu":{"hosts":[]}})"})
    CHECK_THROWS_WITH(instance_groups({{"SM_INSTANCE_GROUPS_DICT", bad}}),
                      Contains("SM_INSTANCE_GROUPS_DICT"));
  CHECK_THROWS_WITH(instance_groups({{"SM_RESOURCE_CONFIG", R"({"instance_groups":[{}]})"}}),
                    Contains("instance_group_name"));
}

TEST_CASE("only the hosts of the requested groups take part") {
  const auto groups = instance_groups({{"SM_INSTANCE_GROUPS_DICT", kDict}});
  Hosts hosts = three("algo-2");
  CHECK(keep_groups(hosts, groups, {"gpu"}));
  CHECK(hosts.hosts == std::vector<std::string>{"algo-1", "algo-2"});
  CHECK(for_worker(hosts, 0).rank == 1);
  CHECK(for_worker(hosts, 0).world_size == 2);
  Hosts other = three("algo-3");
  CHECK_FALSE(keep_groups(other, groups, {"gpu"}));
  Hosts all = three("algo-3");
  CHECK(keep_groups(all, groups, {"gpu", "data"}));
  CHECK(all.hosts.size() == 3);
  CHECK_THROWS_WITH(keep_groups(all, groups, {"cpu"}),
                    Contains("no instance group cpu") && Contains("data, gpu"));
}

TEST_CASE("a job with several groups must select one") {
  const auto groups = instance_groups({{"SM_INSTANCE_GROUPS_DICT", kDict}});
  Hosts hosts = three("algo-1");
  CHECK_THROWS_WITH(keep_groups(hosts, groups, {}), Contains("--instance-group"));
  CHECK(keep_groups(hosts, {{"homogeneousCluster", {"algo-1"}}}, {}));
  CHECK(keep_groups(hosts, {}, {}));
  CHECK(hosts.hosts.size() == 3);
  CHECK(requested_groups({{"SM_DISTRIBUTION_INSTANCE_GROUPS", R"(["gpu"])"}}) ==
        std::vector<std::string>{"gpu"});
  CHECK(requested_groups({{"SM_DISTRIBUTION_INSTANCE_GROUPS", "[]"}}).empty());
  CHECK(requested_groups({}).empty());
}
