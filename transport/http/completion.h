// What is asked of a server with the interface that OpenAI's has and many others took over
// (https://platform.openai.com/docs/api-reference): is it well, which models has it, and one
// question to a model, by /v1/chat/completions or /v1/completions, answered whole or token by
// token. An answer is a value whatever came out: how it ended in one word, and when its first
// token and the others came. What the server says may be anything: it is bounded, and none of it
// is believed beyond what is read here. A key is sent in the header and stands in no value or
// message. Thread-safe functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transport/http/client.h"

namespace plumbline {

enum class EndpointApi : uint8_t { kChat, kCompletions };
const char* to_string(EndpointApi api);
std::optional<EndpointApi> endpoint_api_from(std::string_view name);

// How it ended, from the best to the worst.
enum class AnswerEnd : uint8_t {
  kAnswered,     // well formed, to its end
  kBusy,         // 429 or 503: the queue is full
  kGone,         // 502 or 504: whoever should have answered did not
  kRefused,      // any other status that is no success
  kSilent,       // nothing came within the time
  kBroken,       // the answer broke off
  kMalformed,    // no HTTP, no JSON, or not what the interface promises
  kUnreachable,  // no connection
};
const char* to_string(AnswerEnd end);
std::optional<AnswerEnd> answer_end_from(std::string_view word);

struct EndpointPlace {
  HttpUrl url;  // of the server; "/v1" at the end of its path may be there or not
  std::vector<SocketAddress> addresses = {};
  std::string key = {};  // empty = none is sent
};

struct CompletionCall {
  EndpointApi api = EndpointApi::kChat;
  bool stream = true;
  std::string model = {}, prompt = {};
  int max_tokens = 64;
};

struct EndpointAnswer {
  AnswerEnd end = AnswerEnd::kAnswered;
  int status = 0;          // of HTTP; 0 = there was none
  std::string error = {};  // why, where it is not answered
  int64_t took_ns = 0;     // from the request's leaving to the end
  int64_t connect_ns = 0;  // before that
  // Of streamed answers: from the request's leaving to the first token, and between tokens (the
  // events that carry text: most servers send one for each token).
  std::optional<int64_t> first_token_ns = {};
  std::vector<int64_t> gaps_ns = {};
  int64_t tokens = 0;                    // as the server counts them, or else the events
  std::string text = {};                 // what the model said, its first 4 KiB
  std::string model = {};                // which one says that it answered
  bool cut_short = false;                // it had more to say than `max_tokens`
  std::vector<std::string> models = {};  // of list_models()

  bool answered() const { return end == AnswerEnd::kAnswered; }
};

// GET /health: any success is good.
EndpointAnswer ask_health(const EndpointPlace& place, const Patience& patience);
EndpointAnswer list_models(const EndpointPlace& place, const Patience& patience);
// `silence_ns`: longest time in which nothing may come.
EndpointAnswer ask_completion(const EndpointPlace& place, const CompletionCall& call,
                              std::optional<int64_t> silence_ns, const Patience& patience);

}  // namespace plumbline
