// What a communication library or MPI would do on these hosts, foretold without running it: for
// every rank the interface and address that it would give its peers and why, the ports on which it
// would wait for them, and what is known to go wrong with such a choice. Made by the models beside
// this file (stack.h), judged by the rule `stack`, shown by plan_text.h. Plain values with a JSON
// form; part of an EvidenceSet, so that a saved one is judged again just so.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

// Where a rank, or a helper that its launcher starts on the host, waits for connections.
struct StackListener {
  std::string purpose;  // "rendezvous (TCPStore)"
  std::string ip;       // bound to; "0.0.0.0" = every address of the host
  std::string kind;     // "fixed" | "window" (these ports, in order) | "ephemeral" (any of them)
  int first = 0, last = 0;  // ports, both included; 0 = the host does not tell its range
  // Hosts from which somebody calls there; absent = from every other one.
  std::optional<std::vector<std::string>> callers = {};
};

struct StackRank {
  int rank = 0;
  std::string host;
  std::string interface, ip;      // what peers are told; empty = see `cannot`
  std::string reason;             // "the first address of eth1, which GLOO_SOCKET_IFNAME names"
  std::string cannot;             // why it finds none
  std::vector<std::string> also;  // further addresses that it gives its peers
  std::vector<StackListener> listeners;
  std::map<std::string, std::string> environment;  // of this stack's variables, those that are set
};

// What goes wrong with this choice, known from the models alone.
struct StackTrap {
  std::string cause;     // a cause id
  std::string severity;  // "fail" | "warn" | "note"
  std::string host, peer;
  std::vector<int> ports;
  std::string text, remedy;
};

struct StackVariable {
  std::string name, effect;
};

struct StackPlan {
  std::string stack;                           // its name in the table
  std::string read_from;                       // sources and version that the model was read from
  std::string rendezvous_host, rendezvous_ip;  // where ranks meet; empty = by their launcher
  int rendezvous_port = 0;
  bool own_name = false;  // some rank tells its peers what its host's own name gives
  // Of two ranks the one with the higher address calls the other; false: either may.
  bool higher_calls = false;
  // What a user sets to choose the interface, and other fixed ports: "GLOO_SOCKET_IFNAME",
  // "MASTER_PORT"; empty = there is no such variable.
  std::string interface_variable, port_variable;
  std::vector<StackRank> ranks;
  std::vector<StackTrap> traps;
  std::vector<std::string> remarks;  // worth knowing, nothing wrong
  std::vector<StackVariable> variables;
  std::map<std::string, std::string> installed;  // host -> version there, where it could be asked
  // By host, the addresses that the host file names: what the user means the job to use.
  std::map<std::string, std::vector<std::string>> meant;
};

// A port that was tried for a range of which any may be taken: filters treat first to last alike.
struct PortSample {
  int port = 0, first = 0, last = 0;
};

void to_json(nlohmann::json& json, const StackPlan& plan);
void from_json(const nlohmann::json& json, StackPlan& plan);
void to_json(nlohmann::json& json, const PortSample& sample);
void from_json(const nlohmann::json& json, PortSample& sample);

}  // namespace plumbline
