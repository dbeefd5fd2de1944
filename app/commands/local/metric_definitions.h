#pragma once
// The metrics that a platform parses from a training log: name and regular expression, whose first
// group is the value.
//
// The expressions use only syntax common to Python, Java, JavaScript and RE2. They begin at the start
// of a line, after the prefix of a launcher if there is one: a message that quotes a file name cannot
// match. Each matches one kind of line, so no value is counted twice.
// SageMaker allows 40 definitions of 500 characters each.

#include <string>
#include <vector>

namespace shoal::app {

struct MetricDefinition {
  std::string name;
  std::string regex;
};

// First the key=value lines ("train:loss=…;", "valid:acc1=…;"), then the lines in the format of
// PyTorch's imagenet example.
const std::vector<MetricDefinition>& metric_definitions();

// [{"Name": …, "Regex": …}, …] as CreateTrainingJob's MetricDefinitions takes it.
std::string metric_definitions_json();

}  // namespace shoal::app
