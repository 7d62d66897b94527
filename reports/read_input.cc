#include "reports/read_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "core/record/record.h"
#include "core/shell_words.h"
#include "core/text.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostStateBytes = 64 << 10;

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

Status read_report_input(const std::vector<std::string>& paths, ReportInput& input,
                         const Assumptions& assume, const RecordSet::Limits& limits) {
  SoakCollector soaks;
  RecordSet set(limits);
  for (const std::string& path : paths) {
    std::string start;  // of the standard input, which cannot be read twice
    Expected<std::optional<ImportResult>> imported =
        path == "-" ? import_from(STDIN_FILENO, "standard input", assume, start)
                    : import_file(path, assume);
    if (!imported) return fail(imported.error());
    if (*imported) {
      for (const Record& record : (*imported)->records) set.take(record);
      const std::vector<std::string>& notes = (*imported)->notes;
      input.notes.insert(input.notes.end(), notes.begin(), notes.end());
      continue;
    }
    const auto take = [&](const Record& record) {
      if (!soaks.take(record)) {
        set.take(record);
      } else if (record.soak->idle_ns == 0) {
        set.take_round(record);
      }
    };
    const Status read = path == "-" ? for_each_piped_record(start, &input.notes, take)
                                    : for_each_record(path, &input.notes, take);
    if (!read) return read;
    if (path == "-") continue;
    const std::string events = (fs::path(path).parent_path() / kEventsFile).string();
    std::error_code code;
    if (!fs::exists(events, code)) continue;
    const Status seen = for_each_event(events, [&](SoakEvent event) { soaks.take(event); });
    if (!seen) input.notes.push_back(seen.error().message());
  }
  for (SoakRun& run : soaks.finish()) {
    if (run.rounds > 1) {
      input.notes.push_back(fmt::format(
          "run {} is a soak of {} rounds: the tables show the last one", run.run_id, run.rounds));
    }
    input.soaks.push_back(std::move(run));
  }
  const std::vector<std::string> notes = set.notes();
  input.notes.insert(input.notes.end(), notes.begin(), notes.end());
  if (set.merged()) input.merged_files.insert(input.merged_files.end(), paths.begin(), paths.end());
  std::vector<Record> records = set.release();
  input.records.insert(input.records.end(), std::make_move_iterator(records.begin()),
                       std::make_move_iterator(records.end()));
  return {};
}

Status keep_run_state(const std::string& folder, const RunState& state) {
  const nlohmann::json json = {{"state", state.state},
                               {"reason", state.reason},
                               {"planned", state.planned},
                               {"measured", state.measured}};
  return replace_text_file((fs::path(folder) / kRunStateFile).string(),
                           printable_json(json_text(json)));
}

Expected<RunState> read_run_state(const std::string& folder) {
  RunState state;
  state.state = "finished";
  const fs::path path = fs::path(folder) / kRunStateFile;
  std::error_code code;
  if (!fs::is_regular_file(path, code)) return state;
  const Expected<std::string> text = read_input_file(path.string(), kMostStateBytes);
  if (!text)
    return fail(ErrorCode::kConfig, path.string() + ": left out: " + text.error().message());
  try {
    const nlohmann::json json = nlohmann::json::parse(*text);
    state.state = json.at("state").get<std::string>();
    state.reason = json.value("reason", "");
    state.planned = json.value("planned", size_t{0});
    state.measured = json.value("measured", size_t{0});
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorCode::kConfig, path.string() + ": left out: " + json_trouble(error));
  }
  return state;
}

std::string incomplete_text(const RunState& state, const std::string& folder) {
  if (state.state == "finished") return {};
  const std::string cells = state.planned == 1 ? "cell" : "cells";
  std::string text;
  if (state.state == "running") {
    text = "the run did not end: it is still running, or was killed";
    if (state.planned > 0) text += fmt::format("; {} {} were planned", state.planned, cells);
  } else {
    text = state.planned > 0 ? fmt::format("{} after {} of {} {}", clean(state.state),
                                           state.measured, state.planned, cells)
                             : clean(state.state) + " before its end";
    if (!state.reason.empty()) text += ": " + clean(state.reason);
  }
  if (state.planned == 0) return text;
  return text + "; the same command with --resume --out " + shell_word(folder) +
         " measures the rest";
}

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
