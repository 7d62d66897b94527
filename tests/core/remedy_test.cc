// Words, commands and remedies: nothing foreign gets a word in.
#include "core/diagnosis/remedy.h"

#include <gmock/gmock.h>

#include "core/command.h"
#include "core/diagnosis/finding.h"
#include "core/json.h"
#include "core/text.h"

namespace plumbline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// What attackers write into names, whatever the slot.
const std::vector<std::string> kNeverFits = {"",
                                             "-h",
                                             "--help",
                                             "a b",
                                             "a\nb",
                                             "a\tb",
                                             "a\x1b[2J",
                                             "a\x7f",
                                             "a\xc2\x85",          // C1, as UTF-8
                                             "a\x85",              // and bare
                                             "a\xe2\x80\xae\x62",  // right to left
                                             std::string("a\0b", 3),
                                             std::string(5000, 'a')};

TEST(Slots, WhatNoKindOfValueMayHold) {
  for (int kind = 0; kind <= static_cast<int>(Slot::kVariable); ++kind) {
    for (const std::string& text : kNeverFits) {
      EXPECT_FALSE(fits(static_cast<Slot>(kind), text)) << name_of(static_cast<Slot>(kind));
    }
  }
}

TEST(Slots, EachKindTakesItsOwnAndNothingElse) {
  struct Row {
    Slot slot;
    std::vector<std::string> good, bad;
  };
  const std::vector<Row> rows = {
      {Slot::kInterface,
       {"eth0", "a;touch${IFS}x", "eth0.100", "x'y"},
       {"a/b", "a:b", "sixteen-bytes-xx", ".", "..", "dev", "a\\x0a"}},
      {Slot::kAddress,
       {"10.0.0.1", "fd00::1"},
       {"10.0.0", "10.0.0.1/24", "fe80::1%eth0", "x", "1.2.3.4;reboot", "010.0.0.1"}},
      {Slot::kDestination,
       {"default", "10.0.0.0/8", "fd00::/64", "10.0.0.1"},
       {"10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/8;x", "/8", "10.0.0.0/-1"}},
      {Slot::kNftName, {"filter", "my-table_1.x"}, {"x;flush", "{", "a\"b", "$x", "a'b", "\\x"}},
      {Slot::kFilterName, {"INPUT", "$(reboot)"}, {"!x"}},
      {Slot::kSysctlKey,
       {"net.ipv4.conf.eth0/100.rp_filter"},
       {"net..x", "net//.x", "/etc/x", "a*b", "a=b", "net.ipv4.conf.a;b.x", ".x"}},
      {Slot::kSysctlValue, {"0", "29500,29600-29603"}, {"$(x)", "a=b", "1;2"}},
      {Slot::kHostName, {"mini1.local", "A_b-c"}, {"a/b", ".a", "a&b", "a'b", "m\xc3\xb6"}},
      {Slot::kTcHandle, {"0x1", "800::800"}, {"0x1;"}},
      {Slot::kMatchValue, {"ARP", "02:00:00:00:00:01/ff:ff:ff:ff:ff:ff", "+1"}, {"a;b", "!x"}},
      {Slot::kPath,
       {"/models/Qwen3-4B_4bit", "/a@b/c=d+e"},
       {"models", "/", "/a/../b", "/a:b", "/a b", "~/x", "/$(x)"}},
      {Slot::kLogin,
       {"mini1.local", "me@mini1"},
       {"a@b@c", "@a", "me@", "me;x@a", "me@-a", "10.0.0.1:22"}},
      {Slot::kPackage, {"mlx-lm", "nvidia.nccl_cu12"}, {"a b", "a==1", "a;b", "a/b", "git+https"}},
      {Slot::kVersion, {"0.31.1", "2.3.0+cu121", "1!2.0rc1"}, {"1 2", ">1", "1;x", "$1"}},
      {Slot::kVariable, {"HF_HUB_OFFLINE", "_x1"}, {"1A", "A=B", "A-B", "A B"}},
  };
  for (const Row& row : rows) {
    for (const std::string& text : row.good) {
      EXPECT_TRUE(fits(row.slot, text)) << text;
      EXPECT_EQ(slot(row.slot, text).text(), text);
    }
    for (const std::string& text : row.bad) {
      EXPECT_FALSE(fits(row.slot, text)) << name_of(row.slot) << " " << text;
      EXPECT_FALSE(slot(row.slot, text).is_sound());
    }
  }
}

TEST(Slots, NumbersHaveBounds) {
  for (const int64_t pid : {-1, 0, 1}) EXPECT_FALSE(pid_word(pid).is_sound()) << pid;
  EXPECT_EQ(pid_word(4711).text(), "4711");
  for (const int port : {-1, 0, 65536}) EXPECT_FALSE(port_word(port).is_sound()) << port;
  EXPECT_EQ(number(0xfffc, 0, 0xffff, 16).text(), "0xfffc");
}

TEST(Remedy, ACommandWithAWordThatFitsNoSlotIsAdviceThatShowsIt) {
  const Remedy remedy = Command{"ip", "link", "set", slot(Slot::kInterface, "a\nreboot"), "up"};
  EXPECT_TRUE(remedy.commands().empty());
  ASSERT_EQ(remedy.steps().size(), 1u);
  EXPECT_FALSE(remedy.steps()[0].is_code);
  EXPECT_THAT(remedy.text(), HasSubstr("'a\\x0areboot' is no name of an interface"));
  EXPECT_THAT(remedy.text(), Not(HasSubstr("\n")));
}

TEST(Remedy, AProgramIsAlwaysOurOwnWord) {
  const Remedy remedy = Command{slot(Slot::kHostName, "reboot")};
  EXPECT_TRUE(remedy.commands().empty());
  const Remedy nothing = Command(std::vector<Word>{});
  EXPECT_TRUE(nothing.commands().empty());
}

TEST(Remedy, TextShowsCommandsAndAdviceInTheirOrder) {
  Remedy remedy = "first look";
  remedy.run({"ip", "link", "set", slot(Slot::kInterface, "x;reboot"), "up"});
  remedy.run(Command{"kill", pid_word(7)}.remark("or wait"));
  remedy.run(Command{"ip", "route", "flush"}.may_fail());
  EXPECT_EQ(remedy.on("h1").text(),
            "first look\n"
            "ip link set 'x;reboot' up\n"
            "kill 7  # or wait\n"
            "ip route flush 2>/dev/null || true");
  const auto commands = remedy.commands();
  ASSERT_EQ(commands.size(), 3u);
  EXPECT_EQ(commands[0].host, "h1");
  EXPECT_THAT(commands[0].argv, ElementsAre("ip", "link", "set", "x;reboot", "up"));
  EXPECT_THAT(commands[1].argv, ElementsAre("kill", "7"));
}

TEST(Remedy, WhatMayFailDoesNotEndThePlan) {
  for (const Word& program : {Word("false"), Word("true")}) {
    const Remedy remedy = Command{program}.may_fail();
    const auto done = run_command(remedy.commands()[0].argv, Deadline::after_ms(20'000));
    ASSERT_TRUE(done);
    EXPECT_EQ(done->status, 0);
  }
}

TEST(Remedy, JoinedOnesHaveEachStepOnceAndKeepTheirHosts) {
  Remedy one = Remedy("look").run({"kill", pid_word(7)}).on("h1");
  Remedy same = Remedy("look").run({"kill", pid_word(7)}).on("h1");
  Remedy other = Remedy("look").run({"kill", pid_word(7)}).on("h2");
  EXPECT_EQ(one.then(same).steps().size(), 2u);
  EXPECT_EQ(one.then(other).steps().size(), 3u);
  EXPECT_EQ(one.on("h3").commands()[1].host, "h2");
}

TEST(Remedy, AdviceIsOneLineWithoutControlCharacters) {
  const Remedy remedy = "a\nreboot \x1b[2J\xc2\x9b \xe2\x80\xae \xff z";
  EXPECT_EQ(remedy.text(), "a\\x0areboot \\x1b[2J\\x9b \\u202e \\xff z");
}

TEST(Remedy, AFindingThatWasReadHoldsNothingToExecute) {
  Finding finding;
  finding.host = "h1";
  finding.remedy = Remedy("look").run({"kill", pid_word(7)});
  const nlohmann::json json = finding;
  EXPECT_EQ(json["remedy"], "look\nkill 7");
  EXPECT_EQ(json["commands"], nlohmann::json::parse(R"([{"host":"h1","argv":["kill","7"]}])"));
  const auto read = json.get<Finding>();
  EXPECT_TRUE(read.remedy.commands().empty());
  EXPECT_EQ(read.remedy.text(), "look\nkill 7");
  EXPECT_FALSE(read.remedy.steps()[0].is_code);
  EXPECT_TRUE(read.remedy.steps()[1].is_code) << "a page still shows it as what it was";
  EXPECT_TRUE(nlohmann::json(read)["commands"].empty());
}

TEST(Shown, EscapesWhatMovesACursorAndNothingElse) {
  EXPECT_EQ(escaped("m\xc3\xb6\x62\x65l \xe2\x82\xac"), "m\xc3\xb6\x62\x65l \xe2\x82\xac");
  EXPECT_EQ(escaped("a\nb\tc", "\n"), "a\nb\\x09c");
  EXPECT_EQ(escaped(escaped("a\x1b")), escaped("a\x1b"));
  EXPECT_EQ(escaped_short("\xc3\xb6\xc3\xb6", 3), "\xc3\xb6...");
}

}  // namespace
}  // namespace plumbline
