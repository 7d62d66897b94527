// The script of `doctor --fix-plan`, as a person runs it: with commands that only write down that
// they were called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "reports/doctor.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

Finding finding(const std::string& host, const Remedy& remedy) {
  Finding out;
  out.cause = "link.down";
  out.host = host;
  out.remedy = remedy;
  return out;
}

Command link_up(const std::string& interface) {
  return {"ip", "link", "set", slot(Slot::kInterface, interface), "up"};
}
Command kernel_value(int64_t value) { return {"sysctl", "-w", "number=" + number(value)}; }

class FixPlan : public testing::Test {
 protected:
  // Writes the plan, and stands in for the commands that it would run.
  void plan(const DoctorReport& report) {
    file_ = folder_.write("plan.sh", doctor_fix_plan(report));
    for (const char* name : {"ip", "sysctl", "fails"}) {
      const std::string path =
          folder_.write(name, std::string("#!/bin/sh\necho ran ") + name + " \"$@\"\n" +
                                  (name == std::string("fails") ? "exit 7\n" : ""));
      ASSERT_EQ(run_program({"chmod", "+x", path}).status, 0);
    }
    const Finished read = run_program({"sh", "-n", file_});
    ASSERT_EQ(read.status, 0) << read.err << read_file(file_);
  }
  Finished run(const std::vector<std::string>& arguments) {
    // Nothing but the stand-ins can be found, so that no test changes this machine.
    std::vector<std::string> argv = {"/usr/bin/env", "PATH=" + folder_.path(), "/bin/sh", file_};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run_program(argv);
  }

  ScratchFolder folder_;
  std::string file_;
};

TEST_F(FixPlan, RunsTheSectionOfTheNamedHostOnly) {
  plan(
      {{"h1", "h2", "h3"},
       {},
       {finding("h1", Remedy(link_up("eth1")).run(kernel_value(1))), finding("h2", link_up("eth2")),
        finding("h1", Command{"ip", "route", "del", "10.0.0.0/8"})}});
  EXPECT_EQ(run({"h1"}).out,
            "ran ip link set eth1 up\nran sysctl -w number=1\nran ip route del 10.0.0.0/8\n");
  EXPECT_EQ(run({"h2"}).out, "ran ip link set eth2 up\n");
  const Finished sound = run({"h3"});
  EXPECT_EQ(sound.out, "nothing to do on h3\n");
  EXPECT_EQ(sound.status, 0);
}

TEST_F(FixPlan, WithoutAHostItChangesNothingAndNamesThem) {
  plan({{"h1", "h2"}, {}, {finding("h1", link_up("eth1"))}});
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"h9"}, {""}, {"h1", "h2"}, {"h"}, {"*"}}) {
    const Finished done = run(arguments);
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, HasSubstr("one of: h1 h2\n"));
  }
}

TEST_F(FixPlan, AdviceIsPrintedAndNeverRun) {
  plan({{"h1"},
        {},
        {finding("h1", Remedy("plug the cable; ip link set eth1 up")
                           .say("# on h1: `ip` it's \"broken\" $(ip a) a\\nb"))}});
  EXPECT_EQ(run({"h1"}).out,
            "# plug the cable; ip link set eth1 up\n# on h1: `ip` it's \"broken\" $(ip a) a\\nb\n");
}

// Whatever a host is called, its name is no code.
TEST_F(FixPlan, NamesOfHostsAreQuoted) {
  const std::vector<std::string> names = {"esac",        "a b", "it's", "*",   "$(ip a)",
                                          "x) ip a;; y", "-h",  "#",    "\"q", "[a-z]"};
  DoctorReport report = {names, {}, {}};
  for (size_t i = 0; i < names.size(); ++i) {
    report.findings.push_back(finding(names[i], kernel_value(static_cast<int64_t>(i))));
  }
  plan(report);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(run({names[i]}).out, "ran sysctl -w number=" + std::to_string(i) + "\n") << names[i];
  }
  EXPECT_THAT(run({}).err, Not(HasSubstr("ran")));
}

TEST_F(FixPlan, ALineBreakInANameLeavesNoComment) {
  plan({{"h\nip a"}, {}, {finding("h\nip a", kernel_value(1))}});
  EXPECT_EQ(run({}).out, "");
  EXPECT_EQ(run({"h ip a"}).out, "ran sysctl -w number=1\n");
}

// Advice that looks like a command, from a rule or from a hostile host, is words all the same.
TEST_F(FixPlan, NothingReadsAdviceForCommands) {
  plan({{"h1"}, {}, {finding("h1", Remedy("ip link set eth1 up").say("sudo ip a\nip b"))}});
  EXPECT_EQ(run({"h1"}).out, "# ip link set eth1 up\n# sudo ip a\\x0aip b\n");
}

TEST_F(FixPlan, ShowsEachCommandBeforeItAndEndsAtTheFirstThatFails) {
  plan(
      {{"h1"},
       {},
       {finding("h1", Remedy(link_up("eth1")).run(Command{"fails", "a b"}).run(kernel_value(1)))}});
  const Finished done = run({"h1"});
  EXPECT_EQ(done.out, "ran ip link set eth1 up\nran fails a b\n");
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, HasSubstr("+ ip link set eth1 up\n+ fails 'a b'\n"));
  EXPECT_THAT(done.err, HasSubstr("this command failed with exit status 7: fails 'a b'"));
}

TEST_F(FixPlan, WhatMayFailEndsNothing) {
  plan({{"h1"}, {}, {finding("h1", Remedy(Command{"fails"}.may_fail()).run(link_up("eth1")))}});
  // Its shell is found nowhere here, and that is all that may fail of it.
  folder_.write("sh", "#!/bin/sh\nexec /bin/sh \"$@\"\n");
  ASSERT_EQ(run_program({"chmod", "+x", folder_.path() + "/sh"}).status, 0);
  const Finished done = run({"h1"});
  EXPECT_EQ(done.out, "ran fails\nran ip link set eth1 up\n");
  EXPECT_EQ(done.status, 0);
}

TEST_F(FixPlan, AnOddInterfaceIsOneWord) {
  plan({{"h1"}, {}, {finding("h1", link_up("a;touch${IFS}x"))}});
  EXPECT_EQ(run({"h1"}).out, "ran ip link set a;touch${IFS}x up\n");
}

TEST_F(FixPlan, ACommandStandsOnlyInTheSectionOfItsHost) {
  plan({{"h1", "h2"},
        {},
        {finding("h1", Remedy("look at h2").then(Remedy(link_up("eth2")).on("h2")))}});
  EXPECT_EQ(run({"h1"}).out, "# look at h2\n");
  EXPECT_EQ(run({"h2"}).out, "ran ip link set eth2 up\n");
}

TEST_F(FixPlan, WhatWasReadFromAFileIsNeverExecuted) {
  const nlohmann::json json = {{"host", "h1"},
                               {"remedy", "ip link set eth1 up"},
                               {"commands", {{{"host", "h1"}, {"argv", {"ip", "link"}}}}}};
  plan({{"h1"}, {}, {json.get<Finding>()}});
  EXPECT_EQ(run({"h1"}).out, "# ip link set eth1 up\n");
}

TEST_F(FixPlan, NothingToHealIsAScriptTooThatDoesNothing) {
  plan({{"h1"}, {}, {}});
  EXPECT_EQ(run({"h1"}).out, "");
  EXPECT_EQ(run({}).status, 0);
}

}  // namespace
}  // namespace plumbline
