#include "app/platform/platform_json.h"

#include <set>

#include "base/error.h"
#include "base/json.h"

namespace shoal::app {

nlohmann::json parse_platform_json(const std::string& path, const std::string& text) {
  if (nests_too_deep(text))
    throw UserError(path + " nests lists or objects more than " + std::to_string(kMaxJsonLevels) +
                    " levels deep; fix it");
  std::string where;
  std::set<std::string> names;
  const auto once = [&](int depth, nlohmann::json::parse_event_t event,
                        const nlohmann::json& name) {
    if (depth == 1 && event == nlohmann::json::parse_event_t::key &&
        !names.insert(name.get<std::string>()).second)
      throw UserError(path + " contains " + name.get<std::string>() + " twice; remove one");
    return true;
  };
  try {
    auto json = nlohmann::json::parse(text, once);
    if (json.is_object()) return json;
    where = std::string("it is of type ") + json.type_name();
  } catch (const nlohmann::json::parse_error& error) {
    where = text.empty()               ? "it is empty"
            : error.byte > text.size() ? "it ends too early"
                                       : "it is damaged at byte " + std::to_string(error.byte) +
                                             " of " + std::to_string(text.size());
  } catch (const nlohmann::json::out_of_range&) {
    where = "it contains a number that is too large";
  }
  throw UserError(path + " must be a JSON object, but " + where + "; correct it");
}

}  // namespace shoal::app
