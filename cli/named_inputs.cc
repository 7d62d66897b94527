#include "cli/named_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/host/process_facts.h"
#include "core/json.h"
#include "core/text.h"
#include "reports/text.h"
#include "scenarios/json_text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".json";
constexpr size_t kLongestName = 100;
constexpr size_t kShortId = 8;  // letters of an id that are offered

// The shell reads what completion offers once more: nothing in it may mean anything there.
bool is_plain(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= kLongestName && name[0] != '-' && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), plain);
}

// A word that can only be a path.
bool is_path(const std::string& word) {
  std::error_code code;
  return word.empty() || word == "-" || word.find('/') != std::string::npos ||
         fs::exists(word, code);
}

// nullopt: not a scenario (a host file, a topology of a lab), or not readable.
std::optional<NamedScenario> read_named(const fs::path& path) {
  NamedScenario scenario{path.stem().string(), path.string(), ""};
  if (path.extension() != kEnding || !is_plain(scenario.name)) return std::nullopt;
  Problems problems;
  const auto text = read_scenario_text(scenario.path, scenario.path, problems);
  const auto root = text ? parse_json_text(*text, scenario.path, problems) : std::nullopt;
  if (!root || !root->is_object()) return std::nullopt;
  if (!root->contains("matrix") && !root->contains("probes") && !root->contains("include")) {
    return std::nullopt;
  }
  const auto question = root->find("question");
  if (question != root->end() && question->is_string()) {
    scenario.question = clean(question->get<std::string>());
  }
  return scenario;
}

// Only a folder that a build or an installation makes is taken for one: elsewhere ../scenarios is
// somebody's own.
fs::path scenario_folder(const fs::path& program) {
  constexpr int kDeepest = 3;  // the tests' programs stand in tests/FOLDER of the build
  std::error_code code;
  const fs::path folder = program.parent_path();
  fs::path build = folder;
  for (int i = 0; i < kDeepest; ++i, build = build.parent_path()) {
    if (fs::exists(build / "CMakeCache.txt", code)) return build.parent_path() / "scenarios";
  }
  return folder.parent_path() / "share" / "plumbline" / "scenarios";
}

Error unknown_scenario(const std::string& word) {
  std::vector<std::string> names;
  for (const NamedScenario& scenario : named_scenarios()) names.push_back(scenario.name);
  return Error{ErrorCode::kUsage,
               fmt::format("there is no file '{}', and no scenario of that name", clean(word)), 0,
               near_or(fs::path(word).stem().string(), names,
                       "check the path; plumbline list scenarios shows the names"),
               ""};
}

Error unknown_run(const std::string& word) {
  return Error{ErrorCode::kUsage,
               fmt::format("there is no file or folder '{}', and no run {}", clean(word),
                           word == kLastRun ? "yet" : "whose id begins so"),
               0, "check the path; plumbline results list shows the runs; last is the newest", ""};
}

std::string scenario_path(const std::string& word) {
  const fs::path path = word;
  const std::string name = path.extension() == kEnding ? path.stem().string() : word;
  for (const NamedScenario& scenario : named_scenarios()) {
    if (scenario.name == name) return scenario.path;
  }
  return word;
}

}  // namespace

std::vector<NamedScenario> scenarios_beside(const std::string& program) {
  std::vector<NamedScenario> out;
  std::error_code code;
  fs::directory_iterator files(scenario_folder(program), code);
  for (; !code && files != fs::directory_iterator(); files.increment(code)) {
    if (auto scenario = read_named(files->path())) out.push_back(std::move(*scenario));
  }
  std::sort(out.begin(), out.end(),
            [](const NamedScenario& a, const NamedScenario& b) { return a.name < b.name; });
  return out;
}

std::vector<NamedScenario> named_scenarios() {
  const Expected<std::string> program = own_program_path();
  return program ? scenarios_beside(*program) : std::vector<NamedScenario>();
}

Expected<const HistoryEntry*> find_run(const std::vector<HistoryEntry>& entries,
                                       const std::string& word) {
  if (word == kLastRun && !entries.empty()) return &entries.front();
  const HistoryEntry* found = nullptr;
  size_t matches = 0;
  for (const HistoryEntry& entry : entries) {
    if (word.empty() || entry.id.rfind(word, 0) != 0) continue;
    found = &entry;
    ++matches;
  }
  if (matches <= 1) return found;
  return fail(ErrorCode::kUsage, fmt::format("{} runs begin with '{}'", matches, clean(word)),
              "give more letters of the id");
}

Expected<std::string> folder_of_run(const std::string& word) {
  std::vector<std::string> ignored;  // `results list` tells them
  const auto entries = read_history(ignored);
  if (!entries) return fail(entries.error());
  const Expected<const HistoryEntry*> entry = find_run(*entries, word);
  if (!entry) return fail(entry.error());
  if (*entry == nullptr) return std::string();
  std::error_code code;
  if (fs::is_directory((*entry)->folder, code)) return (*entry)->folder;
  return fail(ErrorCode::kUsage,
              fmt::format("run {} is in the list, but its folder {} is gone", clean((*entry)->id),
                          clean((*entry)->folder)),
              "plumbline results list shows the others");
}

Expected<std::string> named_input(InputNames names, const std::string& word) {
  if (names == InputNames::kNone || is_path(word)) return word;
  if (names == InputNames::kScenarios) return scenario_path(word);
  Expected<std::string> folder = folder_of_run(word);
  if (folder && folder->empty()) return fail(unknown_run(word));
  return folder;
}

Status check_scenario_word(const std::string& word) {
  if (is_path(word)) return {};
  return fail(unknown_scenario(word));
}

std::vector<std::string> input_words(InputNames names) {
  std::vector<std::string> out;
  if (names == InputNames::kScenarios) {
    for (const NamedScenario& scenario : named_scenarios()) out.push_back(scenario.name);
  }
  if (names != InputNames::kRuns) return out;
  std::vector<std::string> ignored;
  const auto entries = read_history(ignored);
  if (!entries || entries->empty()) return out;
  out.emplace_back(kLastRun);
  for (const HistoryEntry& entry : *entries) {
    const std::string id = entry.id.substr(0, kShortId);
    if (is_plain(id)) out.push_back(id);
  }
  return out;
}

}  // namespace plumbline
