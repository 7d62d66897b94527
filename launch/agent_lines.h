// The lines that an agent and its coordinator exchange (docs/agent_protocol.md), as pure functions,
// apart for tests and fuzzing. Both ends treat a line as foreign bytes: its JSON may be invalid,
// nested a million deep (nlohmann's writer and copy recurse), or of the wrong types; the answer is
// then a kProtocol Error. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/error.h"

namespace plumbline {

// Deepest nesting of objects and arrays that either end accepts.
inline constexpr int kMaxLineDepth = 64;
// Longest request that an agent accepts, and longest reply that a coordinator accepts, in bytes.
inline constexpr size_t kMaxRequestBytes = 4u << 20;
inline constexpr size_t kMaxReplyBytes = 32u << 20;

// One request, as the agent reads it.
struct AgentRequestLine {
  int64_t id = 0;  // 1 or more
  std::string request;
  int64_t within_ms = 0;  // 1 to an hour
  std::string params;     // JSON text, an object
};

// `*id` (may be null) becomes the line's id as soon as that is known, so that an error can be
// answered; 0 when it is not.
Expected<AgentRequestLine> parse_request_line(const std::string& line, int64_t* id = nullptr);
std::string format_request_line(int64_t id, const std::string& request, int64_t within_ms,
                                const nlohmann::json& params);

// One answer, as the coordinator reads it: returns its id and puts what the agent said, a reply or
// an error of its own, into `answer`.
Expected<int64_t> parse_reply_line(const std::string& line, Expected<nlohmann::json>& answer);
std::string format_reply_line(int64_t id, const Expected<nlohmann::json>& answer);

// What an agent itself answers, everything else is its handler's: "hello" with who it is, "time"
// with its clock alone.
inline constexpr const char* kHelloRequest = "hello";
inline constexpr const char* kTimeRequest = "time";
struct HelloReply {
  std::string version, build;
  int64_t pid = 0, uid = -1;
  std::map<std::string, std::string> config;  // of its own environment
  int64_t time_ns = -1;                       // of its wall clock; -1 = it did not say
};
nlohmann::json hello_params(const std::string& host,
                            const std::map<std::string, std::string>& config);
nlohmann::json to_reply(const HelloReply& hello);
nlohmann::json to_reply_of_time(int64_t time_ns);
// An answer without a version, or with one that is no text, is a kProtocol Error.
Expected<HelloReply> parse_hello(const nlohmann::json& reply);
int64_t parse_time(const nlohmann::json& reply);  // -1 = it does not say

// Something to show of a line that is not ours: its beginning, unprintable bytes as '?'.
std::string excerpt(std::string_view text, size_t max_chars = 80);

// Nanoseconds of the wall clock since 1970 (CLOCK_REALTIME), for clock offsets.
int64_t wall_clock_ns();

}  // namespace plumbline
