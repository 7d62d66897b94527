// The ranks of a run: starts one process per rank on the host where it has its place (this machine,
// a network namespace, another machine through ssh) or takes those that a launcher started,
// connects them, lets them measure cells, restarts them after a failure, and ends them. Implements
// the runner's seam over launch/ and the protocol. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"
#include "launch/rank_set.h"
#include "runs/caller.h"
#include "runs/hosts/port_claims.h"
#include "runs/hosts/reach.h"
#include "runs/ranks/launched.h"
#include "runs/ranks/protocol.h"
#include "scenarios/runner.h"
#include "transport/transports.h"

namespace plumbline {

struct WorldSpec {
  Reach reach;                      // how to start a rank on each host
  std::vector<ScenarioHost> hosts;  // at least one
  OptionSet options;
  std::vector<std::string> command;
  std::string plan_hash;  // of a run's plan, which all ranks compare
  const Logger* log = nullptr;
  Launched* launched = nullptr;  // the ranks that a launcher started; null = we start our own
  // Hears what ranks write to standard error, line by line and from another thread, and is asked
  // whether to go on; null = they write to ours, and nobody is.
  Caller* caller = nullptr;
  PortClaims* claims = nullptr;   // of the run; null = the world has its own
  bool ranks_in_process = false;  // ranks are threads of one process, all on this machine
  // Told of what the user has not asked for: another window of ports; null = nobody is.
  std::function<void(const std::string& text)> notice = {};
};

// Where a running rank is, for tables.
struct RankPlaceView {
  std::string host, interface, address;
  int64_t pid = 0;
};

class World : public CellRunner {
 public:
  explicit World(WorldSpec spec);
  ~World() override;

  Status ensure_world(const WorldShape& world) override;
  Expected<Measurement> run(const PlanCell& cell) override;
  // The same with settings of the caller's (coll).
  Expected<Measurement> run(const Cell& cell, const MeasureSettings& settings);
  // Whether its ranks have the memory that this cell needs, by what their hosts said at the start.
  Status fits(const Cell& cell, bool verified) const;
  Environment environment() override;
  bool interrupted() const override { return wish() != Wish::kGoOn; }
  const std::vector<ScenarioHost>& hosts() const { return spec_.hosts; }
  // Of a rank of the running world.
  RankPlaceView place(int rank) const;
  // Ends all ranks (those of a launcher leave their group and wait); called by the destructor too.
  void stop();
  // Connections that ranks have refused since the last call.
  RefusedConnections take_refused() { return std::exchange(refused_, {}); }
  // No further cell can be measured: why; empty = it can. Only ranks of a launcher cannot be
  // started again.
  std::string broken() const { return spec_.launched == nullptr ? "" : spec_.launched->broken; }

 private:
  Status start(const WorldShape& shape);
  Status connect(const OptionSet& options, int port_base);
  Status join(const std::vector<std::string>& setups, int port_base, int64_t timeout_ms);
  Expected<std::vector<std::string>> connect_lines(const std::vector<Message>& ready,
                                                   int port_base);
  Status assign_hosts(const WorldShape& shape);
  Status assign_launched(const WorldShape& shape);
  Status ready_processes();
  void leave();
  Expected<int> choose_ports(const OptionSet& options);
  PortClaims* claims() { return spec_.claims != nullptr ? spec_.claims : &claims_; }
  Status leave_window(OptionSet& options, const Error& why);
  Expected<std::vector<Message>> ask(const std::vector<std::string>& lines, int64_t timeout_ms,
                                     int64_t grace_ms);
  Expected<Message> understood(const RankAnswer& answer);
  void give_up(const Error& error);
  Wish wish() const { return spec_.caller != nullptr ? spec_.caller->ask() : Wish::kGoOn; }
  SetupMessage setup_for(int rank, const OptionSet& options, int port_base) const;

  WorldSpec spec_;
  PortClaims claims_;
  const TransportRow* transport_ = nullptr;  // of the ranks that are being started
  std::vector<size_t> placement_;            // host of each rank
  std::vector<size_t> members_;              // each rank's place in Launched::ranks
  std::optional<WorldShape> shape_;          // of the running world; empty = none runs
  std::unique_ptr<RankSet> own_;             // that we started
  RankSet* ranks_ = nullptr;                 // ... or that a launcher did; null = none in use
  std::map<std::string, HostFacts> facts_;   // by host name
  uint32_t group_ = 0;
  Digest token_;
  RefusedConnections refused_;
};

}  // namespace plumbline
