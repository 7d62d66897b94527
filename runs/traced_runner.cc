#include "runs/traced_runner.h"

#include <filesystem>

#include "probes/gather/host_captures.h"
#include "runs/doctor_run.h"

namespace plumbline {

TracedRunner::TracedRunner(CellRunner& inner, const Scenario& scenario, const AgentSet& agents,
                           std::vector<int> ports, std::string folder, std::string keep)
    : inner_(inner), ports_(std::move(ports)), folder_(std::move(folder)), keep_(std::move(keep)) {
  context_.agents = agents.agents();
  context_.evidence.hosts = agents.greetings();
  for (const ScenarioHost& host : scenario.hosts) {
    std::vector<std::string> addresses;
    for (const std::string& text : host.data) addresses.push_back(data_address(text).ip);
    own_.push_back(std::move(addresses));
  }
}

Expected<Measurement> TracedRunner::run(const PlanCell& cell) {
  HostCaptures captures(context_, "cell", own_, ports_);
  captures.start();
  Expected<Measurement> measurement = inner_.run(cell);
  const bool failed = !measurement || measurement->outcome != Outcome::kPassed;
  const bool keep = keep_ == "always" || failed;
  captures.stop(keep);
  if (keep) captures.fetch((std::filesystem::path(folder_) / cell_id(cell.cell)).string());
  return measurement;
}

}  // namespace plumbline
