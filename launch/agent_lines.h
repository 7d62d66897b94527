// The lines that an agent and its coordinator exchange (docs/agent_protocol.md), as pure functions,
// apart for tests and fuzzing. Both ends treat a line as foreign bytes: its JSON may be invalid,
// nested a million deep (nlohmann's writer and copy recurse), or of the wrong types; the answer is
// then a kProtocol Error. Thread-safe.
#pragma once

#include <cstdint>
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

// Something to show of a line that is not ours: its beginning, unprintable bytes as '?'.
std::string excerpt(std::string_view text, size_t max_chars = 80);

// Nanoseconds of the wall clock since 1970 (CLOCK_REALTIME), for clock offsets.
int64_t wall_clock_ns();

}  // namespace plumbline
