#include <gmock/gmock.h>

#include "packet_stop.h"
#include "pair_quality_helpers.h"

namespace plumbline {
namespace {

using test::causes;
using test::find;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void silence_echo(EvidenceSet& set, const std::string& from, const std::string& to) {
  PingEvidence& ping = *test::pair(set, from, to).ping;
  ping.received = 0;
  ping.rtt_ns.clear();
}

TEST(PairTcp, EchoThatFailsAloneIsANote) {
  EvidenceSet set = test::healthy_star(4);
  silence_echo(set, "mini1", "mini2");
  EXPECT_THAT(causes(set), ElementsAre("icmp.blocked mini2>mini1 (note)"));
  for (const char* from : {"mini3", "mini4"}) silence_echo(set, from, "mini2");
  EXPECT_THAT(causes(set), ElementsAre("icmp.blocked mini2 (note)"));
}

TEST(PairTcp, EchoBlockedByTheKernelsSwitchNamesIt) {
  EvidenceSet set = test::healthy_star(4);
  silence_echo(set, "mini1", "mini2");
  test::host(set, "mini2").sysctls["net.ipv4.icmp_echo_ignore_all"] = "1";
  const std::vector<Finding> findings = find(set);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].evidence.back().text, HasSubstr("icmp_echo_ignore_all"));
}

TEST(PairTcp, EchoOfAPairThatIsBrokenIsOnlyASymptom) {
  EvidenceSet set = test::healthy_star(4);
  silence_echo(set, "mini1", "mini2");
  test::StopModel(set, {{test::PacketStop::kIn, "mini2"}}, test::Sight::kAll).apply();
  EXPECT_THAT(causes(set), ElementsAre("firewall.drop_inbound mini2"));
}

TEST(PairTcp, EchoThatCouldNotBeSentTellsNothing) {
  EvidenceSet set = test::healthy_star(3);
  silence_echo(set, "mini1", "mini2");
  test::pair(set, "mini1", "mini2").ping->unavailable = "Operation not permitted";
  EXPECT_THAT(causes(set), IsEmpty());
}

// No agent at the other end: what is refused there has no listener.
EvidenceSet without_agent(const std::string& name) {
  EvidenceSet set = test::healthy_star(2);
  HostEvidence& owner = test::host(set, name);
  owner = HostEvidence{};
  owner.name = name;
  for (PairEvidence& pair : set.pairs) {
    if (pair.to != name) {
      pair.skipped = "no agent on " + name;
      pair.ports.clear();
      pair.ping.reset();
      continue;
    }
    for (PortTry& attempt : pair.ports) {
      const int port = attempt.port;
      attempt = PortTry{};
      attempt.port = port;
      attempt.result = "refused";
      attempt.error = "ECONNREFUSED";
    }
    pair.quality.reset();
    pair.mtu.reset();
  }
  return set;
}

TEST(PairTcp, RefusedWhereNobodyListens) {
  EvidenceSet set = without_agent("mini2");
  // Its own list of sockets makes it certain.
  HostEvidence& owner = test::host(set, "mini2");
  EvidenceSet whole = test::healthy_star(2);
  owner = test::host(whole, "mini2");
  owner.source = "collected";
  owner.sockets = {{"tcp", "0.0.0.0", 22, "LISTEN", "", 1, "sshd", {}}};
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("tcp.no_listener mini2"));
  EXPECT_THAT(findings[0].ports, ElementsAre(29500, 29600, 29601));
  EXPECT_GT(findings[0].confidence, 0.8);
}

TEST(PairTcp, RefusedThoughItsSocketsShowAListener) {
  EvidenceSet set = without_agent("mini2");
  HostEvidence& owner = test::host(set, "mini2");
  owner = test::make_host("mini2");
  owner.source = "collected";
  owner.interfaces.push_back(test::make_nic("eth1", "02:00:00:00:02:02", {"10.10.0.2/24"}));
  test::pair(set, "mini1", "mini2").neighbour->kernel_mac = "02:00:00:00:02:02";
  for (const int port : set.job.ports) {
    owner.sockets.push_back({"tcp", "0.0.0.0", port, "LISTEN", "", 77, "python3", {}});
  }
  EXPECT_THAT(causes(set), ElementsAre("firewall.reject_rst mini2>mini1"));
}

TEST(PairTcp, AListenerOnAnotherAddress) {
  EvidenceSet set = without_agent("mini2");
  HostEvidence& owner = test::host(set, "mini2");
  owner = test::make_host("mini2");
  owner.source = "collected";
  owner.interfaces.push_back(test::make_nic("eth1", "02:00:00:00:02:02", {"10.10.0.2/24"}));
  for (const int port : set.job.ports) {
    owner.sockets.push_back({"tcp", "127.0.0.1", port, "LISTEN", "", 77, "python3", {}});
  }
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("tcp.listener_wrong_address mini2"));
  EXPECT_THAT(findings[0].evidence[0].text, HasSubstr("127.0.0.1"));
  EXPECT_THAT(findings[0].evidence[0].text, HasSubstr("PID 77"));
}

TEST(PairTcp, SomebodyElseAnswers) {
  EvidenceSet set = test::healthy_star(4);
  for (const char* from : {"mini1", "mini3", "mini4"}) {
    PortTry& attempt = test::port_try(set, from, "mini2", 29600);
    attempt.answer = "stranger";
    attempt.stranger_bytes = "SSH-2.0-OpenSSH\r\n";
    attempt.accepted = false;
  }
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("tcp.wrong_service mini2"));
  EXPECT_EQ(findings[0].port, 29600);
  EXPECT_THAT(findings[0].evidence[0].text, HasSubstr("SSH-2.0-OpenSSH.."));
}

// lab.matrix, agent_dies: its listeners were up, took connections, and died before they could tell.
TEST(PairTcp, ConnectionsToAnAgentThatDiesMetNoStranger) {
  EvidenceSet set = test::healthy_star(4);
  HostEvidence& host = test::host(set, "mini2");
  host.agent_cause = "rank.agent_lost";
  host.agent_error = "while it was asked for 'close': the agent on mini2 was ended by signal 9";
  for (const auto& [from, answer] :
       {std::pair("mini1", "closed"), std::pair("mini3", "silent"), std::pair("mini4", "closed")}) {
    PortTry& attempt = test::port_try(set, from, "mini2", 29600);
    attempt.answer = answer;
    attempt.accepted = false;
  }
  EXPECT_THAT(causes(set), ElementsAre("rank.agent_lost mini2"));
  // Who says something else than the agent would is one all the same.
  test::port_try(set, "mini1", "mini2", 29600).answer = "stranger";
  EXPECT_THAT(causes(set), testing::Contains("tcp.wrong_service mini2>mini1"));
}

TEST(PairTcp, ARedirectIsEvidenceAndRemedy) {
  EvidenceSet set = test::healthy_star(4);
  PortTry& attempt = test::port_try(set, "mini1", "mini2", 29600);
  attempt.answer = "closed";
  attempt.accepted = false;
  FilterRule rule;
  rule.tool = "nftables";
  rule.family = "ip";
  rule.table = "nat";
  rule.chain = rule.hook = "prerouting";
  rule.chain_type = "nat";
  rule.handle = 4;
  rule.action = "redirect";
  rule.target = "8080";
  rule.matches = {
      {"saddr", false, {"10.10.0.1"}}, {"protocol", false, {"tcp"}}, {"dport", false, {"29600"}}};
  rule.text = "ip saddr 10.10.0.1 tcp dport 29600 redirect to :8080";
  test::host(set, "mini2").filters = {rule};
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("tcp.wrong_service mini2>mini1"));
  EXPECT_THAT(findings[0].evidence.back().text, HasSubstr("redirect"));
  EXPECT_THAT(findings[0].remedy.text(), HasSubstr("29600"));
}

// Matrix, wrong_service+arp_off: the pair without a link was a firewall.partial_range by the rule
// that made the other pairs meet a stranger.
TEST(PairTcp, ARedirectOfAPortDoesNotMakeItSilent) {
  EvidenceSet set = test::healthy_star(3);
  FilterRule rule;
  rule.tool = "iptables-legacy";
  rule.family = "ip";
  rule.table = "nat";
  rule.chain = "PREROUTING";
  rule.hook = "prerouting";
  rule.chain_type = "nat";
  rule.action = "redirect";
  rule.target = "2110";
  rule.matches = {{"protocol", false, {"tcp"}}, {"dport", false, {"29600"}}};
  rule.text = "-A PREROUTING -p tcp -m tcp --dport 29600 -j REDIRECT --to-ports 2110";
  test::host(set, "mini2").filters = {rule};
  PortTry& met = test::port_try(set, "mini1", "mini2", 29600);
  met.answer = "stranger";
  met.accepted = false;
  test::silence(set, "mini2", "mini3");
  for (const auto& [a, b] : {std::pair("mini2", "mini3"), std::pair("mini3", "mini2")}) {
    test::unresolve(set, a, b);
  }
  std::vector<std::string> found;
  for (const std::string& cause : causes(set)) {
    if (cause.find("partial") != std::string::npos) found.push_back(cause);
  }
  EXPECT_THAT(found, testing::IsEmpty());
  EXPECT_THAT(causes(set), testing::Contains("tcp.wrong_service mini2>mini1"));
  // To another host it may well be silent.
  test::host(set, "mini2").filters[0].target = "10.99.0.7:2110";
  EXPECT_THAT(test::named(find(set)), testing::Contains(testing::HasSubstr("firewall.")));
}

TEST(PairTcp, AHolderThatAnswersIsNotAWrongService) {
  EvidenceSet set = test::healthy_star(3);
  PortTry& attempt = test::port_try(set, "mini1", "mini2", 29600);
  attempt.answer = "stranger";
  attempt.accepted = false;
  attempt.listener = "in_use";
  EXPECT_THAT(causes(set), ElementsAre("tcp.port_in_use mini2"));
}

TEST(PairTcp, BytesOfAStrangerAreShownHarmlessly) {
  EvidenceSet set = test::healthy_star(2);
  PortTry& attempt = test::port_try(set, "mini1", "mini2", 29600);
  attempt.answer = "stranger";
  attempt.accepted = false;
  attempt.stranger_bytes = std::string(10'000, '\x1b');
  for (const Finding& finding : find(set)) {
    for (const Evidence& entry : finding.evidence) {
      EXPECT_LT(entry.text.size(), 300u);
      EXPECT_EQ(entry.text.find('\x1b'), std::string::npos);
    }
  }
}

EvidenceSet refused_on_macos() {
  EvidenceSet set = test::healthy_star(3);
  test::host(set, "mini1").system = "macos";
  for (const char* to : {"mini2", "mini3"}) {
    for (PortTry& attempt : test::pair(set, "mini1", to).ports) {
      const int port = attempt.port;
      attempt = PortTry{};
      attempt.port = port;
      attempt.listener = "up";
      attempt.result = "unreachable";
      attempt.error = "EHOSTUNREACH";
    }
    test::pair(set, "mini1", to).quality.reset();
    test::pair(set, "mini1", to).mtu.reset();
  }
  return set;
}

TEST(PairTcp, MacOsRefusesTheProcess) {
  EvidenceSet set = refused_on_macos();
  test::host(set, "mini1").commands = {{"nc", "/usr/bin/nc -z -w 1 10.10.0.2 29600", 0, "", ""},
                                       {"nc", "/usr/bin/nc -z -w 1 10.10.0.3 29600", 0, "", ""}};
  const std::vector<Finding> findings = find(set);
  ASSERT_THAT(test::named(findings), ElementsAre("macos.local_network_privacy mini1"));
  EXPECT_THAT(findings[0].remedy.text(), HasSubstr("Local Network"));
}

// The remedy of mini1 whose agent was started so, behind the tool's word.
Finding refused_when_started_by(const std::vector<std::string>& names) {
  EvidenceSet set = refused_on_macos();
  test::host(set, "mini1").commands = {{"ping", "/sbin/ping -n -c 1 -t 2 10.10.0.2", 0, "", ""},
                                       {"nc", "/usr/bin/nc -z -v -w 2 10.10.0.3 29500", 0, "", ""}};
  test::host(set, "mini1").started_by = names;
  const std::vector<Finding> findings = find(set);
  EXPECT_THAT(test::named(findings), ElementsAre("macos.local_network_privacy mini1"));
  return findings.empty() ? Finding() : findings[0];
}

// What its evidence says of who started the agent; the two pairs say it once.
std::string starters_in(const Finding& finding) {
  std::string out;
  for (const Evidence& line : finding.evidence) {
    if (line.text.find("started by") == std::string::npos) continue;
    EXPECT_EQ(out, "");
    out = line.text;
  }
  return out;
}

TEST(PairTcp, MacOsRefusesTheProgramThatStartedTheAgent) {
  const Finding tmux = refused_when_started_by({"plumbline", "zsh", "tmux", "launchd"});
  EXPECT_THAT(tmux.remedy.text(), HasSubstr("Local Network: allow tmux,"));
  EXPECT_THAT(starters_in(tmux), HasSubstr("plumbline < zsh < tmux < launchd"));
  EXPECT_TRUE(tmux.remedy.commands().empty()) << "nothing that a host says is a command";
  const Finding cut = refused_when_started_by({"plumbline", "zsh"});
  EXPECT_THAT(cut.remedy.text(), HasSubstr("allow zsh, or what that was started from"));
  EXPECT_THAT(starters_in(cut), HasSubstr("not known"));
  // Nobody knows, or nobody may say.
  EXPECT_THAT(refused_when_started_by({}).remedy.text(),
              HasSubstr("allow the program that started this one"));
  EXPECT_THAT(refused_when_started_by({"plumbline", "?", "launchd"}).remedy.text(),
              HasSubstr("allow the outermost of the programs"));
}

TEST(PairTcp, MacOsIsNotKnownToRefuseWhatComesOverSshOrFromTerminal) {
  const Finding over =
      refused_when_started_by({"plumbline", "zsh", "sshd-session", "sshd", "launchd"});
  EXPECT_THAT(starters_in(over), HasSubstr("not known to ask"));
  EXPECT_THAT(over.remedy.text(), testing::Not(HasSubstr("allow sshd")));
  EXPECT_THAT(over.remedy.text(), HasSubstr("restart this Mac"));
  const Finding terminal =
      refused_when_started_by({"plumbline", "zsh", "login", "Terminal.app", "launchd"});
  EXPECT_THAT(starters_in(terminal), HasSubstr("not known to ask about what Terminal starts"));
  EXPECT_THAT(terminal.remedy.text(), testing::Not(HasSubstr("allow Terminal")));
  EXPECT_LT(over.confidence, refused_when_started_by({"plumbline", "launchd"}).confidence);
}

// Evidence may come from anywhere.
TEST(PairTcp, NamesOfStartersThatAreNoneAreNotShown) {
  const std::vector<std::string> hostile = {"a\nkill 1", "$(reboot)", "/Volumes/me/x",
                                            std::string(10'000, 'a'), "\x1b[31m"};
  for (const std::string& name : hostile) {
    const Finding finding = refused_when_started_by({"plumbline", name, "launchd"});
    for (const std::string& text : {finding.remedy.text(), starters_in(finding)}) {
      EXPECT_EQ(text.find(name), std::string::npos);
      EXPECT_LT(text.size(), 600u);
    }
  }
  const Finding many = refused_when_started_by(std::vector<std::string>(5'000, "zsh"));
  EXPECT_LT(starters_in(many).size(), 600u);
}

TEST(PairTcp, WithoutTheToolsWordItIsNotPrivacy) {
  EvidenceSet set = refused_on_macos();
  for (const std::string& cause : causes(set)) {
    EXPECT_THAT(cause, testing::Not(HasSubstr("privacy")));
  }
  // A tool that failed too, one that asked for somebody else, one that is not the system's.
  test::host(set, "mini1").commands = {{"nc", "/usr/bin/nc -z 10.10.0.2 29600", 1, "", ""},
                                       {"nc", "/usr/bin/nc -z 10.10.0.22 29600", 0, "", ""},
                                       {"nc", "/opt/homebrew/bin/ncat 10.10.0.2", 0, "", ""}};
  for (const std::string& cause : causes(set)) {
    EXPECT_THAT(cause, testing::Not(HasSubstr("privacy")));
  }
}

TEST(PairTcp, TheSameErrnoOnLinuxIsAnotherCause) {
  EvidenceSet set = refused_on_macos();
  test::host(set, "mini1").system = "linux";
  test::host(set, "mini1").commands = {{"nc", "/usr/bin/nc -z 10.10.0.2 29600", 0, "", ""}};
  for (const std::string& cause : causes(set)) {
    EXPECT_THAT(cause, testing::Not(HasSubstr("privacy")));
  }
}

}  // namespace
}  // namespace plumbline
