#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/ranges.h"
#include "core/text.h"
#include "core/usual.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/rules/equal_hosts.h"
#include "probes/software.h"

namespace plumbline {

using enum Standing;

namespace {

constexpr const char* kVersionCause = "config.version_mismatch";
constexpr const char* kOptionCause = "config.mismatch";
constexpr const char* kPython = "python";

// Makes a line the first one of ~/.bashrc, also where that is a link, unless it is that already.
constexpr char kFirstLine[] = R"sh([ "$(head -n 1 ~/.bashrc)" = "export $1=$2" ] || )sh"
                              R"sh(sed -i --follow-symlinks "1i export $1=$2" ~/.bashrc)sh";

// A host that told, and what it has of one item; empty = it has none.
struct Holding {
  const HostEvidence* host = nullptr;
  std::string value;
};
using Holdings = std::vector<Holding>;

std::string value_in(const std::map<std::string, std::string>& all, const std::string& name) {
  const auto found = all.find(name);
  return found == all.end() ? std::string() : found->second;
}

// What most have. Where two are equally frequent, nobody can say who is wrong, and the newer one
// counts; as many with as without it means that these lack it. Empty: most have none.
std::string usual_version(const Holdings& all) {
  std::map<std::string, size_t> counts;
  for (const Holding& each : all) ++counts[each.value];
  const size_t without = counts[""];
  counts.erase("");
  std::string best;
  size_t most = 0;
  for (const auto& [value, count] : counts) {
    const bool newer = count == most && compare_versions(best, value) < 0;
    if (count > most || newer) best = value;
    most = std::max(most, count);
  }
  return all.size() - without >= without ? best : std::string();
}

// The same of a variable; where two are equally frequent the later hosts' counts, so that the first
// one in the file is named.
std::string usual_variable(const Holdings& all) {
  std::vector<std::string> words;
  for (const Holding& each : all) words.push_back(each.value);
  const auto without = static_cast<size_t>(std::count(words.begin(), words.end(), std::string()));
  if (without < words.size() && 2 * without <= words.size()) std::erase(words, std::string());
  std::reverse(words.begin(), words.end());
  return usual_of(words);
}

// "mini2 and 2 others": who has the usual value.
std::string holders(const Holdings& all, const std::string& usual) {
  std::vector<std::string> names;
  for (const Holding& each : all) {
    if (each.value == usual) names.push_back(each.host->name);
  }
  if (names.size() <= 2) return join_words(names, " and ");
  return fmt::format("{} and {} others", names.front(), names.size() - 1);
}

Remedy pip_remedy(const std::string& name, const HostEvidence& host, const std::string& usual) {
  const SoftwareRow* row = find_software(name);
  const std::string package =
      row == nullptr || row->packages.empty() ? name : std::string(row->packages.front());
  if (usual.find('+') != std::string::npos) {
    return fmt::format(
        "install {} {} on this host from where the others have it: pip's own index "
        "has no such builds",
        package, usual);
  }
  const Word wanted = slot(Slot::kPackage, package) + "==" + slot(Slot::kVersion, usual);
  // The interpreter that was asked is the one that lacks it.
  return Remedy(Command{"env", slot(Slot::kPath, host.software->python), "-m", "pip", "install",
                        wanted})
      .say(
          "where pip refuses (a Python that the system keeps) or is not there (uv), in a virtual "
          "environment that the scenario names: parameter `python` of the probe `software`");
}

Remedy version_remedy(const std::string& name, SoftwareKind kind, const HostEvidence& host,
                      const std::string& usual) {
  if (name == "nccl") {
    return "install the same torch on these hosts: NCCL comes with it (pip list shows both)";
  }
  if (kind == SoftwareKind::kPackage) return pip_remedy(name, host, usual);
  if (kind == SoftwareKind::kMachine) {
    return "nothing has to be done: where work is dealt out evenly, the slowest chip and the "
           "smallest memory decide";
  }
  if (kind == SoftwareKind::kSystem && host.system == "macos") {
    return Remedy(fmt::format("bring all Macs to one build, {}:", usual))
        .run(Command{"softwareupdate", "--list"});
  }
  return fmt::format("bring {} to {} on this host, or the others to what it has", name, usual);
}

// Ranks get what a session without a terminal gets, so that ~/.zshrc and the end of ~/.bashrc do
// not count.
Remedy variable_remedy(const std::string& name, const HostEvidence& host,
                       const std::string& usual) {
  const bool macos = host.system == "macos";
  if (usual.empty()) {
    return fmt::format(
        "take {} out of what an ssh session without a terminal reads on this host ({}), or set it "
        "to the same on all hosts",
        name,
        macos ? "~/.zshenv, SetEnv of sshd_config"
              : "/etc/environment, the first lines of ~/.bashrc, SetEnv of sshd_config");
  }
  const Word variable = slot(Slot::kVariable, name), value = slot(Slot::kMatchValue, usual);
  Remedy remedy;
  if (macos) {
    remedy.say("where zsh is the login shell:");
    remedy.run(Command{"sh", "-c",
                       R"(grep -qsxF "export $1=$2" ~/.zshenv || echo "export $1=$2" >> ~/.zshenv)",
                       "sh", variable, value});
  } else {
    remedy.say(
        "where bash is the login shell: as the first line, before the one that ends the "
        "file for such sessions:");
    remedy.run(Command{"sh", "-c", kFirstLine, "sh", variable, value});
  }
  return std::move(remedy).say(
      fmt::format("or hand it to every rank: mlx.launch --env {0}={1}, "
                  "mpirun -x {0}={1}; for other shells: a line {0}={1} "
                  "in /etc/environment, where sshd uses PAM",
                  name, usual));
}

// "Debian GNU/Linux", "macOS": what stands before the first digit.
std::string distribution_of(const HostEvidence& host) {
  const std::string system = value_in(host.software->versions, "system");
  return host.system + " " + system.substr(0, system.find_first_of("0123456789"));
}

class SoftwareJudge {
 public:
  explicit SoftwareJudge(const EvidenceSet& evidence) : evidence_(evidence) {
    for (const HostEvidence& host : evidence.hosts) {
      if (!host.software) continue;
      asked_ = true;
      if (host.software->error.empty() && earlier_of(host).empty()) hosts_.push_back(&host);
    }
    mixed_ = any_of(
        hosts_, [&](const HostEvidence* host) { return host->system != hosts_.front()->system; });
  }

  std::vector<EqualityVerdict> judge() {
    for (const SoftwareRow& row : software_table()) compare_version(row.name, row.kind);
    for (const std::string& name : evidence_.job.packages) {
      if (find_software(name) == nullptr) compare_version(name, SoftwareKind::kPackage);
    }
    look_for_python();
    for (const char* name : alike_variables()) compare_variable(name);
    std::vector<EqualityVerdict> out;
    for (const HostEvidence& host : evidence_.hosts) {
      out.push_back({whole_check(host)});
      for (EqualityVerdict& each : different_[host.name]) out.push_back(std::move(each));
    }
    return out;
  }

 private:
  // An earlier host that is this very machine.
  std::string earlier_of(const HostEvidence& host) const {
    const JobHost* job = find_job_host(evidence_, host.name);
    return job == nullptr ? std::string() : same_as_earlier(evidence_, *job);
  }

  // Says what it has, or why nothing is known; what differs has checks of its own.
  Check whole_check(const HostEvidence& host) const {
    const Subject subject = {"software", host.name};
    const std::string earlier = earlier_of(host);
    if (!earlier.empty()) {
      return make_check(subject, kSkipped, "same machine and addresses as " + earlier);
    }
    if (!host.software && host.source == "none") {
      return make_check(subject, kUnknown, lack_of_facts(host));
    }
    if (!host.software) {
      const bool collected = host.source == "collected" || !asked_;
      return make_check(subject, collected ? kSkipped : kUnknown,
                        collected ? "nobody asked which versions it has"
                                  : "it did not tell which versions it has");
    }
    if (!host.software->error.empty()) return make_check(subject, kUnknown, host.software->error);
    std::vector<std::string> parts;
    for (const SoftwareRow& row : software_table()) {
      const std::string version = value_in(host.software->versions, row.name);
      if (!version.empty()) parts.push_back(fmt::format("{} {}", row.name, version));
    }
    if (!host.software->python_error.empty()) {
      parts.push_back("python: " + host.software->python_error);
    }
    if (hosts_.size() < 2) parts.emplace_back("no other host to compare with");
    return make_check(subject, kPass, join_words(parts, "; "));
  }

  bool is_named(const std::string& name, SoftwareKind kind) const {
    return kind == SoftwareKind::kPackage && is_in(evidence_.job.packages, name);
  }

  // Who can be compared with whom.
  std::string group_of(const HostEvidence& host, SoftwareKind kind, bool named) const {
    if (kind == SoftwareKind::kMachine || named) return {};
    return kind == SoftwareKind::kSystem ? distribution_of(host) : host.system;
  }

  void compare_version(const std::string& name, SoftwareKind kind) {
    if (kind == SoftwareKind::kTold) return;
    const bool named = is_named(name, kind);
    // Without Python's answer it is not known what is installed.
    const bool by_python = kind == SoftwareKind::kPackage || name == kPython;
    std::map<std::string, Holdings> groups;
    for (const HostEvidence* host : hosts_) {
      if (by_python && !host->software->versions.contains(kPython)) continue;
      std::string value = value_in(host->software->versions, name);
      // Systems have builds of their own.
      if (named && mixed_) value = public_version(value);
      groups[group_of(*host, kind, named)].push_back({host, std::move(value)});
    }
    for (const auto& [group, all] : groups) compare_group(name, kind, named, all);
  }

  void compare_group(const std::string& name, SoftwareKind kind, bool named, const Holdings& all) {
    std::string usual = usual_version(all);
    if (usual.empty() && named) {
      // What the job needs is lacking on those that do not have it, however many.
      Holdings with = all;
      std::erase_if(with, [](const Holding& each) { return each.value.empty(); });
      usual = usual_version(with);
    }
    if (usual.empty()) return;
    for (const Holding& each : all) {
      // A part that was not told is no difference.
      const bool untold = each.value.empty() && kind != SoftwareKind::kPackage;
      if (each.value != usual && !untold) add_version(name, kind, named, each, all, usual);
    }
  }

  void add_version(const std::string& name, SoftwareKind kind, bool named, const Holding& each,
                   const Holdings& all, const std::string& usual) {
    EqualityVerdict verdict;
    const bool machine = kind == SoftwareKind::kMachine;
    verdict.check =
        make_check({"software", each.host->name, {}, {}, name}, named ? kFail : kWarn,
                   fmt::format("{}: {} here, {} on {}", name,
                               each.value.empty() ? std::string("not installed") : each.value,
                               usual, holders(all, usual)));
    verdict.cause = machine ? kOptionCause : kVersionCause;
    verdict.severity = machine ? kNote : named ? kFail : kWarn;
    verdict.remedy = version_remedy(name, kind, *each.host, usual);
    different_[each.host->name].push_back(std::move(verdict));
  }

  // Hosts without the interpreter that the others have: nothing of it could be compared.
  void look_for_python() {
    Holdings all;
    for (const HostEvidence* host : hosts_) all.push_back({host, host->software->python});
    const auto with = std::count_if(all.begin(), all.end(),
                                    [](const Holding& each) { return !each.value.empty(); });
    const bool named = !evidence_.job.packages.empty();
    for (const Holding& each : all) {
      const SoftwareEvidence& software = *each.host->software;
      if (software.python_error.empty() || software.versions.contains(kPython)) continue;
      const bool absent = each.value.empty() && 2 * static_cast<size_t>(with) >= all.size();
      if (with == 0) return;
      EqualityVerdict verdict;
      verdict.check = make_check({"software", each.host->name, {}, {}, kPython},
                                 !absent ? kUnknown
                                 : named ? kFail
                                         : kWarn,
                                 "python: " + software.python_error);
      if (absent) {
        verdict.cause = kVersionCause;
        verdict.severity = named ? kFail : kWarn;
        verdict.remedy =
            "install Python there as on the other hosts, or name one that all have: parameter "
            "`python` of the probe `software`";
      }
      different_[each.host->name].push_back(std::move(verdict));
    }
  }

  void compare_variable(const std::string& name) {
    Holdings all;
    for (const HostEvidence* host : hosts_) {
      // A value that was not told is not known to differ.
      if (is_in(host->software->untold, name)) continue;
      all.push_back({host, value_in(host->software->variables, name)});
    }
    const std::string usual = usual_variable(all);
    for (const Holding& each : all) {
      if (each.value != usual) add_variable(name, each, all, usual);
    }
  }

  void add_variable(const std::string& name, const Holding& each, const Holdings& all,
                    const std::string& usual) {
    const auto words = [](const std::string& value) {
      return value.empty() ? std::string("not set") : "'" + value + "'";
    };
    EqualityVerdict verdict;
    verdict.check = make_check({"software", each.host->name, {}, {}, name}, kFail,
                               fmt::format("{}: {} here, {} on {}", name, words(each.value),
                                           words(usual), holders(all, usual)));
    verdict.cause = kOptionCause;
    verdict.severity = kFail;
    verdict.remedy = variable_remedy(name, *each.host, usual);
    different_[each.host->name].push_back(std::move(verdict));
  }

  const EvidenceSet& evidence_;
  bool asked_ = false;                                             // some host at all
  bool mixed_ = false;                                             // of several systems
  std::vector<const HostEvidence*> hosts_;                         // that told, each machine once
  std::map<std::string, std::vector<EqualityVerdict>> different_;  // by host
};

}  // namespace

std::vector<EqualityVerdict> software_verdicts(const EvidenceSet& evidence) {
  return SoftwareJudge(evidence).judge();
}

}  // namespace plumbline
