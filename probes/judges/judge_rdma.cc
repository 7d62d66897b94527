// Judges whether a host is ready (socket buffers, cores, load, clock, connection table, limits),
// RDMA's first rungs, and the outputs of a command that was run on every host.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>

#include "core/error.h"
#include "probes/checks.h"
#include "probes/judges/judges.h"
#include "probes/rules/host_readiness.h"

namespace plumbline {

using enum Standing;

namespace {

constexpr size_t kMatchedBytes = 4096;  // std::regex recurses once per character on some patterns

// One line, short enough to read.
std::string excerpt(const std::string& text) {
  constexpr size_t kLongest = 120;
  std::string line = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line.size() <= kLongest ? line : line.substr(0, kLongest) + "...";
}

const CommandEvidence* command_of(const HostEvidence& host, const std::string& label) {
  for (const CommandEvidence& command : host.commands) {
    if (label.empty() || command.label == label) return &command;
  }
  return nullptr;
}

// The output that most hosts gave; of several the one of the first host.
std::string usual_output(const EvidenceSet& evidence, const std::string& label) {
  std::map<std::string, int> counts;
  std::string best;
  for (const HostEvidence& host : evidence.hosts) {
    const CommandEvidence* command = command_of(host, label);
    if (command != nullptr && command->error.empty()) ++counts[command->out];
  }
  int most = 0;
  for (const HostEvidence& host : evidence.hosts) {
    const CommandEvidence* command = command_of(host, label);
    if (command == nullptr || !command->error.empty()) continue;
    if (counts[command->out] > most) {
      most = counts[command->out];
      best = command->out;
    }
  }
  return best;
}

}  // namespace

std::vector<Check> judge_rdma(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  for (const HostVerdict& verdict : rdma_verdicts(evidence)) checks.push_back(verdict.check);
  return checks;
}

std::vector<Check> judge_command(const EvidenceSet& evidence, const ProbeParams& params) {
  const auto run = params.find("run"), match = params.find("match");
  const std::string label = run == params.end() ? std::string() : run->second;
  const std::string pattern = match == params.end() ? std::string() : match->second;
  std::vector<Check> checks;
  std::regex expression;
  try {
    expression = std::regex(pattern, std::regex::extended);
  } catch (const std::regex_error& problem) {
    for (const HostEvidence& host : evidence.hosts) {
      checks.push_back(make_check(
          {"command", host.name, {}, {}, label}, kUnknown,
          fmt::format("'{}' is no regular expression: {}", pattern, exception_words(problem))));
    }
    return checks;
  }
  const std::string usual = usual_output(evidence, label);
  for (const HostEvidence& host : evidence.hosts) {
    const Subject subject = {"command", host.name, {}, {}, label};
    const CommandEvidence* command = command_of(host, label);
    if (command == nullptr) {
      checks.push_back(make_check(subject, kUnknown, "it was not run on this host"));
    } else if (!command->error.empty()) {
      checks.push_back(make_check(subject, kUnknown, excerpt(command->error)));
    } else if (!pattern.empty()) {
      const bool found = std::regex_search(command->out.substr(0, kMatchedBytes), expression);
      checks.push_back(make_check(subject, found ? kPass : kFail,
                                  fmt::format("'{}' {} '{}'", excerpt(command->out),
                                              found ? "matches" : "does not match", pattern)));
    } else if (command->out == usual) {
      checks.push_back(
          make_check(subject, kPass, fmt::format("'{}', as on most hosts", excerpt(command->out))));
    } else {
      checks.push_back(make_check(
          subject, kFail,
          fmt::format("'{}', but '{}' elsewhere", excerpt(command->out), excerpt(usual))));
    }
  }
  return checks;
}

std::vector<Check> judge_host(const EvidenceSet& evidence, const ProbeParams&) {
  std::vector<Check> checks;
  for (const HostVerdict& row : readiness_of(evidence)) checks.push_back(row.check);
  return checks;
}

}  // namespace plumbline
