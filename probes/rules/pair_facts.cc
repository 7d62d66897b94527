#include "probes/rules/pair_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/ports.h"
#include "probes/rules/host_routes.h"
#include "probes/rules/pair_loss.h"

namespace plumbline {
namespace {

// Why packets from here to there cannot leave or be addressed; empty when nothing is known.
std::string broken_one_way(const PairEvidence& pair, const HostEvidence* from,
                           const HostEvidence* to) {
  for (const RouteLookup& lookup : pair.routes) {
    if (is_refusal(lookup)) {
      return fmt::format("{} has no route to {}", pair.from, pair.to_ip);
    }
  }
  const InterfaceEvidence* carrier = interface_with(from, pair.from_ip);
  for (const RouteLookup& lookup : pair.routes) {
    if (carrier != nullptr && lookup.with_source && !lookup.dev.empty() && lookup.type != "local" &&
        lookup.dev != carrier->name) {
      return fmt::format("{} sends to {} through {}, not through {}", pair.from, pair.to_ip,
                         lookup.dev, carrier->name);
    }
  }
  if (!pair.neighbour || !pair.neighbour->on_link) return {};
  const NeighbourProbe& neighbour = *pair.neighbour;
  if (neighbour.macs.size() > 1) return "two machines answer for " + pair.to_ip;
  if (nobody_answers(&pair)) return "nobody answers for " + pair.to_ip + " on the link";
  if (to == nullptr || to->interfaces.empty() || neighbour.kernel_mac.empty()) return {};
  const bool known = any_of(to->interfaces, [&](const InterfaceEvidence& i) {
    return i.mac.empty() || i.mac == neighbour.kernel_mac;
  });
  return known ? std::string() : pair.from + " has a wrong hardware address for " + pair.to_ip;
}

std::string broken_host(const HostEvidence* host, const std::string& ip) {
  if (host == nullptr) return {};
  if (!host->agent_cause.empty()) return "the agent of " + host->name + " is not there";
  if (host->source == "none" || host->interfaces.empty()) return {};
  const InterfaceEvidence* carrier = interface_with(host, ip);
  if (carrier == nullptr) return host->name + " does not have the address " + ip;
  if (!carrier->up || (carrier->carrier && !*carrier->carrier)) {
    return fmt::format("{} of {} is down", carrier->name, host->name);
  }
  if (host->conntrack_count && host->conntrack_max && *host->conntrack_max > 0 &&
      *host->conntrack_count * 100 >= *host->conntrack_max * 95) {
    return "the connection table of " + host->name + " is full";
  }
  return {};
}

// "Destination unreachable", but for the news that a packet was too big: RFC 792, RFC 4443.
bool refuses(const TraceIcmp& icmp) {
  return icmp.v6 ? icmp.type == 1 : icmp.type == 3 && icmp.code != 4;
}

// SYNs and SYN-ACKs that left one wire and reached the other, over all ports of the pair.
struct WireCount {
  int64_t sent = 0, arrived = 0;
  bool mixed = false;  // of one and the same port, some arrived and some did not
  void add(const TraceDirection* left, const TraceDirection* came, int64_t TraceDirection::*kind) {
    if (left == nullptr || came == nullptr) return;
    sent += left->*kind;
    arrived += std::min(came->*kind, left->*kind);
    mixed = mixed || (came->*kind > 0 && came->*kind < left->*kind);
  }
  double lost_share() const {
    return sent == 0 ? 0 : static_cast<double>(sent - arrived) / static_cast<double>(sent);
  }
};

bool any_open(const PairEvidence* pair) {
  return pair != nullptr &&
         any_of(pair->ports, [](const PortTry& t) { return state_of(t) == PortState::kOpen; });
}

double loss_of_paced(const EvidenceSet& evidence, const PairEvidence* pair) {
  if (pair == nullptr) return 0;
  const LossShare loss = paced_loss({&evidence, pair, nullptr, nullptr, nullptr});
  return loss.lost >= kFewestLost ? loss.share : 0;
}

// Echo loss per direction, if both directions lose alike; 0 when all or none came back.
double loss_of_echo(const PairEvidence* pair) {
  if (pair == nullptr || !pair->ping || pair->ping->sent <= 0) return 0;
  const int lost = pair->ping->sent - pair->ping->received;
  if (pair->ping->received <= 0 || lost < kFewestLost) return 0;
  const double passed = static_cast<double>(pair->ping->received) / pair->ping->sent;
  return 1 - std::sqrt(passed);
}

// Retransmissions and lost SYNs do not tell whose packets got lost; what both ends counted does.
double placed_loss(const PairView& view, double guess) {
  if (loses_nothing(view)) return 0;
  const DatagramLoss loss = datagram_loss(*view.evidence, view.pair);
  return loss.seen && datagrams_decide(view) ? loss.share : guess;
}

}  // namespace

PairView pair_view(const EvidenceSet& evidence, const PairEvidence& pair) {
  return {&evidence, &pair, find_host(evidence, pair.from), find_host(evidence, pair.to),
          find_pair(evidence, pair.to, pair.from)};
}

std::vector<PairView> pair_views(const EvidenceSet& evidence) {
  std::vector<PairView> out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (pair.from_ip.empty() || pair.to_ip.empty() || pair.same_machine) continue;
    out.push_back(pair_view(evidence, pair));
  }
  return out;
}

PortState state_of(const PortTry& attempt) {
  const bool held = attempt.listener == "in_use";
  const bool ours = attempt.listener == "up";
  if (attempt.result == "connected") {
    if (attempt.answer == "ours") return PortState::kOpen;
    if (held) return PortState::kHeld;
    if (attempt.accepted || (ours && attempt.half_open)) return PortState::kNoReply;
    if (ours || attempt.answer == "stranger") return PortState::kStranger;
    return PortState::kReached;
  }
  if (icmp_of(attempt) != nullptr && attempt.result != "reset") return PortState::kRejected;
  if (attempt.result == "refused") {
    return held ? PortState::kHeld : ours ? PortState::kRefused : PortState::kNoListener;
  }
  if (attempt.result == "reset") return held ? PortState::kHeld : PortState::kReset;
  if (attempt.result == "timeout") return PortState::kSilent;
  if (attempt.result == "unreachable") return PortState::kUnreachable;
  if (attempt.result == "denied") return PortState::kDenied;
  return PortState::kUntried;
}

bool is_blocked(PortState state) {
  switch (state) {
    case PortState::kRefused:
    case PortState::kRejected:
    case PortState::kUnreachable:
    case PortState::kDenied:
    case PortState::kSilent:
    case PortState::kReset:
    case PortState::kNoReply:
      return true;
    default:
      return false;
  }
}

bool is_open(PortState state) { return state == PortState::kOpen || state == PortState::kReached; }

std::string connect_key(const PairEvidence& pair, int port) {
  return key_of({"tcp.connect", pair.from, pair.to, port});
}

bool is_job_port(const Job& job, int port) { return is_in(job.ports, port); }

bool has_open_job_port(const PairView& view) {
  return any_of(view.pair->ports, [&](const PortTry& t) {
    return is_job_port(view.evidence->job, t.port) && is_open(state_of(t));
  });
}

const TraceDirection* sent_by(const std::optional<TraceFlow>& flow, const std::string& ip) {
  if (!flow) return nullptr;
  if (flow->a_ip == ip) return &flow->a;
  return flow->b_ip == ip ? &flow->b : nullptr;
}

const TraceIcmp* icmp_of(const PortTry& attempt) {
  if (attempt.icmp && refuses(*attempt.icmp)) return &*attempt.icmp;
  if (!attempt.here) return nullptr;
  const auto& seen = attempt.here->icmp;
  return find_where(seen, refuses);
}

const InterfaceEvidence* interface_with(const HostEvidence* host, const std::string& ip) {
  return host == nullptr ? nullptr : interface_of(*host, ip);
}

bool owns_address(const HostEvidence* host, const std::string& ip) {
  return interface_with(host, ip) != nullptr;
}

const HostEvidence* owner_of(const EvidenceSet& evidence, const std::string& ip) {
  for (const HostEvidence& host : evidence.hosts) {
    if (owns_address(&host, ip)) return &host;
  }
  return nullptr;
}

bool nobody_answers(const PairEvidence* pair) {
  if (pair == nullptr || !pair->neighbour || !pair->neighbour->on_link) return false;
  const NeighbourProbe& probe = *pair->neighbour;
  return probe.error.empty() && probe.macs.empty() && probe.kernel_mac.empty();
}

bool seen_from_one_side(const PairView& view) {
  return view.to == nullptr || (!has_facts(*view.to) && view.to->agent_cause.empty());
}

bool shows_life(const PairEvidence& pair) {
  if (reaches(pair).value_or(false)) return true;
  const bool asked = pair.neighbour && pair.neighbour->on_link && pair.neighbour->method == "arp";
  return asked && !pair.neighbour->macs.empty();
}

std::string egress_of(const PairView& view) {
  for (const bool with_source : {true, false}) {
    for (const RouteLookup& lookup : view.pair->routes) {
      if (lookup.with_source == with_source && !lookup.dev.empty()) return lookup.dev;
    }
  }
  const InterfaceEvidence* carrier = interface_with(view.from, view.pair->from_ip);
  return carrier == nullptr ? std::string() : carrier->name;
}

std::string broken_below(const PairView& view) {
  if (std::string why = broken_host(view.from, view.pair->from_ip); !why.empty()) return why;
  if (std::string why = broken_host(view.to, view.pair->to_ip); !why.empty()) return why;
  if (std::string why = broken_one_way(*view.pair, view.from, view.to); !why.empty()) return why;
  return view.back == nullptr ? std::string() : broken_one_way(*view.back, view.to, view.from);
}

bool filters_readable(const HostEvidence* host) {
  if (host == nullptr || host->source == "none") return false;
  const auto& sources = host->filter_sources;
  return any_of(sources, [](const FilterSource& s) { return s.readable; }) &&
         none_of(sources, [](const FilterSource& s) { return s.present && !s.readable; });
}

ChanceLoss chance_loss(const PairView& view) {
  ChanceLoss out;
  WireCount there, back;
  for (const PortTry& attempt : view.pair->ports) {
    if (!attempt.captured_here || !attempt.captured_there) continue;
    there.add(sent_by(attempt.here, view.pair->from_ip), sent_by(attempt.there, view.pair->from_ip),
              &TraceDirection::syn);
    back.add(sent_by(attempt.there, view.pair->to_ip), sent_by(attempt.here, view.pair->to_ip),
             &TraceDirection::syn_ack);
  }
  // Where nothing works at all, a packet more or less in a capture tells nothing.
  const bool works = any_open(view.pair) || any_open(view.back);
  if (there.mixed && works) out.there = there.lost_share();
  if (back.mixed && works) out.back = back.lost_share();
  out.there = std::max(out.there, loss_of_paced(*view.evidence, view.pair));
  out.back = std::max(out.back, loss_of_paced(*view.evidence, view.back));
  out.there = placed_loss(view, out.there);
  const PairView other{view.evidence, view.back, view.to, view.from, view.pair};
  if (view.back != nullptr) out.back = placed_loss(other, out.back);
  out.measured = out.there > 0 || out.back > 0;
  // Echo tells only the loss of both directions together.
  const double ping = std::max(loss_of_echo(view.pair), loss_of_echo(view.back));
  if (!out.measured && ping > 0) {
    out.there = out.back = ping;
    out.measured = true;
  }
  return out;
}

double chance_of_silence(const ChanceLoss& loss, int packets, int ports) {
  const double round_trip = (1 - loss.there) * (1 - loss.back);
  const double silent = std::pow(1 - round_trip, std::max(1, packets));
  return 1 - std::pow(1 - silent, std::max(1, ports));
}

Bound listener_at(const HostEvidence* host, const std::string& ip, int port,
                  const SocketEvidence** found) {
  if (host == nullptr || host->source == "none" || host->sockets.empty()) return Bound::kUnknown;
  Bound bound = Bound::kNowhere;
  for (const SocketEvidence& socket : host->sockets) {
    if (socket.protocol != "tcp" || socket.state != "LISTEN" || socket.port != port) continue;
    const bool any = socket.ip == "0.0.0.0" || socket.ip == "::" || socket.ip == "*";
    if (found != nullptr) *found = &socket;
    if (any || socket.ip == ip) return Bound::kThere;
    bound = Bound::kElsewhere;
  }
  return bound;
}

std::string ports_text(const std::vector<int>& ports) {
  return (ports.size() == 1 ? "port " : "ports ") + format_port_list(ports);
}

}  // namespace plumbline
