#include "probes/sources/json_read.h"

#include <limits>

#include "core/json.h"

namespace plumbline {

Expected<nlohmann::json> parse_json_array(const std::string& text, const char* tool) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return nlohmann::json::array();
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) {
    return fail(ErrorCode::kProtocol, std::string("what '") + tool +
                                          "' printed is not the JSON that is known here (an older "
                                          "version, or cut short)");
  }
  return json;
}

const nlohmann::json& part_at(const nlohmann::json& object, const char* key) {
  static const nlohmann::json kNothing;
  if (!object.is_object()) return kNothing;
  const auto it = object.find(key);
  return it == object.end() ? kNothing : *it;
}

std::string text_at(const nlohmann::json& object, const char* key) {
  const nlohmann::json& part = part_at(object, key);
  return part.is_string() ? part.get<std::string>() : std::string();
}

std::optional<int64_t> number_at(const nlohmann::json& object, const char* key) {
  const nlohmann::json& part = part_at(object, key);
  if (part.is_number_unsigned()) {
    const auto value = part.get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(value);
  }
  if (part.is_number_integer()) return part.get<int64_t>();
  return std::nullopt;
}

bool flag_at(const nlohmann::json& object, const char* key) {
  const nlohmann::json& part = part_at(object, key);
  if (part.is_boolean()) return part.get<bool>();
  return part.is_null() && object.is_object() && object.contains(key);
}

}  // namespace plumbline
