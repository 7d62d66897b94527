#include "probes/actions/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/ranges.h"
#include "core/text.h"
#include "transport/http/completion.h"

namespace plumbline {
namespace {

constexpr int64_t kResolveMs = 5000;
constexpr size_t kKeptText = 200;
constexpr const char* kChatQuestion = "What is 2+2? Answer with the number only.";
constexpr const char* kCompletionsQuestion = "2+2=";

EndpointTry seen_of(const std::string& what, const EndpointAnswer& answer) {
  EndpointTry out;
  out.what = what;
  out.end = to_string(answer.end);
  out.status = answer.status;
  out.error = answer.error;
  out.text = valid_utf8(answer.text.substr(0, kKeptText));
  out.model = answer.model;
  out.cut_short = answer.cut_short;
  out.took_ns = answer.took_ns;
  out.tokens = answer.tokens;
  out.first_token_ns = answer.first_token_ns;
  return out;
}

void put_questions(const EndpointPlace& place, const AskEndpoint& asked, const Patience& patience,
                   EndpointEvidence& out) {
  for (const EndpointApi api : {EndpointApi::kChat, EndpointApi::kCompletions}) {
    for (const bool stream : {false, true}) {
      CompletionCall call;
      call.api = api;
      call.stream = stream;
      call.model = asked.model;
      if (call.model.empty() && !out.models.empty()) call.model = out.models.front();
      call.prompt = api == EndpointApi::kChat ? kChatQuestion : kCompletionsQuestion;
      const std::string what = fmt::format("{}{}", to_string(api), stream ? " stream" : "");
      // One that was not asked because of it does not count as an answer.
      const bool hopeless = any_of(out.tries, [](const EndpointTry& tried) {
        return tried.end == to_string(AnswerEnd::kSilent);
      });
      if (hopeless || patience.over()) {
        out.tries.emplace_back().what = what;
        continue;
      }
      out.tries.push_back(
          seen_of(what, ask_completion(place, call, asked.silence_ms * kMillisecond, patience)));
    }
  }
}

}  // namespace

Expected<EndpointEvidence> try_endpoint(const AskEndpoint& asked, const AgentCall& call) {
  Expected<HttpUrl> url = parse_http_url(asked.url);
  if (!url) return fail(url.error());
  EndpointEvidence out;
  out.url = asked.url;
  out.model = asked.model;
  Patience patience = {call.deadline};
  if (call.ending != nullptr) patience.ended = [ending = call.ending] { return ending->load(); };
  EndpointPlace place{std::move(*url), {}, asked.key};
  const int64_t resolved_at =
      std::min(Deadline::after_ms(kResolveMs).at_ns(), call.deadline.at_ns());
  auto addresses = resolve_url(place.url, Deadline::at_ns(resolved_at));
  if (!addresses) {
    out.error = addresses.error().message();
    return out;
  }
  place.addresses = std::move(*addresses);
  const Patience brief = patience.within(asked.silence_ms * kMillisecond);
  if (!asked.questions) {
    out.tries.push_back(seen_of("health", ask_health(place, brief)));
    if (out.tries.back().end == to_string(AnswerEnd::kUnreachable)) return out;
  }
  EndpointAnswer models = list_models(place, patience.within(asked.silence_ms * kMillisecond));
  out.models = std::move(models.models);
  if (!asked.questions) out.tries.push_back(seen_of("models", models));
  if (asked.questions) put_questions(place, asked, patience, out);
  return out;
}

}  // namespace plumbline
