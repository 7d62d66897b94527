// Which devices two hosts try with each other: each cable of a pair, its two ends as the host file
// pairs them.
#include <gmock/gmock.h>

#include <mutex>
#include <set>

#include "core/json.h"
#include "probes/gather/gather.h"
#include "probes/rdma_rungs.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RdmaRails : public testing::Test {
 protected:
  RdmaRails() {
    for (const char* name : {"mini1", "mini2"}) {
      JobHost job;
      job.name = name;
      job.data = {context_.evidence.hosts.empty() ? "10.0.0.1/24" : "10.0.0.2/24"};
      job.reached_by = "netns";
      HostEvidence host;
      host.name = name;
      host.rdma.emplace();
      for (const char* device : {"rdma_en2", "rdma_en3"}) {
        host.rdma->devices.emplace_back().name = device;
        job.rdma_devices.emplace_back(device);
      }
      context_.evidence.job.hosts.push_back(job);
      context_.evidence.hosts.push_back(host);
      agents_.push_back(make_in_process_agent(name, requests_of(name)));
      context_.agents.push_back(agents_.back().get());
    }
    context_.evidence.job.rdma = true;
    context_.evidence.job.ports = {29500, 29501};
    towards(0) = towards(1) = {"rdma_en2", "rdma_en3"};
    context_.evidence.pairs = pairs_to_try(context_.evidence);
    context_.deadline = Deadline::after_ms(20'000);
  }

  std::vector<std::string>& towards(size_t host) {
    return context_.evidence.job.hosts[host].rdma_towards[host == 0 ? "mini2" : "mini1"];
  }
  // Every device takes all steps but those in `broken_`; who meets whom is written down.
  std::vector<AgentRequest> requests_of(const std::string& host) {
    const auto climbs = [this, host](const nlohmann::json& asked, const AgentCall&) {
      RdmaClimb climb;
      climb.device = asked.at("device").get<std::string>();
      for (const RdmaRungRow& row : rdma_rungs()) {
        const bool broken = broken_.count(host + " " + climb.device) != 0;
        climb.rungs.push_back({row.name, broken ? "no" : "", ""});
      }
      return Expected<nlohmann::json>(nlohmann::json(climb));
    };
    const auto meets = [this, host](const nlohmann::json& asked, const AgentCall&) {
      RdmaClimb met;
      met.device = asked.at("device").get<std::string>();
      const std::lock_guard lock(mutex_);
      met_.insert(asked.at("nonce").get<std::string>() + " " + host + " " + met.device);
      return Expected<nlohmann::json>(nlohmann::json(met));
    };
    return {{"rdma", "", climbs}, {"rdma.meet", "", meets}};
  }
  // "mini1 rdma_en2, mini2 rdma_en3" for each meeting, in any order.
  std::set<std::string> meetings() {
    gather_rdma(context_);
    std::map<std::string, std::string> by_nonce;
    for (const std::string& line : met_) {
      std::string& pair = by_nonce[line.substr(0, line.find(' '))];
      pair += (pair.empty() ? "" : ", ") + line.substr(line.find(' ') + 1);
    }
    std::set<std::string> out;
    for (const auto& [nonce, pair] : by_nonce) out.insert(pair);
    return out;
  }

  ProbeContext context_;
  std::set<std::string> broken_, met_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HostAgent>> agents_;
};

TEST_F(RdmaRails, EachCableOfAPairIsTried) {
  towards(1) = {"rdma_en3", "rdma_en2"};
  EXPECT_THAT(meetings(),
              ElementsAre("mini1 rdma_en2, mini2 rdma_en3", "mini1 rdma_en3, mini2 rdma_en2"));
}

TEST_F(RdmaRails, TheOtherCablesAreTriedWhereADeviceOfOneIsBroken) {
  broken_ = {"mini2 rdma_en2"};
  EXPECT_THAT(meetings(), ElementsAre("mini1 rdma_en3, mini2 rdma_en3"));
}

TEST_F(RdmaRails, APairWithoutACableIsNotTried) {
  towards(0).clear();
  context_.evidence.job.hosts[0].rdma_towards["mini3"] = {"rdma_en2"};
  EXPECT_THAT(meetings(), IsEmpty());
}

}  // namespace
}  // namespace plumbline
