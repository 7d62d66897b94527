#include "probes/rules/endpoint_verdicts.h"

#include <fmt/format.h>

#include "core/ranges.h"
#include "core/text.h"
#include "core/units.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "transport/http/completion.h"

namespace plumbline {

using enum Standing;

namespace {

constexpr const char* kSum = "4";  // the question is 2 + 2

struct EndpointStanding {
  CheckOutcome outcome = kPass;
  std::string cause, reason;
};

const char* cause_of(AnswerEnd end) {
  switch (end) {
    case AnswerEnd::kUnreachable:
      return "endpoint.unreachable";
    case AnswerEnd::kBusy:
      return "endpoint.busy";
    case AnswerEnd::kGone:
    case AnswerEnd::kSilent:
    case AnswerEnd::kBroken:
      return "endpoint.stalled";
    case AnswerEnd::kRefused:
    case AnswerEnd::kMalformed:
      return "endpoint.wrong_answer";
    case AnswerEnd::kAnswered:
      break;
  }
  return "";
}

EndpointStanding wrong(const std::string& reason) {
  return {kFail, "endpoint.wrong_answer", reason};
}

std::string times_of(const EndpointTry& asked) {
  const std::string whole = format_duration(static_cast<double>(asked.took_ns));
  if (!asked.first_token_ns) return fmt::format("answered in {}", whole);
  return fmt::format("answered in {}, the first token after {}", whole,
                     format_duration(static_cast<double>(*asked.first_token_ns)));
}

// What came is an answer; is it a right one?
EndpointStanding judge_answer(const EndpointEvidence& endpoint, const EndpointTry& asked) {
  if (asked.what == "health") return {kPass, "", "it says that it is well"};
  if (asked.what == "models") {
    const bool there = endpoint.model.empty() || is_in(endpoint.models, endpoint.model);
    if (!there) {
      return wrong(fmt::format("it has no model {}, but {}", in_quotes(endpoint.model),
                               endpoint.models.empty() ? "none" : join_words(endpoint.models)));
    }
    return {kPass, "", fmt::format("it has {}", join_words(endpoint.models))};
  }
  if (!endpoint.model.empty() && !asked.model.empty() && asked.model != endpoint.model) {
    return wrong(fmt::format("model {} was asked, and {} answered", in_quotes(endpoint.model),
                             in_quotes(asked.model)));
  }
  if (asked.text.find(kSum) != std::string::npos) return {kPass, "", times_of(asked)};
  if (asked.cut_short) {
    return {kUnknown, "",
            fmt::format("{}, but the tokens allowed did not suffice for the sum", times_of(asked))};
  }
  return wrong(fmt::format("asked for 2 + 2, it says {}", in_quotes(asked.text)));
}

EndpointStanding judge_try(const EndpointEvidence& endpoint, const EndpointTry& asked) {
  const auto end = answer_end_from(asked.end);
  if (!end)
    return {kSkipped, "", "not asked, because the server was silent before, or no time was left"};
  if (*end == AnswerEnd::kAnswered) return judge_answer(endpoint, asked);
  // Not every server has every path.
  constexpr int kNoSuchPath = 404, kNoSuchMethod = 405;
  if (asked.status == kNoSuchPath || asked.status == kNoSuchMethod) {
    return {kSkipped, "", fmt::format("the server has no such path ({})", asked.error)};
  }
  const bool busy = *end == AnswerEnd::kBusy;
  return {busy ? kWarn : kFail, cause_of(*end), asked.error};
}

bool is_question(const EndpointTry& asked) {
  return asked.what != "health" && asked.what != "models";
}

// A server that answers by none of the ways is none.
void no_way_at_all(const EndpointEvidence& endpoint, std::vector<EndpointVerdict>& own) {
  const bool asked = any_of(endpoint.tries, is_question);
  const bool none = all_of(endpoint.tries, [](const EndpointTry& t) {
    return !is_question(t) || t.status == 404 || t.status == 405;
  });
  if (!asked || !none) return;
  own.back().check.outcome = kFail;
  own.back().check.reason =
      "neither chat nor completions: it has none of the paths of the interface";
  own.back().cause = "endpoint.wrong_answer";
}

std::vector<EndpointVerdict> verdicts_of(const HostEvidence& host,
                                         const EndpointEvidence& endpoint) {
  std::vector<EndpointVerdict> out;
  const auto add = [&](const std::string& what, const EndpointStanding& standing) {
    const std::string detail = endpoint.url + " " + what;
    out.push_back(
        {make_check({"endpoint", host.name, {}, {}, detail}, standing.outcome, standing.reason),
         standing.cause, endpoint.url});
  };
  if (!endpoint.error.empty()) {
    add("address", {kFail, "endpoint.unreachable", endpoint.error});
    return out;
  }
  for (const EndpointTry& asked : endpoint.tries) add(asked.what, judge_try(endpoint, asked));
  no_way_at_all(endpoint, out);
  return out;
}

}  // namespace

std::vector<EndpointVerdict> endpoint_verdicts(const EvidenceSet& evidence,
                                               const std::string& url) {
  std::vector<EndpointVerdict> out;
  for (const HostEvidence& host : evidence.hosts) {
    for (const EndpointEvidence& endpoint : host.endpoints) {
      if (!url.empty() && endpoint.url != url) continue;
      for (EndpointVerdict& verdict : verdicts_of(host, endpoint))
        out.push_back(std::move(verdict));
    }
  }
  return out;
}

}  // namespace plumbline
