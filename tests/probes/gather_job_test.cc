// Finding a job on several hosts, and capturing its packets, with agents that answer as real ones
// would.
#include "probes/gather/gather_job.h"

#include <gmock/gmock.h>

#include <map>

#include "core/json.h"
#include "probes/job/look.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Hosts whose processes and sockets a test makes up.
class GatherJob : public testing::Test {
 protected:
  struct Host {
    SystemLook system;
    std::vector<JobAddress> addresses;
    std::vector<TraceFlow> flows;  // that its captures see
    bool captures = true, cut = false;
  };

  JobProcess& process(const std::string& host, int64_t pid, const std::string& program,
                      const std::map<std::string, std::string>& environment) {
    SeenProcess seen;
    seen.process.pid = pid;
    seen.process.parent = 1;
    seen.process.started = 100 + pid;
    seen.process.name = seen.process.program = program;
    seen.process.environment = environment;
    seen.process.environment_seen = seen.process.sockets_seen = true;
    hosts_[host].system.processes.push_back(seen);
    return hosts_[host].system.processes.back().process;
  }
  void socket(const std::string& host, int64_t pid, const std::string& ip, int port,
              const std::string& peer_ip, int peer_port) {
    JobSocket socket;
    socket.ip = ip;
    socket.port = port;
    socket.peer_ip = peer_ip;
    socket.peer_port = peer_port;
    socket.state = "ESTABLISHED";
    socket.pid = pid;
    hosts_[host].system.sockets.push_back(socket);
  }

  ProbeContext& context() {
    for (auto& [name, host] : hosts_) {
      HostEvidence entry;
      entry.name = name;
      entry.system = system_;
      context_.evidence.hosts.push_back(entry);
      context_.evidence.job.hosts.emplace_back().name = name;
      agents_.push_back(make_in_process_agent(name, requests_of(host)));
      context_.agents.push_back(agents_.back().get());
    }
    context_.deadline = Deadline::after_ms(60'000);
    return context_;
  }

  Status gather(const std::string& asked) {
    const auto question = parse_job_question(asked, {"a", "b"});
    if (!question) return fail(question.error());
    return gather_job(context(), *question, false);
  }

  const JobHostEvidence& seen(size_t host) const {
    return context_.evidence.job_seen->hosts.at(host);
  }

  std::map<std::string, Host> hosts_;
  std::string system_ = "linux";
  ProbeContext context_;

 private:
  static std::vector<AgentRequest> requests_of(Host& host) {
    return {
        AgentWire<AskJob>::row(
            "",
            [&host](const AskJob& asked, const AgentCall&) -> Expected<JobHostEvidence> {
              JobHostEvidence out;
              out.addresses = host.addresses;
              out.first = choose_job(host.system, asked);
              if (asked.apart_ms > 0) {
                out.second = choose_job(host.system, asked, out.first.processes);
              }
              out.captured = {{"1.1.1.1", "2.2.2.2", 1, 2, 1, 0, 1, 0}};
              return out;
            }),
        AgentWire<AskCaptureStart>::row(
            "",
            [&host](const AskCaptureStart&, const AgentCall&) -> Expected<CaptureStarted> {
              return CaptureStarted{host.captures, host.captures ? "" : "no right"};
            }),
        AgentWire<AskCaptureStop>::row(
            "",
            [&host](const AskCaptureStop&, const AgentCall&) -> Expected<CaptureStopped> {
              CaptureStopped out;
              out.summary.flows = host.flows;
              out.cut = host.cut;
              return out;
            }),
    };
  }

  std::vector<std::unique_ptr<HostAgent>> agents_;
};

// The first look's answer must not make the second one take its ranks for ours.
TEST_F(GatherJob, RanksOfAnotherJobStayThatInEveryLook) {
  process("a", 10, "serve", {{"RANK", "0"}, {"TORCHELASTIC_RUN_ID", "x"}});
  process("a", 20, "serve", {{"RANK", "0"}, {"TORCHELASTIC_RUN_ID", "y"}});
  process("a", 21, "serve", {{"RANK", "1"}, {"TORCHELASTIC_RUN_ID", "y"}});
  process("b", 30, "serve", {{"RANK", "2"}, {"TORCHELASTIC_RUN_ID", "y"}});
  for (const auto& [from, port, to, peer] :
       {std::tuple(10, 8000, 20, 5000), {20, 5001, 21, 5002}}) {
    socket("a", from, "10.0.0.1", port, "10.0.0.1", peer);
    socket("a", to, "10.0.0.1", peer, "10.0.0.1", port);
  }
  ASSERT_TRUE(gather("10@a"));
  ASSERT_THAT(seen(0).second->processes, SizeIs(2));
  EXPECT_EQ(seen(0).second->processes[1].why, "other job");
  EXPECT_THAT(seen(1).first.processes, IsEmpty());
}

// One connection between 10.0.0.1:40000 on a and 10.0.0.2:50000 on b.
class CaptureJob : public GatherJob {
 protected:
  void SetUp() override {
    hosts_["a"].addresses = {{"10.0.0.1", "eth1", "ethernet", 24}};
    hosts_["b"].addresses = {{"10.0.0.2", "eth1", "ethernet", 24}};
    process("a", 10, "job", {{"RANK", "0"}, {"MASTER_PORT", "1"}});
    process("b", 11, "job", {{"RANK", "1"}, {"MASTER_PORT", "1"}});
  }
  static TraceFlow flow(int64_t by_a, int64_t by_b) {
    TraceFlow flow;
    flow.a_ip = "10.0.0.1";
    flow.a_port = 40000;
    flow.b_ip = "10.0.0.2";
    flow.b_port = 50000;
    flow.a.packets = by_a;
    flow.b.packets = by_b;
    return flow;
  }
  void capture() {
    ASSERT_TRUE(gather("10@a"));
    // As b names it.
    capture_job(context_, {{"10.0.0.2", "10.0.0.1", 50000, 40000}});
  }
};

TEST_F(CaptureJob, EachHostTellsWhatLeftItAndWhatCame) {
  hosts_["a"].flows = {flow(3, 0)};
  hosts_["b"].flows = {flow(2, 1)};
  TraceFlow other = flow(7, 7);
  other.b_port = 50001;
  hosts_["b"].flows.push_back(other);
  capture();
  ASSERT_THAT(seen(0).captured, SizeIs(1))
      << "what an answer brings of its own accord is no capture";
  const JobPackets &a = seen(0).captured[0], &b = seen(1).captured[0];
  EXPECT_EQ(a.ip, "10.0.0.1");
  EXPECT_EQ(b.port, 50000);
  EXPECT_THAT((std::vector{a.left, a.came, a.left_wide, a.came_wide}), ElementsAre(3, 0, 3, 0));
  EXPECT_THAT((std::vector{b.left, b.came, b.left_wide, b.came_wide}), ElementsAre(1, 2, 1, 2));
}

TEST_F(CaptureJob, AHostWithoutAPacketOfItSaysSo) {
  hosts_["a"].flows = {flow(3, 0)};
  capture();
  ASSERT_THAT(seen(1).captured, SizeIs(1));
  EXPECT_EQ(seen(1).captured[0].came_wide, 0);
}

// Of one end alone, or of a capture that lacks packets, nothing follows.
TEST_F(CaptureJob, WhatIsNotWholeAtBothEndsDoesNotCount) {
  hosts_["a"].flows = {flow(3, 0)};
  hosts_["b"].cut = true;
  capture();
  EXPECT_THAT(seen(0).captured, IsEmpty());
  EXPECT_THAT(seen(1).captured, IsEmpty());
}

TEST_F(CaptureJob, WhereOneHostMayNotNobodyWaits) {
  hosts_["a"].flows = {flow(3, 0)};
  hosts_["b"].captures = false;
  const int64_t begin = monotonic_ns();
  capture();
  EXPECT_THAT(seen(0).captured, IsEmpty());
  EXPECT_THAT(context_.evidence.hosts[1].unreadable, ElementsAre(HasSubstr("no right")));
  EXPECT_LT(monotonic_ns() - begin, 3 * kSecond);
}

TEST_F(CaptureJob, CountsThatAreNoneAreNoCapture) {
  hosts_["a"].flows = {flow(INT64_MAX, -5)};
  capture();
  EXPECT_THAT(seen(0).captured, IsEmpty());
  EXPECT_EQ(context_.evidence.hosts[0].agent_cause, "rank.agent_lost");
}

}  // namespace
}  // namespace plumbline
