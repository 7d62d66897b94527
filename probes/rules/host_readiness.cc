#include "probes/rules/host_readiness.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/units.h"
#include "core/whole_number.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/remedy.h"
#include "probes/rules/port_holders.h"
#include "probes/rules/socket_buffers.h"
#include "probes/thresholds.h"

namespace plumbline {
namespace {

class HostJudge {
 public:
  HostJudge(const EvidenceSet& evidence, const JobHost& job, const HostEvidence& host,
            std::vector<Readiness>& out)
      : evidence_(evidence), job_(job), host_(host), out_(out) {}

  void judge() {
    judge_buffers();
    judge_cores();
    judge_load();
    judge_clock();
    judge_conntrack();
    judge_limits();
  }

 private:
  void say(const char* what, CheckOutcome outcome, const std::string& reason) {
    Readiness row;
    row.check = make_check({"host", host_.name, {}, {}, what}, outcome, reason);
    out_.push_back(std::move(row));
  }
  void warn(const char* what, const char* cause, const std::string& reason, const Remedy& remedy,
            Severity severity = Severity::kWarn) {
    say(what, severity == Severity::kFail ? CheckOutcome::kFail : CheckOutcome::kWarn, reason);
    out_.back().cause = cause;
    out_.back().severity = severity;
    out_.back().remedy = remedy;
  }

  void judge_buffers() {
    const BufferVerdict verdict = judge_socket_buffers(host_);
    if (verdict.outcome == CheckOutcome::kWarn) {
      return warn("sockbuf", "host.sockbuf_clamped", verdict.reason, verdict.remedy);
    }
    say("sockbuf", verdict.outcome, verdict.reason);
  }

  void judge_cores() {
    if (host_.cores_usable <= 0) {
      return say("cores", CheckOutcome::kUnknown, "this host does not tell how many cores it has");
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
    say("cores", CheckOutcome::kPass, reason);
  }

  void judge_load() {
    if (job_.reached_by == "netns") {
      return say("load", CheckOutcome::kSkipped,
                 "a network namespace has no load of its own: it is that of the whole machine");
    }
    if (!host_.load1 || host_.cores_usable <= 0) {
      return say("load", CheckOutcome::kUnknown, "this host does not tell its load");
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
    say("load", CheckOutcome::kPass, reason);
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
      return say("clock", CheckOutcome::kSkipped, "this machine's own clock: nothing to compare");
    }
    if (!host_.clock_offset_ns) {
      return say("clock", CheckOutcome::kUnknown, "this host's clock was not compared");
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
      return say("clock", CheckOutcome::kUnknown, reason);
    }
    say("clock", CheckOutcome::kPass, reason);
  }

  void judge_conntrack() {
    if (!host_.conntrack_count || !host_.conntrack_max || *host_.conntrack_max <= 0) {
      return say("conntrack", CheckOutcome::kSkipped,
                 "no connection table can be seen on this host");
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
    say("conntrack", CheckOutcome::kPass, reason);
  }

  void judge_limits() {
    if (!host_.descriptors) {
      return say("limits", CheckOutcome::kUnknown, "the limit of open files cannot be seen");
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
    say("limits", CheckOutcome::kPass, reason);
  }

  const EvidenceSet& evidence_;
  const JobHost& job_;
  const HostEvidence& host_;
  std::vector<Readiness>& out_;
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

std::vector<Readiness> readiness_of(const EvidenceSet& evidence) {
  std::vector<Readiness> out;
  for (const JobHost& job : evidence.job.hosts) {
    const HostEvidence* host = find_host(evidence, job.name);
    if (host == nullptr) continue;
    const std::string earlier = same_as_earlier(evidence, job);
    Readiness row;
    if (!earlier.empty()) {
      row.check =
          make_check({"host", job.name}, CheckOutcome::kSkipped, "same machine as " + earlier);
      out.push_back(std::move(row));
    } else if (!has_facts(*host)) {
      row.check = make_check({"host", job.name}, CheckOutcome::kUnknown, lack_of_facts(*host));
      out.push_back(std::move(row));
    } else {
      HostJudge(evidence, job, *host, out).judge();
    }
  }
  return out;
}

}  // namespace plumbline
