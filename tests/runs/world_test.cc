#include "runs/ranks/world.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "core/clock.h"
#include "runs/hosts/port_window.h"
#include "tests/runs/listener.h"
#include "tests/support/places.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

// A listener of this test's own.
class BusyPort {
 public:
  explicit BusyPort(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const int on = 1;
    setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    taken_ = bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
             listen(fd_.get(), 1) == 0;
  }
  bool taken() const { return taken_; }

 private:
  Fd fd_;
  bool taken_;
};

OptionSet with_port_base(const std::string& text) {
  return *OptionSet().with("port_base", text, "test");
}

TEST(PortWindow, BusyPortIsNamedWithItsOwner) {
  const int first = test::free_ports(7), held = first + 2;
  const BusyPort busy(held);
  ASSERT_TRUE(busy.taken());
  const Expected<int> base =
      choose_port_base(with_port_base(std::to_string(first)), local_hosts(1), 4);
  ASSERT_FALSE(base);
  EXPECT_EQ(base.error().cause, "tcp.port_in_use");
  EXPECT_NE(base.error().what.find(std::to_string(held)), std::string::npos) << base.error().what;
  EXPECT_NE(base.error().what.find(std::to_string(getpid())), std::string::npos)
      << base.error().what;
  const OptionSet behind = with_port_base(std::to_string(held + 1));
  EXPECT_EQ(choose_port_base(behind, local_hosts(1), 4).value(), held + 1);
}

TEST(PortWindow, TheDefaultOneIsLeftWhereAllRanksAreHere) {
  const int base = static_cast<int>(OptionSet().integer("port_base"));
  // The first port of the window, as that is the one that is named when tests that run beside hold
  // others of it. They may hold this one for a moment.
  const Deadline deadline = Deadline::after_ms(60'000);
  auto busy = std::make_unique<BusyPort>(base);
  while (!busy->taken() && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    busy = std::make_unique<BusyPort>(base);
  }
  ASSERT_TRUE(busy->taken()) << "somebody else holds port " << base;
  PortClaims claims;
  const auto settled = settle_window(OptionSet(), local_hosts(1), 3, claims);
  ASSERT_TRUE(settled) << settled.error().message();
  ASSERT_TRUE(*settled);
  const OptionSet& moved = (*settled)->options;
  EXPECT_NE(moved.integer("port_base"), base);
  EXPECT_NE(moved.origin("port_base"), "default");
  for (const std::string& part :
       {"port " + std::to_string(base) + " of the window", moved.text("port_base")}) {
    EXPECT_NE((*settled)->notice.find(part), std::string::npos) << (*settled)->notice;
  }
  // It stays where it is, and is still ours to leave.
  EXPECT_FALSE(*settle_window(moved, local_hosts(1), 3, claims));
  EXPECT_TRUE(may_choose_window(moved, local_hosts(1)));
  // Not so where somebody has said which, or other machines must agree.
  const auto fixed = settle_window(with_port_base(std::to_string(base)), local_hosts(1), 3, claims);
  ASSERT_FALSE(fixed);
  EXPECT_EQ(fixed.error().cause, "tcp.port_in_use");
  EXPECT_NE(fixed.error().what.find("port " + std::to_string(base) + " of the window"),
            std::string::npos)
      << fixed.error().what;
  std::vector<ScenarioHost> hosts = local_hosts(1);
  hosts.push_back(hosts.front());
  hosts.back().ssh = "elsewhere";
  EXPECT_FALSE(may_choose_window(OptionSet(), hosts));
  EXPECT_FALSE(settle_window(OptionSet(), hosts, 3, claims));
}

TEST(PortWindow, AClaimKeepsOthersOut) {
  const int base = test::free_ports(6);
  PortClaims first, second;
  EXPECT_TRUE(first.take(base, 4));
  EXPECT_TRUE(first.take(base + 2, 1)) << "its own";
  if (second.take(base + 3, 2)) GTEST_SKIP() << "this system has no claims";
  EXPECT_TRUE(second.take(base + 4, 2)) << "a refused claim must leave nothing behind";
  { const PortClaims ended = std::move(first); }
  EXPECT_TRUE(second.take(base, 4));
}

TEST(PortWindow, BeyondTheLastPort) {
  EXPECT_FALSE(choose_port_base(with_port_base("65535"), local_hosts(1), 2));
}

TEST(PortWindow, AutoFindsAWindowThatIsFree) {
  const Expected<int> first = choose_port_base(with_port_base("auto"), local_hosts(1), 4);
  ASSERT_TRUE(first) << first.error().message();
  const BusyPort busy(*first + 1);
  if (!busy.taken()) GTEST_SKIP() << "another program took the port meanwhile";
  const Expected<int> second = choose_port_base(with_port_base("auto"), local_hosts(1), 4);
  ASSERT_TRUE(second);
  EXPECT_FALSE(*second <= *first + 1 && *first + 1 < *second + 4);
}

// A rank that has said where it listens and ends before it connects: the others would look for it
// until the connect timeout.
TEST(World, ARankThatDiesBeforeItConnectsEndsTheWaitOfAll) {
  const ScratchFolder folder;
  const std::string script = folder.write("program.sh", R"(#!/bin/sh
number=0
while IFS= read -r line; do
  number=$((number + 1))
  case "$number$line" in 1*'"rank":1,'*) doomed=yes ;; esac
  if [ "$number$doomed" = 2yes ]; then exit 0; fi
  printf '%s\n' "$line"
done | )" + test::program_path() + R"( rank
)");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  constexpr int64_t kConnectTimeoutMs = 60'000;
  WorldSpec spec;
  spec.reach.program = script;
  spec.hosts = local_hosts(1);
  spec.options =
      *with_port_base("auto").with("connect_timeout_ms", std::to_string(kConnectTimeoutMs), "test");
  World world(spec);
  const int64_t start = monotonic_ns();
  const Status made = world.ensure_world({3, "tcp", {}, "", ""});
  EXPECT_LT(monotonic_ns() - start, kConnectTimeoutMs * kMillisecond / 2);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().cause, "rank.dead") << made.error().message();
  EXPECT_NE(made.error().what.find("rank 1 on "), std::string::npos) << made.error().message();
}

TEST(World, WhatRanksWriteToStandardErrorComesLineByLine) {
  const ScratchFolder folder;
  const std::string script = folder.write("program.sh", R"(#!/bin/sh
printf 'one\ntwo' >&2
exec )" + test::program_path() + R"( rank
)");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  WorldSpec spec;
  spec.reach.program = script;
  spec.hosts = local_hosts(1);
  spec.options = with_port_base("auto");
  Listener listener;
  spec.caller = &listener;
  World world(spec);
  ASSERT_TRUE(world.ensure_world({2, "tcp", {}, "", ""}));
  world.stop();
  std::vector<std::string> lines = listener.lines();
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "one", "two", "two"}));
}

TEST(World, MeasuresRestartsAndEnds) {
  WorldSpec spec;
  spec.reach.program = test::program_path();
  spec.hosts = local_hosts(1);
  spec.options = with_port_base("auto");
  World world(spec);
  ASSERT_TRUE(world.ensure_world({2, "tcp", {}, "", ""}));
  const int64_t first_pid = world.seats().front().pid;
  PlanCell planned;
  Cell& cell = planned.cell;
  cell.kind = CellKind::kCheck;
  cell.op = "allreduce";
  cell.transport = "tcp";
  cell.ranks = 2;
  cell.bytes = 4096;
  const Expected<Measurement> measured = world.run(planned);
  ASSERT_TRUE(measured) << measured.error().message();
  EXPECT_EQ(measured->wrong, 0u);
  EXPECT_EQ(world.seats().front().pid, first_pid);
  // Another world size, or options of a cell's own, need new ranks.
  cell.ranks = 3;
  ASSERT_TRUE(world.run(planned));
  EXPECT_NE(world.seats().front().pid, first_pid);
  cell.params = {{"chunk_bytes", "4096"}};
  const Expected<Measurement> small_chunks = world.run(planned);
  ASSERT_TRUE(small_chunks);
  EXPECT_EQ(small_chunks->resolved.chunk_bytes, 4096u);
  // What the coordinator decides for all ranks goes by them too.
  for (const bool wanted : {true, false}) {
    cell.params = {{"progress_thread", wanted ? "on" : "off"}};
    const Expected<Measurement> with_thread = world.run(planned);
    ASSERT_TRUE(with_thread) << with_thread.error().message();
    EXPECT_EQ(with_thread->resolved.progress_thread, wanted);
  }
  EXPECT_EQ(world.environment().hosts.size(), 1u);
}

}  // namespace
}  // namespace plumbline
