// What doctor said against what was done.
#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/json.h"
#include "lab/matrix.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

SaidFinding read_finding(const Json& json) {
  SaidFinding finding;
  finding.cause = string_member(json, "cause");
  finding.outcome = string_member(json, "outcome");
  finding.host = string_member(json, "host");
  finding.peer = string_member(json, "peer");
  finding.remedy = string_member(json, "remedy");
  if (json.contains("port") && json["port"].is_number_integer()) finding.port = json["port"];
  if (json.contains("ports") && json["ports"].is_array()) {
    finding.ports = json["ports"].get<std::vector<int>>();
  }
  for (const Json& evidence : json.value("evidence", Json::array())) {
    finding.evidence.push_back(string_member(evidence, "host") + ": " +
                               string_member(evidence, "text"));
  }
  for (const Json& command : json.value("commands", Json::array())) {
    finding.commands.push_back(
        {string_member(command, "host"), command.at("argv").get<std::vector<std::string>>()});
  }
  return finding;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string place(const SaidFinding& finding) {
  return finding.peer.empty() ? finding.host : finding.host + ">" + finding.peer;
}

}  // namespace

Diagnosis parse_diagnosis(const std::string& text, int exit_code) {
  Diagnosis diagnosis;
  diagnosis.exit_code = exit_code;
  try {
    const Json json = Json::parse(text);
    diagnosis.verdict = json.at("verdict").get<std::string>();
    for (const Json& finding : json.at("findings")) {
      diagnosis.findings.push_back(read_finding(finding));
    }
  } catch (const Json::exception& error) {
    diagnosis.problem = fmt::format("doctor ended with {} and no diagnosis: {}", exit_code,
                                    text.empty() ? "it said nothing" : json_trouble(error));
  }
  return diagnosis;
}

bool names_fault(const Injected& injected, const SaidFinding& finding, bool unprivileged,
                 std::string* because) {
  const auto no = [&](std::string why) {
    if (because != nullptr) *because = std::move(why);
    return false;
  };
  const bool known = contains(injected.causes, finding.cause) ||
                     (unprivileged && contains(injected.coarse, finding.cause));
  if (!known) return no("");
  if (finding.host != injected.expect_host && !contains(injected.other_hosts, finding.host)) {
    return no(fmt::format("{} names {} instead of {}", finding.cause, place(finding),
                          injected.expect_host));
  }
  // With the roles exchanged the other end is the peer.
  const bool swapped = finding.host != injected.expect_host;
  const std::string peer = injected.expect_peer.empty() ? ""
                           : swapped                    ? injected.expect_host
                                                        : injected.expect_peer;
  if (!injected.any_peer && finding.peer != peer) {
    return no(
        fmt::format("{} names {} instead of {}", finding.cause, place(finding),
                    peer.empty() ? injected.expect_host + " alone" : finding.host + ">" + peer));
  }
  if (!injected.warn && finding.outcome != "fail") {
    return no(fmt::format("{} is only a {}", finding.cause, finding.outcome));
  }
  return true;
}

Judgement judge(const std::vector<Injected>& injected, const Diagnosis& diagnosis,
                bool unprivileged, const std::vector<std::string>& ignored) {
  Judgement out;
  std::vector<bool> found(injected.size());
  bool first = true;
  for (const SaidFinding& finding : diagnosis.findings) {
    const bool counts = finding.outcome != "note" && !contains(ignored, finding.cause);
    bool right = false;
    for (size_t i = 0; i < injected.size(); ++i) {
      std::string because;
      if (names_fault(injected[i], finding, unprivileged, &because)) {
        right = true;
        found[i] = true;
      } else if (!because.empty()) {
        out.because.push_back(std::move(because));
      }
    }
    if (counts) ++out.named;
    if (counts && !right) out.wrong.push_back(finding.cause + " on " + place(finding));
    // A note comes first only when there is nothing worse.
    if (first && (counts || right)) {
      out.first_is_right = right;
      first = false;
    }
  }
  // The word that scripts read must agree with the findings.
  const bool excused =
      std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                  [&](const SaidFinding& finding) { return contains(ignored, finding.cause); });
  if (out.named == 0 && !excused && diagnosis.problem.empty() && diagnosis.verdict != "ok") {
    out.wrong.push_back("verdict " + diagnosis.verdict + " without a finding");
  }
  for (size_t i = 0; i < injected.size(); ++i) {
    (found[i] ? out.found : out.missed).push_back(injected[i].fault);
  }
  return out;
}

}  // namespace plumbline
