// Where evidence enters the judgement, from agents, files and collect.sh alike: no string in it
// holds what could move a cursor, break a line or turn the direction of writing.
#include <array>

#include "core/json.h"
#include "core/printable.h"
#include "probes/evidence.h"

namespace plumbline {
namespace {

// Output of programs, which has lines and columns; kernel values, which have columns.
constexpr std::array<std::string_view, 5> kWithLines = {"out", "error", "agent_error", "why",
                                                        "sysctls"};

std::string_view kept_in(std::string_view key, std::string_view above) {
  for (const std::string_view known : kWithLines) {
    if (key == known || above == known) return "\n\t";
  }
  return "";
}

// True when something was replaced.
bool show_strings(nlohmann::json& json, std::string_view key, std::string_view above) {
  bool changed = false;
  if (json.is_string()) {
    auto& text = json.get_ref<std::string&>();
    std::string out = escaped(text, kept_in(key, above));
    changed = out != text;
    if (changed) text = std::move(out);
  } else if (json.is_array()) {
    for (nlohmann::json& each : json) changed = show_strings(each, key, above) || changed;
  } else if (json.is_object()) {
    nlohmann::json again = nlohmann::json::object();
    for (auto& [name, value] : json.items()) {
      changed = show_strings(value, name, key) || changed;
      std::string spelt = escaped(name);
      changed = changed || spelt != name;
      again[spelt] = std::move(value);
    }
    json = std::move(again);
  }
  return changed;
}

}  // namespace

EvidenceSet shown_evidence(EvidenceSet evidence) {
  nlohmann::json json = evidence;
  return show_strings(json, "", "") ? json.get<EvidenceSet>() : evidence;
}

}  // namespace plumbline
