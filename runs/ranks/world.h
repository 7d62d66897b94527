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
#include "runs/hosts/port_window.h"
#include "runs/hosts/reach.h"
#include "runs/ranks/launched.h"
#include "runs/ranks/protocol.h"
#include "runs/ranks/rank_places.h"
#include "runs/ranks/rank_talk.h"
#include "runs/tuning/tuning_use.h"
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

class World : public CellRunner {
 public:
  explicit World(WorldSpec spec);
  ~World() override;

  Status ensure_world(const WorldShape& world) override;
  Expected<Measurement> run(const PlanCell& asked) override;
  // Whether its ranks have the memory that this cell needs, by what their hosts said at the start.
  Status fits(const PlanCell& cell) const;
  Environment environment() override;
  bool interrupted() const override { return talk_.wish() != Wish::kGoOn; }
  // Of the ranks of the running world.
  std::vector<RankSeat> seats() const;
  // Ends all ranks (those of a launcher leave their group and wait); called by the destructor too.
  void stop();
  // Connections that ranks have refused since the last call.
  RefusedConnections take_refused() { return talk_.take_refused(); }

 private:
  Status start(const WorldShape& shape);
  Status connect(const OptionSet& options, int port_base);
  Status join(const std::vector<std::string>& setups, const OptionSet& options, int port_base);
  Expected<std::vector<std::string>> connect_lines(const std::vector<Message>& ready,
                                                   const OptionSet& options, int port_base);
  Status ready_processes();
  void leave();
  Expected<int> choose_ports(const OptionSet& options);
  PortClaims* claims() { return spec_.claims != nullptr ? spec_.claims : &claims_; }
  Status leave_window(OptionSet& options, const Error& why);
  RankSeat seat(int rank) const;
  Status take_tuning(const OptionSet& options);
  Status take_transports(const std::vector<Message>& connected);
  SetupMessage setup_for(int rank, const OptionSet& options, int port_base) const;

  WorldSpec spec_;
  PortClaims claims_;
  const TransportRow* transport_ = nullptr;  // of the ranks that are being started
  RankPlaces places_;
  std::optional<WorldShape> shape_;         // of the running world; empty = none runs
  std::unique_ptr<RankSet> own_;            // that we started
  RankSet* ranks_ = nullptr;                // ... or that a launcher did; null = none in use
  std::map<std::string, HostFacts> facts_;  // by host name
  uint32_t group_ = 0;
  Digest token_;
  RankTalk talk_;
  std::optional<TuningInUse> tuning_;  // of the running world
  std::string tuning_note_;            // said last
  Resolved used_;                      // of the running world: its transport, as far as known
  std::string fell_back_note_;         // said last
};

}  // namespace plumbline
