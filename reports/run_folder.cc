#include "reports/run_folder.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "core/input_file.h"
#include "core/json.h"
#include "core/json_trouble.h"
#include "core/printable.h"
#include "reports/run_state.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = 64 << 20;         // of doctor.json: a thousand hosts
constexpr uintmax_t kMostScenarioBytes = 4 << 20;  // scenarios are pages of text

// Nothing where there is no such file; a note where it cannot be read.
std::optional<std::string> text_of(const fs::path& path, uintmax_t most, ReportInput& input) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const Expected<std::string> text = read_input_file(path.string(), most);
  if (text) return *text;
  input.notes.push_back(path.string() + ": left out: " + text.error().message());
  return std::nullopt;
}

// Reads one JSON file with a function that may throw nlohmann's exceptions.
template <typename Take>
void read_json(const fs::path& path, ReportInput& input, const Take& take) {
  const auto text = text_of(path, kMostBytes, input);
  if (!text) return;
  try {
    take(nlohmann::json::parse(*text));
  } catch (const nlohmann::json::exception& error) {
    input.notes.push_back(path.string() + ": left out: " + json_trouble(error));
  }
}

void take_doctor(const nlohmann::json& json, ReportInput& input) {
  // All or nothing: half of a diagnosis would be a wrong one.
  auto checks = json.at("checks").get<std::vector<Check>>();
  auto findings = json.at("findings").get<std::vector<Finding>>();
  std::move(checks.begin(), checks.end(), std::back_inserter(input.checks));
  std::move(findings.begin(), findings.end(), std::back_inserter(input.findings));
}

void take_checklist(const nlohmann::json& json, ReportInput& input) {
  std::vector<ChecklistItem> items;
  for (const nlohmann::json& each : json.get_ref<const nlohmann::json::array_t&>()) {
    items.push_back({each.at("item").get<std::string>(),
                     each.at("probes").get<std::vector<std::string>>(),
                     each.at("cells").get<std::set<std::string>>()});
  }
  std::move(items.begin(), items.end(), std::back_inserter(input.checklist));
}

}  // namespace

void read_run_folder(const std::string& folder, ReportInput& input) {
  const fs::path path = folder;
  read_json(path / kDoctorFile, input,
            [&](const nlohmann::json& json) { take_doctor(json, input); });
  read_json(path / kChecklistFile, input,
            [&](const nlohmann::json& json) { take_checklist(json, input); });
  const Expected<RunState> state = read_run_state(folder);
  if (!state) {
    input.notes.push_back(state.error().message());
  } else if (const std::string text = incomplete_text(*state, folder); !text.empty()) {
    input.incomplete.push_back(text);
  }
  if (!input.scenario_text.empty()) return;
  input.scenario_text = text_of(path / kScenarioFile, kMostScenarioBytes, input).value_or("");
}

std::string checklist_json(const std::vector<ChecklistItem>& checklist) {
  nlohmann::json list = nlohmann::json::array();
  for (const ChecklistItem& item : checklist) {
    list.push_back({{"item", item.item}, {"probes", item.probes}, {"cells", item.cells}});
  }
  return printable_json(json_text(list, 2));
}

}  // namespace plumbline
