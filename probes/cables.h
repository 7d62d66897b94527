// Which cable leads from where to where, as the hosts tell of it. Two ends of a Thunderbolt cable
// know each other by UUID; where there is no such cable, two interfaces that are alone in a network
// are the ends of one. What contradicts itself is told and never resolved: such a cable
// is none. After MLX's distributed_config, which takes the first computer that a socket names for
// its other end (docs/macos.md tells the differences). Pure, thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "probes/evidence.h"

namespace plumbline {

struct CableEnd {
  size_t host = 0;         // in the evidence
  std::string interface;   // empty = the host does not tell which one
  std::string receptacle;  // number of its socket; may be empty
};

struct Cable {
  CableEnd a, b;                     // in the order of the hosts
  std::optional<int64_t> speed_bps;  // the slower of what the ends tell
  int hubs = 0;                      // on the way
  bool thunderbolt = false;          // known by UUIDs; else by addresses
  std::string network;               // in which both ends have an address, "10.0.0.0/30"; or empty
};

// A network that joins more than two hosts, or that a router is in.
struct SharedNetwork {
  std::string network;
  std::vector<CableEnd> ends;
};

struct CableDoubt {
  enum class Kind {
    kStranger,   // a computer that is none of the hosts
    kOneSided,   // the other end knows nothing of it
    kTwins,      // two hosts with one UUID
    kSelf,       // both ends in one host
    kAmbiguous,  // which interface it is cannot be told
  };
  Kind kind = Kind::kStranger;
  size_t host = 0;
  std::optional<size_t> peer;
  std::string text;  // "en3 (socket 2) leads to a computer that is none of these hosts"
};

struct CableGraph {
  std::vector<std::string> hosts;
  std::vector<Cable> cables;  // by host, interface
  std::vector<SharedNetwork> networks;
  std::vector<CableDoubt> doubts;
  // "mesh", "ring", "star" or "other" (classify_topology); "network" where there is no cable and
  // one network joins all hosts; "none" where nothing joins any two.
  std::string shape;
};

CableGraph find_cables(const EvidenceSet& evidence);

// Between these two hosts, in the order of the graph.
std::vector<const Cable*> cables_between(const CableGraph& graph, size_t a, size_t b);
// That end of the cable.
const CableEnd& end_at(const Cable& cable, size_t host);
// "en3 (socket 2)", "socket 2", "en3", "a Thunderbolt socket".
std::string end_words(const CableEnd& end);

// The hosts in an order in which each has a cable to the next one, and the last to the first, as
// the first such order by their numbers; empty where there is none. Two hosts with a cable are
// such a ring. `usable` says which cables count.
std::vector<size_t> ring_of(const CableGraph& graph,
                            const std::function<bool(const Cable&)>& usable = {});

}  // namespace plumbline
