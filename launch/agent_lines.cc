#include "launch/agent_lines.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "core/diagnosis/host_agent.h"
#include "core/json.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr int64_t kDefaultWithinMs = 10'000;
constexpr int64_t kMaxWithinMs = 3'600'000;
constexpr int64_t kMaxErrno = 4095;

// Counts brackets outside strings, before anything recursive sees the text. Exact for valid JSON,
// and harmless for the rest, which the parser then refuses.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxLineDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

tl::unexpected<Error> nonsense(const std::string& why, const std::string& line) {
  return fail(ErrorCode::kProtocol, why + ": '" + excerpt(line) + "'");
}

Expected<json> parse_object(const std::string& line) {
  if (too_deep(line)) return nonsense("a line nested too deep", line);
  json whole = json::parse(line, nullptr, false);
  if (whole.is_discarded()) return nonsense("a line that is no JSON", line);
  if (!whole.is_object()) return nonsense("a line that is no JSON object", line);
  return whole;
}

// A whole number within these bounds, written as one: not 7.0, not "7".
Expected<int64_t> whole_number(const json& object, const char* key, int64_t least, int64_t most) {
  const auto it = object.find(key);
  if (it == object.end()) return fail(ErrorCode::kProtocol, fmt::format("no '{}'", key));
  const bool fits =
      it->is_number_integer() &&
      !(it->is_number_unsigned() && it->get<uint64_t>() > static_cast<uint64_t>(most)) &&
      it->get<int64_t>() >= least && it->get<int64_t>() <= most;
  if (!fits) {
    return fail(ErrorCode::kProtocol,
                fmt::format("'{}' is not a whole number from {} to {}", key, least, most));
  }
  return it->get<int64_t>();
}

int64_t integer_or(const json& object, const char* key, int64_t otherwise) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : otherwise;
}

// Of an error as to_json(Error) writes it. Keys may lack, but not have another type.
Expected<Error> parse_error(const json& object) {
  if (!object.is_object()) return fail(ErrorCode::kProtocol, "'error' is no object");
  for (const char* key : {"code", "what", "hint", "cause"}) {
    if (object.contains(key) && !object[key].is_string()) {
      return fail(ErrorCode::kProtocol, fmt::format("'{}' of an error is no text", key));
    }
  }
  if (object.contains("errno")) {
    const Expected<int64_t> number = whole_number(object, "errno", 0, kMaxErrno);
    if (!number) return fail(number.error());
  }
  return object.get<Error>();
}

}  // namespace

std::string excerpt(std::string_view text, size_t max_chars) {
  std::string shown(text.substr(0, max_chars));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > max_chars ? shown + "..." : shown;
}

int64_t wall_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Expected<AgentRequestLine> parse_request_line(const std::string& line, int64_t* id) {
  if (id != nullptr) *id = 0;
  const Expected<json> whole = parse_object(line);
  if (!whole) return fail(whole.error());
  AgentRequestLine request;
  const Expected<int64_t> number = whole_number(*whole, "id", 1, INT64_MAX);
  if (!number) return nonsense("a request with " + number.error().what, line);
  request.id = *number;
  if (id != nullptr) *id = *number;
  const auto name = whole->find("request");
  if (name == whole->end() || !name->is_string()) return nonsense("a line without 'request'", line);
  request.request = name->get<std::string>();
  request.within_ms = kDefaultWithinMs;
  if (whole->contains("within_ms")) {
    const Expected<int64_t> within = whole_number(*whole, "within_ms", 1, kMaxWithinMs);
    if (!within) return nonsense("a request whose " + within.error().what, line);
    request.within_ms = *within;
  }
  const auto params = whole->find("params");
  if (params != whole->end() && !params->is_object() && !params->is_null()) {
    return nonsense("a request whose 'params' is no object", line);
  }
  const bool given = params != whole->end() && params->is_object();
  request.params = given ? params->dump() : "{}";
  return request;
}

std::string format_request_line(int64_t id, const std::string& request, int64_t within_ms,
                                const json& params) {
  const json line = {{"id", id},
                     {"request", request},
                     {"within_ms", std::clamp<int64_t>(within_ms, 1, kMaxWithinMs)},
                     {"params", params.is_object() ? params : json::object()}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

json hello_params(const std::string& host, const std::map<std::string, std::string>& config) {
  return {{"version", PLUMBLINE_VERSION}, {"host", host}, {"config", config}};
}

json to_reply(const HelloReply& hello) {
  return {{"version", hello.version}, {"build", hello.build},   {"pid", hello.pid},
          {"uid", hello.uid},         {"config", hello.config}, {"time_ns", hello.time_ns}};
}

json to_reply_of_time(int64_t time_ns) { return {{"time_ns", time_ns}}; }

Expected<HelloReply> parse_hello(const json& reply) {
  HelloReply hello;
  try {
    hello.version = reply.at("version").get<std::string>();
    hello.build = reply.value("build", std::string());
    hello.config = reply.value("config", std::map<std::string, std::string>());
  } catch (const json::exception&) {
    return fail(ErrorCode::kProtocol, "it greets with " + excerpt(reply.dump()));
  }
  hello.pid = integer_or(reply, "pid", 0);
  hello.uid = integer_or(reply, "uid", -1);
  hello.time_ns = parse_time(reply);
  return hello;
}

int64_t parse_time(const json& reply) {
  return reply.is_object() ? integer_or(reply, "time_ns", -1) : -1;
}

Expected<int64_t> parse_reply_line(const std::string& line, Expected<json>& answer) {
  Expected<json> whole = parse_object(line);
  if (!whole) return fail(whole.error());
  const Expected<int64_t> id = whole_number(*whole, "id", 1, INT64_MAX);
  if (!id) return nonsense("an answer with " + id.error().what, line);
  const bool failed = whole->contains("error");
  if (failed == whole->contains("reply")) {
    return nonsense("an answer that has not exactly one of 'reply' and 'error'", line);
  }
  if (!failed) {
    answer = std::move((*whole)["reply"]);
    return *id;
  }
  Expected<Error> error = parse_error((*whole)["error"]);
  if (!error) return nonsense("an answer in which " + error.error().what, line);
  answer = fail(std::move(*error));
  return *id;
}

std::string format_reply_line(int64_t id, const Expected<json>& answer) {
  json line = {{"id", id}};
  if (answer) {
    line["reply"] = *answer;
  } else {
    line["error"] = answer.error();
  }
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace plumbline
