// The seam between those who ask a host (probes, the run) and those who reach it (launch): a
// HostAgent stands for one process on one host that answers requests, each a word with JSON
// parameters, each with a deadline. Requests of one agent run side by side, so that one end can
// listen or capture while it is asked other things. A reply is the handler's JSON, or an Error that
// names the host: kTimeout when the agent did not answer in time, kPeerLost when it died, kProtocol
// when it talked nonsense. Nothing here blocks beyond a deadline.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/clock.h"
#include "core/error.h"

namespace plumbline {

// The asking side. Thread-safe: several threads may ask one agent at the same time.
class HostAgent {
 public:
  virtual ~HostAgent() = default;
  // Name of the host, as in the host file.
  virtual const std::string& host() const = 0;
  // Sends a request and returns its ticket at once; what went wrong is told by reply().
  virtual int64_t ask(const std::string& request, const nlohmann::json& params,
                      Deadline deadline) = 0;
  // Waits for the answer of a ticket, at most until its deadline; once for each ticket.
  virtual Expected<nlohmann::json> reply(int64_t ticket) = 0;
};

// The answering side: what a handler gets beside its parameters.
struct AgentCall {
  Deadline deadline;                          // of this request, already a bit before the asker's
  const std::atomic<bool>* ending = nullptr;  // set when the agent ends: return soon
};

// One row of the table of requests. The handler runs in a thread of its own; it may throw on
// parameters of the wrong type (nlohmann::json::exception), which becomes an error reply.
struct AgentRequest {
  std::string name;
  std::string help;
  std::function<Expected<nlohmann::json>(const nlohmann::json& params, const AgentCall& call)> run;
};

// An Error as it travels in a reply, and back.
void to_json(nlohmann::json& json, const Error& error);
void from_json(const nlohmann::json& json, Error& error);

}  // namespace plumbline
