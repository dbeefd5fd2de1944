#include "data/records/record_payload.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "data/image/formats.h"

namespace shoal::data {
namespace {

struct MxnetHead {
  uint32_t flag = 0;
  float label = 0;
  uint64_t id = 0, id2 = 0;
};
static_assert(sizeof(MxnetHead) + sizeof(float) == kPayloadHead);

constexpr uint32_t kMaxLabels = 1u << 16;  // if flag >= kMaxLabels, the header is not MXNet's

}  // namespace

RecordPayload examine_payload(std::span<const uint8_t> head, uint64_t bytes, bool unlabeled) {
  RecordPayload payload;
  if (recognize(head) != Format::unknown) {
    payload.kind = RecordPayload::Kind::image;
    return payload;
  }
  MxnetHead mxnet;
  if (head.size() < sizeof mxnet) return payload;
  std::memcpy(&mxnet, head.data(), sizeof mxnet);
  if (mxnet.flag >= kMaxLabels) return payload;
  const uint32_t skip = sizeof mxnet + mxnet.flag * sizeof mxnet.label;
  if (bytes <= skip) return payload;
  if (mxnet.flag > 1 && !unlabeled)
    throw std::invalid_argument("has " + std::to_string(mxnet.flag) +
                                " labels; shoal trains on one label for each image");
  float label = mxnet.label;
  if (mxnet.flag == 1) std::memcpy(&label, head.data() + sizeof mxnet, sizeof label);
  payload.kind = RecordPayload::Kind::mxnet;
  payload.skip = skip;
  payload.id = mxnet.id;
  if (unlabeled) return payload;
  if (!std::isfinite(label) || label < 0 || label >= 1 << 24 || label != std::floor(label))
    throw std::invalid_argument("has the label " + std::to_string(label) +
                                "; it must be a whole number, 0 or more");
  payload.number = static_cast<int64_t>(label);
  return payload;
}

std::optional<LabelText> parse_wrapped_label(const std::string& text) {
  if (text.size() > kMaxWrappedLabel) return std::nullopt;
  auto label = parse_json_label(text);
  if (!label && text.find_first_of("{[\"") == std::string::npos) label = parse_label(text);
  return label;
}

}  // namespace shoal::data
