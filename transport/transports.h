// The table of transports, and the one way to open a Group over any of them. A rank first claims
// its place (claim), which gives bytes that say how to reach it; whoever started the ranks hands
// everybody's bytes to everybody; then all open their groups (open). What the bytes mean is known
// to the row alone. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/options/options.h"
#include "transport/group_spec.h"
#include "transport/tcp/tcp_endpoint.h"

namespace plumbline {

class ThreadMeeting;  // transport/memory/memory.h

// What the coordinator knows of the place of a rank that has not started yet.
struct RankSite {
  std::vector<RankAddress> addresses;  // data addresses of its host, in preference order
  uint16_t port = 0;                   // its own in the window of port_base; 0 = any
};

struct ClaimSpec {
  std::string site;  // what the row's site() said of this rank
  const OptionSet* options = nullptr;
  Deadline patience = Deadline::after_ms(0);  // for what a rank of the start before still holds
  // Where the ranks are threads of one process: the same for all of them; null = this rank is a
  // process of its own.
  ThreadMeeting* meeting = nullptr;
};

// What a rank holds between its claim and its group. Used by one thread.
class TransportClaim {
 public:
  virtual ~TransportClaim() = default;
  // How others reach this rank, for RankEndpoint::claimed.
  virtual std::string endpoint() const = 0;
  // Collective call, once: returns when the control connections to all ranks stand (and the data
  // mesh too, when eager), or after connect_timeout_ms with the ranks that are missing.
  // spec.endpoints holds what all ranks have claimed.
  virtual Expected<std::unique_ptr<Group>> open(const GroupSpec& spec) = 0;
};

struct TransportRow {
  const char* name;
  const char* help;
  bool takes_ports;  // one per rank, of the window that begins at port_base
  // Empty = usable where ranks are threads of one process, or processes; otherwise the reason.
  std::string (*unavailable)(bool ranks_in_process);
  // For ClaimSpec::site, in the coordinator.
  std::string (*site)(const RankSite& site);
  // In the rank.
  Expected<std::unique_ptr<TransportClaim>> (*claim)(const ClaimSpec& spec);
};

std::span<const TransportRow> transport_table();
// "auto" gives the first usable one. Unknown or unusable names are errors that say why.
Expected<const TransportRow*> find_transport(std::string_view name, bool ranks_in_process);
// The same in another table.
Expected<const TransportRow*> find_transport(std::span<const TransportRow> table,
                                             std::string_view name, bool ranks_in_process);
// What the option `transport` may be: auto, and the names of the table.
OptionChoices transport_choices();

}  // namespace plumbline
