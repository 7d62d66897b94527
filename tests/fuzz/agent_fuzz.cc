// Agents of any content: two hosts whose agents answer every request with what the input says,
// {"a": {"snapshot": {...}, "connect": {...}}, "b": {...}}. Gathering, judging and the plan end,
// and nothing that an agent said becomes more than a word of a command.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "check_plan.h"
#include "core/diagnosis/host_agent.h"
#include "core/json.h"
#include "probes/gather/gather.h"
#include "reports/doctor.h"

namespace plumbline {
namespace {

class SaidAgent : public HostAgent {
 public:
  SaidAgent(std::string host, nlohmann::json said)
      : host_(std::move(host)), said_(std::move(said)) {}
  const std::string& host() const override { return host_; }
  int64_t ask(const std::string& request, const nlohmann::json&, Deadline) override {
    asked_[++last_] = request;
    return last_;
  }
  Expected<nlohmann::json> reply(int64_t ticket) override {
    const std::string request = asked_[ticket];
    asked_.erase(ticket);
    if (said_.is_object() && said_.contains(request)) return said_[request];
    return fail(ErrorCode::kUnsupported, "answer '" + request + "'");
  }

 private:
  std::string host_;
  nlohmann::json said_;
  std::map<int64_t, std::string> asked_;
  int64_t last_ = 0;
};

void attack(const nlohmann::json& said) {
  ProbeContext context;
  std::vector<std::unique_ptr<SaidAgent>> agents;
  context.evidence.job.ports = {29500, 29600};
  for (const char* name : {"a", "b"}) {
    JobHost host;
    host.name = name;
    host.data = {name[0] == 'a' ? "10.10.0.1/24" : "10.10.0.2/24"};
    host.reached_by = "ssh";
    context.evidence.job.hosts.push_back(host);
    HostEvidence evidence;
    evidence.name = name;
    context.evidence.hosts.push_back(evidence);
    const bool known = said.is_object() && said.contains(name);
    agents.push_back(std::make_unique<SaidAgent>(name, known ? said[name] : nlohmann::json()));
    context.agents.push_back(agents.back().get());
  }
  constexpr int64_t kWithinMs = 5000;
  context.deadline = Deadline::after_ms(kWithinMs);
  std::vector<std::string> traces;
  std::vector<ProbeCallSpec> calls(2);
  calls[0].probe = "software";
  calls[0].params["packages"] = "mlx";
  calls[1].probe = "artifact";
  calls[1].params["path"] = "~/models/m";
  gather_evidence(context,
                  kNeedSnapshot | kNeedRoutes | kNeedNeighbours | kNeedPing | kNeedConnect |
                      kNeedSoftware | kNeedArtifact,
                  calls, traces);
  const ProbeResult result = judge_evidence(std::move(context.evidence));
  check_plan(result);
  // An agent speaks for its own host only.
  for (const PairEvidence& pair : result.evidence.pairs) {
    for (const PortTry& attempt : pair.ports) {
      if (attempt.listener == "absent" && !attempt.holder.empty()) std::abort();
    }
  }
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto said = nlohmann::json::parse(data, data + size, nullptr, false);
  if (!said.is_discarded()) plumbline::attack(said);
  return 0;
}
