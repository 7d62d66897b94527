#include "core/finding.h"

#include "core/json.h"

namespace plumbline {
namespace {

nlohmann::json or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

nlohmann::json or_null(const std::optional<int>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

}  // namespace

const char* to_string(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kPass:
      return "pass";
    case CheckOutcome::kWarn:
      return "warn";
    case CheckOutcome::kFail:
      return "fail";
    case CheckOutcome::kSkipped:
      return "skipped";
    case CheckOutcome::kUnknown:
      break;
  }
  return "unknown";
}

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::kFail:
      return "fail";
    case Severity::kWarn:
      return "warn";
    case Severity::kNote:
      break;
  }
  return "note";
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
          {"remedy", finding.remedy},
          {"explains", finding.explains}};
}

}  // namespace plumbline
