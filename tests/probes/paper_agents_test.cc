// Macs on paper behind agents: the whole way of a diagnosis, from asking to the cause, with what
// the tools of Macs print, on a system that has none of them. One that hangs, one that talks
// nonsense and one that dies cost their own facts alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/json.h"
#include "probes/cables.h"
#include "probes/probe.h"
#include "tests/support/agents.h"
#include "tests/support/paper_macs.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Answer = std::function<Expected<nlohmann::json>(const AgentCall& call)>;

nlohmann::json software_of(const test::PaperMac& mac) {
  SoftwareEvidence software;
  software.python = "/opt/homebrew/bin/python3";
  software.versions = {{"system", "macOS " + mac.version + " (" + mac.build + ")"},
                       {"chip", mac.chip},
                       {"python", "3.12.1"},
                       {"mlx", "0.31.0"}};
  return software;
}

class PaperAgents : public ::testing::Test {
 protected:
  // Instead of what the Mac would answer to a request for itself.
  void spoil(const std::string& mac, Answer answer) { spoilt_[mac] = std::move(answer); }

  ProbeResult ask(const test::PaperCluster& cluster, int64_t ms = 20'000) {
    const EvidenceSet told = cluster.evidence();
    ProbeContext context;
    context.deadline = Deadline::after_ms(ms);
    context.evidence.job.rdma = true;
    std::vector<std::unique_ptr<HostAgent>> agents;
    for (size_t i = 0; i < cluster.macs.size(); ++i) {
      const std::string& name = cluster.macs[i].name;
      JobHost& job = context.evidence.job.hosts.emplace_back();
      job.name = name;
      job.reached_by = "ssh";
      context.evidence.hosts.emplace_back().name = name;
      std::vector<AgentRequest> rows;
      const auto spoilt = spoilt_.find(name);
      const nlohmann::json itself = told.hosts[i], software = software_of(cluster.macs[i]);
      rows.push_back({"snapshot", "",
                      [spoilt, itself, this](const nlohmann::json& asked,
                                             const AgentCall& call) -> Expected<nlohmann::json> {
                        EXPECT_TRUE(asked.value("deep", false)) << "cables are told by slow tools";
                        return spoilt == spoilt_.end() ? Expected<nlohmann::json>(itself)
                                                       : spoilt->second(call);
                      }});
      rows.push_back(
          {"software", "",
           [software](const nlohmann::json&, const AgentCall&) -> Expected<nlohmann::json> {
             return software;
           }});
      rows.push_back(
          {"counters", "", [](const nlohmann::json&, const AgentCall&) -> Expected<nlohmann::json> {
             return nlohmann::json::object();
           }});
      rows.push_back(
          {"time", "", [](const nlohmann::json&, const AgentCall&) -> Expected<nlohmann::json> {
             return nlohmann::json{{"time_ns", 1}};
           }});
      agents.push_back(make_in_process_agent(name, std::move(rows)));
      context.agents.push_back(agents.back().get());
    }
    std::vector<ProbeCallSpec> calls(3);
    calls[0].probe = "launch";
    calls[1].probe = "software";
    calls[2].probe = "link";
    return run_probes(std::move(context), calls);
  }

  static std::vector<std::string> bad_causes(const ProbeResult& result) {
    std::vector<std::string> out;
    for (const Finding& finding : result.findings) {
      if (finding.outcome != Severity::kNote) out.push_back(finding.cause + "@" + finding.host);
    }
    return out;
  }
  static size_t cables_in(const ProbeResult& result) {
    return find_cables(result.evidence).cables.size();
  }

  std::map<std::string, Answer> spoilt_;
};

TEST_F(PaperAgents, SoundClustersTellAllTheirCables) {
  test::PaperCluster mesh = test::paper_mesh(4);
  test::give_addresses(mesh);
  const ProbeResult result = ask(mesh);
  EXPECT_EQ(cables_in(result), 6U);
  EXPECT_THAT(bad_causes(result), IsEmpty());
  test::PaperCluster german = test::paper_ring(5);
  for (test::PaperMac& mac : german.macs) mac.title = "Thunderbolt-Anschluss";
  EXPECT_EQ(cables_in(ask(german)), 5U);
}

TEST_F(PaperAgents, AnotherBuildIsNamedOnItsMac) {
  test::PaperCluster mesh = test::paper_mesh(4);
  test::give_addresses(mesh);
  mesh.macs[2].build = "25D999";
  EXPECT_THAT(bad_causes(ask(mesh)), ElementsAre("config.version_mismatch@" + mesh.macs[2].name));
}

TEST_F(PaperAgents, ACircleThroughBridgesIsSeenBeforeItStorms) {
  test::PaperCluster ring = test::paper_ring(5);
  for (test::PaperMac& mac : ring.macs) {
    mac.bridge = "10.9.0.1/24";
    for (test::PaperSocket& socket : mac.sockets) socket.in_bridge = true;
  }
  EXPECT_THAT(bad_causes(ask(ring)),
              testing::Contains("topology.bridge_loop@" + ring.macs[0].name));
}

TEST_F(PaperAgents, OneThatHangsCostsItsOwnFacts) {
  test::PaperCluster mesh = test::paper_mesh(4);
  test::give_addresses(mesh);
  spoil(mesh.macs[1].name, [](const AgentCall& call) -> Expected<nlohmann::json> {
    while (!call.deadline.passed() && !call.ending->load()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return fail(ErrorCode::kTimeout, "no answer");
  });
  const ProbeResult result = ask(mesh, 1500);
  EXPECT_EQ(cables_in(result), 3U) << "those between the other three";
}

TEST_F(PaperAgents, OneThatTalksNonsenseCostsItsOwnFacts) {
  test::PaperCluster mesh = test::paper_mesh(4);
  test::give_addresses(mesh);
  for (const char* said : {"[]", "7", R"({"thunderbolt": 3})", R"({"interfaces": [{"mtu": 1e99}]})",
                           R"({"name": "mac1", "thunderbolt": [{"peers": {}}]})"}) {
    spoil(mesh.macs[1].name, [said](const AgentCall&) -> Expected<nlohmann::json> {
      return nlohmann::json::parse(said);
    });
    const ProbeResult result = ask(mesh);
    EXPECT_EQ(cables_in(result), 3U) << said;
    EXPECT_EQ(result.evidence.hosts[1].name, mesh.macs[1].name) << "it cannot speak for another";
  }
}

// A Mac that claims the sockets of another: told as twins, and no cable of either.
TEST_F(PaperAgents, OneThatClaimsAnothersSocketsGetsNoCableOfIt) {
  test::PaperCluster mesh = test::paper_mesh(3);
  test::give_addresses(mesh);
  nlohmann::json forged = mesh.evidence().hosts[0];
  spoil(mesh.macs[1].name,
        [forged](const AgentCall&) -> Expected<nlohmann::json> { return forged; });
  const ProbeResult result = ask(mesh);
  EXPECT_EQ(result.evidence.hosts[1].name, mesh.macs[1].name);
  EXPECT_EQ(cables_in(result), 0U);
  EXPECT_FALSE(find_cables(result.evidence).doubts.empty());
}

}  // namespace
}  // namespace plumbline
