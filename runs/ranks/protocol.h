// What the coordinator and its ranks say to one another: JSON lines over the rank's standard input
// and output, so that control needs no network (over a connection where a launcher started the
// ranks). Every request has one answer; `interrupt` has none.
// Plain values and their text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collectives/measure.h"
#include "core/host/host.h"
#include "core/options/options.h"
#include "core/record/record.h"
#include "transport/transports.h"

namespace plumbline {

// First request: who you are. Answered by ReadyMessage.
struct SetupMessage {
  int rank = 0, size = 1;
  uint32_t group = 1;
  Digest token{};
  std::string plan_hash;  // compared by all ranks when they connect; may be empty
  std::string host;
  std::string site;  // bytes for the transport's claim, which only its row reads
  std::map<std::string, OptionValue> options;  // all, resolved
};
struct ReadyMessage {
  std::string claimed;  // how to reach it: RankEndpoint::claimed
  HostFacts facts;
  std::string version;
};
// Second request: where everybody is. Answered by ConnectedMessage.
struct ConnectMessage {
  std::vector<RankEndpoint> endpoints;
  std::vector<RankPair> apart;  // as in GroupSpec
  int ranks_on_machine = 1;
  int slot = 0;                  // of this rank among those of its machine
  bool progress_thread = false;  // as in GroupSpec
  int cpu_offset = 0;            // so that two runs at once rarely share CPUs
};
struct ConnectedMessage {
  RefusedConnections refused = {};  // since the last answer that says so
  // Resolved::transport and fell_back, as far as its pairs are connected.
  std::string transport = {};
  std::vector<FellBack> fell_back = {};
};
// Then any number of these, each answered by MeasurementMessage or ErrorMessage.
struct RunMessage {
  Cell cell;
  MeasureSettings settings;
};
struct MeasurementMessage {
  Measurement measurement;
  RefusedConnections refused = {};
};
struct ErrorMessage {
  Error error;
  RefusedConnections refused = {};
};
// End the running cell at its next block; no answer.
struct InterruptMessage {};
// Another rank has gone or failed: give the group up, also while it is still being made. No answer;
// a request that is under way ends with this error.
struct GiveUpMessage {
  Error error;
};
// Says that the coordinator still lives, to ranks that might not notice its end; no answer. From a
// rank: that it still lives, from its SetupMessage until it is asked to measure or to leave.
struct AliveMessage {};

// Leave the group and wait for the next setup; answered by LeftMessage.
struct LeaveMessage {};
struct LeftMessage {
  RefusedConnections refused = {};
};
// The run is over: end; no answer.
struct DismissMessage {};

using Message =
    std::variant<SetupMessage, ReadyMessage, ConnectMessage, ConnectedMessage, RunMessage,
                 MeasurementMessage, ErrorMessage, InterruptMessage, AliveMessage, LeaveMessage,
                 LeftMessage, DismissMessage, GiveUpMessage>;

std::string encode(const Message& message);
Expected<Message> decode(std::string_view line);

}  // namespace plumbline
