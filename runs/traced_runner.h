// A CellRunner that captures packets on every host while another one runs a cell, and keeps the
// traces that the scenario asked for: always, or of cells that did not pass.
#pragma once

#include <string>
#include <vector>

#include "probes/probe.h"
#include "runs/hosts/agent_set.h"
#include "scenarios/runner.h"

namespace plumbline {

class TracedRunner : public CellRunner {
 public:
  // `folder` gets one folder per kept cell, named by its id. `keep`: "always" | "failures".
  TracedRunner(CellRunner& inner, const Scenario& scenario, const AgentSet& agents,
               std::vector<int> ports, std::string folder, std::string keep);

  Status ensure_world(const WorldShape& world) override { return inner_.ensure_world(world); }
  Expected<Measurement> run(const PlanCell& cell) override;
  Environment environment() override { return inner_.environment(); }
  bool interrupted() const override { return inner_.interrupted(); }

 private:
  CellRunner& inner_;
  ProbeContext context_;
  std::vector<std::vector<std::string>> own_;  // addresses of each host
  std::vector<int> ports_;
  std::string folder_, keep_;
};

}  // namespace plumbline
