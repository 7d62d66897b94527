#include "probes/rules/host_readiness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <vector>

#include "core/number.h"
#include "core/units.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/foreign_numbers.h"
#include "probes/remedy.h"
#include "probes/rules/port_holders.h"
#include "probes/thresholds.h"

namespace plumbline {

using enum Standing;

namespace {

class HostJudge {
 public:
  HostJudge(const EvidenceSet& evidence, const JobHost& job, const HostEvidence& host,
            std::vector<HostVerdict>& out)
      : evidence_(evidence), job_(job), host_(host), out_(out) {}

  void judge() {
    judge_buffers();
    judge_cores();
    judge_load();
    judge_clock();
    judge_conntrack();
    judge_limits();
    judge_power();
  }

 private:
  void say(const char* what, CheckOutcome outcome, const std::string& reason) {
    out_.push_back({make_check({"host", host_.name, {}, {}, what}, outcome, reason)});
  }
  void warn(const char* what, const char* cause, const std::string& reason, const Remedy& remedy,
            Severity severity = Severity::kWarn) {
    say(what, severity == Severity::kFail ? kFail : kWarn, reason);
    out_.back().cause = cause;
    out_.back().severity = severity;
    out_.back().remedy = remedy;
  }

  void judge_buffers() {
    const BufferVerdict verdict = judge_socket_buffers(host_);
    if (verdict.outcome == kWarn) {
      return warn("sockbuf", "host.sockbuf_clamped", verdict.reason, verdict.remedy);
    }
    say("sockbuf", verdict.outcome, verdict.reason);
  }

  void judge_cores() {
    if (host_.cores_usable <= 0) {
      return say("cores", kUnknown, "this host does not tell how many cores it has");
    }
    const int ranks = ranks_on(evidence_, host_.name);
    const int64_t most = whole_number_of(host_.cores_usable * threshold(Threshold::kRanksPerCore));
    const std::string reason =
        fmt::format("{} ranks on {} usable cores", ranks, host_.cores_usable);
    if (ranks > most) {
      return warn("cores", "host.oversubscribed", reason,
                  fmt::format("start at most {} ranks on this host, or read their times as those "
                              "of a crowded machine",
                              most));
    }
    say("cores", kPass, reason);
  }

  void judge_load() {
    if (job_.reached_by == "netns") {
      return say("load", kSkipped,
                 "a network namespace has no load of its own: it is that of the whole machine");
    }
    if (!host_.load1 || host_.cores_usable <= 0) {
      return say("load", kUnknown, "this host does not tell its load");
    }
    const std::string reason =
        fmt::format("load {:.2f} on {} usable cores", *host_.load1, host_.cores_usable);
    if (*host_.load1 / host_.cores_usable > threshold(Threshold::kLoadPerCore)) {
      return warn("load", "host.overloaded", reason,
                  has_living_run(host_)
                      ? "wait until the run that goes on here has ended: it keeps the cores busy"
                      : "end what keeps the cores busy; it stands at the top of: ps -eo "
                        "pcpu,pid,user,args | sort -rn | head -5");
    }
    say("load", kPass, reason);
  }

  // The median of all hosts and the coordinator is the right time.
  int64_t right_offset() const {
    std::vector<int64_t> offsets = {0};
    for (const HostEvidence& host : evidence_.hosts) {
      if (host.clock_offset_ns) offsets.push_back(*host.clock_offset_ns);
    }
    std::sort(offsets.begin(), offsets.end());
    return offsets[(offsets.size() - 1) / 2];
  }

  void judge_clock() {
    if (job_.reached_by == "local") {
      return say("clock", kSkipped, "this machine's own clock: nothing to compare");
    }
    if (!host_.clock_offset_ns) {
      return say("clock", kUnknown, "this host's clock was not compared");
    }
    const int64_t off = *host_.clock_offset_ns - right_offset();
    const std::string reason = fmt::format(
        "clock {} {} the others (known to ±{})",
        format_duration(static_cast<double>(std::llabs(off))), off < 0 ? "behind" : "ahead of",
        format_duration(static_cast<double>(host_.clock_uncertainty_ns)));
    const double limit = threshold(Threshold::kClockSkewMs) * 1e6;
    if (static_cast<double>(std::llabs(off) - std::llabs(host_.clock_uncertainty_ns)) > limit) {
      return warn("clock", "host.clock_skew", reason, remedy_set_clock(host_.system));
    }
    if (static_cast<double>(host_.clock_uncertainty_ns) > limit) {
      return say("clock", kUnknown, reason);
    }
    say("clock", kPass, reason);
  }

  void judge_conntrack() {
    if (!host_.conntrack_count || !host_.conntrack_max || *host_.conntrack_max <= 0) {
      return say("conntrack", kSkipped, "no connection table can be seen on this host");
    }
    const std::string reason = fmt::format("{} of {} places in the connection table are taken",
                                           *host_.conntrack_count, *host_.conntrack_max);
    const double share =
        static_cast<double>(*host_.conntrack_count) / static_cast<double>(*host_.conntrack_max);
    if (share >= threshold(Threshold::kConntrackShare)) {
      return warn(
          "conntrack", "host.conntrack_full", reason,
          remedy_sysctl("net.netfilter.nf_conntrack_max",
                        std::to_string(4 * std::clamp<int64_t>(*host_.conntrack_max, 1, 1 << 28))),
          Severity::kFail);
    }
    say("conntrack", kPass, reason);
  }

  void judge_limits() {
    if (!host_.descriptors) {
      return say("limits", kUnknown, "the limit of open files cannot be seen");
    }
    const int peers = std::max(0, evidence_.job.ranks - 1);
    const auto needed = whole_number_of(threshold(Threshold::kDescriptorsPerPeer) * peers +
                                        threshold(Threshold::kSpareDescriptors));
    const std::string reason = fmt::format("a process may open {} files; a rank among {} needs {}",
                                           *host_.descriptors, evidence_.job.ranks, needed);
    if (*host_.descriptors >= 0 && *host_.descriptors < needed) {
      return warn("limits", "host.limits", reason,
                  fmt::format("raise the limit of open files where the ranks are started: ulimit "
                              "-n {}",
                              2 * needed));
    }
    say("limits", kPass, reason);
  }

  // Only Macs tell. A warning without a cause: nothing is busy or broken, the owner has chosen it.
  void judge_power() {
    const auto mode = host_.sysctls.find("pmset.low_power_mode");
    if (mode == host_.sysctls.end()) return;
    if (mode->second != "on") return say("power", kPass, "low power mode is off");
    say("power", kWarn,
        "low power mode is on, in which a Mac computes more slowly: sudo pmset -a lowpowermode 0 "
        "(back with 1)");
  }

  const EvidenceSet& evidence_;
  const JobHost& job_;
  const HostEvidence& host_;
  std::vector<HostVerdict>& out_;
};

}  // namespace

int ranks_on(const EvidenceSet& evidence, const std::string& host) {
  const auto& hosts = evidence.job.hosts;
  const auto count = static_cast<int>(hosts.size());
  int ranks = 0;
  for (int i = 0; i < count; ++i) {
    const JobHost& other = hosts[static_cast<size_t>(i)];
    const bool same = other.name == host || same_as_earlier(evidence, other) == host;
    // The first ranks % count hosts get one more.
    if (same) ranks += evidence.job.ranks / count + (i < evidence.job.ranks % count ? 1 : 0);
  }
  return ranks;
}

std::vector<HostVerdict> readiness_of(const EvidenceSet& evidence) {
  std::vector<HostVerdict> out;
  for (const JobHost& job : evidence.job.hosts) {
    const HostEvidence* host = find_host(evidence, job.name);
    if (host == nullptr) continue;
    const std::string earlier = same_as_earlier(evidence, job);
    if (!earlier.empty()) {
      out.push_back({make_check({"host", job.name}, kSkipped, "same machine as " + earlier)});
    } else if (!has_facts(*host)) {
      out.push_back({make_check({"host", job.name}, kUnknown, lack_of_facts(*host))});
    } else {
      HostJudge(evidence, job, *host, out).judge();
    }
  }
  return out;
}

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
    out.outcome = remedy_.empty() ? kPass : kWarn;
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
  if (!host.buffers.error.empty()) return {kUnknown, host.buffers.error, {}};
  return BufferJudge(host).judge();
}

}  // namespace plumbline
