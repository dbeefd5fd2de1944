#pragma once
// The part of Classifier that all networks share.

#include <utility>

#include "models/builder.h"
#include "models/model.h"

namespace shoal::models {

class Network : public Classifier {
 public:
  void train(bool on) override { training_ = on; }
  std::vector<ParameterSlot> parameters() override { return parameters_; }
  std::vector<BatchNormSlot> batch_norms() override { return batch_norms_; }
  const ModelInfo& info() const override { return info_; }

 protected:
  // Takes the slots and counts from the builder and completes `info` with them. The last two
  // parameters must be the classifier's weight and bias.
  void finish(Builder& builder, const ModelOptions& options, ModelInfo info) {
    parameters_ = std::move(builder.parameters);
    batch_norms_ = std::move(builder.batch_norms);
    info_ = std::move(info);
    info_.classes = options.classes;
    info_.classifier = parameters_[parameters_.size() - 2].name;
    info_.parameters = builder.parameter_count();
    info_.multiply_adds = builder.multiply_adds();
  }

  bool training_ = true;

 private:
  std::vector<ParameterSlot> parameters_;
  std::vector<BatchNormSlot> batch_norms_;
  ModelInfo info_;
};

}  // namespace shoal::models
