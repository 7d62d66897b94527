// Ranks that share one process: each hears its own lines and no others, also when what comes is
// nobody's, or the process goes.
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "launch/line_io.h"
#include "launch/rank_set.h"
#include "launch/rank_wire.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

Deadline in_time() { return Deadline::after_ms(20'000); }

// A shell in the place of the process with the ranks.
std::vector<std::unique_ptr<RankWire>> wires_to(const std::string& script, int count) {
  auto process = Process::spawn({"/bin/sh", "-c", script});
  EXPECT_TRUE(process) << process.error().message();
  return share_process(std::move(*process), count);
}

TEST(SharedWire, EveryRankHearsItsOwnLinesInTheirOrder) {
  const auto wires = wires_to("exec cat", 12);
  for (const char* text : {"first", "", "{\"a\": 3}"}) {
    for (const size_t rank : {11u, 0u, 3u, 1u}) {
      ASSERT_TRUE(wires[rank]->write_line(std::to_string(rank) + text, in_time()));
    }
  }
  for (const size_t rank : {1u, 11u, 3u, 0u}) {
    for (const char* text : {"first", "", "{\"a\": 3}"}) {
      const auto line = wires[rank]->read_line(in_time());
      ASSERT_TRUE(line) << line.error().message();
      EXPECT_EQ(*line, std::to_string(rank) + text);
    }
  }
  EXPECT_EQ(wires[2]->read_line(Deadline::after_ms(1)).error().code, ErrorCode::kTimeout);
  for (const auto& wire : wires) wire->close_input();
  EXPECT_TRUE(wires[0]->wait(in_time()));
  EXPECT_TRUE(wires[5]->wait(in_time())) << "it has ended for all";
}

TEST(SharedWire, LinesThatAreNobodysAreAnErrorAndNotTaken) {
  for (const char* line : {"3 x", "x", "", "-1 x", "1", "99999999999999999999 x", "1x y"}) {
    const auto wires = wires_to("read go; echo '" + std::string(line) + "'; exec cat", 3);
    ASSERT_TRUE(wires[0]->write_line("go", in_time()));
    const auto heard = wires[1]->read_line(in_time());
    ASSERT_FALSE(heard) << line;
    EXPECT_EQ(heard.error().code, ErrorCode::kProtocol) << line;
  }
}

TEST(SharedWire, TheEndOfTheProcessIsToldToAll) {
  const auto wires = wires_to("read go; echo 1 last; exit 3", 3);
  ASSERT_TRUE(wires[0]->write_line("go", in_time()));
  EXPECT_EQ(wires[1]->read_line(in_time()).value(), "last");
  for (const auto& wire : wires) {
    const auto gone = wire->read_line(in_time());
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, ErrorCode::kPeerLost);
    EXPECT_THAT(gone.error().what, HasSubstr("exited with status 3"));
  }
}

TEST(SharedWire, ASetOfThreadsIsOneProcess) {
  const std::vector<std::string> argv = {"/bin/sh", "-c", "exec cat"};
  auto set =
      RankSet::start({{"a", argv}, {"b", argv}, {"c", argv}}, "alive", nullptr, RanksAre::kThreads);
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ((*set)->size(), 3);
  EXPECT_EQ((*set)->pid(0), (*set)->pid(2));
  ASSERT_TRUE((*set)->send({"x", "y", "z"}, in_time()));
  const std::vector<RankAnswer> answers = (*set)->collect(in_time(), 20 * kSecond);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(*answers[0] + *answers[1] + *answers[2], "xyz");
  (*set)->stop(500);
}

// The other end: three ranks that say everything twice, behind a pair of pipes.
TEST(SharedEnd, CarriesLinesBothWaysUntilItsInputEndsAndAllHaveLeft) {
  std::array<int, 2> in{}, out{};
  ASSERT_TRUE(open_pipe(in.data()) && open_pipe(out.data()));
  auto end = SharedEnd::open(in[0], out[1], 3);
  ASSERT_TRUE(end) << end.error().message();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&shared = **end, rank] {
      const int fd = shared.rank_fd(rank);
      std::array<char, 100> text{};
      const ssize_t n = ::read(fd, text.data(), text.size());
      const std::string line(text.data(), static_cast<size_t>(n));
      const std::string twice = line + line;
      [[maybe_unused]] const ssize_t done = ::write(fd, twice.data(), twice.size());
      EXPECT_EQ(::read(fd, text.data(), text.size()), 0) << "its line ends with the input";
      shared.leave(rank);
    });
  }
  std::thread carrier([&] { (*end)->carry(); });
  const std::string requests = "2 c\n0 a\n1 b\n";
  ASSERT_EQ(::write(in[1], requests.data(), requests.size()), ssize_t(requests.size()));
  LineBuffer lines(1000);
  std::vector<std::string> heard;
  while (heard.size() < 6) {
    std::array<char, 100> text{};
    const ssize_t n = ::read(out[0], text.data(), text.size());
    ASSERT_GT(n, 0);
    lines.feed({text.data(), static_cast<size_t>(n)});
    while (const auto line = lines.next()) heard.push_back(*line);
  }
  EXPECT_THAT(heard, testing::UnorderedElementsAre("0 a", "0 a", "1 b", "1 b", "2 c", "2 c"));
  ::close(in[1]);
  carrier.join();
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace plumbline
