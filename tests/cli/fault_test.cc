// What happens to a run when ranks die, hang, or strangers knock: real processes, real signals.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "core/clock.h"
#include "core/fd.h"
#include "core/record/record.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

// Three ranks, cells of a few hundred ms, a watchdog of two seconds.
std::string fault_scenario(int port_base, const std::string& transport) {
  return R"({
  "plumbline": 1, "question": "Does it survive?", "hosts": {"local": 3}, "roofs": false, "probes": [],
  "launch": {"port_base": )" +
         std::to_string(port_base) + R"(},
  "config": {"watchdog_timeout_ms": 2000, "transport": ")" +
         transport + R"("},
  "matrix": [{"kind": "latency", "op": "allreduce", "algorithm": "ring", "bytes": "64Ki", "ranks": 3, "repeat": 6,
              "stop": {"ci": 0, "max_n": 10000000, "max_time": "400ms"}}],
  "report": ["console"], "seed": 7
})";
}

class Fault : public testing::Test {
 protected:
  void start(int port_base, const std::string& transport = "tcp") {
    folder_.write("scenario.json", fault_scenario(port_base, transport));
    program_.emplace(
        plumbline_argv({"run", folder_.path("scenario.json"), "--out", folder_.path("out")}));
    ASSERT_TRUE(program_->wait_for_children(3)) << program_->err();
    const Deadline deadline = Deadline::after_ms(20'000);
    // One whole cell first, so that the ranks are connected and busy.
    while (record_count(folder_.path("out/records.jsonl")) == 0 && !deadline.passed()) {
      usleep(10'000);
    }
    ranks_ = program_->children();
    ASSERT_EQ(ranks_.size(), 3u);
  }

  std::vector<Record> records() const {
    const auto all = read_records(folder_.path("out/records.jsonl"));
    EXPECT_TRUE(all);
    return all.value_or(std::vector<Record>());
  }

  // Exactly one cell ended in error, the others were measured by restarted ranks.
  Record the_error() {
    EXPECT_EQ(program_->wait(60'000), 2) << program_->err();
    EXPECT_TRUE(all_gone(ranks_, 3000)) << "a rank was left behind";
    std::vector<Record> all = records();
    EXPECT_EQ(all.size(), 6u);
    std::vector<Record> errors;
    std::copy_if(all.begin(), all.end(), std::back_inserter(errors), [](const Record& record) {
      return record.measurement.outcome == Outcome::kError;
    });
    EXPECT_EQ(errors.size(), 1u) << program_->err();
    return errors.empty() ? Record() : errors.front();
  }

  ScratchFolder folder_;
  std::optional<Program> program_;
  std::vector<pid_t> ranks_;
};

class FaultOver : public Fault, public testing::WithParamInterface<const char*> {};

TEST_P(FaultOver, KilledRankIsNamedAndTheRunGoesOn) {
  start(test::free_ports(3), GetParam());
  kill(ranks_[1], SIGKILL);
  const Record error = the_error();
  EXPECT_EQ(error.measurement.cause, "rank.dead") << error.measurement.reason;
  EXPECT_NE(error.measurement.reason.find("rank 1"), std::string::npos) << error.measurement.reason;
}

TEST_P(FaultOver, StoppedRankIsBlamedWithinTheWatchdog) {
  start(test::free_ports(3), GetParam());
  const int64_t before = monotonic_ns();
  kill(ranks_[2], SIGSTOP);
  const Record error = the_error();
  EXPECT_LT(monotonic_ns() - before, 40 * kSecond);
  EXPECT_NE(error.measurement.reason.find("rank 2"), std::string::npos) << error.measurement.reason;
  EXPECT_NE(error.measurement.reason.find("waits for rank 2"), std::string::npos)
      << error.measurement.reason;
}

INSTANTIATE_TEST_SUITE_P(Transports, FaultOver, testing::Values("tcp", "shm"),
                         [](const auto& row) { return std::string(row.param); });

Fd knock(int port) {
  Fd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) fd.reset();
  return fd;
}

TEST_F(Fault, StrangersAreRefusedAndTheRunDoesNotNotice) {
  const int port = test::free_ports(3);
  start(port);
  std::vector<Fd> silent;
  for (int i = 0; i < 10; ++i) {
    silent.push_back(knock(port + i % 3));
    EXPECT_TRUE(silent.back().valid());
    const Fd rubbish = knock(port + i % 3);
    const std::string bytes(4096, static_cast<char>('A' + i));
    EXPECT_EQ(send(rubbish.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 4096);
    const Fd magic = knock(port + i % 3);
    const std::string start = "PLUMBLN\n" + std::string(200, '\0');  // the handshake's magic
    EXPECT_GT(send(magic.get(), start.data(), start.size(), MSG_NOSIGNAL), 0);
  }
  EXPECT_EQ(program_->wait(60'000), 0) << program_->err();
  EXPECT_EQ(records().size(), 6u);
  for (const Record& record : records()) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kPassed);
    EXPECT_EQ(record.measurement.wrong, 0u);
  }
}

// They were told line by line, by every rank.
TEST_F(Fault, StrangersAreCountedAndToldOnce) {
  const int port = test::free_ports(3);
  start(port);
  constexpr int kStrangers = 60;
  for (int i = 0; i < kStrangers; ++i) {
    const Fd rubbish = knock(port + i % 3);
    const std::string bytes(64, static_cast<char>('A' + i % 26));
    EXPECT_GT(send(rubbish.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  }
  EXPECT_EQ(program_->wait(60'000), 0) << program_->err();
  const std::string err = program_->err();
  const auto count = [&err](const std::string& text) {
    size_t found = 0;
    for (size_t at = err.find(text); at != std::string::npos; at = err.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("127.0.0.1"), 1u) << err;
  EXPECT_EQ(count("refused"), 1u) << err;
  EXPECT_EQ(count("60 connections that are not of this run were refused: 127.0.0.1 (60)"), 1u)
      << err;
}

TEST_F(Fault, RanksDieWithTheirCoordinatorEvenWhenStopped) {
  start(test::free_ports(3));
  kill(ranks_[0], SIGSTOP);
  program_->signal(SIGKILL);
  program_->wait();
  EXPECT_TRUE(all_gone(ranks_, 3000));
}

}  // namespace
}  // namespace plumbline
