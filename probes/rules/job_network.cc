// Connections of a job that the network lets down, by what the two kernels know of them and by the
// filters of both hosts: firewall.*. What the ladder finds on the same pair goes before it.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/ranges.h"
#include "probes/ports.h"
#include "probes/rules/host_common.h"
#include "probes/rules/job_facts.h"
#include "probes/rules/pair_filters.h"
#include "probes/rules/pair_remedy.h"
#include "probes/rules/rules.h"
#include "probes/stacks/stack_job.h"

namespace plumbline {
namespace {

PairEvidence pair_evidence(const EvidenceSet& evidence, const StuckPair& stuck) {
  PairEvidence pair;
  if (const PairEvidence* known = find_pair(evidence, stuck.from, stuck.to)) pair = *known;
  pair.from = stuck.from;
  pair.to = stuck.to;
  if (!stuck.from_ip.empty()) pair.from_ip = stuck.from_ip;
  if (!stuck.to_ip.empty()) pair.to_ip = stuck.to_ip;
  return pair;
}

// Of a connection that stood: do the packets of its owner get lost, or those of the other end? The
// other end knows how much came.
bool loses_own(const JobConnection& connection) {
  const JobSocket* across = connection.across;
  if (across == nullptr || !across->tcp) return true;
  return across->tcp->bytes_received <= connection.socket->tcp->bytes_acked;
}

// The way on which packets get lost.
struct LostWay {
  std::string sender, receiver, seen;
};

LostWay lost_way(const JobFacts& facts, const StuckPair& stuck) {
  const JobConnection& connection = *stuck.connection;
  const JobSocket& socket = *connection.socket;
  const std::string& own = connection.owner->host->host;
  const std::string& other = connection.peer_host->host;
  const std::string ends =
      fmt::format("{}:{} - {}:{}", socket.ip, socket.port, socket.peer_ip, socket.peer_port);
  if (socket.state == "SYN-SENT") {
    const bool came = any_of(last_look(*connection.peer_host).sockets, [&](const JobSocket& half) {
      return half.state == "SYN-RECV" && half.port == socket.peer_port &&
             half.peer_ip == socket.ip && half.peer_port == socket.port;
    });
    const std::string asks =
        fmt::format("{} asks {}:{} for a connection in vain", describe(*connection.owner),
                    socket.peer_ip, socket.peer_port);
    return came ? LostWay{other, own, asks + "; it came there, and the answer gets lost"}
                : LostWay{own, other, asks + ", and somebody listens there"};
  }
  if (is_held_back(connection)) {
    return {own, other,
            fmt::format("{} cannot send {} bytes on {}: its own system lets no packet out, though "
                        "the other end would take them",
                        describe(*connection.owner), socket.tcp->not_sent, ends)};
  }
  const std::string sent =
      fmt::format("{} has sent {} bytes on {} that nobody confirms ({} times again in vain)",
                  describe(*connection.owner), socket.send_queue, ends, socket.tcp->retransmits);
  // Its packets, or the confirmations.
  const bool both = any_of(facts.connections, [&](const JobConnection& back) {
    return back.socket == connection.across && loses_packets(back) && loses_own(back);
  });
  if (both) return {own, other, sent + "; neither way does anything come"};
  if (loses_own(connection)) return {own, other, sent + "; they do not come there"};
  return {other, own, sent + "; they came there, and what it answers gets lost"};
}

// What was captured on this host of the connection; nullptr where nothing could be.
const JobPackets* packets_on(const JobHostEvidence& host, const std::string& ip, int port,
                             const std::string& peer_ip, int peer_port) {
  return find_where(host.captured, [&](const JobPackets& each) {
    return each.ip == ip && each.port == port && each.peer_ip == peer_ip &&
           each.peer_port == peer_port;
  });
}

// Where packets get lost, by what was captured at both ends of the connection.
struct LostPlace {
  const char* cause = nullptr;
  LostWay way;
  double confidence = 0;
};

std::optional<LostPlace> lost_place(const StuckPair& stuck, const LostWay& known) {
  const JobConnection& connection = *stuck.connection;
  const JobSocket& socket = *connection.socket;
  const JobHostEvidence &here = *connection.owner->host, &there = *connection.peer_host;
  const JobPackets* own =
      packets_on(here, socket.ip, socket.port, socket.peer_ip, socket.peer_port);
  const JobPackets* other =
      packets_on(there, socket.peer_ip, socket.peer_port, socket.ip, socket.port);
  if (own == nullptr || other == nullptr) return std::nullopt;
  const auto on_the_way = [](const JobHostEvidence& from, const JobHostEvidence& to, int64_t left) {
    constexpr double kBothEndsSeen = 0.9;
    return LostPlace{
        "firewall.drop_path",
        {from.host, to.host,
         fmt::format("captured on both: {} of its packets left {}, and none came to {}", left,
                     from.host, to.host)},
        kBothEndsSeen};
  };
  if (own->left > 0 && other->came_wide == 0) return on_the_way(here, there, own->left);
  if (other->left > 0 && own->came_wide == 0) return on_the_way(there, here, other->left);
  // They come to the other host, and no packet leaves it. Answers that go another way than through
  // an interface that can be captured (a tunnel of the kernel's) would look the same.
  if (own->left_wide == 0 || other->came == 0 || other->left_wide > 0) return std::nullopt;
  constexpr double kOneEndSeen = 0.7;
  const bool taken = known.sender == there.host;  // its kernel has them
  return LostPlace{
      taken ? "firewall.drop_outbound" : "firewall.drop_inbound",
      {known.sender, known.receiver,
       fmt::format("captured on both: {} of its packets came to {}, and no answer left it",
                   other->came, there.host)},
      kOneEndSeen};
}

const char* filter_cause(const RuleHit& hit) {
  if (hit.how == How::kRejectRst) return "firewall.reject_rst";
  if (hit.how == How::kRejectIcmp) return "firewall.reject_icmp";
  return hit.place == StopPlace::kSender ? "firewall.drop_outbound" : "firewall.drop_inbound";
}

// The ports on which `to` waits for connections of the job from `from`, and which this rule stops.
std::vector<int> ports_stopped(const JobFacts& facts, const PairView& view,
                               const FilterRule& rule) {
  constexpr size_t kMostPorts = 64;
  std::set<int> ports, stopped;
  for (const StuckPair& each : pairs_in_use(facts)) {
    if (each.from == view.pair->from && each.to == view.pair->to) ports.insert(each.port);
  }
  size_t judged = 0;
  for (const int port : ports) {
    if (++judged > kMostPorts) break;
    const std::vector<RuleHit> hits = rule_hits(view, port);
    const bool by_it = any_of(hits, [&](const RuleHit& hit) { return hit.rule == &rule; });
    if (by_it) stopped.insert(port);
  }
  return {stopped.begin(), stopped.end()};
}

// Where the next start may take another ephemeral port: all of them that the filters treat alike.
std::vector<int> ports_of_next_start(const EvidenceSet& evidence, const std::string& host,
                                     int port) {
  const HostEvidence* there = find_host(evidence, host);
  if (there == nullptr) return {port};
  const auto [first, last] = ephemeral_range(*there);
  for (const PortSample& part : sample_ports(evidence.hosts, *there, first, last)) {
    if (port < part.first || port > part.last) continue;
    std::vector<int> ports(static_cast<size_t>(part.last - part.first + 1));
    std::iota(ports.begin(), ports.end(), part.first);
    return ports;
  }
  return {port};
}

// Lets all connections of the job between these two hosts past the rule, whoever called.
Remedy remedy_of(const EvidenceSet& evidence, const JobFacts& facts, const StuckPair& stuck,
                 const RuleHit& hit) {
  Remedy remedy;
  StuckPair back = stuck;
  std::swap(back.from, back.to);
  std::swap(back.from_ip, back.to_ip);
  for (const StuckPair& way : {stuck, back}) {
    const PairEvidence pair = pair_evidence(evidence, way);
    const PairView view = {&evidence, &pair, find_host(evidence, way.from),
                           find_host(evidence, way.to), nullptr};
    Passage passage = passage_at(pair, hit.host->name == way.to);
    passage.ports = ports_stopped(facts, view, *hit.rule);
    const bool stood = stuck.connection != nullptr && stuck.connection->socket->state != "SYN-SENT";
    if (way.from == stuck.from && (passage.ports.empty() || !stood)) {
      passage.ports = ports_of_next_start(evidence, stuck.to, stuck.port);
    }
    if (!passage.ports.empty()) remedy.then(remedy_open(hit.host, hit.rule, passage));
  }
  return remedy;
}

// A rule of one of the two hosts that stops it, if any is known.
std::optional<Candidate> by_filters(const EvidenceSet& evidence, const JobFacts& facts,
                                    const StuckPair& stuck, const std::string& seen,
                                    const Checks& checks) {
  const PairEvidence pair = pair_evidence(evidence, stuck);
  const PairView view = {&evidence, &pair, find_host(evidence, stuck.from),
                         find_host(evidence, stuck.to), nullptr};
  if (stuck.port == 0 || pair.from_ip.empty() || pair.to_ip.empty()) return std::nullopt;
  for (const RuleHit& hit : rule_hits(view, stuck.port)) {
    if (!hit.certain || hit.rule == nullptr) continue;
    const std::string& peer = hit.host->name == stuck.from ? stuck.to : stuck.from;
    Proposal proposal(filter_cause(hit), Severity::kFail, hit.host->name);
    if (!seen.empty()) proposal.see(stuck.connection == nullptr ? stuck.to : stuck.from, "", seen);
    proposal.peer(peer)
        .ports({stuck.port})
        .see(hit.host->name, "",
             fmt::format("it stops port {} of the job: {}", stuck.port, describe(*hit.rule)))
        .remedy(remedy_of(evidence, facts, stuck, hit))
        .breaks_both(stuck.from, stuck.to)
        .proven();
    return proposal.take(checks);
  }
  return std::nullopt;
}

// Ranks meet at the master port, at their launcher, or at a port that the system chose; what else
// somebody may listen on (metrics, a console) has nothing to do with the others.
constexpr std::string_view kStarters[] = {"launcher", "asked"};
bool is_for_ranks(const EvidenceSet& evidence, const JobFacts& facts, const StuckPair& pair) {
  const HostEvidence* host = find_host(evidence, pair.to);
  const auto [first, last] = host == nullptr ? std::pair{0, 0} : ephemeral_range(*host);
  if (pair.port >= first && pair.port <= last) return true;
  return any_of(facts.members, [&](const JobMember& member) {
    const bool listens = any_of(member.sockets, [&](const JobSocket* socket) {
      return socket->state == "LISTEN" && socket->port == pair.port;
    });
    return member.host->host == pair.to && !member.outside && listens &&
           (member.place ? master_port_of(member) == pair.port
                         : is_in(kStarters, member.process().why));
  });
}

// Something below or beside the filters is wrong between these two, and the ladder names it.
bool is_named_already(const Checks& checks, const StuckPair& stuck) {
  return any_of(checks, [&](const Check& check) {
    const bool of_pair = (check.host == stuck.from && check.peer == stuck.to) ||
                         (check.host == stuck.to && check.peer == stuck.from);
    return of_pair && check.outcome == CheckOutcome::kFail && check.id != "icmp";
  });
}

// Nobody of the job is where the connection should come, or its listener is full: no wonder that it
// does not. Where the caller's last word of the handshake is thrown away for that, it believes that
// the connection stands.
bool is_expected(const JobFacts& facts, const StuckPair& stuck) {
  const JobHostEvidence* host = find_job_host_seen(*facts.job, stuck.to);
  const JobConnection& connection = *stuck.connection;
  const bool half = connection.across != nullptr && connection.across->state == "SYN-RECV";
  if ((connection.socket->state != "SYN-SENT" && !half) || host == nullptr) return true;
  const JobSocket* listener = listener_on(*host, stuck.to_ip, stuck.port);
  return listener != nullptr && !is_full(*listener);
}

// Packets get lost, and no rule that could be read says why.
Proposal unread_filter(const EvidenceSet& evidence, const StuckPair& stuck, LostWay way) {
  constexpr double kInferred = 0.6;
  const std::string seen = way.seen;
  const std::optional<LostPlace> place = lost_place(stuck, way);
  if (place) way = place->way;
  const bool inbound = place && place->cause == std::string_view("firewall.drop_inbound");
  const std::string &at = inbound ? way.receiver : way.sender,
                    &peer = inbound ? way.sender : way.receiver;
  const PairEvidence pair = pair_evidence(evidence, stuck);
  Proposal proposal(place ? place->cause : "firewall.drop_path", Severity::kFail, at);
  proposal.peer(peer)
      .ports(stuck.port > 0 ? std::vector<int>{stuck.port} : std::vector<int>())
      .confidence(place ? place->confidence : kInferred)
      .see(stuck.connection->owner->host->host, "", seen);
  if (place) proposal.see(at, "", place->way.seen);
  proposal
      .remedy(Remedy(fmt::format("let the job's connections through between {} and {}: no filter "
                                 "that could be read stops them",
                                 stuck.from, stuck.to))
                  .then(remedy_open(find_host(evidence, at), passage_at(pair, at == stuck.to))))
      .breaks({{way.sender, way.receiver}});
  return proposal;
}

}  // namespace

Candidates propose_job_network(const EvidenceSet& evidence, const Checks& checks) {
  std::vector<Candidate> out;
  const auto facts = job_facts(evidence);
  if (!facts) return out;
  std::set<std::pair<std::string, std::string>> named;  // one port of two hosts tells enough
  for (const StuckPair& refused : refused_pairs(*facts)) {
    if (named.count({refused.from, refused.to}) != 0) continue;
    if (!is_for_ranks(evidence, *facts, refused)) continue;
    const std::string seen = fmt::format("nobody of {} has come to port {}, where the job waits",
                                         refused.from, refused.port);
    if (auto candidate = by_filters(evidence, *facts, refused, seen, checks)) {
      named.insert({refused.from, refused.to});
      out.push_back(std::move(*candidate));
    }
  }
  for (const StuckPair& stuck : stuck_pairs(*facts)) {
    LostWay way;
    if (stuck.connection != nullptr) way = lost_way(*facts, stuck);
    if (auto candidate = by_filters(evidence, *facts, stuck, way.seen, checks)) {
      out.push_back(std::move(*candidate));
      continue;
    }
    if (stuck.connection == nullptr || is_named_already(checks, stuck)) continue;
    if (!is_expected(*facts, stuck)) continue;
    out.push_back(unread_filter(evidence, stuck, way).take(checks));
  }
  return out;
}

}  // namespace plumbline
