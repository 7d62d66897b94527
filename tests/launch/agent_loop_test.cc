#include "launch/agent_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "core/fd.h"
#include "core/json.h"
#include "launch/line_io.h"
#include "test_agent.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// A loop in a thread, between two pipes.
class AgentLoop : public testing::Test {
 protected:
  void start(const AgentLoopSettings& settings = test_settings()) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    loop_in_.reset(ends[0]);
    to_.reset(ends[1]);
    ASSERT_EQ(pipe(ends), 0);
    from_.reset(ends[0]);
    loop_out_.reset(ends[1]);
    loop_ = std::thread([this, settings] {
      status_ = serve_agent(loop_in_.get(), loop_out_.get(), test_requests(), settings);
    });
  }
  void TearDown() override { end(); }
  void end() {
    to_.reset();
    if (loop_.joinable()) loop_.join();
  }
  void send(const std::string& bytes) {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = write(to_.get(), bytes.data() + done, bytes.size() - done);
      ASSERT_GT(n, 0);
      done += static_cast<size_t>(n);
    }
  }
  void ask(int64_t id, const std::string& request, const json& params, int64_t within_ms = 20'000) {
    send(format_request_line(id, request, within_ms, params) + "\n");
  }
  // Next answer; null when none comes in time.
  json answer(int64_t limit_ms = 20'000) {
    const Deadline deadline = Deadline::after_ms(limit_ms);
    while (true) {
      if (const auto line = lines_.next()) return json::parse(*line);
      pollfd entry{from_.get(), POLLIN, 0};
      if (poll(&entry, 1, deadline.poll_timeout_ms(1'000)) > 0) {
        std::string chunk(65536, 0);
        const ssize_t n = read(from_.get(), chunk.data(), chunk.size());
        if (n <= 0) return {};
        lines_.feed(std::string_view(chunk).substr(0, static_cast<size_t>(n)));
      } else if (deadline.passed()) {
        return {};
      }
    }
  }

  Fd loop_in_, loop_out_, to_, from_;
  LineBuffer lines_{64u << 20};
  std::thread loop_;
  Status status_;
};

TEST_F(AgentLoop, AnswersHelloAndTimeItself) {
  start();
  const int64_t before = wall_clock_ns();
  ask(1, "hello", {{"version", "x"}});
  const json hello = answer();
  EXPECT_EQ(hello.at("id"), 1);
  EXPECT_EQ(hello.at("reply").at("version"), PLUMBLINE_VERSION);
  EXPECT_EQ(hello.at("reply").at("build"), "a test");
  EXPECT_EQ(hello.at("reply").at("pid"), getpid());
  EXPECT_EQ(hello.at("reply").at("config").at("mesh"), "yes");
  ask(2, "time", {});
  const json time = answer();
  EXPECT_GE(time.at("reply").at("time_ns").get<int64_t>(), before);
  EXPECT_LE(time.at("reply").at("time_ns").get<int64_t>(), wall_clock_ns());
}

TEST_F(AgentLoop, SixtyFourRequestsSideBySide) {
  start();
  const int64_t begin = monotonic_ns();
  for (int id = 1; id <= 64; ++id) ask(id, "sleep", {{"ms", 300}});
  std::set<int64_t> ids;
  for (int i = 0; i < 64; ++i) {
    const json line = answer();
    ASSERT_TRUE(line.contains("reply")) << line;
    ids.insert(line.at("id").get<int64_t>());
  }
  EXPECT_EQ(ids.size(), 64u);
  // One after the other they would take 19 s.
  EXPECT_LT(monotonic_ns() - begin, 8 * kSecond);
}

TEST_F(AgentLoop, MoreThanMayRunWaitTheirTurn) {
  AgentLoopSettings settings = test_settings();
  settings.max_running = 2;
  start(settings);
  const int64_t begin = monotonic_ns();
  for (int id = 1; id <= 6; ++id) ask(id, "sleep", {{"ms", 100}});
  std::set<int64_t> ids;
  for (int i = 0; i < 6; ++i) ids.insert(answer().at("id").get<int64_t>());
  EXPECT_EQ(ids, (std::set<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_GE(monotonic_ns() - begin, 300 * kMillisecond);
}

TEST_F(AgentLoop, AnOverrunIsAnsweredByTheLoopAndTheLateAnswerDropped) {
  start();
  ask(1, "block", {{"ms", 6'000}}, 400);
  const int64_t begin = monotonic_ns();
  const json line = answer();
  EXPECT_EQ(line.at("id"), 1);
  EXPECT_EQ(line.at("error").at("code"), "timeout");
  EXPECT_THAT(line.at("error").at("what"), HasSubstr("block"));
  EXPECT_LT(monotonic_ns() - begin, 5'500 * kMillisecond);
  EXPECT_TRUE(answer(6'000).is_null()) << "a second answer";
}

TEST_F(AgentLoop, RequestsThatWaitAreAnsweredInTimeToo) {
  AgentLoopSettings settings = test_settings();
  settings.max_running = 1;
  start(settings);
  ask(1, "sleep", {{"ms", 10'000}});
  ask(2, "echo", {}, 200);
  const json line = answer();
  EXPECT_EQ(line.at("id"), 2);
  EXPECT_EQ(line.at("error").at("code"), "timeout");
}

TEST_F(AgentLoop, HandlersGetLessTimeThanTheAskerWaits) {
  start();
  ask(1, "left_ms", {}, 4'000);
  const int64_t left = answer().at("reply").at("ms").get<int64_t>();
  EXPECT_LE(left, 3'800);
  EXPECT_GT(left, 0);
}

TEST_F(AgentLoop, FailuresOfHandlersAreAnswers) {
  start();
  ask(1, "throws", {});
  EXPECT_THAT(answer().at("error").at("what"), HasSubstr("request 'throws': something unexpected"));
  ask(2, "sleep", {{"ms", "many"}});
  EXPECT_EQ(answer().at("error").at("code"), "protocol");
  ask(3, "refuse", {});
  EXPECT_EQ(answer().at("error").at("cause"), "tcp.port_in_use");
  ask(4, "nothing", {});
  EXPECT_EQ(answer().at("error").at("code"), "unsupported");
  ask(5, "broken_text", {});
  EXPECT_TRUE(answer().contains("reply"));
}

TEST_F(AgentLoop, HostileLinesDoNotEndIt) {
  AgentLoopSettings settings = test_settings();
  settings.max_line_bytes = 10'000;
  start(settings);
  send("\n\n{\n[[[[\nnull\n\xff\xfe\n");
  send(std::string(1, '\0') + "\n");
  send(std::string(5'000, '[') + "\n");
  send(std::string(300'000, 'x') + "\n");
  send("{\"id\": 9, \"request\": 1}\n");
  json line = answer();
  EXPECT_EQ(line.at("id"), 9);
  EXPECT_EQ(line.at("error").at("code"), "protocol");
  ask(10, "echo", {{"still", "here"}});
  line = answer();
  EXPECT_EQ(line.at("id"), 10);
  EXPECT_EQ(line.at("reply").at("still"), "here");
}

TEST_F(AgentLoop, GigabytesWithoutANewlineCostNoMemory) {
  AgentLoopSettings settings = test_settings();
  settings.max_line_bytes = 1'000;
  start(settings);
  const std::string piece(1u << 20, 'x');
  for (int i = 0; i < 64; ++i) send(piece);
  send("\n");
  ask(1, "echo", {});
  EXPECT_EQ(answer().at("id"), 1);
}

TEST_F(AgentLoop, LongAnswersArriveWhole) {
  start();
  for (int id = 1; id <= 4; ++id) ask(id, "bytes", {{"count", 1 << 20}});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(answer().at("reply").at("text").get<std::string>().size(), 1u << 20);
  }
}

TEST_F(AgentLoop, TooLongAnAnswerBecomesAnError) {
  start();
  constexpr int64_t kWithinMs = test::kSanitized ? 120'000 : 20'000;  // for 32 MiB of JSON
  ask(1, "bytes", {{"count", kMaxReplyBytes}}, kWithinMs);
  EXPECT_THAT(answer(kWithinMs).at("error").at("what"), HasSubstr("too long"));
}

TEST_F(AgentLoop, EndsWithItsInputInTheMiddleOfARequest) {
  start();
  ask(1, "sleep", {{"ms", 60'000}});
  ask(2, "time", {});
  EXPECT_EQ(answer().at("id"), 2);
  const int64_t begin = monotonic_ns();
  end();
  EXPECT_TRUE(status_);
  EXPECT_LT(monotonic_ns() - begin, 20 * kSecond);
}

TEST_F(AgentLoop, WithALeaseEndsWhenNothingIsHeardForSoLong) {
  AgentLoopSettings settings = test_settings();
  settings.lease_ms = 4'000;
  start(settings);
  const int64_t start_ns = monotonic_ns();
  int64_t silent_ns = 0;  // since the last word, before it could be heard
  // Whoever is heard now and then keeps it, also beyond one lease.
  for (int64_t id = 1; id <= 9; ++id) {
    usleep(500'000);
    silent_ns = monotonic_ns();
    ask(id, "time", json::object());
    EXPECT_FALSE(answer().is_null()) << id;
  }
  EXPECT_GT(monotonic_ns() - start_ns, settings.lease_ms * kMillisecond);
  loop_.join();
  EXPECT_GE(monotonic_ns() - silent_ns, 3'800 * kMillisecond);
  EXPECT_TRUE(status_);
}

TEST_F(AgentLoop, EndsThoughAHandlerDoesNot) {
  start();
  ask(1, "block", {{"ms", 10'000}});
  ask(2, "time", {});
  EXPECT_EQ(answer().at("id"), 2);
  const int64_t begin = monotonic_ns();
  end();
  EXPECT_LT(monotonic_ns() - begin, 8 * kSecond);
}

TEST_F(AgentLoop, EndsWhenNobodyReadsItsAnswersAnyMore) {
  start();
  from_.reset();
  ask(1, "time", {});
  loop_.join();
  EXPECT_TRUE(status_);
}

TEST_F(AgentLoop, SeesTheEndThoughItsAnswersAreStuck) {
  start();
  for (int id = 1; id <= 3; ++id) ask(id, "bytes", {{"count", 1 << 20}});
  const int64_t begin = monotonic_ns();
  end();  // nothing has been read
  EXPECT_LT(monotonic_ns() - begin, 3 * kSecond);
}

TEST_F(AgentLoop, AnswersWhatStoodBeforeTheEnd) {
  start();
  ask(1, "time", {});
  end();
  EXPECT_EQ(answer().at("id"), 1);
}

TEST(AgentLoopSocket, SpeaksOverOneSocketToo) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  std::thread loop([&] { EXPECT_TRUE(serve_agent(ends[0], ends[0], {}, test_settings())); });
  const std::string line = format_request_line(1, "time", 1'000, {}) + "\n";
  ASSERT_EQ(write(ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  char buffer[4096];
  EXPECT_GT(read(ends[1], buffer, sizeof buffer), 0);
  close(ends[1]);
  loop.join();
  close(ends[0]);
}

}  // namespace
}  // namespace plumbline
