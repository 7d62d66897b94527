#include "transport/http/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/ranges.h"
#include "core/text.h"
#include "transport/http/events.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostModels = 64;
constexpr size_t kMostTextBytes = 4096;
constexpr size_t kMostGaps = 100'000;
constexpr size_t kMostModelBytes = 200;
constexpr size_t kMostReasonBytes = 160;
constexpr std::string_view kLastEvent = "[DONE]";

struct EndRow {
  AnswerEnd end;
  const char* word;
};
constexpr EndRow kEnds[] = {
    {AnswerEnd::kAnswered, "answered"},   {AnswerEnd::kBusy, "busy"},
    {AnswerEnd::kGone, "gone"},           {AnswerEnd::kRefused, "refused"},
    {AnswerEnd::kSilent, "silent"},       {AnswerEnd::kBroken, "broken"},
    {AnswerEnd::kMalformed, "malformed"}, {AnswerEnd::kUnreachable, "unreachable"},
};

AnswerEnd end_of_status(int status) {
  if (status >= 200 && status < 300) return AnswerEnd::kAnswered;
  if (status == 429 || status == 503) return AnswerEnd::kBusy;
  return status == 502 || status == 504 ? AnswerEnd::kGone : AnswerEnd::kRefused;
}

AnswerEnd end_of_failure(const HttpResult& result) {
  const ErrorCode code = result.status.error().code;
  if (code == ErrorCode::kProtocol) return AnswerEnd::kMalformed;
  if (result.step == HttpStep::kConnect) return AnswerEnd::kUnreachable;
  const bool late = code == ErrorCode::kTimeout || code == ErrorCode::kAborted;
  return late ? AnswerEnd::kSilent : AnswerEnd::kBroken;
}

std::string path_of(const HttpUrl& url, std::string_view rest) {
  std::string base = url.path;
  if (base.ends_with("/v1")) base.resize(base.size() - 3);
  return base + std::string(rest);
}

// An object of the server's, or a null one where it is none.
Json object_of(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json();
}

Json first_choice(const Json& answer) {
  const auto choices = answer.find("choices");
  const bool some = choices != answer.end() && choices->is_array() && !choices->empty();
  return some && choices->front().is_object() ? choices->front() : Json();
}

// What the model said in this choice, and whether anything at all came with it.
struct Said {
  std::string text;
  bool something = false, cut_short = false;
};
Said said_in(const Json& choice, EndpointApi api, bool stream) {
  Said said;
  if (!choice.is_object()) return said;
  said.cut_short = string_member(choice, "finish_reason") == "length";
  if (api == EndpointApi::kCompletions) {
    said.text = string_member(choice, "text");
    said.something = !said.text.empty();
    return said;
  }
  const auto message = choice.find(stream ? "delta" : "message");
  if (message == choice.end() || !message->is_object()) return said;
  said.text = string_member(*message, "content");
  // Models that think first are at work before they say anything.
  said.something = !said.text.empty() || !string_member(*message, "reasoning_content").empty() ||
                   !string_member(*message, "reasoning").empty();
  return said;
}

// Why the server did not, in its own words: {"error": {"message": ...}}, {"error": ...} ...
std::string reason_in(const Json& answer) {
  if (!answer.is_object()) return "";
  const auto error = answer.find("error");
  std::string said = string_member(answer, "message");
  if (said.empty()) said = string_member(answer, "detail");
  if (error != answer.end()) {
    said = error->is_object() ? string_member(*error, "message") : string_member(answer, "error");
  }
  return escaped_short(said, kMostReasonBytes);
}

std::string kept(const std::string& text, size_t most) { return valid_utf8(text.substr(0, most)); }

// Puts together what the pieces of one answer say.
class AnswerReader {
 public:
  AnswerReader(const CompletionCall& call, EndpointAnswer& answer) : call_(call), answer_(answer) {}

  // Of a streamed one: bytes of the body that came at this time.
  Status take_events(std::string_view bytes, int64_t at_ns) {
    std::vector<ServerEvent> events;
    const Status read = reader_.feed(bytes, events);
    for (const ServerEvent& event : events) {
      if (const Status taken = take_event(event, at_ns); !taken) return taken;
    }
    return read;
  }

  // Of one that came whole.
  void take_whole(const std::string& body) {
    const Json json = object_of(body);
    const Json choice = json.is_object() ? first_choice(json) : Json();
    if (!choice.is_object()) {
      answer_.end = AnswerEnd::kMalformed;
      answer_.error = "no JSON with \"choices\": " + escaped_short(body);
      return;
    }
    note_common(json);
    add(said_in(choice, call_.api, false));
  }

  // All events are there.
  void end_of_stream() {
    if (counted_ > 0) answer_.tokens = counted_;
    if (done_) return;
    answer_.end = AnswerEnd::kBroken;
    answer_.error =
        fmt::format("the stream ended without {} after {} events with text", kLastEvent, events_);
  }

  // The request left then.
  void set_start(int64_t sent_ns) {
    if (first_) answer_.first_token_ns = *first_ - sent_ns;
  }

 private:
  Status take_event(const ServerEvent& event, int64_t at_ns) {
    if (done_) return {};
    if (event.data == kLastEvent) {
      done_ = true;
      return {};
    }
    const Json json = object_of(event.data);
    if (!json.is_object()) {
      return fail(ErrorCode::kProtocol, "an event is no JSON: " + escaped_short(event.data));
    }
    if (json.contains("error") || event.name == "error") {
      return fail(ErrorCode::kPeerLost,
                  fmt::format("the server gave up in the stream: {}", reason_in(json)));
    }
    note_common(json);
    const Said said = said_in(first_choice(json), call_.api, true);
    if (said.something) arrive(at_ns);
    add(said);
    return {};
  }

  void arrive(int64_t at_ns) {
    ++events_;
    answer_.tokens = events_;
    if (last_ && answer_.gaps_ns.size() < kMostGaps) answer_.gaps_ns.push_back(at_ns - *last_);
    if (!first_) first_ = at_ns;
    last_ = at_ns;
  }

  void note_common(const Json& json) {
    const std::string model = string_member(json, "model");
    if (!model.empty()) answer_.model = kept(model, kMostModelBytes);
    const auto usage = json.find("usage");
    if (usage == json.end() || !usage->is_object()) return;
    const auto tokens = usage->find("completion_tokens");
    const bool sane = tokens != usage->end() && tokens->is_number_unsigned();
    if (!sane || tokens->get<uint64_t>() > 10'000'000) return;
    counted_ = tokens->get<int64_t>();
    if (!call_.stream) answer_.tokens = counted_;
  }

  void add(const Said& said) {
    answer_.cut_short = answer_.cut_short || said.cut_short;
    const size_t room = kMostTextBytes - std::min(kMostTextBytes, answer_.text.size());
    answer_.text += kept(said.text, room);
  }

  const CompletionCall& call_;
  EndpointAnswer& answer_;
  EventReader reader_;
  std::optional<int64_t> first_, last_;  // when text came
  int64_t events_ = 0, counted_ = 0;
  bool done_ = false;
};

HttpRequest request_to(const EndpointPlace& place, std::string method, std::string_view path) {
  HttpRequest request;
  request.method = std::move(method);
  request.target = path_of(place.url, path);
  if (!place.key.empty()) request.headers.push_back({"Authorization", "Bearer " + place.key});
  return request;
}

HttpRequest completion_request(const EndpointPlace& place, const CompletionCall& call) {
  const bool chat = call.api == EndpointApi::kChat;
  HttpRequest request =
      request_to(place, "POST", chat ? "/v1/chat/completions" : "/v1/completions");
  request.headers.push_back({"Content-Type", "application/json"});
  Json body = {{"max_tokens", call.max_tokens}, {"temperature", 0}, {"stream", call.stream}};
  if (!call.model.empty()) body["model"] = call.model;
  if (chat) {
    body["messages"] = {{{"role", "user"}, {"content", call.prompt}}};
  } else {
    body["prompt"] = call.prompt;
  }
  request.body = json_text(body, -1);
  return request;
}

bool is_stream(const HttpHead& head) {
  return end_of_status(head.status) == AnswerEnd::kAnswered &&
         lower_case(head.value("content-type")).starts_with("text/event-stream");
}

// What every answer says, and how it ended as far as HTTP tells.
EndpointAnswer answer_of(const HttpResult& result) {
  EndpointAnswer answer;
  const HttpTimes& times = result.times;
  answer.status = result.head.status;
  if (times.connected > 0) answer.connect_ns = times.connected - times.begun;
  answer.took_ns = times.ended - (times.sent > 0 ? times.sent : times.begun);
  if (!result.status) {
    answer.end = end_of_failure(result);
    answer.error = result.status.error().message();
    return answer;
  }
  answer.end = end_of_status(result.head.status);
  if (!answer.answered()) {
    const std::string why = reason_in(object_of(result.body));
    answer.error = fmt::format("status {} {}{}{}", result.head.status,
                               escaped_short(result.head.reason), why.empty() ? "" : ": ", why);
  }
  return answer;
}

EndpointAnswer get(const EndpointPlace& place, std::string_view path, const Patience& patience,
                   std::string& body) {
  const HttpResult result =
      http_exchange(place.url, place.addresses, request_to(place, "GET", path), {}, patience);
  body = result.body;
  return answer_of(result);
}

}  // namespace

const char* to_string(EndpointApi api) {
  return api == EndpointApi::kChat ? "chat" : "completions";
}

std::optional<EndpointApi> endpoint_api_from(std::string_view name) {
  for (const EndpointApi api : {EndpointApi::kChat, EndpointApi::kCompletions}) {
    if (name == to_string(api)) return api;
  }
  return std::nullopt;
}

const char* to_string(AnswerEnd end) { return kEnds[static_cast<size_t>(end)].word; }

std::optional<AnswerEnd> answer_end_from(std::string_view word) {
  const EndRow* row = find_where(kEnds, [&](const EndRow& r) { return word == r.word; });
  if (row == nullptr) return std::nullopt;
  return row->end;
}

EndpointAnswer ask_health(const EndpointPlace& place, const Patience& patience) {
  std::string body;
  return get(place, "/health", patience, body);
}

EndpointAnswer list_models(const EndpointPlace& place, const Patience& patience) {
  std::string body;
  EndpointAnswer answer = get(place, "/v1/models", patience, body);
  if (!answer.answered()) return answer;
  const Json json = object_of(body);
  const auto data = json.is_object() ? json.find("data") : json.end();
  if (!json.is_object() || data == json.end() || !data->is_array()) {
    answer.end = AnswerEnd::kMalformed;
    answer.error = "no JSON with \"data\": " + escaped_short(body);
    return answer;
  }
  for (const Json& entry : *data) {
    const std::string id = entry.is_object() ? string_member(entry, "id") : std::string();
    if (answer.models.size() < kMostModels && !id.empty()) {
      answer.models.push_back(kept(id, kMostModelBytes));
    }
  }
  return answer;
}

EndpointAnswer ask_completion(const EndpointPlace& place, const CompletionCall& call,
                              std::optional<int64_t> silence_ns, const Patience& patience) {
  EndpointAnswer partial;
  AnswerReader reader(call, partial);
  std::string body;
  const TakeBody take = [&](const HttpHead& head, std::string_view bytes, int64_t at_ns) -> Status {
    if (call.stream && is_stream(head)) return reader.take_events(bytes, at_ns);
    body += bytes;
    return {};
  };
  HttpSettings settings;
  settings.silence_ns = silence_ns;
  HttpResult result = http_exchange(place.url, place.addresses, completion_request(place, call),
                                    settings, patience, take);
  result.body = std::move(body);
  reader.set_start(result.times.sent);
  const EndpointAnswer whole = answer_of(result);
  partial.end = whole.end;
  partial.status = whole.status;
  partial.error = whole.error;
  partial.took_ns = whole.took_ns;
  partial.connect_ns = whole.connect_ns;
  if (!partial.answered()) return partial;
  if (call.stream && !is_stream(result.head)) {
    partial.end = AnswerEnd::kMalformed;
    partial.error = "asked for a stream, it answers with the type " +
                    in_quotes(std::string(result.head.value("content-type")));
  } else if (call.stream) {
    reader.end_of_stream();
  } else {
    reader.take_whole(result.body);
  }
  return partial;
}

}  // namespace plumbline
