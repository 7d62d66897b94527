#include "launch/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "launch/rank_set.h"
#include "launch/rank_wire.h"
#include "tests/support/ports.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

constexpr int64_t kMeetingMs = 20'000;

JoinRequest request(int rank, int size) {
  JoinRequest out;
  out.rank = rank;
  out.size = size;
  out.version = "1";
  out.host = "h";
  out.pid = getpid();
  return out;
}

struct Attended {
  Expected<Attendance> fd;
  bool told = false;
};

std::future<Attended> attend(int port, const JoinRequest& request, const std::string& secret = "s",
                             int64_t timeout_ms = 8000) {
  return std::async(std::launch::async, [=] {
    AttendSpec spec;
    spec.masters = {"127.0.0.1"};
    spec.port = port;
    spec.secret = sha256(secret);
    spec.timeout_ms = timeout_ms;
    bool told = false;
    Expected<Attendance> fd = attend_roll_call(spec, request, told);
    return Attended{std::move(fd), told};
  });
}

class Rendezvous : public testing::Test {
 protected:
  RollCallSpec spec(int64_t timeout_ms = kMeetingMs) {
    RollCallSpec out;
    out.listen = {"127.0.0.1"};
    out.port = port_;
    out.secret = sha256("s");
    out.deadline = Deadline::after_ms(timeout_ms);
    out.where = "here";
    out.stranger = [this](const std::string& text) { strangers_.push_back(text); };
    out.interrupted = [this] { return interrupted_.load(); };
    return out;
  }
  const int port_ = test::free_port();
  std::vector<std::string> strangers_;
  std::atomic<bool> interrupted_{false};
};

TEST_F(Rendezvous, JoinsAllWhateverTheOrder) {
  // Rank 2 dials before anybody listens.
  auto two = attend(port_, request(2, 3));
  usleep(100'000);
  auto one = attend(port_, request(1, 3));
  RollCall roll(request(0, 3), monotonic_ns());
  auto fds = hold_roll_call(spec(), roll);
  ASSERT_TRUE(fds) << fds.error().message();
  ASSERT_EQ(fds->wires.size(), 3u);
  EXPECT_FALSE(fds->wires[0].valid());
  const Attended second = two.get();
  ASSERT_TRUE(second.fd);
  ASSERT_TRUE(one.get().fd);
  // What stands now is a wire for lines, in both directions.
  SocketWire wire(std::move(fds->wires[2]), "rank 2");
  ASSERT_TRUE(wire.write_line("hello", Deadline::after_ms(kMeetingMs)));
  char text[6];
  ASSERT_EQ(recv(second.fd->wire.get(), text, 6, MSG_WAITALL), 6);
  EXPECT_EQ(std::string(text, 6), "hello\n");
  ASSERT_EQ(send(second.fd->wire.get(), "back\nnext\n", 10, MSG_NOSIGNAL), 10);
  EXPECT_EQ(wire.read_line(Deadline::after_ms(kMeetingMs)).value(), "back");
  EXPECT_TRUE(wire.has_line());
  EXPECT_EQ(wire.read_line(Deadline::after_ms(kMeetingMs)).value(), "next");
}

TEST_F(Rendezvous, TheLowestRankOfEveryOtherMachineOffersAnAgent) {
  JoinRequest zero = request(0, 4);
  zero.machine = "a";
  RollCall roll(zero, monotonic_ns());
  std::vector<std::future<Attended>> ranks;
  for (int rank = 1; rank < 4; ++rank) {
    JoinRequest other = request(rank, 4);
    other.machine = rank == 1 ? "a" : "b";
    ranks.push_back(attend(port_, other));
  }
  auto gathered = hold_roll_call(spec(), roll);
  ASSERT_TRUE(gathered) << gathered.error().message();
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(gathered->agents[rank].valid(), rank == 2) << rank;
  }
  for (size_t rank = 1; rank < 4; ++rank) {
    const Attended attended = ranks[rank - 1].get();
    ASSERT_TRUE(attended.fd);
    EXPECT_EQ(attended.fd->agent.valid(), rank == 2) << rank;
    if (rank != 2) continue;
    ASSERT_EQ(write(attended.fd->agent.get(), "x\n", 2), 2);
    SocketWire wire(std::move(gathered->agents[2]), "agent");
    EXPECT_EQ(wire.read_line(Deadline::after_ms(kMeetingMs)).value(), "x");
  }
}

TEST_F(Rendezvous, AWorldOfOneNeedsNobody) {
  RollCall roll(request(0, 1), monotonic_ns());
  const auto fds = hold_roll_call(spec(), roll);
  ASSERT_TRUE(fds);
  EXPECT_EQ(fds->wires.size(), 1u);
}

TEST_F(Rendezvous, MissingRankIsNamedInTimeAndTheOthersAreTold) {
  auto one = attend(port_, request(1, 3));
  RollCall roll(request(0, 3), monotonic_ns());
  const int64_t start = monotonic_ns();
  const auto fds = hold_roll_call(spec(3'000), roll);
  EXPECT_LT(monotonic_ns() - start, 10 * kSecond);
  ASSERT_FALSE(fds);
  EXPECT_EQ(fds.error().cause, "rank.missing");
  EXPECT_THAT(fds.error().what, HasSubstr("rank 2 of 3 did not arrive at here within "));
  const Attended told = one.get();
  ASSERT_FALSE(told.fd);
  EXPECT_TRUE(told.told);
  EXPECT_EQ(told.fd.error().cause, "rank.missing");
}

TEST_F(Rendezvous, MissingRankZeroIsNamed) {
  const Attended lonely = attend(port_, request(1, 2), "s", 500).get();
  ASSERT_FALSE(lonely.fd);
  EXPECT_FALSE(lonely.told);
  EXPECT_EQ(lonely.fd.error().cause, "rank.missing");
  EXPECT_THAT(lonely.fd.error().message(), HasSubstr("127.0.0.1 port " + std::to_string(port_)));
}

TEST_F(Rendezvous, UnknownNameIsNamed) {
  AttendSpec attend;
  attend.masters = {"no-such-host.invalid"};
  attend.port = port_;
  attend.timeout_ms = 300;
  bool told = false;
  const auto fd = attend_roll_call(attend, request(1, 2), told);
  ASSERT_FALSE(fd);
  EXPECT_THAT(fd.error().message(), HasSubstr("no-such-host.invalid gives no address"));
}

TEST_F(Rendezvous, StrangersDoNoHarm) {
  RollCall roll(request(0, 2), monotonic_ns());
  auto held = std::async(std::launch::async, [&] { return hold_roll_call(spec(), roll); });
  const auto address = make_socket_address("127.0.0.1", static_cast<uint16_t>(port_));
  std::vector<Fd> strangers;
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, '\0'), std::string(),
        std::string("PLUMBLN\n"), std::string("{\"join\":1}\n")}) {
    Fd fd(socket(AF_INET, SOCK_STREAM, 0));
    for (int i = 0; i < 200 && connect(fd.get(), address->get(), address->length) != 0; ++i) {
      usleep(20'000);
    }
    send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    strangers.push_back(std::move(fd));
  }
  // Knows another secret.
  const Attended foreign = attend(port_, request(1, 2), "t", 500).get();
  EXPECT_FALSE(foreign.fd);
  // Proves itself and talks nonsense afterwards: the world waits on.
  auto own = attend(port_, request(1, 2));
  const auto fds = held.get();
  ASSERT_TRUE(fds) << fds.error().message();
  EXPECT_TRUE(own.get().fd);
  EXPECT_FALSE(strangers_.empty());
}

TEST_F(Rendezvous, DuplicateAndOtherSizeEndItForAll) {
  // Rank 3 never comes, so that only the odd one can end it before the deadline.
  for (const JoinRequest& odd : {request(1, 4), request(1, 2), request(7, 4)}) {
    RollCall roll(request(0, 4), monotonic_ns());
    constexpr int64_t kShortMs = 5'000;
    auto one = attend(port_, request(1, 4), "s", kShortMs);
    auto two = attend(port_, request(2, 4), "s", kShortMs);
    auto other = attend(port_, odd, "s", kShortMs);
    const auto fds = hold_roll_call(spec(), roll);
    ASSERT_FALSE(fds);
    EXPECT_EQ(fds.error().cause, "config.mismatch");
    // Who came too late to be told has its own deadline; those who came before know.
    int told = 0;
    for (auto* each : {&one, &two, &other}) told += each->get().told ? 1 : 0;
    EXPECT_GE(told, 1);
  }
}

TEST_F(Rendezvous, DifferentConfigurationIsToldToAll) {
  JoinRequest own = request(0, 2), other = request(1, 2);
  own.config = {{"transport_crc", "off"}};
  other.config = {{"transport_crc", "on"}};
  RollCall roll(own, monotonic_ns());
  auto one = attend(port_, other);
  const auto fds = hold_roll_call(spec(), roll);
  ASSERT_FALSE(fds);
  EXPECT_THAT(fds.error().what, HasSubstr("transport_crc: off on rank 0, on on rank 1"));
  const Attended told = one.get();
  ASSERT_FALSE(told.fd);
  EXPECT_EQ(told.fd.error().what, fds.error().what);
}

TEST_F(Rendezvous, ARankThatGoesAwayAgainIsNamed) {
  RollCall roll(request(0, 3), monotonic_ns());
  auto held = std::async(std::launch::async, [&] { return hold_roll_call(spec(), roll); });
  // The answer never comes within its time: the rank gives up and closes.
  AttendSpec short_lived;
  short_lived.masters = {"127.0.0.1"};
  short_lived.port = port_;
  short_lived.secret = sha256("s");
  short_lived.timeout_ms = 5'000;
  bool told = false;
  EXPECT_FALSE(attend_roll_call(short_lived, request(1, 3), told));
  const auto fds = held.get();
  ASSERT_FALSE(fds);
  EXPECT_EQ(fds.error().cause, "rank.dead");
  EXPECT_THAT(fds.error().what, HasSubstr("rank 1"));
}

TEST_F(Rendezvous, InterruptEndsTheWaiting) {
  RollCall roll(request(0, 2), monotonic_ns());
  auto held = std::async(std::launch::async, [&] { return hold_roll_call(spec(), roll); });
  usleep(100'000);
  interrupted_ = true;
  const auto fds = held.get();
  ASSERT_FALSE(fds);
  EXPECT_EQ(fds.error().code, ErrorCode::kInterrupted);
}

TEST_F(Rendezvous, BusyPortNamesIt) {
  const auto address = make_socket_address("127.0.0.1", static_cast<uint16_t>(port_));
  const auto squatter = listen_on(*address, {});
  ASSERT_TRUE(squatter);
  RollCall roll(request(0, 2), monotonic_ns());
  const auto fds = hold_roll_call(spec(), roll);
  ASSERT_FALSE(fds);
  EXPECT_EQ(fds.error().code, ErrorCode::kBusy);
  EXPECT_THAT(fds.error().message(), HasSubstr(std::to_string(port_)));
}

// A socket pair as the wire of a rank: [0] is the coordinator's end.
std::array<Fd, 2> socket_pair() {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

TEST(SocketRanks, OfARankSetAreAskedNamedAndClosed) {
  auto a = socket_pair(), b = socket_pair(), c = socket_pair();
  std::vector<std::unique_ptr<RankWire>> wires;
  wires.push_back(std::make_unique<SocketWire>(std::move(a[0]), "the connection to a", 11));
  wires.push_back(std::make_unique<SocketWire>(std::move(b[0]), "the connection to b", 12));
  wires.push_back(std::make_unique<SocketWire>(std::move(c[0]), "the connection to c", 13));
  const auto set = RankSet::adopt({"a", "b", "c"}, std::move(wires));
  set->use({0, 1});
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->pid(1), 12);
  ASSERT_TRUE(set->send_all("go", Deadline::after_ms(kMeetingMs)));
  ASSERT_EQ(write(a[1].get(), "fine\n", 5), 5);
  b[1].reset();  // rank 1 dies
  const auto answers = set->collect(Deadline::after_ms(kMeetingMs), kSecond);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].value(), "fine");
  ASSERT_FALSE(answers[1]);
  EXPECT_EQ(answers[1].error().cause, "rank.dead");
  EXPECT_THAT(answers[1].error().what, HasSubstr("rank 1 on b"));
  // Idle ranks were not asked; all are closed at the end.
  char byte = 0;
  EXPECT_EQ(read(c[1].get(), &byte, 1), -1);
  set->stop(100);
  EXPECT_EQ(read(c[1].get(), &byte, 1), 0);
}

TEST(SocketRanks, AnEndlessLineIsRefusedAndSilenceTimesOut) {
  auto ends = socket_pair();
  SocketWire wire(std::move(ends[0]), "x");
  const auto silent = wire.read_line(Deadline::after_ms(100));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, ErrorCode::kTimeout);
  ASSERT_EQ(write(ends[1].get(), "half", 4), 4);
  EXPECT_FALSE(wire.read_line(Deadline::after_ms(100)));
  // A reader that does not take what we write: the deadline holds.
  const auto stuck = wire.write_line(std::string(8u << 20, 'x'), Deadline::after_ms(200));
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().code, ErrorCode::kTimeout);
}

}  // namespace
}  // namespace plumbline
