// Several runs on one machine: who has not said which ports finds some that are free and says so;
// who has is told what holds them.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <thread>

#include "core/clock.h"
#include "core/fd.h"
#include "core/options/options.h"
#include "core/record/record.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kRanks = 2;

// Long enough for runs that are started together to be there together.
std::string five_second_scenario(const std::string& launch, const std::string& probes) {
  return R"({"plumbline": 1, "hosts": {"local": 2}, "roofs": false, )" + launch + probes + R"(
  "matrix": [{"kind": "latency", "op": "allreduce", "bytes": 64,
              "stop": {"ci": 0, "max_n": 10000000, "max_time": "5s"}}], "report": ["console"]})";
}

std::vector<std::string> run_argv(const ScratchFolder& folder, const std::string& out,
                                  std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"run", folder.path("scenario.json"), "--out", folder.path(out)});
  return plumbline_argv(more);
}

// The window of a run, by what its records say.
OptionValue window_of(const ScratchFolder& folder, const std::string& out) {
  const auto records = read_records(folder.path(out + "/records.jsonl"));
  EXPECT_TRUE(records && !records->empty());
  if (!records || records->empty()) return {};
  return records->front().environment.options.at("port_base");
}

void start_together(const std::string& probes) {
  constexpr int kRuns = 5;
  const ScratchFolder folder;
  folder.write("scenario.json", five_second_scenario("", probes));
  std::deque<Program> runs;
  for (int i = 0; i < kRuns; ++i) runs.emplace_back(run_argv(folder, "out" + std::to_string(i)));
  std::map<int, int> taken;  // port -> run
  for (int i = 0; i < kRuns; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(runs[static_cast<size_t>(i)].wait(120'000), 0) << runs[static_cast<size_t>(i)].err();
    const OptionValue window = window_of(folder, "out" + std::to_string(i));
    const int base = std::atoi(window.value.c_str());
    for (int port = base; port < base + kRanks; ++port) {
      EXPECT_TRUE(taken.emplace(port, i).second) << port << " belongs to run " << taken[port];
    }
    const bool moved = window.origin != "default";
    const std::string err = runs[static_cast<size_t>(i)].err();
    const std::string notice = "this run takes ports " + window.value + "-";
    EXPECT_EQ(err.find(notice) != std::string::npos, moved) << err;
  }
}

TEST(TwoRuns, SeveralStartedAtOnceAllFindTheirPorts) { start_together(R"("probes": [],)"); }

// Probes listen on the ports too, and one run's must not find another's ranks there.
TEST(TwoRuns, AlsoWithProbes) { start_together(""); }

class Listener {
 public:
  explicit Listener(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    fcntl(fd_.get(), F_SETFD, FD_CLOEXEC);  // a run that inherited it would be a holder too
    const int on = 1;
    setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    taken = bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
            listen(fd_.get(), 1) == 0;
  }
  bool taken = false;

 private:
  Fd fd_;
};

TEST(TwoRuns, ABusyDefaultIsLeftAndAFixedWindowIsAnError) {
  const int base = static_cast<int>(OptionSet().integer("port_base"));
  const std::string port = std::to_string(base), holder = std::to_string(getpid());
  // The first port of the window, as that is the one that is named when tests that run beside hold
  // others of it. They may hold this one for a moment.
  const Deadline deadline = Deadline::after_ms(60'000);
  auto busy = std::make_unique<Listener>(base);
  while (!busy->taken && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    busy = std::make_unique<Listener>(base);
  }
  ASSERT_TRUE(busy->taken) << "somebody else holds port " << port;
  const ScratchFolder folder;
  folder.write("scenario.json", five_second_scenario("", R"("probes": [],)"));
  const Finished moved = run_program(run_argv(folder, "moved"));
  EXPECT_EQ(moved.status, 0) << moved.err;
  EXPECT_THAT(moved.err, HasSubstr("port " + port + " of the window"));
  EXPECT_THAT(moved.err, HasSubstr(holder));
  EXPECT_THAT(moved.err, HasSubstr("this run takes ports "));
  EXPECT_NE(window_of(folder, "moved").value, std::to_string(base));
  // coll is a run of its own.
  const Finished coll =
      run_program(plumbline_argv({"coll", "allreduce", "--ranks", "2", "-b", "64", "-e", "64"}));
  EXPECT_EQ(coll.status, 0) << coll.err;
  EXPECT_THAT(coll.err, HasSubstr("this run takes ports "));
  // By flag, by scenario, by variable.
  const std::string fixed = std::to_string(base);
  std::map<std::string, Finished> refused;
  refused["flag"] = run_program(run_argv(folder, "a", {"--port-base", fixed}));
  refused["variable"] = run_program(run_argv(folder, "b"), {"PLUMBLINE_PORT_BASE=" + fixed});
  folder.write("scenario.json", five_second_scenario(R"("launch": {"port_base": )" + fixed + "},",
                                                     R"("probes": [],)"));
  refused["scenario"] = run_program(run_argv(folder, "c"));
  for (const auto& [how, done] : refused) {
    SCOPED_TRACE(how);
    EXPECT_EQ(done.status, 1) << done.err;
    EXPECT_THAT(done.err, HasSubstr("port " + port));
    EXPECT_THAT(done.err, HasSubstr(holder));
    EXPECT_THAT(done.err, Not(HasSubstr("this run takes ports")));
  }
}

}  // namespace
}  // namespace plumbline
