// The control plane over TCP: status, questions, aborts, strangers, killed and stopped processes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <random>

#include "core/log.h"
#include "tcp_world.h"
#include "transport/control/connectors.h"
#include "transport/control/control_link.h"
#include "transport/control/handshake.h"
#include "transport/control/wire.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

using test::Bytes;
using test::exchange;
using test::PlainClient;
using test::TcpWorld;
using testing::AllOf;
using testing::HasSubstr;

const std::map<std::string, std::string> kQuick = {{"heartbeat_interval_ms", "100"}};

// Waits without hanging for something that another thread brings about.
bool eventually(const std::function<bool()>& holds, int limit_ms = 10'000) {
  const Deadline deadline = Deadline::after_ms(limit_ms);
  while (!holds()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

TEST(ControlMessages, SurviveTheWay) {
  RankStatus status{3, 91, 0xabcdef01, "allreduce f32 sum 64 KiB ring", true, -1, 7, 1234567, 0};
  const auto fields = [](const Bytes& message) {
    return std::span(message).subspan(kControlHeaderBytes);
  };
  const auto beat = decode_heartbeat(fields(encode_heartbeat(status)));
  ASSERT_TRUE(beat);
  EXPECT_EQ(beat->operation, status.operation);
  EXPECT_EQ(beat->waiting_for, -1);
  EXPECT_EQ(beat->since_progress_ns, 1234567);
  std::vector<FlightEntry> entries(40, {1, 2, std::string(1000, 'x'), true});
  entries.back().operation = "newest";
  const Bytes message = encode_answer({5, status, entries});
  const auto answer = decode_answer(fields(message));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->id, 5u);
  EXPECT_EQ(answer->recorder.size(), 16u);
  EXPECT_EQ(answer->recorder.back().operation, "newest");
  EXPECT_LT(answer->recorder.front().operation.size(), 300u);
  Error error{ErrorCode::kWrongData, "write x", EPIPE, "do this", "collective.wrong_data"};
  error.ranks = {7, 2};
  const auto abort = decode_abort(fields(encode_abort({2, error})));
  ASSERT_TRUE(abort);
  EXPECT_EQ(abort->origin, 2);
  EXPECT_EQ(abort->error.code, ErrorCode::kWrongData);
  EXPECT_THAT(abort->error.what, AllOf(HasSubstr("write x"), HasSubstr("EPIPE")));
  EXPECT_EQ(abort->error.hint, "do this");
  EXPECT_EQ(abort->error.cause, "collective.wrong_data");
  EXPECT_EQ(abort->error.ranks, error.ranks);
}

// A few of many ranks are enough, and no peer makes us keep more.
TEST(ControlMessages, AnAbortNamesAFewRanks) {
  Error error{ErrorCode::kTimeout, "all wait", 0, {}, {}};
  for (int rank = 0; rank < 1000; ++rank) error.ranks.push_back(rank);
  const Bytes message = encode_abort({0, error});
  const auto abort = decode_abort(std::span(message).subspan(kControlHeaderBytes));
  ASSERT_TRUE(abort);
  EXPECT_EQ(abort->error.ranks.size(), 64u);
  EXPECT_EQ(abort->error.ranks.front(), 0);
}

TEST(ControlMessages, CutOrChangedOnesAreRefused) {
  const std::vector<Bytes> messages = {encode_heartbeat({}), encode_query(7),
                                       encode_answer({1, {}, {{1, 2, "op", true}}}),
                                       encode_abort({0, {ErrorCode::kBusy, "what", 0, "h", "c"}})};
  for (const Bytes& message : messages) {
    for (size_t bytes = 0; bytes < message.size() - kControlHeaderBytes; ++bytes) {
      const auto cut = std::span(message).subspan(kControlHeaderBytes, bytes);
      EXPECT_FALSE(decode_heartbeat(cut) && &message == &messages[0]);
      EXPECT_FALSE(decode_query(cut) && &message == &messages[1]);
      EXPECT_FALSE(decode_answer(cut) && &message == &messages[2]);
      EXPECT_FALSE(decode_abort(cut) && &message == &messages[3]);
    }
  }
  std::mt19937_64 random(1);
  for (int round = 0; round < 5000; ++round) {
    Bytes bytes(random() % 200);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & (round % 2 ? 3 : 255));
    (void)decode_heartbeat(bytes);
    (void)decode_answer(bytes);
    (void)decode_abort(bytes);
    if (bytes.size() < kControlHeaderBytes) continue;
    const auto header = decode_header(std::span(bytes).first<kControlHeaderBytes>());
    if (header) {
      EXPECT_LE(header->bytes, kMaxControlBytes);
    }
  }
}

TEST(Control, QueryTellsStatusAndLastOperations) {
  TcpWorld world(3);
  std::latch published(3), asked(3);
  world.run([&](Group& group) {
    ControlPlane& control = group.control();
    for (uint32_t i = 1; i <= 20; ++i) {
      control.begin_operation(i, 100 + i, "op " + std::to_string(i));
      if (i < 20) control.end_operation(i);
    }
    control.waiting((group.rank() + 1) % 3, 4, monotonic_ns());
    published.arrive_and_wait();
    for (int peer = 0; peer < 3; ++peer) {
      std::vector<FlightEntry> recorder;
      const RankStatus status = control.query(peer, Deadline::after_ms(5000), &recorder);
      EXPECT_EQ(status.rank, peer);
      EXPECT_EQ(status.sequence, 20u);
      EXPECT_EQ(status.operation, "op 20");
      EXPECT_TRUE(status.in_operation);
      EXPECT_EQ(status.waiting_for, (peer + 1) % 3);
      EXPECT_EQ(status.step, 4u);
      EXPECT_LT(status.age_ns, 5 * kSecond);
      ASSERT_GE(recorder.size(), 16u);
      EXPECT_EQ(recorder.back().sequence, 20u);
      EXPECT_FALSE(recorder.back().finished);
      EXPECT_TRUE(recorder[recorder.size() - 2].finished);
    }
    asked.arrive_and_wait();
  });
}

TEST(Control, AbortReachesEveryRankWithItsWords) {
  TcpWorld world(4);
  std::latch ready(4), seen(4);
  world.run([&](Group& group) {
    ready.arrive_and_wait();
    if (group.rank() == 2) {
      group.control().abort({ErrorCode::kWrongData, "element 17 is 3, not 4", 0, "read the log",
                             "collective.wrong_data"});
      group.control().abort({ErrorCode::kBusy, "a later reason", 0, {}, {}});
    }
    // Nobody calls: rank 1 sleeps in poll on the wake descriptor as Group::wait does.
    const Status status = group.wait([] { return false; }, Deadline::after_ms(10'000));
    ASSERT_FALSE(status);
    const Error error = group.control().failure();
    EXPECT_THAT(error.what, HasSubstr("element 17 is 3, not 4"));
    EXPECT_EQ(error.cause, "collective.wrong_data");
    EXPECT_EQ(error.hint, "read the log");
    EXPECT_EQ(error.code, group.rank() == 2 ? ErrorCode::kWrongData : ErrorCode::kAborted);
    if (group.rank() != 2) {
      EXPECT_THAT(error.what, HasSubstr("rank 2"));
    }
    seen.arrive_and_wait();
  });
}

// Programs take these numbers for places in lists of ranks.
TEST(Control, AnAbortAboutARankThatIsNotThereIsRefused) {
  TcpWorld world(2);
  std::latch ready(2), seen(2);
  world.run([&](Group& group) {
    ready.arrive_and_wait();
    if (group.rank() == 1) {
      Error error{ErrorCode::kWrongData, "element 17", 0, {}, {}};
      error.ranks = {1, 2};
      group.control().abort(error);
    }
    EXPECT_FALSE(group.wait([] { return false; }, Deadline::after_ms(10'000)));
    const Error error = group.control().failure();
    if (group.rank() == 0) {
      EXPECT_THAT(error.what, HasSubstr("bytes that are not ours"));
      EXPECT_EQ(error.ranks, std::vector<int>{1});
    }
    seen.arrive_and_wait();
  });
}

TEST(Control, LeavingInOrderDisturbsNobody) {
  TcpWorld world(3, kQuick);
  std::vector<std::unique_ptr<Group>> groups(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] { groups[static_cast<size_t>(rank)] = *world.open(rank); });
  }
  for (std::thread& thread : threads) thread.join();
  const int64_t start = monotonic_ns();
  groups[1].reset();
  EXPECT_LT(monotonic_ns() - start, kSecond / 2);
  // The others have understood the goodbye when a question is no longer answered anew.
  ASSERT_TRUE(eventually([&] {
    const RankStatus status = groups[0]->control().query(1, Deadline::after_ms(1000), nullptr);
    return status.age_ns > 200 * kMillisecond;
  }));
  EXPECT_FALSE(groups[0]->control().failed());
  EXPECT_FALSE(groups[2]->control().failed());
  EXPECT_LT(groups[0]->control().query(2, Deadline::after_ms(5000), nullptr).age_ns, kSecond);
}

// ---- strangers ---------------------------------------------------------------------------------

// The first message of a genuine dialer who has another token.
Bytes hello_of_a_stranger(const HandshakeIdentity& self, int target) {
  Handshake dialer = Handshake::dialer(self, target, Purpose::kData);
  return {dialer.output().begin(), dialer.output().end()};
}

TEST(Strangers, NeverDisturbAGroup) {
  TcpWorld world(3, kQuick);
  std::latch open(4), attacked(4);
  std::vector<std::unique_ptr<PlainClient>> clients;
  std::thread attacker([&] {
    open.arrive_and_wait();
    const uint16_t port = world.endpoints[2].port;
    HandshakeIdentity wrong{0, 3, 1, random_token(), {}};
    wrong.config_text = world.options.config_text();
    for (int i = 0; i < 20; ++i) {
      clients.push_back(std::make_unique<PlainClient>(port));  // silence
      clients.push_back(std::make_unique<PlainClient>(port));  // another protocol
      clients.back()->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      clients.push_back(std::make_unique<PlainClient>(port));  // half a handshake, then the end
      const Bytes hello = hello_of_a_stranger(wrong, 2);
      clients.back()->send(std::span(hello).first(50));
      clients.back()->close();
      clients.push_back(std::make_unique<PlainClient>(port));  // the right magic, a wrong proof
      clients.back()->send(hello);
      clients.back()->send(Bytes(32, std::byte{7}));
      clients.push_back(std::make_unique<PlainClient>(port));  // a proof by the wrong token
      clients.back()->send(hello);
    }
    // A full handshake under the wrong token ends with a refusal.
    PlainClient client(port);
    Handshake dialer = Handshake::dialer(wrong, 2, Purpose::kControl);
    client.send(dialer.output());
    dialer.sent(dialer.output().size());
    const Bytes challenge = client.read(88, 5000);
    ASSERT_EQ(challenge.size(), 88u);
    dialer.received(challenge);
    client.send(dialer.output());
    Bytes verdict;
    EXPECT_TRUE(client.read_to_end(&verdict, 5000));
    dialer.received(verdict);
    EXPECT_EQ(dialer.error().code, ErrorCode::kAuth);
    attacked.arrive_and_wait();
  });
  world.run([&](Group& group) {
    ASSERT_TRUE(exchange(group, 1000, 1));
    open.arrive_and_wait();
    EXPECT_TRUE(exchange(group, 200'000, 2));  // while the attack goes on
    attacked.arrive_and_wait();
    EXPECT_TRUE(exchange(group, 200'000, 3));
    EXPECT_FALSE(group.control().failed());
  });
  attacker.join();
}

TEST(Strangers, CannotKeepRanksFromConnecting) {
  TcpWorld world(3);
  // More silent connections than may be pending, before and while the ranks look for one another.
  std::vector<std::unique_ptr<PlainClient>> clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<PlainClient>(world.endpoints[2].port));
  }
  world.run([](Group& group) { EXPECT_TRUE(exchange(group, 1000, 1)); });
}

TEST(Strangers, LogLinesAreLimited) {
  testing::internal::CaptureStderr();
  {
    const Logger log("rank 0", LogLevel::kWarn, log_lines());
    LogLimit limit(&log, LogLevel::kWarn), quiet(&log, LogLevel::kDebug);
    for (int i = 0; i < 100; ++i) {
      limit.line("refused");
      quiet.line("not seen");
    }
    LogLimit(nullptr, LogLevel::kWarn).line("no logger");
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_THAT(text, AllOf(HasSubstr("refused"), testing::Not(HasSubstr("not seen"))));
}

TEST(Strangers, SilenceIsCutOff) {
  TcpWorld world(1);
  world.run([&](Group&) {
    PlainClient client(world.endpoints[0].port);
    Bytes nothing;
    EXPECT_TRUE(client.read_to_end(&nothing, 8000)) << "still connected after 8 s";
    EXPECT_TRUE(nothing.empty());
  });
}

// A genuine rank that wants a second connection is told that it has one.
TEST(Strangers, DuplicatesAreRefusedWhileTheFirstLives) {
  TcpWorld world(2);
  std::latch ready(2), tried(2);
  world.run([&](Group& group) {
    ASSERT_TRUE(exchange(group, 10, 1));
    ready.arrive_and_wait();
    if (group.rank() == 0) {
      for (const Purpose purpose : {Purpose::kControl, Purpose::kData}) {
        HandshakeIdentity self{0, 2, 1, world.token, world.options.config_text()};
        Handshake dialer = Handshake::dialer(self, 1, purpose);
        PlainClient client(world.endpoints[1].port);
        client.send(dialer.output());
        dialer.sent(dialer.output().size());
        dialer.received(client.read(88, 5000));
        client.send(dialer.output());
        dialer.received(client.read(36, 5000));
        EXPECT_EQ(dialer.state(), Handshake::State::kFailed);
        EXPECT_THAT(dialer.error().what, HasSubstr("already"));
      }
    }
    tried.arrive_and_wait();
    EXPECT_TRUE(exchange(group, 10, 2));
  });
}

// An authentic peer whose control bytes are nonsense ends the group with its name.
TEST(Control, NonsenseOfAPeerIsAnError) {
  TcpWorld world(2, {{"mesh", "lazy"}});
  std::thread peer([&] {
    HandshakeIdentity self{0, 2, 1, world.token, world.options.config_text()};
    Handshake dialer = Handshake::dialer(self, 1, Purpose::kControl);
    PlainClient client(world.endpoints[1].port);
    client.send(dialer.output());
    dialer.sent(dialer.output().size());
    dialer.received(client.read(88, 5000));
    client.send(dialer.output());
    dialer.received(client.read(36, 5000));
    EXPECT_EQ(dialer.state(), Handshake::State::kDone);
    client.send(encode_heartbeat({}));
    client.send(std::string(100, 'z'));
    Bytes rest;
    EXPECT_TRUE(client.read_to_end(&rest, 5000));
  });
  auto group = world.open(1);
  if (group) {
    const Status status = (*group)->wait([] { return false; }, Deadline::after_ms(10'000));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kProtocol);
    EXPECT_THAT(status.error().what, HasSubstr("rank 0 on host0"));
  } else {
    EXPECT_THAT(group.error().what, HasSubstr("rank 0 on host0"));  // already at the start
  }
  peer.join();
}

// ---- processes ---------------------------------------------------------------------------------

// Forks rank `rank` of the world as a process of its own, before any thread exists here. It opens
// the group, exchanges once, and then stays until it is killed.
pid_t fork_rank(TcpWorld& world, int rank) {
  const pid_t pid = ::fork();
  if (pid != 0) {
    world.listeners[static_cast<size_t>(rank)].reset();
    return pid;
  }
  for (int other = 0; other < world.size; ++other) {
    if (other != rank) world.listeners[static_cast<size_t>(other)].reset();
  }
  ::alarm(60);  // never left behind
  auto group = world.open(rank);
  if (!group || !exchange(**group, 1000, 1)) ::_exit(1);
  (*group)->control().begin_operation(2, 5, "sleeping");
  for (;;) ::pause();
}

TEST(Processes, AKilledRankIsNamedByAllWithinTwoSeconds) {
  TcpWorld world(4, kQuick);
  const pid_t pid = fork_rank(world, 1);
  ASSERT_GT(pid, 0);
  std::latch exchanged(3);
  std::atomic<int64_t> killed_ns{0};
  std::vector<std::thread> threads;
  for (const int rank : {0, 2, 3}) {
    threads.emplace_back([&, rank] {
      auto group = world.open(rank);
      ASSERT_TRUE(group) << group.error().message();
      ASSERT_TRUE(exchange(**group, 1000, 1));
      exchanged.arrive_and_wait();
      if (rank == 0) {
        killed_ns = monotonic_ns();
        ::kill(pid, SIGKILL);
      }
      const Status status = (*group)->wait([] { return false; }, Deadline::after_ms(20'000));
      const int64_t noticed = monotonic_ns();
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().cause, "rank.dead") << status.error().message();
      EXPECT_THAT(status.error().what, HasSubstr("rank 1 on host1"));
      EXPECT_LT(noticed - killed_ns.load(), 2 * kSecond);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::kill(pid, SIGKILL);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Processes, AStoppedRankShowsAGrowingAgeAndIsNotTakenForDead) {
  TcpWorld world(2, kQuick);
  const pid_t pid = fork_rank(world, 1);
  ASSERT_GT(pid, 0);
  {
    auto group = world.open(0);
    ASSERT_TRUE(group) << group.error().message();
    ASSERT_TRUE(exchange(**group, 1000, 1));
    ControlPlane& control = (*group)->control();
    EXPECT_TRUE(eventually([&] {
      return control.query(1, Deadline::after_ms(5000), nullptr).operation == "sleeping";
    }));
    ::kill(pid, SIGSTOP);
    int64_t age = 0;
    EXPECT_TRUE(eventually([&] {
      age = control.query(1, Deadline::after_ms(50), nullptr).age_ns;
      return age > 400 * kMillisecond;
    }));
    const RankStatus later = control.query(1, Deadline::after_ms(50), nullptr);
    EXPECT_GT(later.age_ns, age);
    EXPECT_EQ(later.operation, "sleeping");
    EXPECT_FALSE(control.failed());
    ::kill(pid, SIGCONT);
    EXPECT_TRUE(eventually([&] {
      return control.query(1, Deadline::after_ms(1000), nullptr).age_ns < 100 * kMillisecond;
    }));
    // A stopped peer holds nobody up who wants to leave.
    ::kill(pid, SIGSTOP);
    const int64_t start = monotonic_ns();
    group->reset();
    EXPECT_LT(monotonic_ns() - start, kSecond / 2);
  }
  ::kill(pid, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
}

TEST(Processes, ADeathWhileOthersConnectIsNoticed) {
  TcpWorld world(3, {{"connect_timeout_ms", "20s"}});
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Rank 1 finds rank 0 and then ends; rank 2 never comes.
    for (const int other : {0, 2}) world.listeners[static_cast<size_t>(other)].reset();
    ::alarm(5);  // time enough to find rank 0
    (void)world.open(1);
    ::_exit(0);
  }
  ASSERT_GT(pid, 0);
  world.listeners[1].reset();
  world.listeners[2].reset();
  const int64_t start = monotonic_ns();
  auto group = world.open(0);
  ASSERT_FALSE(group);
  EXPECT_LT(monotonic_ns() - start, 15 * kSecond);
  EXPECT_EQ(group.error().cause, "rank.dead") << group.error().message();
  EXPECT_THAT(group.error().what, HasSubstr("rank 1 on host1"));
  ::kill(pid, SIGKILL);
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
}

}  // namespace
}  // namespace plumbline
