#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "core/ranges.h"
#include "probes/gather/gather_job.h"

namespace plumbline {
namespace {

// What waits is sent again after as long as it has waited already, so that a job that hangs for
// minutes has no packet in all of it.
constexpr int64_t kTurnMs = 1000, kAllTurnsMs = 3500;
constexpr size_t kMostConnections = 64;
constexpr int64_t kMostPackets = 1'000'000;  // that are told of a connection

bool is_end(const JobSelection::End& end, const JobPackets& packets) {
  return end.ip == packets.ip && end.port == packets.port && end.peer_ip == packets.peer_ip &&
         end.peer_port == packets.peer_port;
}
JobSelection::End seen_from_peer(const JobSelection::End& end) {
  JobSelection::End out;
  out.ip = end.peer_ip;
  out.port = end.peer_port;
  out.peer_ip = end.ip;
  out.peer_port = end.port;
  return out;
}

int64_t add(int64_t sum, int64_t count) {
  return std::min(sum + std::clamp<int64_t>(count, 0, kMostPackets), kMostPackets);
}

class JobCapture {
 public:
  JobCapture(ProbeContext& context, const std::vector<JobSelection::End>& connections)
      : context_(context), job_(*context.evidence.job_seen), own_(job_.hosts.size()) {
    for (const JobSelection::End& end : connections) {
      if (ends_.size() >= 2 * kMostConnections) break;
      ends_.push_back(end);
      ends_.push_back(seen_from_peer(end));
      ports_.insert({end.port, end.peer_port});
    }
    for (size_t i = 0; i < job_.hosts.size(); ++i) {
      for (const JobAddress& address : job_.hosts[i].addresses) {
        // There a capture is of one interface, that of the first address (capture_macos.cc).
        const bool full = context.evidence.hosts[i].system == "macos" && !own_[i].empty();
        const bool used = any_of(ends_, [&](const auto& end) { return end.ip == address.ip; });
        if (used && !full && !is_in(own_[i], address.ip)) own_[i].push_back(address.ip);
      }
    }
  }

  void run() {
    const Deadline enough = Deadline::after_ms(kAllTurnsMs);
    do {
      if (!turn()) return;
    } while (!enough.passed() && !is_over(context_) && !seen_of_all());
  }

 private:
  using Summaries = std::map<size_t, TraceSummary>;

  // false = it makes no sense to go on: of one end alone nothing follows.
  bool turn() {
    const std::vector<int> ports(ports_.begin(), ports_.end());
    HostCaptures wide(context_, "job wide", own_, ports), narrow(context_, "job", own_, ports);
    const bool both = wide.start() > 1 && narrow.start() > 1;
    const Deadline over = Deadline::after_ms(kTurnMs);
    while (both && !over.passed() && !is_over(context_)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    const Summaries inner = narrow.stop(false), outer = wide.stop(false);
    if (!both) return false;
    std::set<size_t> whole;
    for (const auto& [host, summary] : outer) {
      if (inner.count(host) != 0 && wide.is_whole(host) && narrow.is_whole(host)) {
        whole.insert(host);
      }
    }
    for (size_t i = 0; i + 1 < ends_.size(); i += 2) {
      const size_t a = host_of(ends_[i].ip), b = host_of(ends_[i + 1].ip);
      if (a == b || whole.count(a) == 0 || whole.count(b) == 0) continue;
      take(a, ends_[i], inner.at(a), outer.at(a));
      take(b, ends_[i + 1], inner.at(b), outer.at(b));
    }
    return true;
  }

  // As many as there are hosts: none captures for this address.
  size_t host_of(const std::string& ip) const {
    size_t host = 0;
    while (host < own_.size() && !is_in(own_[host], ip)) ++host;
    return host;
  }

  void take(size_t host, const JobSelection::End& end, const TraceSummary& inner,
            const TraceSummary& outer) {
    std::vector<JobPackets>& captured = job_.hosts[host].captured;
    JobPackets* packets =
        find_where(captured, [&](const JobPackets& each) { return is_end(end, each); });
    if (packets == nullptr) {
      captured.push_back({end.ip, end.peer_ip, end.port, end.peer_port});
      packets = &captured.back();
    }
    count(end, inner, packets->left, packets->came);
    count(end, outer, packets->left_wide, packets->came_wide);
  }

  static void count(const JobSelection::End& end, const TraceSummary& summary, int64_t& left,
                    int64_t& came) {
    for (const TraceFlow& flow : summary.flows) {
      if (flow.protocol != "tcp") continue;
      const JobPackets as_a{flow.a_ip, flow.b_ip, flow.a_port, flow.b_port};
      const JobPackets as_b{flow.b_ip, flow.a_ip, flow.b_port, flow.a_port};
      const bool by_a = is_end(end, as_a);
      if (!by_a && !is_end(end, as_b)) continue;
      left = add(left, (by_a ? flow.a : flow.b).packets);
      came = add(came, (by_a ? flow.b : flow.a).packets);
    }
  }

  // Some packet of each connection has left an end.
  bool seen_of_all() const {
    for (size_t i = 0; i + 1 < ends_.size(); i += 2) {
      const bool seen = any_of(job_.hosts, [&](const JobHostEvidence& host) {
        return any_of(host.captured, [&](const JobPackets& packets) {
          return packets.left > 0 && (is_end(ends_[i], packets) || is_end(ends_[i + 1], packets));
        });
      });
      if (!seen) return false;
    }
    return true;
  }

  ProbeContext& context_;
  JobEvidence& job_;
  std::vector<JobSelection::End> ends_;        // both of each connection, one behind the other
  std::vector<std::vector<std::string>> own_;  // addresses, by host
  std::set<int> ports_;
};

}  // namespace

void capture_job(ProbeContext& context, const std::vector<JobSelection::End>& connections) {
  if (connections.empty() || !context.evidence.job_seen) return;
  if (context.progress) context.progress("capturing packets of what stands still");
  JobCapture(context, connections).run();
}

}  // namespace plumbline
