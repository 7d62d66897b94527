#include "runs/rule_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/file.h"
#include "core/json.h"
#include "reports/read_input.h"
#include "reports/rules.h"
#include "runs/run_folder.h"
#include "scenarios/read_expect.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Expected<RuleBaseline> load_baseline(const std::string& path) {
  ReportInput input;
  if (const Status read = read_report_input({records_in(path)}, input); !read) {
    Error error = read.error();
    error.what = "baseline: " + error.what;
    return fail(std::move(error));
  }
  return make_baseline(path, make_view(input.records));
}

std::string whole_path(const std::string& baseline) {
  return fs::absolute(baseline).lexically_normal().string();
}

bool applies(const std::string& name, const Cell& cell) {
  const std::optional<Metric> metric = find_metric(name);
  return metric && metric->means_something_for(cell);
}

std::string cells_text(size_t cells) {
  return fmt::format("{} cell{}", cells, cells == 1 ? "" : "s");
}

bool ends_with(const std::string& text, std::string_view ending) {
  return text.size() > ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

// Why a rule cannot hold after this plan has been measured, and what to do; empty = it can.
struct Hopeless {
  std::string why, hint;
  bool nothing = false;  // there is nothing that it could be judged by
};
Hopeless hopeless(const Rule& rule, const Plan& plan) {
  if (rule.optional) return {};
  const RuleCover cover = cover_of(rule, plan, applies);
  if (cover.cells == 0) {
    return {"is about no cell of the plan",
            "correct its 'where' (plumbline plan lists the cells), or add \"optional\": true",
            true};
  }
  if (!cover.asked) {
    return {fmt::format("asks for what means nothing for the {} that it is about",
                        cells_text(cover.cells)),
            "plumbline list metrics shows others", true};
  }
  const bool needs_roof =
      std::any_of(rule.bounds.begin(), rule.bounds.end(), [](const RuleBound& bound) {
        return ends_with(bound.metric, "_of_roof") || bound.metric == "of_predicted";
      });
  const bool has_roof = std::any_of(plan.cells.begin(), plan.cells.end(), [](const PlanCell& c) {
    return c.cell.kind == CellKind::kRoof;
  });
  if (needs_roof && !has_roof) {
    return {"compares with a roof, and none will be measured",
            "let the scenario have \"roofs\": true", true};
  }
  if (cover.skipped == 0) return {};
  return {fmt::format("is about {}, of which {} will be skipped", cells_text(cover.cells),
                      cover.skipped),
          "narrow its 'where', or add \"optional\": true, which leaves skipped cells out", false};
}

}  // namespace

tl::expected<RuleRequest, std::vector<Error>> read_rules(std::vector<Rule> own,
                                                         const RuleWords& words,
                                                         const Vocabulary& vocabulary) {
  RuleRequest request;
  request.rules = std::move(own);
  for (const std::string& path : words.files) {
    auto rules = load_rules(path, vocabulary);
    if (!rules) {
      std::vector<Error> errors;
      for (const ScenarioProblem& problem : rules.error()) {
        errors.push_back(Error{ErrorCode::kConfig, to_line(problem), 0, "", ""});
      }
      return tl::unexpected(std::move(errors));
    }
    request.rules.insert(request.rules.end(), rules->begin(), rules->end());
  }
  for (Rule& rule : request.rules) {
    const Status ready = ready_baseline(rule, words.baseline, request.baselines);
    if (!ready) return tl::unexpected(std::vector<Error>{ready.error()});
  }
  return request;
}

Status ready_baseline(Rule& rule, const std::string& baseline,
                      std::map<std::string, RuleBaseline>& baselines) {
  if (!rule.needs_baseline()) return {};
  if (rule.baseline.empty() && !baseline.empty()) {
    rule.baseline = whole_path(baseline);
    // Kept with it, so that a later report judges the same.
    nlohmann::json object = nlohmann::json::parse(rule.json, nullptr, false);
    object["baseline"] = rule.baseline;
    rule.json = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  if (rule.baseline.empty()) {
    return fail(Error{ErrorCode::kUsage, rule.place + ": needs a baseline", 0,
                      "add --baseline DIR, or the key \"baseline\" to the rule", ""});
  }
  if (baselines.count(rule.baseline) > 0) return {};
  Expected<RuleBaseline> read = load_baseline(rule.baseline);
  if (!read) return fail(read.error());
  baselines.emplace(rule.baseline, std::move(*read));
  return {};
}

void note_unused_baseline(const std::vector<const RuleRequest*>& requests,
                          const std::string& baseline, Caller& caller) {
  if (baseline.empty()) return;
  const std::string path = whole_path(baseline);
  for (const RuleRequest* request : requests) {
    if (request->baselines.count(path) > 0) return;
  }
  caller.say("plumbline: --baseline " + baseline +
             " is not used: no rule has a metric that ends in " + kOfBaseline +
             " and names no baseline of its own; plumbline compare tells what changed");
}

Status keep_rules(const std::string& folder, const std::vector<Rule>& rules) {
  const std::string path = (fs::path(folder) / kRulesFile).string();
  std::error_code code;
  if (rules.empty()) {
    fs::remove(path, code);
    return {};
  }
  return write_text_file(path, rules_file_text(rules));
}

RuleCheck check_rules(std::vector<Rule>& rules, const Plan& plan, const Plan* whole) {
  RuleCheck check;
  std::vector<Rule> kept;
  for (Rule& rule : rules) {
    const Hopeless no = hopeless(rule, plan);
    const std::string text = rule_text(rule);
    if (no.why.empty()) {
      check.lines.push_back(
          fmt::format("rule {}: {}", text, cells_text(cover_of(rule, plan, applies).cells)));
      kept.push_back(std::move(rule));
    } else if (whole != nullptr && no.nothing && hopeless(rule, *whole).why.empty()) {
      check.notes.push_back(
          fmt::format("rule {} is left out: --only and --skip leave nothing to judge it by", text));
    } else {
      check.problems.push_back(
          fmt::format("{}: rule {} {}; {}", rule.place, text, no.why, no.hint));
      kept.push_back(std::move(rule));
    }
  }
  rules = std::move(kept);
  return check;
}

RuleCheck check_rules(RuleRequest& request, const Scenario& scenario, const OptionSet& options,
                      const Vocabulary& vocabulary, const PlanFilter& filter, const Plan& plan) {
  if (request.rules.empty()) return {};
  std::optional<Plan> whole;
  if (!filter.only.empty() || !filter.skip.empty()) {
    Expected<Plan> all = make_plan(scenario, {}, plan.seed, {vocabulary, &options});
    if (all) whole = std::move(*all);
  }
  for (const PlanCell& planned : plan.cells) request.planned.push_back(planned.cell);
  return check_rules(request.rules, plan, whole ? &*whole : nullptr);
}

bool apply_rules(const RuleRequest& request, ReportInput& input, Caller& caller) {
  if (request.rules.empty()) return true;
  return add_verdicts(judge_rules(request, make_view(input.records)), input, caller);
}

bool add_verdicts(std::vector<RuleVerdict> verdicts, ReportInput& input, Caller& caller) {
  const bool hold = all_hold(verdicts);
  for (RuleVerdict& rule : verdicts) {
    const auto alike =
        std::count_if(input.rules.begin(), input.rules.end(), [&](const RuleVerdict& other) {
          return other.rule == rule.rule &&
                 (other.where == rule.where || other.where.rfind(rule.where + " (", 0) == 0);
        });
    if (alike > 0) rule.where += fmt::format(" ({})", alike + 1);
    if (!rule.passed) {
      const std::string of = rule.records.empty() ? "" : ", records of " + rule.records;
      caller.say(fmt::format("plumbline: rule broken: {}: {} [{}{}]", rule.rule, rule.message,
                             rule.where, of));
    }
    input.rules.push_back(std::move(rule));
  }
  return hold;
}

}  // namespace plumbline
