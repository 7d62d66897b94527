#include "probes/rules/socket_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "core/number.h"
#include "probes/foreign_numbers.h"
#include "probes/remedy.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

constexpr int64_t kMebi = 1 << 20, kMostAsked = int64_t{1} << 40;

// One direction, and where a system keeps its limits.
struct WayRow {
  const char* verb;
  int64_t BufferEvidence::*granted;
  const char *linux_asked, *linux_tuned;
  const char* macos_tuned;
  int64_t usual;  // bytes, how far Linux lets buffers grow where memory is ample
};
constexpr const char* kMacosAsked = "kern.ipc.maxsockbuf";
constexpr WayRow kWays[] = {
    {"receive", &BufferEvidence::receive, "net.core.rmem_max", "net.ipv4.tcp_rmem",
     "net.inet.tcp.autorcvbufmax", 6 * kMebi},
    {"send", &BufferEvidence::send, "net.core.wmem_max", "net.ipv4.tcp_wmem",
     "net.inet.tcp.autosndbufmax", 4 * kMebi},
};

// Whole numbers that are not negative; empty when anything else stands there.
std::vector<int64_t> numbers_in(const std::string& text) {
  std::vector<int64_t> out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto value = parse_whole(word, int64_t{0}, INT64_MAX);
    if (!value) return {};
    out.push_back(*value);
  }
  return out;
}

class BufferJudge {
 public:
  explicit BufferJudge(const HostEvidence& host)
      : host_(host),
        macos_(host.system == "macos"),
        asked_(std::clamp<int64_t>(host.buffers.asked, 0, kMostAsked)) {}

  BufferVerdict judge() {
    for (const WayRow& way : kWays) look_at(way);
    BufferVerdict out;
    out.outcome = remedy_.empty() ? CheckOutcome::kPass : CheckOutcome::kWarn;
    out.reason = asked_ == 0 ? "socket buffers are left to the system (0 asked)"
                             : fmt::format("asked {}, granted {} to send and {} to receive",
                                           describe_size(asked_), describe_size(host_.buffers.send),
                                           describe_size(host_.buffers.receive));
    for (const std::string& line : words_) out.reason += "; " + line;
    out.remedy = remedy_;
    return out;
  }

 private:
  const char* tuned_by(const WayRow& way) const {
    return macos_ ? way.macos_tuned : way.linux_tuned;
  }

  // Bytes of payload that the system's own tuning reaches.
  std::optional<int64_t> tuned(const WayRow& way) const {
    const auto found = host_.sysctls.find(tuned_by(way));
    if (found == host_.sysctls.end()) return std::nullopt;
    const std::vector<int64_t> numbers = numbers_in(found->second);
    if (macos_) return numbers.size() == 1 ? std::optional(numbers[0]) : std::nullopt;
    // Half of a Linux buffer is the kernel's bookkeeping, tcp(7).
    return numbers.size() == 3 ? std::optional(numbers[2] / 2) : std::nullopt;
  }

  void look_at(const WayRow& way) {
    const double share = threshold(Threshold::kBufferShare);
    const auto needed = static_cast<int64_t>(threshold(Threshold::kBufferTuned));
    const std::optional<int64_t> grown = tuned(way);
    const int64_t granted = host_.buffers.*way.granted;
    const double enough = share * static_cast<double>(asked_);
    // A socket whose wish is refused is left to the system's tuning.
    const bool refused = asked_ > 0 && static_cast<double>(granted) < enough;
    if (refused && static_cast<double>(grown.value_or(granted)) < enough) raise_asked(way);
    if (!grown) return;
    const bool small = *grown < needed;
    if (asked_ == 0 || refused || small) {
      words_.push_back(fmt::format("the system's tuning gives a socket at most {} to {} ({})",
                                   describe_size(*grown), way.verb, tuned_by(way)));
    }
    if (!small) return;
    words_.back() += fmt::format(", where 10 Gbit/s over 0.5 ms need {}", describe_size(needed));
    raise_tuned(way);
  }

  void add(const Command& command) { remedy_.then(Remedy(command)); }  // each once

  void raise_asked(const WayRow& way) {
    // On macOS the limit covers both directions of a socket and the kernel's own bookkeeping.
    add(macos_ ? remedy_sysctl(kMacosAsked, std::to_string(2 * asked_))
               : remedy_sysctl(way.linux_asked, std::to_string(asked_)));
  }

  void raise_tuned(const WayRow& way) {
    const int64_t most = std::max(way.usual, 2 * asked_);
    if (macos_) return add(remedy_sysctl(way.macos_tuned, std::to_string(most)));
    const std::vector<int64_t> now = numbers_in(host_.sysctls.at(way.linux_tuned));
    // Smallest and first size stay as they are.
    add(remedy_sysctl(way.linux_tuned, fmt::format("{} {} {}", now[0], now[1], most)));
  }

  const HostEvidence& host_;
  bool macos_;
  int64_t asked_;
  std::vector<std::string> words_;
  Remedy remedy_;
};

}  // namespace

BufferVerdict judge_socket_buffers(const HostEvidence& host) {
  if (!host.buffers.error.empty()) return {CheckOutcome::kUnknown, host.buffers.error, {}};
  return BufferJudge(host).judge();
}

}  // namespace plumbline
