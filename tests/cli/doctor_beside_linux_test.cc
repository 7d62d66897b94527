// `plumbline doctor` beside processes that hold ports of the job: ranks of a run that is alive, of
// one whose coordinator was killed, and strangers. It called all of them leftovers, with `kill`.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <regex>

#include "core/fd.h"
#include "core/json.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using DoctorJson = nlohmann::json;

std::string run_scenario(int port, const std::string& hosts) {
  return R"({"plumbline": 1, "question": "Is it left alone?", "hosts": )" + hosts + R"(,
    "launch": {"port_base": )" +
         std::to_string(port) + R"(}, "roofs": false, "probes": [],
    "matrix": [{"kind": "latency", "op": "allreduce", "bytes": {"from": 8, "to": "1Mi", "factor": 2},
                "repeat": 4, "stop": {"ci": 0, "max_n": 10000000, "max_time": "1s"}}],
    "report": ["console"], "seed": 7})";
}

class DoctorBeside : public testing::Test {
 protected:
  // Two for the ranks of a run, and a master port.
  void SetUp() override { ASSERT_GT(port_, 0); }

  std::vector<std::string> doctor_argv(const std::string& how) const {
    return plumbline_argv({"doctor", how, "--only", "ports", "--ports",
                           std::to_string(port_) + "-" + std::to_string(port_ + 1), "--master-port",
                           std::to_string(port_ + 2)});
  }
  DoctorJson diagnosis() const {
    const Finished done = run_program(doctor_argv("--json"));
    status_ = done.status;
    return DoctorJson::parse(done.out, nullptr, false);
  }
  std::string plan() const { return run_program(doctor_argv("--fix-plan")).out; }

  // The run's id; empty when it could not be started.
  std::string start_run(const std::string& hosts = R"({"local": 2})") {
    folder_.write("scenario.json", run_scenario(port_, hosts));
    run_ = std::make_unique<Program>(plumbline_argv(
        {"run", folder_.path("scenario.json"), "--out", folder_.path("out"), "--allow-commands"}));
    if (!run_->wait_for_children(2)) return "";
    // The ranks listen when the first cell is measured.
    for (int i = 0; i < 400 && record_count(folder_.path("out/records.jsonl")) == 0; ++i) {
      usleep(50'000);
    }
    const std::string list = run_program(plumbline_argv({"stop", "--list"})).out;
    const std::regex own("runs ([0-9a-f]+) " + std::to_string(run_->children().at(0)) + " ");
    std::smatch found;
    if (!std::regex_search(list, found, own)) return "";
    const std::string run = found[1].str();
    const std::regex rank("runs " + run + " ([0-9]+) " + plumbline_argv({"rank"})[0] + " rank");
    for (auto it = std::sregex_iterator(list.begin(), list.end(), rank);
         it != std::sregex_iterator(); ++it) {
      ranks_.push_back(std::stoi((*it)[1].str()));
    }
    return ranks_.size() == 2 ? run : "";
  }

  const int port_ = test::free_ports(3);
  mutable int status_ = -1;
  ScratchFolder folder_;
  std::unique_ptr<Program> run_;
  std::vector<pid_t> ranks_;
};

TEST_F(DoctorBeside, ALivingRunIsBusyAndNobodyIsToldToKillIt) {
  const std::string run = start_run();
  ASSERT_FALSE(run.empty()) << run_->err();
  const DoctorJson json = diagnosis();
  ASSERT_EQ(json["findings"].size(), 1u) << json.dump(1);
  const DoctorJson& finding = json["findings"][0];
  EXPECT_EQ(finding["cause"], "tcp.port_in_use");
  EXPECT_EQ(finding["outcome"], "note");
  EXPECT_EQ(finding["ports"], DoctorJson({port_, port_ + 1}));
  EXPECT_THAT(finding["evidence"][0]["text"].get<std::string>(),
              AllOf(HasSubstr("busy"), HasSubstr("run " + run)));
  EXPECT_THAT(finding["remedy"].get<std::string>(),
              AllOf(StartsWith("wait"), HasSubstr("--port-base auto"),
                    HasSubstr("plumbline stop " + run), Not(HasSubstr("kill"))));
  EXPECT_EQ(json["verdict"], "ok");
  EXPECT_EQ(status_, 0);
  EXPECT_THAT(plan(), Not(testing::ContainsRegex("\nkill")));
  // The run goes on, and so it is while its coordinator is held up.
  EXPECT_TRUE(run_->running());
  run_->signal(SIGSTOP);
  EXPECT_EQ(diagnosis()["findings"][0]["outcome"], "note");
  run_->signal(SIGCONT);
}

// It ended the ranks only, which the coordinator started anew.
TEST_F(DoctorBeside, StopEndsTheLivingRun) {
  const std::string run = start_run();
  ASSERT_FALSE(run.empty()) << run_->err();
  const Finished stopped = run_program(plumbline_argv({"stop", run}));
  EXPECT_EQ(stopped.status, 0) << stopped.out << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("ended " + run + " " + std::to_string(run_->pid()) + " "));
  EXPECT_EQ(run_->wait(20'000), 130) << run_->err();
  EXPECT_TRUE(all_gone(ranks_, 3'000));
  EXPECT_EQ(run_program(plumbline_argv({"stop", run})).out, "") << "nothing of it is left";
  EXPECT_THAT(run_->err(), Not(HasSubstr("killed by signal"))) << "it ended in order";
}

// A rank ends with its parent and with its input. These have another parent, and their input does
// not end.
TEST_F(DoctorBeside, RanksWhoseCoordinatorWasKilledAreLeftovers) {
  const std::string wrapper = folder_.write(
      "wrapper.sh", "#!/bin/sh\n" + plumbline_argv({"rank"})[0] + " \"$@\"\nexit $?\n");
  ASSERT_EQ(chmod(wrapper.c_str(), 0755), 0);
  const std::string run = start_run(
      R"([{"name": "here", "local": true, "data": ["127.0.0.1/8"], "ranks": 2, "binary": ")" +
      wrapper + "\"}]");
  ASSERT_FALSE(run.empty()) << run_->err();
  EXPECT_EQ(diagnosis()["findings"][0]["outcome"], "note") << "its coordinator lives";
  std::vector<Fd> kept;
  for (const pid_t rank : ranks_) {
    const std::string fds = "/proc/" + std::to_string(rank) + "/fd/";
    kept.emplace_back(open((fds + "0").c_str(), O_WRONLY | O_CLOEXEC));
    kept.emplace_back(open((fds + "1").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(kept[kept.size() - 2].valid() && kept.back().valid());
  }
  run_->signal(SIGKILL);
  run_->wait();
  const DoctorJson json = diagnosis();
  const std::string fix = plan();
  for (const pid_t rank : ranks_) kill(rank, SIGKILL);
  ASSERT_EQ(json["findings"].size(), 1u) << json.dump(1);
  const DoctorJson& finding = json["findings"][0];
  EXPECT_EQ(finding["cause"], "host.stale_process");
  EXPECT_EQ(finding["outcome"], "warn");
  for (const pid_t rank : ranks_) {
    EXPECT_THAT(finding["remedy"].get<std::string>(), HasSubstr("kill " + std::to_string(rank)));
    EXPECT_THAT(fix, HasSubstr("\nrun kill " + std::to_string(rank) + "\n"));
  }
}

TEST_F(DoctorBeside, AStrangerIsNeverToBeKilledByThePlan) {
  const auto address = make_socket_address("127.0.0.1", static_cast<uint16_t>(port_));
  const Expected<Fd> held = listen_on(*address, {});
  ASSERT_TRUE(held) << held.error().message();
  const DoctorJson json = diagnosis();
  ASSERT_EQ(json["findings"].size(), 1u) << json.dump(1);
  const DoctorJson& finding = json["findings"][0];
  EXPECT_EQ(finding["cause"], "tcp.port_in_use");
  EXPECT_EQ(finding["outcome"], "fail");
  EXPECT_EQ(status_, 2);
  const auto remedy = finding["remedy"].get<std::string>();
  EXPECT_THAT(remedy,
              AllOf(StartsWith("choose other ports: --port-base "), Not(HasSubstr("kill"))));
  const std::string last = "process " + std::to_string(getpid());
  EXPECT_GT(remedy.find(last), remedy.find("--port-base")) << remedy;
  EXPECT_THAT(plan(), Not(testing::ContainsRegex("\nkill")));
}

}  // namespace
}  // namespace plumbline
