#pragma once
// The metrics that SageMaker parses from a training log. Each has a name and a regular expression
// whose first group is the value.
//
// The expressions use only syntax common to Python, Java, JavaScript and RE2. They begin at the
// start of a line, after a launcher's prefix if there is one, so that a message that quotes a file
// name cannot match. Each matches one kind of line, so no value counts twice.
// SageMaker allows 40 definitions of 500 characters each.

#include <string>
#include <vector>

namespace shoal::app {

struct MetricDefinition {
  std::string name;
  std::string regex;
};

// Returns the metrics of key=value lines ("train:loss=…;", "valid:acc1=…;"), then those of lines in
// the format of PyTorch's imagenet example.
const std::vector<MetricDefinition>& metric_definitions();

// Returns the metrics as JSON: [{"Name": …, "Regex": …}, …]. SageMaker's API call CreateTrainingJob
// expects this form in its field MetricDefinitions.
std::string metric_definitions_json();

}  // namespace shoal::app
