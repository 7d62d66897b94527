#include "probes/sources/tool_output.h"

#include <algorithm>
#include <limits>

#include "core/json.h"

namespace plumbline {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out = parts_of(text, '\n');
  for (std::string_view& line : out) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string joined(const std::vector<std::string_view>& words, size_t first) {
  std::string out;
  for (size_t i = first; i < words.size(); ++i) out.append(i > first ? " " : "").append(words[i]);
  return out;
}

void add_once(std::vector<std::string>& list, std::string_view text, size_t most) {
  const bool known = std::find(list.begin(), list.end(), text) != list.end();
  if (!known && list.size() < most) list.emplace_back(text);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  size_t at = 0;
  while (true) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) return out;
    const size_t end = std::min(line.find_first_of(" \t", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
}

std::vector<std::pair<std::string_view, std::string_view>> file_lines(std::string_view text) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const std::string_view line : lines_of(text)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    out.emplace_back(line.substr(0, colon), line.substr(colon + 1));
  }
  return out;
}

std::string first_line(std::string_view text) {
  constexpr size_t kLongest = 200;
  for (const std::string_view line : lines_of(text)) {
    std::string out;
    for (const char c : line.substr(0, kLongest)) {
      const auto byte = static_cast<unsigned char>(c);
      out += byte < 0x20 || byte == 0x7f ? ' ' : c;
    }
    if (out.find_first_not_of(' ') != std::string::npos) return out;
  }
  return {};
}

std::string_view word_after(const std::vector<std::string_view>& words, std::string_view key) {
  const auto it = std::find(words.begin(), words.end(), key);
  return it == words.end() || it + 1 == words.end() ? std::string_view() : *(it + 1);
}

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
