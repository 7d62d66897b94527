#include "probes/name.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/requirement.h"
#include "probe_helpers.h"
#include "probes/remedy.h"

namespace plumbline {
namespace {

using test::address;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const ProbeHost kHost = {"mini1", {address("10.10.0.1", 24)}};

ProbeResult judge(std::vector<std::string> addresses, const std::string& name = "mini1.local") {
  const ProbeResult result = judge_own_name(kHost, name, {true, "", std::move(addresses)});
  test::expect_well_formed(result);
  return result;
}

TEST(Name, DataAddressPasses) {
  EXPECT_TRUE(judge({"10.10.0.1"}).findings.empty());
  EXPECT_TRUE(judge({"127.0.1.1", "10.10.0.1"}).findings.empty()) << "one good address is enough";
  EXPECT_TRUE(judge({"10.10.0.77"}).findings.empty()) << "another address of the data network";
}

TEST(Name, LoopbackFails) {
  for (const std::vector<std::string>& found :
       {std::vector<std::string>{"127.0.1.1"}, {"127.0.0.1", "::1"}}) {
    const ProbeResult result = judge(found);
    ASSERT_EQ(test::causes(result), "name.loopback ");
    EXPECT_THAT(result.findings[0].remedy, HasSubstr("10.10.0.1 mini1.local"));
  }
}

TEST(Name, OtherNetworkFails) {
  EXPECT_EQ(test::causes(judge({"192.168.1.5"})), "name.wrong_address ");
  EXPECT_EQ(test::causes(judge({"192.168.1.5", "127.0.0.1"})), "name.wrong_address ");
}

TEST(Name, NothingFound) {
  const ProbeResult result = judge_own_name(kHost, "mini1", {true, "Name not known", {}});
  ASSERT_EQ(test::causes(result), "name.unresolved ");
  EXPECT_THAT(result.checks[0].reason, HasSubstr("Name not known"));
}

TEST(Name, SilentResolverIsUnknown) {
  const ProbeResult result = judge_own_name(kHost, "mini1", Resolution{});
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.checks.at(0).outcome, CheckOutcome::kUnknown);
}

TEST(Name, HostileNameIsNotPutIntoACommand) {
  const ProbeResult result = judge({"127.0.0.1"}, "x; rm -rf $HOME");
  EXPECT_THAT(result.findings.at(0).remedy, Not(HasSubstr("rm -rf")));
}

TEST(Name, ResolvesLocalhostAndNoNonsense) {
  const Resolution localhost = resolve_name("localhost", Deadline::after_ms(20'000));
  EXPECT_TRUE(localhost.answered);
  EXPECT_THAT(localhost.addresses, Contains(testing::AnyOf("127.0.0.1", "::1")));
  const Resolution numeric = resolve_name("127.0.0.3", Deadline::after_ms(20'000));
  EXPECT_THAT(numeric.addresses, testing::ElementsAre("127.0.0.3"));
}

TEST(Name, PassedDeadlineDoesNotWait) {
  const Resolution resolution = resolve_name("localhost", Deadline::at_ns(0));
  // The resolver may have been quick all the same; what matters is that nothing was invented.
  if (!resolution.answered) {
    EXPECT_TRUE(resolution.addresses.empty());
    EXPECT_TRUE(resolution.error.empty());
  }
}

TEST(Name, LoopbackDataNeedsNoName) {
  OptionSet options;
  const ProbeResult result = probe_name(test::local_context(2, options));
  test::expect_well_formed(result);
  for (const Check& check : result.checks) {
    EXPECT_EQ(check.outcome, CheckOutcome::kSkipped);
    EXPECT_THAT(check.reason, HasSubstr("loopback"));
  }
}

TEST(Name, RemedyRewritesAHostsFile) {
  const std::vector<const char*> linux = {"linux"};
  if (const auto reason = unmet(linux)) GTEST_SKIP() << *reason;
  const std::string file = testing::TempDir() + "/hosts_of_remedy";
  std::ofstream(file) << "127.0.0.1 localhost\n127.0.1.1 mini1.local mini1\n::1 localhost mini1 x\n"
                         "10.0.0.9 other mini1\n";
  std::string command = remedy_own_name("mini1", "10.10.0.1");
  ASSERT_EQ(command.rfind("sudo ", 0), 0u);
  command.replace(command.find("/etc/hosts"), std::string("/etc/hosts").size(), file);
  ASSERT_EQ(std::system(command.substr(5).c_str()), 0) << command;
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            "127.0.0.1 localhost\n127.0.1.1 mini1.local\n::1 localhost x\n10.0.0.9 other mini1\n"
            "10.10.0.1 mini1\n");
}

}  // namespace
}  // namespace plumbline
