#include "launch/pmi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "core/fd.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

constexpr int64_t kPmiMs = 20'000;

std::array<Fd, 2> wire() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

// A process manager as Hydra behaves, for one rank on one thread each.
class Manager {
 public:
  explicit Manager(int ranks) : ranks_(ranks) {}

  void serve(int fd) {
    std::string line;
    for (char c = 0; recv(fd, &c, 1, 0) == 1;) {
      if (c != '\n') {
        line += c;
        continue;
      }
      const std::string reply = answer(line) + "\n";
      if (send(fd, reply.data(), reply.size(), MSG_NOSIGNAL) < 0) return;
      line.clear();
    }
  }

 private:
  std::string answer(const std::string& line) {
    const auto is = [&](const char* command) { return line.rfind(command, 0) == 0; };
    if (is("cmd=init ")) return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
    if (is("cmd=get_my_kvsname")) return "cmd=my_kvsname kvsname=kvs_1_0";
    if (is("cmd=finalize")) return "cmd=finalize_ack";
    std::unique_lock lock(mutex_);
    if (is("cmd=put kvsname=kvs_1_0 key=plumbline_master value=")) {
      value_ = line.substr(line.find("value=") + 6);
      return "cmd=put_result rc=0 msg=success";
    }
    if (is("cmd=barrier_in")) {
      ++arrived_;
      all_.notify_all();
      all_.wait(lock, [&] { return arrived_ == ranks_; });
      return "cmd=barrier_out";
    }
    if (is("cmd=get kvsname=kvs_1_0 key=plumbline_master")) {
      return value_.empty() ? "cmd=get_result rc=-1 msg=key_not_found value=unknown"
                            : "cmd=get_result rc=0 msg=success value=" + value_;
    }
    return "cmd=unknown";
  }

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable all_;
  int arrived_ = 0;
  std::string value_;
};

TEST(Pmi, AllRanksGetRankZerosText) {
  Manager manager(3);
  std::vector<std::array<Fd, 2>> wires;
  std::vector<std::thread> servers;
  std::vector<std::future<Expected<std::string>>> ranks;
  for (int rank = 0; rank < 3; ++rank) wires.push_back(wire());
  for (int rank = 0; rank < 3; ++rank) {
    servers.emplace_back([&, rank] { manager.serve(wires[static_cast<size_t>(rank)][1].get()); });
    ranks.push_back(std::async(std::launch::async, [&, rank] {
      return share_over_pmi(wires[static_cast<size_t>(rank)][0].get(), rank,
                            rank == 0 ? "10.0.0.1,10.0.0.2;ab=cd" : "", Deadline::after_ms(kPmiMs));
    }));
  }
  for (auto& rank : ranks) {
    const auto text = rank.get();
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, "10.0.0.1,10.0.0.2;ab=cd");
  }
  for (auto& wire : wires) wire[0].reset();
  for (std::thread& server : servers) server.join();
}

TEST(Pmi, ARankThatNeverComesTimesOut) {
  Manager manager(1 + 1);
  auto ends = wire();
  std::thread server([&] { manager.serve(ends[1].get()); });
  const auto text = share_over_pmi(ends[0].get(), 0, "a;b", Deadline::after_ms(300));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kTimeout);
  EXPECT_THAT(text.error().message(), HasSubstr("--master"));
  // Lets the manager's thread out of its barrier.
  auto second = wire();
  std::thread other([&] { manager.serve(second[1].get()); });
  EXPECT_TRUE(share_over_pmi(second[0].get(), 1, "", Deadline::after_ms(kPmiMs)));
  ends[0].reset();
  second[0].reset();
  server.join();
  other.join();
}

TEST(Pmi, HostileManagers) {
  const std::vector<std::string> answers = {
      "",
      "\n",
      "HTTP/1.1 400\n",
      "cmd=response_to_init rc=-1\n",
      "cmd=response_to_init pmi_version=1 rc=0\ncmd=barrier_out\n",
      std::string(100'000, 'x')};
  for (const std::string& answer : answers) {
    auto ends = wire();
    ASSERT_EQ(send(ends[1].get(), answer.data(), answer.size(), 0),
              static_cast<ssize_t>(answer.size()));
    shutdown(ends[1].get(), SHUT_WR);
    const auto text = share_over_pmi(ends[0].get(), 1, "", Deadline::after_ms(2000));
    EXPECT_FALSE(text) << answer.substr(0, 40);
  }
  // No descriptor at all.
  EXPECT_FALSE(share_over_pmi(-1, 1, "", Deadline::after_ms(100)));
  EXPECT_FALSE(share_over_pmi(0x7fff, 1, "", Deadline::after_ms(100)));
}

TEST(Pmi, WhatDoesNotFitIsRefused) {
  auto ends = wire();
  for (const std::string& text : {std::string(), std::string("a b"), std::string(2000, 'x')}) {
    const auto shared = share_over_pmi(ends[0].get(), 0, text, Deadline::after_ms(100));
    ASSERT_FALSE(shared);
    EXPECT_EQ(shared.error().code, ErrorCode::kConfig);
  }
}

}  // namespace
}  // namespace plumbline
