// The ranks of a run on this machine: starts one process per rank (in the hosts' network namespaces
// where they have one), connects them, lets them measure cells, restarts them after a failure, and
// ends them. Implements the runner's seam over launch/ and the protocol. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/protocol.h"
#include "core/log.h"
#include "launch/rank_set.h"
#include "scenarios/runner.h"

namespace plumbline {

struct WorldSpec {
  std::string program;              // this binary
  std::vector<ScenarioHost> hosts;  // at least one
  OptionSet options;
  std::vector<std::string> command;
  std::string plan_hash;  // of a run's plan, which all ranks compare
  const Logger* log = nullptr;
};

// Which host each of n ranks runs on: block-wise, as many on each as it has places; more ranks than
// places (oversubscribed) are spread evenly.
std::vector<size_t> place_ranks(const std::vector<ScenarioHost>& hosts, int ranks);

// Where a running rank is, for tables.
struct RankPlaceView {
  std::string host, interface, address;
  int64_t pid = 0;
};

class World : public CellRunner {
 public:
  explicit World(WorldSpec spec);
  ~World() override;

  Status ensure_world(int ranks, const std::string& transport) override;
  Expected<Measurement> run(const PlanCell& cell) override;
  // The same with settings of the caller's (coll).
  Expected<Measurement> run(const Cell& cell, const MeasureSettings& settings);
  Environment environment() override;
  bool interrupted() const override;
  // Of a rank of the running world.
  RankPlaceView place(int rank) const;
  // Ends all ranks; called by the destructor too.
  void stop();

 private:
  // What a running world was started for; another combination needs a restart.
  struct Key {
    int ranks = 0;
    std::string transport;
    std::map<std::string, std::string> params;
    bool operator==(const Key&) const = default;
  };
  Status start(const Key& key);
  Status connect(const Key& key, const OptionSet& options, int port_base);
  Expected<std::vector<Message>> ask(const std::vector<std::string>& lines, int64_t timeout_ms,
                                     int64_t grace_ms);
  SetupMessage setup_for(const Key& key, int rank, const OptionSet& options, int port_base) const;

  WorldSpec spec_;
  std::vector<size_t> placement_;  // host of each rank
  std::optional<Key> key_;         // of the running world; empty = none runs
  std::unique_ptr<RankSet> ranks_;
  std::map<std::string, HostFacts> facts_;  // by host name
  uint32_t group_ = 0;
  Digest token_;
};

}  // namespace plumbline
