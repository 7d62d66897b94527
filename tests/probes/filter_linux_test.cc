// The probes against real packet filters and interfaces, in a network namespace of this test's
// own: nothing outside it changes, and it ends with the child process that made it.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "core/fd.h"
#include "core/requirement.h"
#include "probe_helpers.h"
#include "probes/port_list.h"
#include "probes/remedy.h"
#include "transport/socket.h"

namespace plumbline {
namespace {

constexpr int kBase = 29600, kMaster = 29500;

// Runs `body` in a child with a network namespace of its own and returns what it says; empty when
// the namespace cannot be made.
std::string in_namespace(const std::string& setup, const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::string said;
    if (unshare(CLONE_NEWNET) == 0 && std::system(setup.c_str()) == 0) said = body();
    const ssize_t size = write(ends[1], said.data(), said.size());
    _exit(size == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  const Fd from(ends[0]);
  std::string said;
  char part[4096];
  for (ssize_t size = 0; (size = read(from.get(), part, sizeof part)) > 0;) {
    said.append(part, static_cast<size_t>(size));
  }
  waitpid(child, nullptr, 0);
  return said;
}

ProbeContext context_of(const OptionSet& options) {
  ProbeContext context = test::local_context(2, options);
  context.ranks = 3;
  context.port_base = kBase;
  context.master_port = kMaster;
  context.facts.nics = list_nics().value_or(std::vector<Nic>{});
  context.params["timeout"] = "300ms";
  return context;
}

// "cause host ports; ..." of one probe.
std::string findings_of(const std::string& probe) {
  const OptionSet options;
  std::string text = "findings: ";
  for (const Finding& finding : run_probes(context_of(options), {probe}).findings) {
    text += finding.cause + " " + finding.host + " " + format_port_list(finding.ports) + "; ";
  }
  return text;
}

std::string connect_behind(const std::string& rule) {
  return in_namespace(
      "ip link set lo up && nft 'table inet t { chain c { type filter hook input priority 0; " +
          rule + "; }; }'",
      [] { return findings_of("tcp.connect"); });
}

class Filter : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<const char*> netns = {"netns"};
    if (const auto reason = unmet(netns)) GTEST_SKIP() << *reason;
    if (std::system("command -v nft > /dev/null") != 0) {
      GTEST_SKIP() << "nft is not in PATH; install it (Debian: nftables)";
    }
    if (connect_behind("accept").empty()) {
      GTEST_SKIP() << "network namespaces or nft rules cannot be made here";
    }
  }
};

TEST_F(Filter, NoRuleNoFinding) { EXPECT_EQ(connect_behind("accept"), "findings: "); }

TEST_F(Filter, DroppedPort) {
  EXPECT_EQ(connect_behind("tcp dport 29601 drop"),
            "findings: firewall.partial_range local1 29601; ");
}

TEST_F(Filter, DroppedWindow) {
  EXPECT_EQ(connect_behind("tcp dport { 29500, 29600-29699 } drop"),
            "findings: firewall.drop_inbound local1 29500,29600-29602; ");
}

TEST_F(Filter, RejectedWithReset) {
  EXPECT_EQ(connect_behind("tcp dport { 29500, 29600-29699 } reject with tcp reset"),
            "findings: firewall.reject_rst local1 29500,29600-29602; ");
}

TEST_F(Filter, RejectedWithIcmpOfWhateverCode) {
  for (const char* code : {"port-unreachable", "admin-prohibited", "host-unreachable",
                           "net-unreachable", "prot-unreachable"}) {
    EXPECT_EQ(connect_behind(std::string("ip protocol tcp reject with icmp ") + code),
              "findings: firewall.reject_icmp local1 29500,29600-29602; ")
        << code;
  }
}

TEST_F(Filter, RedirectedPort) {
  const std::string said = in_namespace(
      "ip link set lo up && nft 'table ip t { chain nat { type nat hook output priority -100; tcp "
      "dport 29601 redirect to :45678; }; }'",
      [] {
        const auto elsewhere = make_socket_address("127.0.0.1", 45678);
        const Fd listener = listen_on(elsewhere.value(), {}).value();
        return findings_of("tcp.connect");
      });
  if (said.empty()) GTEST_SKIP() << "this kernel cannot redirect";
  EXPECT_EQ(said, "findings: tcp.wrong_service local1 29601; ");
}

TEST_F(Filter, RemedyOfTheEphemeralOverlapWorks) {
  // The list is the namespace's own, so that the remedy can be typed here.
  const auto ephemeral_outcome = [] {
    const OptionSet options;
    ProbeContext context = context_of(options);
    context.facts.ephemeral_ports = {29600, 60999};
    return std::string(
        to_string(test::check_ending(run_probes(context, {"ports"}), "local0#ephemeral").outcome));
  };
  EXPECT_EQ(in_namespace("ip link set lo up", ephemeral_outcome), "warn");
  const std::string remedy = remedy_reserve_ports("29600-29602");
  ASSERT_EQ(remedy.rfind("sudo ", 0), 0u);
  const std::string said = in_namespace(
      "ip link set lo up && " + remedy.substr(5) + " > /dev/null 2>&1", ephemeral_outcome);
  if (said.empty()) GTEST_SKIP() << "sysctl cannot be run here";
  EXPECT_EQ(said, "pass");
}

TEST_F(Filter, LoopbackThatIsDown) {
  EXPECT_EQ(in_namespace("true", [] { return findings_of("link"); }),
            "findings: link.down local0 ; ");
}

}  // namespace
}  // namespace plumbline
