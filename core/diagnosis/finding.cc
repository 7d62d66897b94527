#include "core/diagnosis/finding.h"

#include <algorithm>
#include <array>

#include "core/json.h"
#include "core/shell_words.h"

namespace plumbline {
namespace {

nlohmann::json or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

nlohmann::json or_null(const std::optional<int>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

// The value of a key, or null where it is missing; throws for anything that is no object.
const nlohmann::json& at_or_null(const nlohmann::json& json, const char* key) {
  static const nlohmann::json kNull;
  if (!json.is_object()) json.at(key);  // throws with the type in its words
  const auto found = json.find(key);
  return found == json.end() ? kNull : *found;
}

std::string text_at(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = at_or_null(json, key);
  return value.is_null() ? std::string() : value.get<std::string>();
}

// A port, as JSON's numbers can be anything.
int port_of(const nlohmann::json& value) {
  constexpr uint64_t kHighest = 65535;
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kHighest) {
    throw nlohmann::json::out_of_range::create(401, "a port is a number from 0 to 65535", &value);
  }
  return value.get<int>();
}

std::optional<int> port_at(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = at_or_null(json, key);
  if (value.is_null()) return std::nullopt;
  return port_of(value);
}

template <typename Row, typename Read>
std::vector<Row> rows_at(const nlohmann::json& json, const char* key, const Read& read) {
  const nlohmann::json& list = at_or_null(json, key);
  std::vector<Row> rows;
  if (list.is_null()) return rows;
  for (const nlohmann::json& each : list.get_ref<const nlohmann::json::array_t&>()) {
    rows.push_back(read(each));
  }
  return rows;
}

Evidence evidence_of(const nlohmann::json& json) {
  return {text_at(json, "host"), text_at(json, "check"), text_at(json, "text")};
}

std::string text_of(const nlohmann::json& json) { return json.get<std::string>(); }

// A command as its line in the remedy's text.
std::string line_of(const nlohmann::json& json) {
  return shell_line(rows_at<std::string>(json, "argv", text_of));
}

nlohmann::json commands_of(Remedy remedy, const std::string& host) {
  nlohmann::json list = nlohmann::json::array();
  for (const HostCommand& command : remedy.on(host).commands()) {
    list.push_back({{"host", command.host}, {"argv", command.argv}});
  }
  return list;
}

}  // namespace

bool is_of_probe(std::string_view key, std::string_view id) {
  return key.size() > id.size() && key.starts_with(id) && key[id.size()] == '/';
}

std::string place_of(const Check& check) {
  return is_of_probe(check.key, check.id) ? check.key.substr(check.id.size() + 1) : check.key;
}

const char* to_string(Standing standing) {
  constexpr std::array kWords = {"pass", "note", "warn", "fail", "skipped", "unknown"};
  return kWords[static_cast<size_t>(standing)];
}

std::string title_of(const Finding& finding) {
  std::string text = finding.cause;
  if (!finding.host.empty()) text += " on " + finding.host;
  if (!finding.peer.empty()) text += ", towards " + finding.peer;
  std::vector<int> ports = finding.ports;
  if (ports.empty() && finding.port) ports = {*finding.port};
  const char* before = ports.size() == 1 ? ", port " : ", ports ";
  for (const int port : ports) {
    text += before + std::to_string(port);
    before = ", ";
  }
  return text;
}

std::string gist_of(const Finding& finding) {
  std::string text = finding.evidence.empty() ? std::string() : finding.evidence.front().text;
  if (finding.remedy.empty()) return text;
  return text + (text.empty() ? "remedy: " : "; remedy: ") + finding.remedy.text();
}

void to_json(nlohmann::json& json, const Check& check) {
  json = {{"key", check.key},
          {"id", check.id},
          {"host", check.host},
          {"peer", or_null(check.peer)},
          {"port", or_null(check.port)},
          {"outcome", to_string(check.outcome)},
          {"reason", check.reason}};
}

void to_json(nlohmann::json& json, const Finding& finding) {
  nlohmann::json evidence = nlohmann::json::array();
  for (const Evidence& e : finding.evidence) {
    evidence.push_back({{"host", e.host}, {"check", e.check}, {"text", e.text}});
  }
  json = {{"cause", finding.cause},
          {"outcome", to_string(finding.outcome)},
          {"host", finding.host},
          {"peer", or_null(finding.peer)},
          {"port", or_null(finding.port)},
          {"ports", finding.ports},
          {"confidence", finding.confidence},
          {"evidence", std::move(evidence)},
          {"remedy", finding.remedy.text()},
          {"commands", commands_of(finding.remedy, finding.host)},
          {"explains", finding.explains}};
}

void from_json(const nlohmann::json& json, Check& check) {
  check = Check{};
  check.key = text_at(json, "key");
  check.id = text_at(json, "id");
  check.host = text_at(json, "host");
  check.peer = text_at(json, "peer");
  check.port = port_at(json, "port");
  check.reason = text_at(json, "reason");
  const std::string outcome = text_at(json, "outcome");
  for (const CheckOutcome each :
       {CheckOutcome::kPass, CheckOutcome::kWarn, CheckOutcome::kFail, CheckOutcome::kSkipped}) {
    if (outcome == to_string(each)) check.outcome = each;
  }
}

void from_json(const nlohmann::json& json, Finding& finding) {
  finding = Finding{};
  finding.cause = text_at(json, "cause");
  finding.host = text_at(json, "host");
  finding.peer = text_at(json, "peer");
  finding.port = port_at(json, "port");
  finding.remedy =
      Remedy::only_shown(text_at(json, "remedy"), rows_at<std::string>(json, "commands", line_of));
  finding.ports = rows_at<int>(json, "ports", port_of);
  finding.evidence = rows_at<Evidence>(json, "evidence", evidence_of);
  finding.explains = rows_at<std::string>(json, "explains", text_of);
  finding.outcome = Severity::kNote;
  const std::string outcome = text_at(json, "outcome");
  for (const Severity each : {Severity::kFail, Severity::kWarn}) {
    if (outcome == to_string(each)) finding.outcome = each;
  }
  const nlohmann::json& confidence = at_or_null(json, "confidence");
  if (!confidence.is_null()) finding.confidence = std::clamp(confidence.get<double>(), 0.0, 1.0);
}

const char* to_string(Health health) {
  return health == Health::kFail ? "fail" : health == Health::kWarn ? "warn" : "ok";
}

Standings::Standings(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    for (const std::string& key : finding.explains) {
      const auto [known, fresh] = worst_.emplace(key, finding.outcome);
      if (!fresh) known->second = std::max(known->second, finding.outcome);
    }
  }
}

Standing Standings::of(const Check& check) const {
  const Standing own = check.outcome;
  if (own != Standing::kWarn && own != Standing::kFail) return own;
  const auto found = worst_.find(check.key);
  return found == worst_.end() ? own : std::min(own, found->second);
}

Health health_of(const std::vector<Check>& checks, const std::vector<Finding>& findings) {
  bool fails = false, warns = false;
  for (const Finding& finding : findings) {
    fails = fails || finding.outcome == Severity::kFail;
    warns = warns || finding.outcome == Severity::kWarn;
  }
  const Standings standings(findings);
  for (const Check& check : checks) {
    const Standing standing = standings.of(check);
    fails = fails || standing == Standing::kFail;
    warns = warns || standing == Standing::kWarn;
  }
  return fails ? Health::kFail : warns ? Health::kWarn : Health::kOk;
}

std::vector<const Check*> unexplained_failures(const std::vector<Check>& checks,
                                               const std::vector<Finding>& findings) {
  const Standings standings(findings);
  std::vector<const Check*> out;
  for (const Check& check : checks) {
    if (standings.of(check) == Standing::kFail && !standings.explained(check)) {
      out.push_back(&check);
    }
  }
  return out;
}

}  // namespace plumbline
