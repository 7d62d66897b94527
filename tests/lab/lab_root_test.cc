// Labs that are really made: what is up after `up`, and that nothing is left, whatever happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/command.h"
#include "core/file.h"
#include "core/number.h"
#include "core/text.h"
#include "lab/create.h"
#include "lab/fault.h"
#include "lab/lab.h"
#include "lab/lab_files.h"
#include "lab/shell.h"
#include "lab/snapshot.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RealLab : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* wanted = std::getenv("TEST_LABS");
    if (wanted == nullptr || std::string(wanted) != "1") {
      GTEST_SKIP() << "lab tests run with ./test.sh --labs";
    }
    const Status able = lab_system();
    if (!able) GTEST_SKIP() << able.error().message();
    topology_.name = "unit-" + std::to_string(getpid());
    topology_.size = 3;
  }
  void TearDown() override {
    for (const std::string& name : lab_names()) {
      if (name.rfind("unit-" + std::to_string(getpid()), 0) == 0) (void)lab_down(name);
    }
  }

  // No namespace, no file, no process of this lab is there.
  static void expect_gone(const Lab& lab) {
    for (const std::string& netns : lab_namespaces(lab)) {
      EXPECT_FALSE(namespace_exists(netns)) << netns;
      EXPECT_FALSE(std::filesystem::exists("/etc/netns/" + netns)) << netns;
    }
    EXPECT_FALSE(std::filesystem::exists(lab_folder(lab.name)));
    EXPECT_THAT(lab_names(), Not(Contains(lab.name)));
  }

  static bool pings(const LabHost& from, const std::string& ip) {
    const auto done = run_command({"ip", "netns", "exec", from.netns, "ping", "-c1", "-W1", ip},
                                  Deadline::after_ms(5000));
    return done && done->status == 0;
  }

  LabTopology topology_;
};

TEST_F(RealLab, EveryPairTalksAndDownRemovesAll) {
  for (const char* shape : {"star", "mesh", "routed"}) {
    SCOPED_TRACE(shape);
    topology_.shape = shape;
    const auto lab = lab_up(topology_, 7);
    ASSERT_TRUE(lab) << lab.error().message();
    EXPECT_TRUE(std::filesystem::exists(lab->hosts_file));
    for (const LabHost& host : lab->hosts) {
      for (const LabHost& peer : lab->hosts) {
        if (host.name == peer.name) continue;
        const std::string address = link_to(peer, host.name).data;
        EXPECT_TRUE(pings(host, address.substr(0, address.find('/')))) << host.name << peer.name;
      }
    }
    const auto opened = lab_open(topology_.name);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->seed, 7U);
    ASSERT_TRUE(lab_down(topology_.name));
    expect_gone(*lab);
  }
}

TEST_F(RealLab, ASecondOneOfThatNameIsRefused) {
  const auto first = lab_up(topology_, 1);
  ASSERT_TRUE(first) << first.error().message();
  const auto second = lab_up(topology_, 2);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConfig);
  EXPECT_THAT(second.error().message(), HasSubstr("lab down " + topology_.name));
  // The first one has not suffered.
  for (const std::string& netns : lab_namespaces(*first)) EXPECT_TRUE(namespace_exists(netns));
}

TEST_F(RealLab, SeveralWithTheSameSeedLiveSideBySide) {
  std::vector<Expected<Lab>> labs(3, fail(ErrorCode::kSystem, "not made"));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < labs.size(); ++i) {
    threads.emplace_back([&, i] {
      LabTopology topology = topology_;
      topology.name += "-" + std::to_string(i);
      labs[i] = lab_up(topology, 99);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> namespaces;
  for (const auto& lab : labs) {
    ASSERT_TRUE(lab) << lab.error().message();
    for (const std::string& netns : lab_namespaces(*lab)) {
      EXPECT_TRUE(namespaces.insert(netns).second) << netns;
      EXPECT_TRUE(namespace_exists(netns));
    }
  }
  ASSERT_TRUE(lab_down(labs[1]->name));
  expect_gone(*labs[1]);
  for (const std::string& netns : lab_namespaces(*labs[0])) EXPECT_TRUE(namespace_exists(netns));
}

TEST_F(RealLab, AnInterruptRemovesWhatWasMade) {
  // A lab of the same seed that another test makes meanwhile would have these names.
  const auto seed = static_cast<uint64_t>(getpid());
  for (int after = 0; after < 6; ++after) {
    int asked = 0;
    const auto lab = lab_up(topology_, seed, [&] { return asked++ >= after; });
    ASSERT_FALSE(lab) << after;
    EXPECT_EQ(lab.error().code, ErrorCode::kInterrupted);
    EXPECT_THAT(lab_names(), Not(Contains(topology_.name)));
    expect_gone([&] {
      Lab planned = lay_out(topology_, seed);
      planned.name = topology_.name;
      return planned;
    }());
  }
}

// Whether a process of this session runs, one that only waits to be reaped left out.
bool someone_in_session(pid_t session) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (!parse_whole(entry.path().filename().string())) continue;
    const std::string stat = read_system_file(entry.path().string() + "/stat");
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    const std::vector<std::string> fields = split_at(stat.substr(name_end + 2), ' ');
    if (fields.size() > 3 && fields[0] != "Z" && fields[3] == std::to_string(session)) return true;
  }
  return false;
}

// kill -9 between any two steps, and in the middle of them; then `down` of another process.
TEST_F(RealLab, DownCleansUpAfterAKill) {
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int asked = 0;
      setsid();
      (void)lab_up(topology_, 5, [&] {
        if (round < 6 && asked++ == round) raise(SIGKILL);
        return false;
      });
      if (round >= 6) raise(SIGKILL);
      _exit(0);
    }
    if (round >= 6) {
      usleep(static_cast<useconds_t>(15'000 * (round - 5)));
      kill(child, SIGKILL);
    }
    waitpid(child, nullptr, 0);
    const auto state = read_state(topology_.name);
    if (!state) continue;  // killed before anything was written down
    const auto opened = lab_open(topology_.name);
    if (round < 6) {
      EXPECT_FALSE(opened);  // half a lab is not handed out
    }
    // What the killed process had started may still be at work for a moment.
    const Deadline ended = Deadline::after_ms(30'000);
    while (someone_in_session(child) && !ended.passed()) usleep(10'000);
    const Status down = lab_down(topology_.name);
    EXPECT_TRUE(down) << down.error().message();
    expect_gone(state->lab);
  }
}

TEST_F(RealLab, DownEndsWhatRunsInItsNamespaces) {
  const auto lab = lab_up(topology_, 3);
  ASSERT_TRUE(lab) << lab.error().message();
  const auto left_over = start_helper(
      {lab->hosts[0].netns, {"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 60; done"}});
  ASSERT_TRUE(left_over) << left_over.error().message();
  EXPECT_TRUE(is_running(*left_over));
  ASSERT_TRUE(lab_down(topology_.name));
  EXPECT_FALSE(is_running(*left_over));
  expect_gone(*lab);
}

TEST_F(RealLab, ADeviceTypeThatTheKernelLacksIsOneLine) {
  topology_.carrier = "bond";
  const auto lab = lab_up(topology_, 3);
  if (lab) GTEST_SKIP() << "this kernel has bonding";
  EXPECT_EQ(lab.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(lab.error().message(), HasSubstr("bond"));
  EXPECT_THAT(lab_names(), Not(Contains(topology_.name)));
}

TEST_F(RealLab, AFaultIsWrittenDownAndHealedByAnotherProcess) {
  const auto made = lab_up(topology_, 3);
  ASSERT_TRUE(made) << made.error().message();
  Lab lab = *made;
  const auto before = take_snapshots(lab);
  ASSERT_TRUE(before);
  const pid_t child = fork();
  if (child == 0) {
    const bool done =
        inject_fault(lab, "port_in_use", {}, 4) && inject_fault(lab, "link_down", {}, 5);
    _exit(done ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const auto faults = injected_faults(lab);
  ASSERT_EQ(faults.size(), 2U);
  ASSERT_EQ(faults[0].processes.size(), 1U);
  EXPECT_TRUE(is_running(faults[0].processes[0]));
  EXPECT_FALSE(inject_fault(lab, "link_down", {}, 5));  // it is in already
  EXPECT_FALSE(heal_fault(lab, "arp_off"));             // it is not
  const Status healed = heal_fault(lab, "");
  EXPECT_TRUE(healed) << healed.error().message();
  EXPECT_FALSE(is_running(faults[0].processes[0]));
  EXPECT_THAT(injected_faults(lab), IsEmpty());
  const auto after = take_snapshots(lab);
  ASSERT_TRUE(after);
  for (const auto& [netns, snapshot] : *before) {
    EXPECT_THAT(difference(snapshot, after->at(netns)), IsEmpty()) << netns;
  }
}

TEST_F(RealLab, AFaultThatCannotBeFinishedIsUndone) {
  const auto made = lab_up(topology_, 3);
  ASSERT_TRUE(made) << made.error().message();
  Lab lab = *made;
  const auto before = take_snapshot(lab.hosts[0].netns);
  // Somebody took the interface away: the later steps of this fault must fail.
  FaultTarget target;
  target.host = lab.hosts[0].name;
  ASSERT_TRUE(run_script(
      "test", ip_in(lab.switch_netns, "link set " + lab.hosts[0].links[0].port + " nomaster") +
                  "\n" +
                  ip_in(lab.hosts[0].netns, "address flush dev " + lab.hosts[0].links[0].nic)));
  const auto injected = inject_fault(lab, "address_missing", target, 1);
  EXPECT_FALSE(injected);
  EXPECT_THAT(injected_faults(lab), IsEmpty());
  ASSERT_TRUE(before);
}

TEST(LabNames, OfNobody) {
  const auto lab = lab_open("no-such-lab-" + std::to_string(getpid()));
  ASSERT_FALSE(lab);
  EXPECT_EQ(lab.error().code, ErrorCode::kUsage);
  EXPECT_FALSE(lab_down("no-such-lab-" + std::to_string(getpid())));
  EXPECT_FALSE(lab_down("../etc"));
  EXPECT_FALSE(lab_down(""));
}

}  // namespace
}  // namespace plumbline
