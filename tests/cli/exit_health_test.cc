// What is FAIL on the screen and the exit code, of doctor and of run, over the same fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "core/fd.h"
#include "core/json.h"
#include "tests/support/ports.h"
#include "tests/support/program.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

// Two listeners on neighbouring ports.
struct TwoPorts {
  Fd sockets[2];
  int first = 0;
};
std::optional<TwoPorts> two_ports() {
  TwoPorts out;
  out.first = test::free_ports(2);
  for (int i = 0; i < 2; ++i) {
    const auto address =
        make_socket_address("127.0.0.1", static_cast<uint16_t>(out.first + i)).value();
    Expected<Fd> socket = listen_on(address, {});
    if (!socket) return std::nullopt;
    out.sockets[i] = std::move(*socket);
  }
  return out;
}

bool shows_fail(const std::string& text) {
  return text.find("FAIL") != std::string::npos || text.find("  fail: ") != std::string::npos;
}

void expect_agreement(const Finished& done) {
  const bool fails = done.out.find("verdict: fail") != std::string::npos;
  EXPECT_EQ(shows_fail(done.out), fails) << done.out;
  EXPECT_EQ(done.status, fails ? 2 : 0) << done.out << done.err;
}

// A leftover of plumbline's own on two ports of the job: four rows of FAIL, "verdict: warn", and
// exit code 0, because what explains them is a warning.
TEST(ExitHealth, WhatAWarningExplainsIsShownAsOne) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "there is no /usr/bin/python3";
  const ScratchFolder folder;
  ASSERT_EQ(run_program({"ln", "-s", "/usr/bin/python3", folder.path("plumbline")}).status, 0);
  std::optional<TwoPorts> held = two_ports();
  ASSERT_TRUE(held);
  const int port = held->first;
  const std::string ports = std::to_string(port) + "-" + std::to_string(port + 1);
  const std::vector<std::string> call = {"doctor", "--ports", ports,        "--only",
                                         "ports",  "--only",  "tcp.connect"};
  // Held by this test, which is a stranger: that fails, and is shown so.
  const Finished stranger = run_program(plumbline_argv(call));
  expect_agreement(stranger);
  EXPECT_EQ(stranger.status, 2) << stranger.out;
  EXPECT_TRUE(shows_fail(stranger.out));
  // Held by something called plumbline.
  held.reset();
  const std::string script =
      "import socket,sys,time\nheld=[]\nfor p in (" + std::to_string(port) + "," +
      std::to_string(port + 1) +
      "):\n s=socket.socket()\n s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n"
      " s.bind(('127.0.0.1',p))\n s.listen(4)\n held.append(s)\nprint('ready',flush=True)\n"
      "time.sleep(120)\n";
  const Program leftover({folder.path("plumbline"), "-c", script});
  for (int i = 0; i < 200 && leftover.out().empty(); ++i) usleep(50'000);
  ASSERT_THAT(leftover.out(), HasSubstr("ready"));
  const Finished done = run_program(plumbline_argv(call));
  EXPECT_THAT(done.out, HasSubstr("host.stale_process"));
  expect_agreement(done);
  std::vector<std::string> as_json = call;
  as_json.emplace_back("--json");
  const Finished told = run_program(plumbline_argv(as_json));
  EXPECT_EQ(nlohmann::json::parse(told.out).at("verdict") == "fail", told.status == 2);
}

// The same fault in front of a run: its probes, its exit code, its page and its JUnit.
TEST(ExitHealth, RunAsksTheSameQuestion) {
  const ScratchFolder folder;
  const std::string scenario =
      folder.write("s.json", R"({"plumbline": 1, "probes": ["launch"], "roofs": false,
        "launch": {"port_base": "auto"}, "report": ["console", "html", "junit"],
        "hosts": [{"name": "a", "local": true, "data": ["127.0.0.1/8"]},
                  {"name": "b", "local": true, "data": ["127.0.0.1/8"], "binary": "/proc/nowhere/x"}],
        "checklist": [{"item": "plumbline answers", "probes": "launch"}]})");
  const Finished doctor =
      run_program(plumbline_argv({"doctor", scenario, "--only", "launch", "--allow-commands"}));
  expect_agreement(doctor);
  EXPECT_EQ(doctor.status, 2) << doctor.out;
  const Finished run = run_program(
      plumbline_argv({"run", scenario, "--out", folder.path("out"), "--allow-commands"}));
  EXPECT_EQ(run.status, 2) << run.out << run.err;
  EXPECT_TRUE(shows_fail(run.err + run.out)) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("[FAIL] plumbline answers"));
  EXPECT_THAT(read_file(folder.path("out/report.html")), HasSubstr("Not sound"));
  EXPECT_THAT(read_file(folder.path("out/junit.xml")), HasSubstr("<failure"));
}

}  // namespace
}  // namespace plumbline
