#pragma once
// How a platform reads our metric lines: name and regular expression of every metric, first group =
// the value.
//
// The expressions stay within what Python, Java, JavaScript and RE2 agree on, are not anchored
// (launchers put prefixes in front of lines), and each matches one kind of line only, so no value
// is counted twice. SageMaker allows 40 definitions of 500 characters each.

#include <string>
#include <vector>

namespace shoal::app {

struct MetricDefinition {
  std::string name;
  std::string regex;
};

// key=value lines first ("train:loss=…;", "valid:acc1=…;"), then the dialect of PyTorch's imagenet
// example.
const std::vector<MetricDefinition>& metric_definitions();

// [{"Name": …, "Regex": …}, …] as CreateTrainingJob's MetricDefinitions takes it.
std::string metric_definitions_json();

}  // namespace shoal::app
