// The lines with which the probes' connections and datagrams begin, and the answers to them
// (docs/agent_protocol.md). A line that is not exactly one of these comes from a stranger. Pure
// functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plumbline {

constexpr size_t kMaxProbeLine = 160;  // bytes, its end included
constexpr size_t kEchoBytes = 64;      // one message of mode `echo`

struct ProbeLine {
  std::string nonce, mode;
  int64_t argument = 0;
};
// "PLPROBE1 <nonce> <mode> <argument>\n"
std::string probe_line(const ProbeLine& line);
std::optional<ProbeLine> parse_probe_line(std::string_view text);
// Letters, digits, '.', '_' and '-', 1 to 64 of them.
bool usable_nonce(std::string_view nonce);

// "PLPROBE1 ok <nonce>\n", the answer to every line.
std::string ok_line(const std::string& nonce);

// What a sink says at the end: "PLPROBE1 got <bytes> <duration_ns> <cpu_ns> <segments>\n"; the
// last number may be missing.
struct SinkReport {
  int64_t bytes = 0;
  int64_t duration_ns = 0;  // from the first byte to the last
  int64_t cpu_ns = 0;       // of the thread that read them
  int64_t segments = 0;     // with data, that came in on this connection; 0 = not told
};
std::string sink_line(const SinkReport& report);
std::optional<SinkReport> parse_sink_line(std::string_view text);

}  // namespace plumbline
