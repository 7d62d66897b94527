#include "cli/kept_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/vocabulary.h"
#include "reports/read_input.h"
#include "reports/text.h"
#include "runs/run_folder.h"
#include "scenarios/read_expect.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// A folder whose records are reported, and the rules beside them.
struct Folder {
  std::string name;  // as it was given
  std::vector<std::string> files;
  std::vector<Rule> rules;
};

// By absolute name, in the order in which they were given. The standard input lies nowhere.
std::vector<Folder> folders_of(const std::vector<std::string>& record_paths) {
  std::vector<Folder> folders;
  std::map<std::string, size_t> known;
  for (const std::string& path : record_paths) {
    const fs::path parent = path == "-" ? fs::path() : fs::path(path).parent_path();
    const std::string name = parent.empty() ? "." : parent.string();
    std::error_code code;
    const std::string key =
        path == "-" ? "-" : (fs::absolute(name, code) / "").lexically_normal().string();
    const auto [found, is_new] = known.try_emplace(key, folders.size());
    if (is_new) folders.push_back({path == "-" ? "-" : name, {}, {}});
    folders[found->second].files.push_back(path);
  }
  return folders;
}

// Why it cannot be applied; empty = it can.
std::string unusable(Rule& rule, const std::string& baseline,
                     std::map<std::string, RuleBaseline>& baselines) {
  std::error_code code;
  if (rule.needs_baseline() && !rule.baseline.empty() && !fs::exists(rule.baseline, code)) {
    return fmt::format("its baseline {} is not there any more", rule.baseline);
  }
  const Status ready = ready_baseline(rule, baseline, baselines);
  return ready ? std::string() : ready.error().message();
}

void read_kept(Folder& folder, const std::set<std::string>& given, const std::string& baseline,
               std::map<std::string, RuleBaseline>& baselines, ReportInput& input) {
  if (folder.name == "-") return;
  const std::string file = (fs::path(folder.name) / kRulesFile).lexically_normal().string();
  std::error_code code;
  if (!fs::exists(file, code)) return;
  auto rules = load_rules(file, make_vocabulary());
  if (!rules) {
    input.notes.push_back("the rules beside the records are not judged: " +
                          to_line(rules.error().front()));
    return;
  }
  for (Rule& rule : *rules) {
    if (given.contains(rule.json)) continue;
    const std::string why = unusable(rule, baseline, baselines);
    if (why.empty()) {
      folder.rules.push_back(std::move(rule));
    } else {
      input.notes.push_back(
          clean(fmt::format("rule {} of {} is not judged: {}", rule_text(rule), file, why)));
    }
  }
  if (folder.rules.empty()) return;
  input.rule_sources.push_back(
      fmt::format("{} {} taken from {}, which lies beside the records", folder.rules.size(),
                  folder.rules.size() == 1 ? "rule was" : "rules were", file));
}

std::string folders_text(const std::vector<Folder>& folders, const std::set<size_t>& chosen) {
  constexpr size_t kMost = 3;
  std::vector<std::string> names;
  for (const size_t i : chosen) names.push_back(folders[i].name);
  return names.size() <= kMost ? join(names, ", ") : fmt::format("{} folders", names.size());
}

}  // namespace

std::vector<KeptRules> kept_rules(const std::vector<std::string>& record_paths,
                                  const RuleRequest& given, const std::string& baseline,
                                  ReportInput& input) {
  std::set<std::string> by_hand;
  for (const Rule& rule : given.rules) by_hand.insert(rule.json);
  std::map<std::string, RuleBaseline> baselines;
  std::vector<Folder> folders = folders_of(record_paths);
  for (Folder& folder : folders) read_kept(folder, by_hand, baseline, baselines, input);
  // Which folders keep a rule; then the rules that the same ones keep.
  std::map<std::string, std::set<size_t>> keepers;
  for (size_t i = 0; i < folders.size(); ++i) {
    for (const Rule& rule : folders[i].rules) keepers[rule.json].insert(i);
  }
  std::vector<KeptRules> kept;
  std::map<std::set<size_t>, size_t> place;
  for (const Folder& folder : folders) {
    for (const Rule& rule : folder.rules) {
      const auto found = keepers.find(rule.json);
      if (found == keepers.end()) continue;  // taken with an earlier folder
      const std::set<size_t> chosen = std::move(found->second);
      keepers.erase(found);
      const auto [at, is_new] = place.try_emplace(chosen, kept.size());
      if (is_new) {
        KeptRules& rules = kept.emplace_back();
        rules.request.baselines = baselines;
        if (chosen.size() < folders.size()) rules.records = folders_text(folders, chosen);
        for (const size_t i : chosen) {
          rules.files.insert(rules.files.end(), folders[i].files.begin(), folders[i].files.end());
        }
      }
      kept[at->second].request.rules.push_back(rule);
    }
  }
  return kept;
}

bool apply_kept_rules(const std::vector<KeptRules>& kept, const Assumptions& assume,
                      ReportInput& input, Caller& caller) {
  bool hold = true;
  for (const KeptRules& rules : kept) {
    if (rules.records.empty()) {
      hold =
          add_verdicts(judge_rules(rules.request, make_view(input.records)), input, caller) && hold;
      continue;
    }
    ReportInput own;
    if (const Status read = read_report_input(rules.files, own, assume); !read) {
      input.notes.push_back(
          fmt::format("the rules of {} are not judged: {}", rules.records, read.error().message()));
      continue;
    }
    std::vector<RuleVerdict> verdicts = judge_rules(rules.request, make_view(own.records));
    for (RuleVerdict& verdict : verdicts) verdict.records = rules.records;
    hold = add_verdicts(std::move(verdicts), input, caller) && hold;
  }
  return hold;
}

}  // namespace plumbline
