// The process manager that MPICH finds in the ranks: what it answers, and what it makes of news
// from others.
#include "collectives/engines/pmi_server.h"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using testing::HasSubstr;

// The other ranks say what the test wants.
class TestHost : public ModuleHost {
 public:
  int rank() const override { return 0; }
  int size() const override { return 3; }
  std::string address() const override { return "127.0.0.1"; }
  Expected<std::vector<std::string>> gather(const std::string& mine) override {
    said = mine;
    if (lost) return fail(ErrorCode::kPeerLost, "rank 2 is gone");
    std::vector<std::string> all = others;
    all.insert(all.begin(), mine);
    return all;
  }
  bool failed() const override { return false; }

  std::vector<std::string> others;
  std::string said;
  bool lost = false;
};

std::string answer(PmiServer& server, const std::string& line) {
  const auto said = server.answer(line);
  return said ? *said : said.error().message();
}

TEST(PmiServer, WhatIsPutIsKnownToAllAfterABarrier) {
  TestHost host;
  host.others = {"b 2\nc x=y\n", ""};
  PmiServer server(host, "(vector,(0,1,3))");
  EXPECT_THAT(answer(server, "cmd=init pmi_version=1 pmi_subversion=1"), HasSubstr("rc=0"));
  EXPECT_THAT(answer(server, "cmd=get_universe_size"), HasSubstr("size=3"));
  EXPECT_THAT(answer(server, "cmd=put kvsname=plumbline key=a value=1"), HasSubstr("rc=0"));
  EXPECT_THAT(answer(server, "cmd=get kvsname=plumbline key=a"), HasSubstr("rc=-1"));
  EXPECT_EQ(answer(server, "cmd=barrier_in"), "cmd=barrier_out rc=0");
  EXPECT_EQ(host.said, "a 1\n");
  EXPECT_THAT(answer(server, "cmd=get kvsname=plumbline key=a"), HasSubstr("value=1"));
  EXPECT_THAT(answer(server, "cmd=get kvsname=plumbline key=b"), HasSubstr("value=2"));
  EXPECT_THAT(answer(server, "cmd=get kvsname=plumbline key=c"), HasSubstr("value=x=y"));
  EXPECT_THAT(answer(server, "cmd=get kvsname=plumbline key=PMI_process_mapping"),
              HasSubstr("value=(vector,(0,1,3))"));
  EXPECT_EQ(answer(server, "cmd=barrier_in"), "cmd=barrier_out rc=0");
  EXPECT_EQ(host.said, "") << "told twice";
}

TEST(PmiServer, ARankThatIsLostIsSaid) {
  TestHost host;
  host.lost = true;
  PmiServer server(host, "");
  EXPECT_THAT(answer(server, "cmd=barrier_in"), HasSubstr("rank 2 is gone"));
}

TEST(PmiServer, WhatIsNotUnderstoodIsAnError) {
  TestHost host;
  PmiServer server(host, "");
  for (const char* line : {"", "cmd=", "cmd=spawn", "put key=a value=1", "cmd=put value=1",
                           "cmd=get kvsname=plumbline"}) {
    EXPECT_FALSE(server.answer(line)) << line;
  }
  for (const std::string& told : {std::string("nothing"), std::string("a 1"), std::string("\n"),
                                  std::string("a\nb 1\n"), "a " + std::string(2000, 'x') + "\n"}) {
    host.others = {told, ""};
    EXPECT_FALSE(server.answer("cmd=barrier_in")) << told;
  }
}

TEST(PmiServer, WordsAreFoundWhole) {
  EXPECT_EQ(pmi_word("cmd=put key=a value=b", "value"), "b");
  EXPECT_EQ(pmi_word("cmd=put mykey=a", "key"), "");
  EXPECT_EQ(pmi_word("cmd=put key=", "key"), "");
  EXPECT_EQ(pmi_word("", "cmd"), "");
}

TEST(PmiServer, RanksOfOneMachineAreOneNode) {
  EXPECT_EQ(process_mapping({"a", "a", "a"}), "(vector,(0,1,3))");
  EXPECT_EQ(process_mapping({"a", "b", "a"}), "(vector,(0,1,1),(1,1,1),(0,1,1))");
  EXPECT_EQ(process_mapping({"a", "a", "b", "b"}), "(vector,(0,1,2),(1,1,2))");
}

}  // namespace
}  // namespace plumbline
