#include "probes/host.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>

#include "core/units.h"
#include "probes/checks.h"
#include "probes/remedy.h"
#include "probes/thresholds.h"
#include "transport/socket.h"

namespace plumbline {
namespace {

constexpr const char* kId = "host";

// Collects checks and findings about one host.
class Judge {
 public:
  explicit Judge(const std::string& host) : host_(host) {}

  void say(const char* what, CheckOutcome outcome, const std::string& reason) {
    result_.checks.push_back(make_check({kId, host_, {}, {}, what}, outcome, reason));
  }
  void warn(const char* what, const char* cause, const std::string& reason,
            const std::string& remedy) {
    say(what, CheckOutcome::kWarn, reason);
    result_.findings.push_back(make_finding(cause, Severity::kWarn, result_.checks.back(), remedy));
  }
  ProbeResult take() { return std::move(result_); }

 private:
  std::string host_;
  ProbeResult result_;
};

void judge_buffers(Judge& judge, const Readiness& ready) {
  if (ready.buffer_asked == 0) {
    judge.say("sockbuf", CheckOutcome::kPass, "socket buffers are left to the system (0 asked)");
    return;
  }
  if (!ready.buffer_error.empty()) {
    judge.say("sockbuf", CheckOutcome::kUnknown, ready.buffer_error);
    return;
  }
  const uint64_t least = std::min(ready.send_buffer, ready.recv_buffer);
  const std::string reason = fmt::format(
      "asked {}, granted {} to send and {} to receive", format_bytes(ready.buffer_asked),
      format_bytes(ready.send_buffer), format_bytes(ready.recv_buffer));
  const double share = static_cast<double>(least) / static_cast<double>(ready.buffer_asked);
  if (share < threshold(Threshold::kBufferShare)) {
    judge.warn("sockbuf", "host.sockbuf_clamped", reason,
               remedy_socket_buffers(ready.buffer_asked));
  } else {
    judge.say("sockbuf", CheckOutcome::kPass, reason);
  }
}

void judge_cores(Judge& judge, const HostFacts& facts, const Readiness& ready) {
  const int cores = std::max(1, facts.cores_usable);
  const int most = static_cast<int>(cores * threshold(Threshold::kRanksPerCore));
  const std::string reason = fmt::format("{} ranks on {} usable cores", ready.ranks, cores);
  if (ready.ranks > most) {
    judge.warn("cores", "host.oversubscribed", reason,
               fmt::format("start at most {} ranks on this host, or read their times as those of "
                           "a crowded machine",
                           most));
  } else {
    judge.say("cores", CheckOutcome::kPass, reason);
  }
}

void judge_load(Judge& judge, const HostFacts& facts) {
  if (!facts.load1) {
    judge.say("load", CheckOutcome::kUnknown, "this system does not tell its load");
    return;
  }
  const int cores = std::max(1, facts.cores_usable);
  const std::string reason = fmt::format("load {:.2f} on {} usable cores", *facts.load1, cores);
  if (*facts.load1 / cores > threshold(Threshold::kLoadPerCore)) {
    judge.warn("load", "host.overloaded", reason,
               "end what keeps the cores busy; it stands at the top of: ps -eo pcpu,pid,user,args "
               "| sort -rn | head -5");
  } else {
    judge.say("load", CheckOutcome::kPass, reason);
  }
}

void judge_governor(Judge& judge, const HostFacts& facts) {
  if (!facts.governor) {
    judge.say("governor", CheckOutcome::kSkipped, "this system shows no CPU frequency governor");
  } else if (*facts.governor == "performance") {
    judge.say("governor", CheckOutcome::kPass, "performance");
  } else {
    judge.say("governor", CheckOutcome::kWarn,
              fmt::format("{}: the clock rate follows the load, so times drift; {}",
                          *facts.governor, remedy_governor()));
  }
}

void judge_clock(Judge& judge, const HostFacts& facts, const Readiness& ready) {
  const std::string reason = fmt::format("{}, a reading takes {} ns and resolves {} ns",
                                         facts.clock_source.value_or("clock source unknown"),
                                         ready.clock.call_ns, ready.clock.resolution_ns);
  if (static_cast<double>(ready.clock.call_ns) > threshold(Threshold::kClockCallNs)) {
    judge.say("clock", CheckOutcome::kWarn,
              reason + "; a faster source, where the hardware has one: " + remedy_clock_source());
  } else {
    judge.say("clock", CheckOutcome::kPass, reason);
  }
}

void judge_limits(Judge& judge, const Readiness& ready) {
  if (!ready.descriptors) {
    judge.say("limits", CheckOutcome::kPass, "no limit of open files");
    return;
  }
  const auto needed = static_cast<uint64_t>(threshold(Threshold::kDescriptorsPerPeer) *
                                                std::max(0, ready.world - 1) +
                                            threshold(Threshold::kSpareDescriptors));
  const std::string reason = fmt::format("a process may open {} files; a rank among {} needs {}",
                                         *ready.descriptors, ready.world, needed);
  if (*ready.descriptors < needed) {
    judge.warn("limits", "host.limits", reason, fmt::format("ulimit -n {}", 2 * needed));
  } else {
    judge.say("limits", CheckOutcome::kPass, reason);
  }
}

}  // namespace

Readiness read_readiness(const ProbeContext& context) {
  Readiness ready;
  ready.ranks = ready.world = context.ranks;
  ready.clock = measure_clock();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    ready.descriptors = limit.rlim_cur;
  }
  if (context.options == nullptr) return ready;
  ready.buffer_asked = static_cast<uint64_t>(context.options->integer("sock_bufsize"));
  if (ready.buffer_asked == 0) return ready;
  // A listener gets its buffers exactly as the transport's own sockets do.
  auto any = make_socket_address("127.0.0.1", 0);
  SocketOptions options;
  options.buffer_bytes = ready.buffer_asked;
  const auto socket = any ? listen_on(*any, options) : Expected<Fd>(fail(any.error()));
  if (!socket) {
    ready.buffer_error = socket.error().message();
    return ready;
  }
  ready.send_buffer = granted_buffer(socket->get(), SO_SNDBUF);
  ready.recv_buffer = granted_buffer(socket->get(), SO_RCVBUF);
  return ready;
}

ProbeResult judge_host(const std::string& host, const HostFacts& facts, const Readiness& ready) {
  Judge judge(host);
  judge_buffers(judge, ready);
  judge_cores(judge, facts, ready);
  judge_load(judge, facts);
  judge_governor(judge, facts);
  judge_clock(judge, facts, ready);
  judge_limits(judge, ready);
  return judge.take();
}

ProbeResult probe_host(const ProbeContext& context) {
  ProbeResult result;
  for (size_t i = 0; i < context.hosts.size(); ++i) {
    const std::string& name = context.hosts[i].name;
    if (const auto earlier = same_machine(context, i)) {
      result.checks.push_back(
          make_check({kId, name}, CheckOutcome::kSkipped, "same machine as " + *earlier));
    } else {
      append(result, judge_host(name, context.facts, read_readiness(context)));
    }
  }
  return result;
}

}  // namespace plumbline
