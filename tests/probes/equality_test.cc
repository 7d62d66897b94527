// The probes `software` and `artifact` from the request of an agent to the cause, with agents in
// this process, each of which answers for a folder of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "core/file.h"
#include "core/json.h"
#include "core/ranges.h"
#include "probes/actions/actions.h"
#include "probes/probe.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class EqualHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 1; i <= 3; ++i) {
      const std::string name = host_name(i);
      fs::create_directories(folder_.path() / name / "model");
      put(i, "config.json", "{}");
      put(i, "tokenizer.json", "[]");
    }
  }
  static std::string host_name(int i) { return "mini" + std::to_string(i); }
  void put(int i, const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / host_name(i) / "model" / name) << text;
  }

  // Asks a host for /model, and each gets its own.
  std::unique_ptr<HostAgent> agent_of(const std::string& host) {
    std::vector<AgentRequest> requests = host_requests();
    std::erase_if(requests, [](const AgentRequest& row) {
      return row.name != "artifact" && row.name != "software";
    });
    for (AgentRequest& row : requests) {
      row.run = [this, host, run = row.run, name = row.name](
                    const nlohmann::json& params,
                    const AgentCall& call) -> Expected<nlohmann::json> {
        count(host + " " + name);
        if (host == refusing_) return fail(ErrorCode::kUnsupported, "not today");
        nlohmann::json own = params;
        if (name == "artifact") {
          own["path"] = (folder_.path() / host).string() + params.at("path").get<std::string>();
        }
        EXPECT_EQ(own.value("as_over_ssh", true), true) << "nobody used ssh";
        auto reply = run(own, call);
        if (reply && name == "artifact") (*reply)["path"] = params.at("path");
        if (reply && name == "software") {
          (*reply)["versions"]["python"] = "3.12.1";
          (*reply)["versions"]["mlx"] = mlx_.at(host);
        }
        return reply;
      };
    }
    for (const char* name : {"snapshot", "counters"}) {
      requests.push_back(
          {name, "", [](const nlohmann::json&, const AgentCall&) -> Expected<nlohmann::json> {
             return nlohmann::json{{"system", "linux"}};
           }});
    }
    return make_in_process_agent(host, std::move(requests));
  }

  // The hosts are asked at the same time, each by a thread.
  void count(const std::string& question) {
    const std::lock_guard lock(mutex_);
    ++asked_[question];
  }

  ProbeResult probe(std::vector<ProbeCallSpec> calls) {
    ProbeContext context;
    std::vector<std::unique_ptr<HostAgent>> agents;
    for (int i = 1; i <= 3; ++i) {
      JobHost host;
      host.name = host_name(i);
      host.data = {"10.0.0." + std::to_string(i) + "/24"};
      host.reached_by = "netns";
      context.evidence.job.hosts.push_back(host);
      context.evidence.hosts.emplace_back().name = host.name;
      agents.push_back(agent_of(host.name));
      context.agents.push_back(agents.back().get());
    }
    return run_probes(std::move(context), calls);
  }
  static ProbeCallSpec call_of(const std::string& name, std::map<std::string, std::string> params) {
    ProbeCallSpec call;
    call.probe = name;
    call.params = std::move(params);
    return call;
  }
  static std::vector<std::string> causes_in(const ProbeResult& result) {
    std::vector<std::string> out;
    for (const Finding& finding : result.findings) {
      out.push_back(finding.cause + "@" + finding.host);
    }
    return out;
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> mlx_ = {{"mini1", "1.0"}, {"mini2", "1.0"}, {"mini3", "1.0"}};
  std::mutex mutex_;
  std::map<std::string, int> asked_;  // guarded by mutex_ while a probe runs
  std::string refusing_;
};

TEST_F(EqualHosts, EqualOnesPassAndAreAskedOnce) {
  const ProbeResult result = probe({call_of("software", {{"packages", "mlx, mlx"}}),
                                    call_of("artifact", {{"path", "/model, /model"}})});
  EXPECT_THAT(causes_in(result), IsEmpty());
  EXPECT_THAT(asked_, UnorderedElementsAre(
                          testing::Pair("mini1 software", 1), testing::Pair("mini2 software", 1),
                          testing::Pair("mini3 software", 1), testing::Pair("mini1 artifact", 1),
                          testing::Pair("mini2 artifact", 1), testing::Pair("mini3 artifact", 1)));
  for (const Check& check : result.checks) {
    EXPECT_EQ(check.outcome, CheckOutcome::kPass) << check.key << ": " << check.reason;
  }
  EXPECT_EQ(result.checks.size(), 6U);
  EXPECT_THAT(result.evidence.job.packages, ElementsAre("mlx"));
}

TEST_F(EqualHosts, EachDifferenceIsNamedOnItsHost) {
  mlx_["mini1"] = "0.9";
  put(2, "config.json", "{ }");
  fs::remove_all(folder_.path() / "mini3/model");
  const ProbeResult result = probe(
      {call_of("software", {{"packages", "mlx"}}), call_of("artifact", {{"path", "/model"}})});
  EXPECT_THAT(causes_in(result),
              UnorderedElementsAre("config.version_mismatch@mini1", "artifact.differs@mini2",
                                   "artifact.missing@mini3"));
  // What was recorded gives the same answer.
  const ProbeResult again = judge_evidence(result.evidence);
  EXPECT_THAT(causes_in(again), testing::UnorderedElementsAreArray(causes_in(result)));
}

TEST_F(EqualHosts, WithoutAPathNobodyIsAsked) {
  const ProbeResult result = probe({call_of("artifact", {})});
  EXPECT_THAT(asked_, IsEmpty());
  ASSERT_EQ(result.checks.size(), 3U);
  EXPECT_EQ(result.checks[0].outcome, CheckOutcome::kSkipped);
  EXPECT_THAT(result.checks[0].reason, HasSubstr("no path was given"));
}

// An agent that does not know the request, or says that it cannot: unknown, with its words.
TEST_F(EqualHosts, WhatAnAgentCannotDoIsUnknown) {
  refusing_ = "mini2";
  const ProbeResult result =
      probe({call_of("software", {}), call_of("artifact", {{"path", "/model"}})});
  EXPECT_THAT(causes_in(result), IsEmpty());
  int unknown = 0;
  for (const Check& check : result.checks) {
    if (check.host != "mini2") continue;
    EXPECT_EQ(check.outcome, CheckOutcome::kUnknown) << check.key;
    EXPECT_THAT(check.reason, HasSubstr("not today")) << check.key;
    ++unknown;
  }
  EXPECT_EQ(unknown, 2);
}

// An agent's answer is no more to be trusted than what another host says.
TEST_F(EqualHosts, AnAnswerThatMakesNoSenseCostsThatHostAlone) {
  mlx_["mini2"] = "$(reboot)\n";
  const ProbeResult result = probe({call_of("software", {{"packages", "mlx"}})});
  EXPECT_THAT(causes_in(result), ElementsAre("config.version_mismatch@mini2"));
  for (const Check& check : result.checks) {
    EXPECT_EQ(check.reason.find('\n'), std::string::npos) << check.key;
  }
}

}  // namespace
}  // namespace plumbline
