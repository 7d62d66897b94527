// What is asked of a Mac whose connections were refused at once: Apple's own tools and who started
// the agent. Agents that answer, lie, or are silent.
#include <gmock/gmock.h>

#include <map>
#include <mutex>

#include "core/json.h"
#include "evidence_builder.h"
#include "probes/gather/gather.h"
#include "tests/support/agents.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A star of Macs with agents; what each was asked to run is written down.
class Privacy : public testing::Test {
 protected:
  explicit Privacy(int hosts = 3) {
    context_.evidence = test::healthy_star(hosts);
    for (HostEvidence& host : context_.evidence.hosts) {
      host.system = "macos";
      host.agent_pid = 951;
      const std::string name = host.name;
      const auto run = [this, name](const nlohmann::json& asked, const AgentCall&) {
        return answer(name, asked);
      };
      agents_.push_back(make_in_process_agent(name, {{"command", "", run}}));
      context_.agents.push_back(agents_.back().get());
    }
    said_["/bin/ps -axo pid=,ppid="] = "1 0\n900 1\n901 900\n951 901\n7777123 1\n";
    said_["/bin/ps -o pid=,ppid=,comm= -p 951,901,900,1"] =
        "1 0 /sbin/launchd\n900 1 tmux\n901 900 -zsh\n951 901 /Volumes/me/plumbline\n";
    context_.deadline = Deadline::after_ms(20'000);
  }

  Expected<nlohmann::json> answer(const std::string& host, const nlohmann::json& asked) {
    CommandEvidence out;
    for (const nlohmann::json& word : asked.at("command")) {
      out.command += (out.command.empty() ? "" : " ") + word.get<std::string>();
    }
    const std::lock_guard lock(mutex_);
    asked_.push_back(host + " " + out.command);
    limits_.push_back(asked.at("timeout_ms").get<int64_t>());
    if (silent_) return fail(ErrorCode::kUnsupported, "no such request");
    const auto text = said_.find(out.command);
    out.out = text == said_.end() ? "" : text->second;
    out.label = lying_ ? "nc" : asked.at("label").get<std::string>();
    if (lying_) out.command = "/usr/bin/nc -z 10.10.0.99 1";
    return nlohmann::json(out);
  }

  void refuse(const std::string& from, const std::string& to, int64_t took_ns = 50'000) {
    for (PortTry& attempt : test::pair(context_.evidence, from, to).ports) {
      const int port = attempt.port;
      attempt = PortTry{};
      attempt.port = port;
      attempt.listener = "up";
      attempt.result = "unreachable";
      attempt.error = "EHOSTUNREACH";
      attempt.took_ns = took_ns;
    }
  }
  std::vector<std::string> asked() {
    ask_apples_tools(context_);
    return asked_;
  }
  HostEvidence& mini1() { return test::host(context_.evidence, "mini1"); }

  ProbeContext context_;
  bool silent_ = false, lying_ = false;
  std::map<std::string, std::string> said_;
  std::mutex mutex_;
  std::vector<std::string> asked_;
  std::vector<int64_t> limits_;
  std::vector<std::unique_ptr<HostAgent>> agents_;
};

class PrivacyOfMany : public Privacy {
 protected:
  PrivacyOfMany() : Privacy(8) {}
};

TEST_F(Privacy, TheSameTargetWithApplesOwnTools) {
  refuse("mini1", "mini2");
  EXPECT_THAT(asked(), UnorderedElementsAre("mini1 /usr/bin/nc -z -v -w 2 10.10.0.2 29500",
                                            "mini1 /sbin/ping -n -c 1 -t 2 10.10.0.2",
                                            "mini1 /bin/ps -axo pid=,ppid=",
                                            "mini1 /bin/ps -o pid=,ppid=,comm= -p 951,901,900,1"));
  for (const int64_t limit : limits_) EXPECT_LE(limit, 3000);
  std::vector<std::string> labels;
  for (const CommandEvidence& one : mini1().commands) labels.push_back(one.label);
  EXPECT_THAT(labels, ElementsAre("apple nc", "apple ping"));
  EXPECT_EQ(mini1().commands.at(0).command, "/usr/bin/nc -z -v -w 2 10.10.0.2 29500");
  EXPECT_THAT(mini1().started_by, ElementsAre("plumbline", "zsh", "tmux", "launchd"));
  // Nothing else that runs there.
  EXPECT_THAT(evidence_text(context_.evidence), testing::Not(HasSubstr("7777123")));
  EXPECT_THAT(evidence_text(context_.evidence), testing::Not(HasSubstr("/Volumes/me")));
}

TEST_F(Privacy, NothingIsAskedWhereAnotherReasonIsAtHand) {
  EXPECT_THAT(asked(), IsEmpty()) << "all is well";
  refuse("mini1", "mini2", 900'000'000);  // not at once: nobody answered on the link
  refuse("mini2", "mini1");
  test::pair(context_.evidence, "mini2", "mini1").ports[0].result = "connected";
  refuse("mini3", "mini1");
  test::host(context_.evidence, "mini3").system = "linux";
  refuse("mini1", "mini3");
  for (PortTry& attempt : test::pair(context_.evidence, "mini1", "mini3").ports) {
    attempt.error = "ENETUNREACH";
  }
  refuse("mini2", "mini3");
  for (PortTry& attempt : test::pair(context_.evidence, "mini2", "mini3").ports) {
    attempt.icmp.emplace();  // a router says so
  }
  EXPECT_THAT(asked(), IsEmpty());
  refuse("mini1", "mini2");
  context_.agents[0] = nullptr;
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(PrivacyOfMany, FourPairsOfAHostAtMost) {
  for (int peer = 2; peer <= 8; ++peer) refuse("mini1", "mini" + std::to_string(peer));
  refuse("mini2", "mini1");
  ask_apples_tools(context_);
  EXPECT_EQ(mini1().commands.size(), 8u);
  EXPECT_EQ(test::host(context_.evidence, "mini2").commands.size(), 2u);
}

TEST_F(Privacy, AnAgentThatDoesNotAnswerIsNoted) {
  refuse("mini1", "mini2");
  silent_ = true;
  EXPECT_EQ(asked().size(), 3u) << "its chain is not asked for in vain";
  EXPECT_THAT(mini1().commands, IsEmpty());
  EXPECT_THAT(mini1().started_by, IsEmpty());
  EXPECT_THAT(mini1().unreadable, testing::Contains(HasSubstr("command: ")));
}

// What was asked is known here, whatever it says.
TEST_F(Privacy, AnAgentCannotSayThatSomethingElseWasRun) {
  refuse("mini1", "mini2");
  lying_ = true;
  said_.clear();
  ask_apples_tools(context_);
  ASSERT_EQ(mini1().commands.size(), 2u);
  for (const CommandEvidence& one : mini1().commands) {
    EXPECT_THAT(one.command, HasSubstr("10.10.0.2"));
  }
  EXPECT_EQ(mini1().commands.at(1).label, "apple ping");
}

TEST_F(Privacy, AListThatIsCutOrLiesMakesAChainThatEnds) {
  refuse("mini1", "mini2");
  said_ = {{"/bin/ps -axo pid=,ppid=", "951 901\n901 951\n"},
           {"/bin/ps -o pid=,ppid=,comm= -p 951,901", "951 901 me's; reboot\n"}};
  ask_apples_tools(context_);
  EXPECT_THAT(mini1().started_by, ElementsAre("?", "?"));
  mini1().started_by.clear();
  said_.clear();
  ask_apples_tools(context_);
  EXPECT_THAT(mini1().started_by, IsEmpty());
}

TEST_F(Privacy, AddressesThatAreNoneAreNotHandedOn) {
  refuse("mini1", "mini2");
  PairEvidence& pair = test::pair(context_.evidence, "mini1", "mini2");
  for (const char* ip : {"-x", "10.0.0.1; reboot", "", "fe80::1"}) {
    pair.to_ip = ip;
    EXPECT_THAT(asked(), IsEmpty()) << ip;
  }
  pair.to_ip = "2001:db8::7";
  EXPECT_THAT(asked(), testing::Contains("mini1 /sbin/ping6 -n -c 1 2001:db8::7"));
}

}  // namespace
}  // namespace plumbline
