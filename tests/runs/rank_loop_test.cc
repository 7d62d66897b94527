// A rank inside this process, on a line of the test's own: however its coordinator ends, it gives
// up what it does and returns.
#include "runs/ranks/rank_loop.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>

#include "core/clock.h"
#include "core/fd.h"
#include "runs/ranks/protocol.h"
#include "transport/address.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

using std::chrono::seconds;

class ServedRank {
 public:
  // `threads`: so many ranks, each a thread; 0 = one, by itself.
  explicit ServedRank(RankLine line, int threads = 0) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) ADD_FAILURE() << "no socket pair";
    ours_ = Fd(ends[0]);
    theirs_ = Fd(ends[1]);
    line.from = line.to = ends[1];
    line.over = [this] { overs_.fetch_add(1); };
    status_ = std::async(std::launch::async, [line, threads] {
      if (threads == 0) return serve_rank(line);
      return serve_rank_threads(threads, line) ? 0 : 1;
    });
  }

  ~ServedRank() { hang_up(); }  // a test that failed does not wait for it

  void send(const std::string& text) {
    const std::string line = text + "\n";
    EXPECT_EQ(write(ours_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  void hang_up() { shutdown(ours_.get(), SHUT_RDWR); }
  // Until a line with this word comes.
  bool answers(const std::string& word, int64_t timeout_ms = 20'000) {
    const Deadline deadline = Deadline::after_ms(timeout_ms);
    while (heard_.find(word) == std::string::npos) {
      pollfd entry{ours_.get(), POLLIN, 0};
      if (poll(&entry, 1, deadline.poll_timeout_ms(1000)) <= 0) {
        if (deadline.passed()) return false;
        continue;
      }
      std::array<char, 4096> chunk{};
      const ssize_t n = read(ours_.get(), chunk.data(), chunk.size());
      if (n <= 0) return false;
      heard_.append(chunk.data(), static_cast<size_t>(n));
    }
    return true;
  }
  // -1 = it has not returned.
  int status() {
    return status_.wait_for(seconds(20)) == std::future_status::ready ? status_.get() : -1;
  }
  int overs() const { return overs_.load(); }
  const std::string& heard() const { return heard_; }

 private:
  Fd ours_, theirs_;
  std::string heard_;
  std::atomic<int> overs_{0};
  std::future<int> status_;
};

SetupMessage setup_of(int size) {
  SetupMessage setup;
  setup.size = size;
  setup.host = "here";
  RankSite site;
  site.addresses = {rank_address("127.0.0.1/8", "")};
  setup.site = (*find_transport("tcp", false))->site(site);
  setup.options = OptionSet().with("connect_timeout_ms", "120000", "test")->values();
  return setup;
}

RankLine lost_with(int status) {
  RankLine line;
  line.lost_status = status;
  return line;
}

TEST(RankLoop, ADismissedRankReturnsZero) {
  ServedRank rank(lost_with(7));
  rank.send(encode(DismissMessage{}));
  EXPECT_EQ(rank.status(), 0);
  EXPECT_EQ(rank.overs(), 1);
}

TEST(RankLoop, ALostCoordinatorEndsARankThatWaits) {
  ServedRank rank(lost_with(7));
  rank.hang_up();
  EXPECT_EQ(rank.status(), 7);
  EXPECT_EQ(rank.overs(), 1);
}

TEST(RankLoop, NonsenseEndsIt) {
  ServedRank rank(lost_with(7));
  rank.send("{\"type\": \"\\u0000\xff");
  EXPECT_EQ(rank.status(), 7);
}

TEST(RankLoop, ALeaseThatIsOverEndsIt) {
  RankLine line = lost_with(7);
  line.lease_ms = 300;
  ServedRank rank(line);
  EXPECT_EQ(rank.status(), 7);
}

TEST(RankLoop, WordsOfTheCoordinatorRenewTheLease) {
  constexpr int kWords = 6;
  RankLine line = lost_with(7);
  line.lease_ms = 2000;
  ServedRank rank(line);
  const int64_t start = monotonic_ns();
  for (int i = 0; i < kWords; ++i) {
    usleep(500'000);
    rank.send(encode(AliveMessage{}));
  }
  EXPECT_EQ(rank.overs(), 0) << "after " << (monotonic_ns() - start) / kMillisecond << " ms";
  rank.send(encode(DismissMessage{}));
  EXPECT_EQ(rank.status(), 0);
}

TEST(RankLoop, WhatIsUnderWayIsGivenUp) {
  ServedRank rank(lost_with(7));
  rank.send(encode(setup_of(2)));
  ASSERT_TRUE(rank.answers("\"ready\"")) << rank.heard();
  // Another rank that will never come: the connect timeout is two minutes.
  const std::string& heard = rank.heard();  // that it lives stands before
  const size_t begin = heard.rfind('\n', heard.find("\"ready\"")) + 1;
  const Expected<Message> ready = decode(heard.substr(begin, heard.find('\n', begin) - begin));
  ASSERT_TRUE(ready) << ready.error().message();
  ConnectMessage connect;
  const std::string& claimed = std::get<ReadyMessage>(*ready).claimed;
  connect.endpoints = {{"here", claimed}, {"here", claimed}};
  connect.ranks_on_machine = 2;
  rank.send(encode(connect));
  usleep(300'000);  // it waits
  EXPECT_EQ(rank.overs(), 0) << rank.heard();
  rank.hang_up();
  EXPECT_EQ(rank.status(), 7);
}

TEST(RankLoop, RanksThatAreThreadsReturnWhenTheirLineEnds) {
  for (const char* request : {"0 ", "1 nonsense", "7 {}", "nobody's", ""}) {
    ServedRank ranks({}, 3);
    ranks.send(request);
    ranks.hang_up();
    EXPECT_EQ(ranks.status(), 0) << request;
    EXPECT_EQ(ranks.overs(), 3) << request;
  }
}

TEST(RankLoop, WhatRanksThatAreThreadsHaveUnderWayIsGivenUp) {
  ServedRank ranks({}, 2);
  SetupMessage setup = setup_of(2);
  setup.options["transport"] = {"memory", "test"};
  ranks.send("0 " + encode(setup));
  ASSERT_TRUE(ranks.answers("\"ready\"")) << ranks.heard();
  EXPECT_EQ(ranks.heard().rfind("0 {", 0), 0u) << ranks.heard();
  // The other thread is never told to come: the connect timeout is two minutes.
  ConnectMessage connect;
  connect.endpoints = {{"here", ""}, {"here", ""}};
  connect.ranks_on_machine = 2;
  ranks.send("0 " + encode(connect));
  usleep(300'000);  // it waits
  EXPECT_EQ(ranks.overs(), 0) << ranks.heard();
  ranks.hang_up();
  EXPECT_EQ(ranks.status(), 0);
  EXPECT_EQ(ranks.overs(), 2);
}

}  // namespace
}  // namespace plumbline
