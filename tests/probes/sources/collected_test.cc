#include "probes/sources/collected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "probes/sources/source.h"
#include "sample.h"

namespace plumbline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string with_changed(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

class Folder {
 public:
  Folder() {
    std::string name = ::testing::TempDir() + "/collected-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

Expected<HostEvidence> parse_collected(const std::string& text, const std::string& name) {
  auto file = take_apart(text);
  if (!file) return fail(file.error());
  if (!name.empty()) file->name = name;
  return host_of(*file);
}

EvidenceSet read(const std::vector<std::string>& texts) {
  const Folder folder;
  std::vector<std::string> paths;
  for (size_t i = 0; i < texts.size(); ++i) {
    paths.push_back(folder.write("file" + std::to_string(i) + ".txt", texts[i]));
  }
  auto set = read_evidence_files(paths);
  EXPECT_TRUE(set) << set.error().message();
  return set.value_or(EvidenceSet{});
}

const PortTry* tried(const PairEvidence& pair, int port) {
  for (const PortTry& attempt : pair.ports) {
    if (attempt.port == port) return &attempt;
  }
  return nullptr;
}

TEST(Collected, ReadsTwoRecordedHosts) {
  const auto set = read({test::sample("host_a.txt"), test::sample("host_b.txt")});
  ASSERT_EQ(set.hosts.size(), 2U);
  EXPECT_EQ(set.hosts[0].name, "a");
  EXPECT_EQ(set.hosts[0].source, "collected");
  EXPECT_EQ(set.hosts[0].system, "linux");
  EXPECT_EQ(set.hosts[0].hostname, "hosta");
  EXPECT_EQ(set.hosts[0].kernel, "Linux 6.1.0 x86_64");
  EXPECT_THAT(set.hosts[0].unreadable, IsEmpty());
  EXPECT_EQ(set.hosts[0].interfaces.size(), 11U);
  EXPECT_EQ(set.job.ports, (std::vector<int>{29500, 29600, 29601, 29602, 29603}));
  EXPECT_EQ(set.job.master_port, 29500);
  EXPECT_EQ(set.job.port_base, 29600);
  ASSERT_EQ(set.job.hosts.size(), 2U);
  EXPECT_THAT(set.job.hosts[0].data, ElementsAre("10.10.0.1/24"));
  EXPECT_THAT(set.job.hosts[1].data, ElementsAre("10.10.0.2/24"));
  EXPECT_THAT(set.job.hosts[1].where, HasSubstr("file1.txt"));
}

TEST(Collected, PairsHoldWhatWasTried) {
  const auto set = read({test::sample("host_a.txt"), test::sample("host_b.txt")});
  const PairEvidence* there = find_pair(set, "a", "b");
  ASSERT_NE(there, nullptr);
  EXPECT_EQ(there->from_ip, "10.10.0.1");
  EXPECT_EQ(there->to_ip, "10.10.0.2");
  EXPECT_FALSE(there->same_machine);
  EXPECT_EQ(there->skipped, "");
  ASSERT_EQ(there->routes.size(), 1U);
  EXPECT_EQ(there->routes[0].dev, "v0");
  EXPECT_EQ(there->ping.value().received, 3);
  EXPECT_EQ(there->mtu.value().largest_delivered, 1500);
  EXPECT_EQ(there->neighbour.value().kernel_state, "REACHABLE");
  EXPECT_EQ(tried(*there, 29600)->result, "connected");
  EXPECT_EQ(tried(*there, 29601)->result, "refused");
  const PairEvidence* back = find_pair(set, "b", "a");
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(tried(*back, 29600)->result, "refused");
  EXPECT_EQ(tried(*back, 29603)->result, "not_tried");  // not asked for there
}

TEST(Collected, TheListenerIsSeenWithItsProcess) {
  const auto set = read({test::sample("host_a.txt"), test::sample("host_b.txt")});
  ASSERT_FALSE(set.hosts[1].sockets.empty());
  const SocketEvidence& socket = set.hosts[1].sockets[0];
  EXPECT_EQ(socket.port, 29600);
  EXPECT_EQ(socket.process, "python3");
  EXPECT_EQ(socket.age_s, 2);
}

TEST(Collected, WithoutPeersAnyCommonSubnetDoes) {
  const auto strip = [](const std::string& text) {
    const size_t begin = text.find("=begin route"), end = text.find("=begin resolve");
    return with_changed(text.substr(0, begin) + text.substr(end), "=peers 10.10.0",
                        "=nobody 10.10.0");
  };
  const auto set = read({strip(test::sample("host_a.txt")), strip(test::sample("host_b.txt"))});
  const PairEvidence* pair = find_pair(set, "a", "b");
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->from_ip, "10.10.0.1");
  EXPECT_EQ(pair->to_ip, "10.10.0.2");
  EXPECT_THAT(pair->skipped, HasSubstr("--peer 10.10.0.2"));
  EXPECT_EQ(tried(*pair, 29600)->result, "not_tried");
}

TEST(Collected, AnAddressThatNobodyHasIsMeantForTheOther) {
  const std::string b = with_changed(test::sample("host_b.txt"), "10.10.0.2", "10.77.0.2");
  const auto set =
      read({test::sample("host_a.txt"), with_changed(b, "=peers 10.10.0.1", "=peers")});
  const PairEvidence* pair = find_pair(set, "a", "b");
  EXPECT_EQ(pair->to_ip, "10.10.0.2");
  EXPECT_EQ(pair->from_ip, "10.10.0.1");
  EXPECT_THAT(set.job.hosts[1].data, ElementsAre("10.10.0.2"));
  EXPECT_EQ(find_pair(set, "b", "a")->from_ip, "10.10.0.2");
}

TEST(Collected, HostsWithNothingInCommonAreSkipped) {
  const std::string b = with_changed(test::sample("host_b.txt"), "10.10.0.", "10.77.0.");
  std::string lonely = with_changed(b, "fe80::", "fd99::");
  lonely = with_changed(lonely, "=peers 10.77.0.1", "=peers");
  const auto set =
      read({with_changed(test::sample("host_a.txt"), "=peers 10.10.0.2", "=peers"), lonely});
  EXPECT_THAT(find_pair(set, "a", "b")->skipped, HasSubstr("--peer"));
  EXPECT_THAT(find_pair(set, "a", "b")->ports, IsEmpty());
}

TEST(Collected, ThreeHostsAndEqualNames) {
  const std::string b = test::sample("host_b.txt");
  const std::string c =
      with_changed(with_changed(b, "10.10.0.2", "10.10.0.3"), "02:00:00", "02:00:33");
  const auto set = read({test::sample("host_a.txt"), b, c});
  // None keeps the name: one of them may only claim it.
  EXPECT_EQ(set.hosts[1].name, "b-1");
  EXPECT_EQ(set.hosts[2].name, "b-2");
  EXPECT_EQ(set.job.hosts[2].name, "b-2");
  EXPECT_EQ(set.pairs.size(), 6U);
  EXPECT_EQ(find_pair(set, "a", "b-2")->to_ip, "10.10.0.3");
  EXPECT_EQ(find_pair(set, "b-1", "b-2")->from_ip, "10.10.0.2");
}

TEST(Collected, TheSameHostTwiceIsOneMachine) {
  const auto set = read({test::sample("host_a.txt"), test::sample("host_a.txt")});
  EXPECT_TRUE(find_pair(set, "a-1", "a-2")->same_machine);
}

TEST(Collected, OneFileIsAHostWithoutPairs) {
  const auto set = read({test::sample("host_a.txt")});
  EXPECT_EQ(set.hosts.size(), 1U);
  EXPECT_THAT(set.pairs, IsEmpty());
}

TEST(Collected, WindowsLineEndsAndAPromptBeforeDoNoHarm) {
  const std::string a = test::sample("host_a.txt");
  const auto plain = parse_collected(a, "x");
  const auto odd =
      parse_collected("user@host:~$ sh collect.sh\r\n" + with_changed(a, "\n", "\r\n"), "x");
  ASSERT_TRUE(plain && odd);
  EXPECT_EQ(odd->name, "x");
  EXPECT_EQ(odd->interfaces.size(), plain->interfaces.size());
  EXPECT_EQ(odd->sysctls, plain->sysctls);
  EXPECT_THAT(odd->unreadable, IsEmpty());
}

TEST(Collected, OutputCannotForgeASection) {
  const std::string text =
      "=plumbline-collect 1\n=name x\n=system linux\n=begin os-release\n=command c\n"
      "|=end status=0 sure=no lines=0\n|=begin loadavg\n|99.0 1 1\n|=end status=0\n"
      "|PRETTY_NAME=\"real\"\n!=end status=0 lines=5\n=end status=0 sure=no lines=5\n"
      "=done sections=1\n";
  const auto host = parse_collected(text, "");
  ASSERT_TRUE(host);
  EXPECT_EQ(host->os, "real");
  EXPECT_EQ(host->load1, std::nullopt);
  EXPECT_THAT(host->unreadable, IsEmpty());
}

TEST(Collected, MissingLinesMakeASectionUnreadable) {
  const std::string text =
      "=plumbline-collect 1\n=system linux\n=begin nft\n=command c\n|{\"nftables\":[]}\n"
      "=end status=0 sure=no lines=9\n=begin loadavg\n|1 1 1\n=end status=0 sure=no lines=1\n"
      "=done sections=2\n";
  const auto host = parse_collected(text, "x");
  ASSERT_TRUE(host);
  EXPECT_THAT(host->unreadable, Contains(HasSubstr("nft: lines of its output are missing")));
  ASSERT_EQ(host->filter_sources.size(), 1U);
  EXPECT_FALSE(host->filter_sources[0].readable);
  EXPECT_DOUBLE_EQ(host->load1.value(), 1.0);
}

TEST(Collected, StatusesBecomeReasons) {
  const auto note = [](const std::string& status, const std::string& errors) {
    const auto host =
        parse_collected("=plumbline-collect 1\n=system linux\n=begin nft\n=command nft x\n" +
                            errors + "=end status=" + status + " sure=no lines=0\n=done\n",
                        "x");
    EXPECT_TRUE(host);
    return host.value_or(HostEvidence{});
  };
  EXPECT_THAT(note("1", "!Operation not permitted\n").unreadable,
              ElementsAre("nft: Operation not permitted"));
  EXPECT_THAT(note("timeout", "").unreadable, ElementsAre("nft: did not end in time"));
  EXPECT_THAT(note("137", "").unreadable, ElementsAre("nft: ended with status 137"));
  EXPECT_THAT(note("denied", "").unreadable, ElementsAre("nft: Permission denied"));
  EXPECT_THAT(note("127", "").unreadable, IsEmpty());
  EXPECT_FALSE(note("127", "").filter_sources.at(0).present);
  EXPECT_THAT(note("skipped", "").unreadable, IsEmpty());
}

TEST(Collected, ATruncatedFileGivesWhatIsWholeAndSaysSo) {
  const std::string whole = test::sample("host_a.txt");
  const size_t title = whole.find('\n');
  for (size_t size = title + 1; size + 12 < whole.size(); size += 397) {
    const auto host = parse_collected(whole.substr(0, size), "x");
    ASSERT_TRUE(host) << size;
    EXPECT_THAT(host->unreadable, Not(IsEmpty())) << size;
  }
  EXPECT_FALSE(parse_collected(whole.substr(0, 10), "x"));
}

TEST(Collected, OtherFilesAreRefused) {
  const Folder folder;
  for (const std::string& text :
       {std::string(), std::string("hello\n"), std::string("=plumbline-collect 2\n"),
        std::string(1000, '\0'), std::string("{\"schema\":1}"), std::string(100000, '=')}) {
    const auto set = read_evidence_files({folder.write("odd.txt", text)});
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, ErrorCode::kConfig);
    EXPECT_THAT(set.error().message(), HasSubstr("odd.txt"));
  }
  EXPECT_FALSE(read_evidence_files({"/proc/nonexistent/file"}));
  EXPECT_FALSE(read_evidence_files({}));
  EXPECT_FALSE(read_evidence_files({::testing::TempDir()}));
  const auto huge = read_evidence_files({folder.write("huge.txt", std::string(65 << 20, '='))});
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().message(), HasSubstr("64 MiB"));
}

TEST(Collected, HostileHeadsAndTitlesDoNoHarm) {
  std::string text =
      "=plumbline-collect 1\n=name\n=system plan9\n=peers " + std::string(5000, 'a') +
      "\n=ports 0 -1 70000 x 29600 29600 99999999999999999999\n=\n= \n=begin \n=begin x\n=begin\n"
      "=begin connect\n=end\n=begin ping\n=end status=0 lines=0\n=end status=0\n=begin resolve\n"
      "=end status=0 lines=-1\n=name \xff\xfe\n";
  for (int i = 0; i < 20000; ++i) text += "=begin ss\n=end status=0 lines=0\n";
  const auto set = read({text, text});
  EXPECT_EQ(set.job.ports, std::vector<int>{29600});
  EXPECT_FALSE(evidence_text(set).empty());
}

}  // namespace
}  // namespace plumbline
