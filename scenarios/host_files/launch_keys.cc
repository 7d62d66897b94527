// The keys that MLX's host files and our own share: which backend, and what its ranks find in their
// environment.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/json.h"
#include "scenarios/host_files/formats.h"

namespace plumbline {
namespace {

bool is_variable_name(const std::string& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return c < 0x80 && (std::isalnum(c) != 0 || c == '_');
         });
}

}  // namespace

// "NAME=value". The value may be a secret and never stands in a message.
void read_envs(const Json& list, HostFile& out, Problems& problems) {
  if (!list.is_array()) {
    problems.add("$.envs", "is no list", "write it as [\"NAME=value\", ...]");
    return;
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string text = list[i].is_string() ? list[i].get<std::string>() : "";
    const size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals);
    const std::string value = equals < text.size() ? text.substr(equals + 1) : "";
    const bool printable = std::none_of(value.begin(), value.end(),
                                        [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (!is_variable_name(name) || !printable) {
      problems.add(
          json_path("$.envs", i), "is no \"NAME=value\"",
          "a name has letters, digits and _, and begins with no digit; a value is one line");
      continue;
    }
    const bool known = std::any_of(out.envs.begin(), out.envs.end(),
                                   [&name](const auto& env) { return env.first == name; });
    if (known) {
      problems.add(json_path("$.envs", i), fmt::format("sets {} a second time", in_quotes(name)),
                   "keep one of them");
    }
    out.envs.emplace_back(name, value);
  }
}

void read_backend(const Json& text, HostFile& out, Problems& problems) {
  if (text.is_string()) {
    out.backend = text.get<std::string>();
  } else {
    problems.add("$.backend", "is no text", "write \"ring\", \"jaccl\" or \"jaccl-ring\"");
  }
}

Json envs_json(const HostFile& file) {
  Json envs = Json::array();
  for (const auto& [name, value] : file.envs) envs.push_back(name + "=" + value);
  return envs;
}

}  // namespace plumbline
