// How ranks that a launcher started find one another: rank 0 listens at the master port, the others
// dial it until it is there, both ends prove that they know the launch's secret, and rank 0 calls
// the roll. Afterwards rank 0 holds one connection to each rank, over which it is driven. Strangers
// at the port are sent away without harm. Every wait has a deadline. One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/encode.h"
#include "core/fd.h"
#include "launch/roll_call.h"

namespace plumbline {

struct RollCallSpec {
  std::vector<std::string> listen;  // addresses of this host, numeric
  int port = 0;
  Digest secret{};
  Deadline deadline = Deadline::never();
  std::string where;                                 // for messages: "10.0.0.1:29500"
  std::function<void(const std::string&)> say;       // progress, every few seconds
  std::function<void(const std::string&)> stranger;  // somebody who was sent away, and why
  std::function<bool()> interrupted;                 // ends the waiting with kInterrupted
};

// The connections by rank; index 0 is empty. `agents` are those of RollCall::agents(), over which
// their hosts' agents can be asked; one that did not come in time is empty too.
struct Gathered {
  std::vector<Fd> wires, agents;
};

// Rank 0: returns when all ranks have arrived and agree. An Error (rank.missing, rank.dead,
// config.mismatch ...) has been told to all who came.
Expected<Gathered> hold_roll_call(const RollCallSpec& spec, RollCall& roll);

struct AttendSpec {
  std::vector<std::string> masters;  // names or addresses, tried in turn
  int port = 0;
  Digest secret{};
  int64_t timeout_ms = 30'000;  // to reach rank 0; its answer may take as long again
};

// Connections (blocking) to rank 0; `agent` is for the agent of this host, where this rank is to
// start one.
struct Attendance {
  Fd wire, agent;
};

// Any other rank: returns once the whole world stands. An Error is either what rank 0 answered
// (`told`), or why it could not be reached (rank.missing).
Expected<Attendance> attend_roll_call(const AttendSpec& spec, const JoinRequest& request,
                                      bool& told);

// The network stack that this process lives in: boot id and network namespace.
std::string own_machine(const std::string& boot_id);

}  // namespace plumbline
