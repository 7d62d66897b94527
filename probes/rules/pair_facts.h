// Facts about two hosts that several rules need, read from the evidence: in which state a port is,
// whether everything below TCP looks sound, whether a port's fate can be the work of chance; and
// who is named for what happens between hosts (pair_directions.cc): a set of directions that suffer
// is brought down to as few hosts and pairs as explain it. No verdicts. Pure functions,
// thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "probes/evidence.h"

namespace plumbline {

// An ordered pair with the two hosts at its ends; null where nothing is known of a host.
struct PairView {
  const EvidenceSet* evidence = nullptr;
  const PairEvidence* pair = nullptr;
  const HostEvidence* from = nullptr;
  const HostEvidence* to = nullptr;
  const PairEvidence* back = nullptr;  // the other direction, null when not in the evidence
};
PairView pair_view(const EvidenceSet& evidence, const PairEvidence& pair);
// All pairs that lead from one machine to another and have two addresses.
std::vector<PairView> pair_views(const EvidenceSet& evidence);

enum class PortState {
  kUntried,      // not tried, or failed before a packet was made
  kOpen,         // our own listener answered
  kReached,      // somebody accepted where we have no listener that could say who
  kStranger,     // somebody who is not us accepted though our listener is there
  kHeld,         // somebody else holds the port: a matter of the port, not of the network
  kNoListener,   // refused with RST where nobody of us listens
  kRefused,      // refused with RST though our listener is there
  kRejected,     // an ICMP error ended the attempt
  kUnreachable,  // the system said so, and no ICMP error is known
  kDenied,       // the system refused to let the packet out
  kSilent,       // no answer
  kReset,        // accepted, then ended by RST
  kNoReply,      // the handshake began or ended, then nothing came
};
PortState state_of(const PortTry& attempt);
// The states in which packets got lost or were refused on their way.
bool is_blocked(PortState state);
bool is_open(PortState state);  // kOpen or kReached

// The key of the check that somebody answers there.
std::string connect_key(const PairEvidence& pair, int port);
bool is_job_port(const Job& job, int port);
bool has_open_job_port(const PairView& view);

// What this host put on the wire in this flow, nullptr when the flow does not know the address.
const TraceDirection* sent_by(const std::optional<TraceFlow>& flow, const std::string& ip);
// The ICMP error that ended the attempt: from the socket, else from the capture at its end.
const TraceIcmp* icmp_of(const PortTry& attempt);

const InterfaceEvidence* interface_with(const HostEvidence* host, const std::string& ip);
bool owns_address(const HostEvidence* host, const std::string& ip);
// The host of the evidence that has this address; nullptr when none.
const HostEvidence* owner_of(const EvidenceSet& evidence, const std::string& ip);
// The sender asked on the link for the other end's hardware address and nobody told it: not a
// packet to it can leave, whatever the filters do. False where that is not known; `pair` may be
// null.
bool nobody_answers(const PairEvidence* pair);
// Nothing but the other end's silence is known of it: no agent there, nor a file of it.
bool seen_from_one_side(const PairView& view);
// Something showed that the other end is switched on just now: an answer to a ping, a connection or
// its refusal, or a fresh answer on the link (an entry of the kernel's table may be old).
bool shows_life(const PairEvidence& pair);
// Interface through which a host sends to the other end: by its route, else by its address. Empty
// when unknown.
std::string egress_of(const PairView& view);

// Why TCP could not work between these two whatever their filters do: link, address, neighbour or
// route are broken on the way there or back, or an agent is lost. Empty when nothing speaks against
// it.
std::string broken_below(const PairView& view);

// Where somebody listens on a port of this host, by its own list of sockets (taken before our
// listeners opened).
enum class Bound { kUnknown, kNowhere, kElsewhere, kThere };
// `found`: the socket that decided; may be null.
Bound listener_at(const HostEvidence* host, const std::string& ip, int port,
                  const SocketEvidence** found = nullptr);

// Were all filters of the host read?
bool filters_readable(const HostEvidence* host);

// Signs that packets are lost by chance between the two, as shares of those sent; 0 = no sign.
struct ChanceLoss {
  double there = 0, back = 0;  // share lost in each direction
  bool measured = false;       // by a sign that no port filter could give
};
ChanceLoss chance_loss(const PairView& view);
// Probability that at least one of `ports` attempts of `packets` packets each is lost by chance.
double chance_of_silence(const ChanceLoss& loss, int packets, int ports);

// "29600-29603" or "29600" with "port " or "ports " before it.
std::string ports_text(const std::vector<int>& ports);

using HostDirection = std::pair<std::string, std::string>;  // from, to
// For each direction the host and the peer to name; the peer is empty when the host suffers with
// all of its peers.
using PathOwners = std::map<HostDirection, HostDirection>;

constexpr size_t kPattern = 2;  // fewest peers that make a pattern
// A host that suffers with every peer (two at least) is named alone. Otherwise the sender of the
// direction; for both directions of a pair the first in file order.
PathOwners owners_of_directions(const EvidenceSet& evidence,
                                const std::set<HostDirection>& directions);

}  // namespace plumbline
