// May the rows be believed? The same judgement as at measuring time (core/stats/noise.h), made
// again from what the bundle holds. And what may not stand in a public file, looked for once more
// in a bundle from elsewhere: submit would have replaced it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/json.h"
#include "core/options/options.h"
#include "core/record/record.h"
#include "core/stats/noise.h"
#include "reports/publish/bundle_verify.h"
#include "reports/publish/redact.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

// As much of a record as the judgement asks for.
Record record_of(const json& content, const json& row, const BundleRow& typed) {
  Record record;
  record.cell = typed.cell;
  Measurement& m = record.measurement;
  m.hist = typed.hist;
  m.iterations = typed.hist.n();
  m.wrong = row["wrong"].get<uint64_t>();
  m.verified = row["verified"].get<bool>();
  m.warmup_converged = row["noise"]["warmup_converged"].get<bool>();
  m.extra[kInvoluntarySwitches] = row["noise"]["involuntary_switches"].get<double>();
  const std::set<std::string> hosts(typed.rank_hosts.begin(), typed.rank_hosts.end());
  for (const json& host : content["environment"]["hosts"]) {
    if (hosts.count(host["name"]) == 0) continue;
    HostFacts facts;
    facts.hostname = host["name"];
    facts.boot_id = host["machine"];
    facts.cores_usable = host["cores_usable"].is_null() ? 0 : host["cores_usable"].get<int>();
    if (!host["load1_percent"].is_null()) facts.load1 = host["load1_percent"].get<double>() / 100;
    record.environment.hosts.push_back(std::move(facts));
  }
  recompute(record);
  return record;
}

double threshold_of(const std::string& cause) {
  for (const NoiseThreshold& row : noise_thresholds()) {
    if (cause == row.cause) return row.value;
  }
  return 0;
}

// Which field of the row makes it noisy for this cause, and its value beside the threshold.
std::pair<const char*, std::string> noise_in_words(const std::string& cause, const Record& record) {
  const double most = threshold_of(cause);
  const double switches = record.measurement.extra.at(kInvoluntarySwitches);
  double load = 0;
  for (const HostFacts& host : record.environment.hosts)
    load = std::max(load, host.load1.value_or(0));
  if (cause == "load") {
    return {".rank_hosts", fmt::format("load {:.2f} of a host is {:.2f} more than the {} ranks, "
                                       "may be {:g} (content.environment.hosts[].load1_percent)",
                                       load, load - record.cell.ranks, record.cell.ranks, most)};
  }
  if (cause == "cv") {
    return {".hist", fmt::format("standard deviation / mean is {:.3f}, may be {:g}",
                                 record.time_ns.cv.value_or(0), most)};
  }
  if (cause == "involuntary switches") {
    return {
        ".noise.involuntary_switches",
        fmt::format("is {:.0f} for {} operations of {} ranks, may be {:g} per operation and rank",
                    switches, record.measurement.iterations, record.cell.ranks, most)};
  }
  if (cause == "warm-up not converged")
    return {".noise.warmup_converged", "is false, must be true"};
  return {".noise", "too noisy by its own numbers: " + cause};
}

// Ranks beyond the usable cores of any one machine, in words.
std::string crowded(const BundleReport& report, const BundleRow& typed) {
  const json& content = content_of(report);
  std::map<std::string, int> ranks, cores;
  for (const std::string& host : typed.rank_hosts) ++ranks[report.machines.at(host)];
  for (const json& host : content["environment"]["hosts"]) {
    int& most = cores[host["machine"]];
    if (!host["cores_usable"].is_null()) most = std::max(most, host["cores_usable"].get<int>());
  }
  for (const auto& [machine, count] : ranks) {
    if (count > cores[machine]) {
      return fmt::format("{} ranks ran on {}, which has {} usable cores", count, machine,
                         cores[machine]);
    }
  }
  return "";
}

// Were the data checked, and do the counts fit what else the row says? Rows of versions that did
// not count have none.
std::vector<std::pair<const char*, std::string>> verification_problems(const json& row) {
  const bool all = row["verified"].get<bool>();
  const bool counted = row.contains("verified_operations");
  if (counted != row.contains("operations")) {
    return {{counted ? ".verified_operations" : ".operations", "is there without the other count"}};
  }
  if (!counted) {
    if (all) return {};
    return {{".verified", "is false: nobody checked the data"}};
  }
  const auto verified = row["verified_operations"].get<uint64_t>();
  const auto operations = row["operations"].get<uint64_t>();
  const auto timed = row["hist"]["n"].get<uint64_t>();
  std::vector<std::pair<const char*, std::string>> problems;
  if (verified == 0) problems.emplace_back(".verified_operations", "is 0: nobody checked the data");
  if (operations < timed) {
    problems.emplace_back(".operations",
                          fmt::format("is {}, but {} were timed", operations, timed));
  }
  if (verified > operations) {
    problems.emplace_back(".verified_operations",
                          fmt::format("is {} of {} operations", verified, operations));
  } else if (all != (verified == operations)) {
    problems.emplace_back(".verified", fmt::format("is {}, but {} of {} operations were verified",
                                                   all, verified, operations));
  }
  return problems;
}

// Looks for what may not stand in a public file.
class Look {
 public:
  explicit Look(BundleReport& report) : report_(report) {}

  void at_text(const json& value, const std::string& path) {
    if (!value.is_string()) return;
    const auto& text = value.get_ref<const std::string&>();
    if (!seen_.insert(text).second || is_redacted(text)) return;
    report_.problems.push_back({"private", path, "holds an address, a MAC or a path"});
  }
  // Values as the table of options reads and writes them, so that they can be no names.
  void at_options(const json& options, const std::string& path) {
    for (const auto& [name, value] : options.items()) {
      const auto text = value.get<std::string>();
      const auto read = defaults_.with(name, text, "bundle");
      if (read && read->values().at(name).value == text) continue;
      report_.problems.push_back(
          {"schema", path + "." + name,
           "is '" + clean(text) + "', which is no value of that option as plumbline writes it"});
    }
  }

 private:
  BundleReport& report_;
  std::set<std::string> seen_;
  const OptionSet defaults_;
};

}  // namespace

void check_trust(BundleReport& report) {
  const json& content = content_of(report);
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const json& row = content["rows"][i];
    const BundleRow& typed = report.rows[i];
    const auto add = [&](const char* kind, const char* field, std::string text) {
      report.problems.push_back({kind, typed.path + field, std::move(text)});
    };
    for (const auto& [field, text] : verification_problems(row)) add("invalid", field, text);
    if (row["wrong"] != 0)
      add("invalid", ".wrong", fmt::format("is {}, must be 0", row["wrong"].dump()));
    const std::string verdict = row["noise"]["verdict"];
    if (verdict != "clean") {
      add(verdict == "invalid" ? "invalid" : "noisy", ".noise.verdict",
          "is " + verdict + ", only clean rows are taken");
    }
    const std::string crowd = crowded(report, typed);
    if (!crowd.empty()) add("oversubscribed", ".rank_hosts", crowd);
    const Record record = record_of(content, row, typed);
    for (const std::string& cause : judge_noise(record, 0).causes) {
      if (cause == "oversubscribed" || cause == "wrong data") continue;  // said above
      const auto [field, text] = noise_in_words(cause, record);
      add("noisy", field, text);
    }
  }
}

void check_private(BundleReport& report) {
  const json& content = content_of(report);
  const json& statement = content["statement"];
  Look look(report);
  for (const char* name : {"cable", "notes"}) {
    look.at_text(statement[name], std::string("content.statement.") + name);
  }
  for (size_t i = 0; i < statement["hardware"].size(); ++i) {
    look.at_text(statement["hardware"][i], "content.statement.hardware[" + std::to_string(i) + "]");
  }
  const json& environment = content["environment"];
  look.at_options(environment["options"], "content.environment.options");
  for (size_t i = 0; i < environment["hosts"].size(); ++i) {
    for (const auto& [name, value] : environment["hosts"][i].items()) {
      look.at_text(value, "content.environment.hosts[" + std::to_string(i) + "]." + name);
    }
  }
  for (size_t i = 0; i < content["rows"].size(); ++i) {
    const std::string path = "content.rows[" + std::to_string(i) + "]";
    look.at_options(content["rows"][i]["cell"]["params"], path + ".cell.params");
    for (const auto& [name, value] : content["rows"][i]["resolved"].items()) {
      look.at_text(value, path + ".resolved." + name);
    }
  }
}

}  // namespace plumbline
