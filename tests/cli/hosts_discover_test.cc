// `plumbline hosts discover` as people call it, on files of Macs on paper.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/json.h"
#include "tests/support/paper_macs.h"
#include "tests/support/places.h"
#include "tests/support/program.h"

namespace plumbline {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Discover : public testing::Test {
 protected:
  Finished discover(std::vector<std::string> words) {
    words.insert(words.begin(), {"hosts", "discover"});
    return run_program(plumbline_argv(words));
  }
  // Of these files.
  Finished from(const test::PaperCluster& cluster, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = more;
    for (const std::string& path : cluster.collect_files(folder_.path())) {
      words.insert(words.end(), {"--from", path});
    }
    return discover(words);
  }
  std::string path(const std::string& name) { return folder_.path() + "/" + name; }
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  ScratchFolder folder_;
};

TEST_F(Discover, AMeshBecomesAFileThatMlxsRulesAccept) {
  const Finished done = from(test::paper_mesh(4), {"--out", path("hosts.json")});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out,
              AllOf(HasSubstr("4 hosts, 6 cables: mesh"),
                    HasSubstr("mac1 en2 (socket 1) - mac2 en3 (socket 1): 80 Gbit/s"),
                    HasSubstr("backend: jaccl (a cable with RDMA between every two hosts)"),
                    HasSubstr("ifconfig en2 inet 192.168.0.1/30 alias"),
                    Not(HasSubstr("-4000-8000-"))));  // no UUID
  const Finished checked = run_program(plumbline_argv({"hosts", "check", path("hosts.json")}));
  EXPECT_EQ(checked.status, 0) << checked.out;
  EXPECT_THAT(checked.out, HasSubstr("no problems for jaccl"));
}

// docs/macos.md shows what it prints, of these very Macs.
TEST_F(Discover, TheGuideShowsWhatIsPrinted) {
  test::PaperCluster cluster = test::paper_mesh(3);
  cluster.macs[1].socket(1).in_bridge = true;
  const Finished done = from(cluster, {"--out", path("hosts.json")});
  ASSERT_EQ(done.status, 0) << done.err;
  const std::string guide = text_of(test::source_dir() + "/docs/macos.md");
  EXPECT_THAT(guide, HasSubstr(done.out)) << done.out;
  EXPECT_THAT(guide, HasSubstr(text_of(path("hosts.json")))) << text_of(path("hosts.json"));
}

TEST_F(Discover, MlxsOwnFormIsWrittenToo) {
  const Finished done = from(test::paper_pair(), {"--to", "mlx", "--out", path("mlx.json")});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto file = nlohmann::json::parse(text_of(path("mlx.json")));
  EXPECT_EQ(file["backend"], "jaccl");
  EXPECT_EQ(file["hosts"][1]["rdma"], nlohmann::json({"rdma_en4", nullptr}));
  EXPECT_EQ(file["hosts"][0]["ips"][0], "192.168.4.11");  // where rank 0 coordinates
}

TEST_F(Discover, NothingIsWrittenOverUnasked) {
  std::ofstream(path("hosts.json")) << "mine";
  const Finished done = from(test::paper_pair(), {"--out", path("hosts.json")});
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err, AllOf(HasSubstr("is there already"), HasSubstr("--force")));
  EXPECT_EQ(text_of(path("hosts.json")), "mine");
  EXPECT_EQ(from(test::paper_pair(), {"--out", path("hosts.json"), "--force"}).status, 0);
  EXPECT_THAT(text_of(path("hosts.json")), HasSubstr("rdma_en4"));
}

TEST_F(Discover, CablesThatContradictAreNoFile) {
  test::PaperCluster cluster = test::paper_mesh(3);
  cluster.macs[1].socket(1).peer.clear();
  const Finished done = from(cluster, {"--out", path("hosts.json")});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.out, HasSubstr("mac1: en2 (socket 1) sees mac2"));
  EXPECT_THAT(done.err, HasSubstr("the cables contradict one another"));
  EXPECT_FALSE(std::filesystem::exists(path("hosts.json")));
  EXPECT_EQ(from(cluster, {"--out", path("hosts.json"), "--force"}).status, 0);
}

// What hangs on one Mac must not become a file without its cables, over a good one.
TEST_F(Discover, AMacThatDoesNotTellIsNoFile) {
  test::PaperCluster cluster = test::paper_mesh(3);
  cluster.macs[2].silent = {"system-profiler-thunderbolt"};
  const Finished done = from(cluster, {"--out", path("hosts.json")});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.err, HasSubstr("mac3 did not tell of cables"));
  EXPECT_THAT(done.out, HasSubstr("none of these hosts, or one that did not tell: mac3"));
  EXPECT_FALSE(std::filesystem::exists(path("hosts.json")));
  EXPECT_EQ(from(cluster).status, 2);
  EXPECT_THAT(from(cluster).out, Not(HasSubstr("host file:")));
  EXPECT_EQ(from(cluster, {"--out", path("hosts.json"), "--force"}).status, 0);
}

TEST_F(Discover, AFileOfMlxsOwnFormIsComparedByWhatItHolds) {
  test::PaperCluster cluster = test::paper_mesh(3);
  test::give_addresses(cluster);
  ASSERT_EQ(from(cluster, {"--to", "mlx", "--out", path("mlx.json")}).status, 0);
  EXPECT_THAT(from(cluster, {"--since", path("mlx.json")}).out, HasSubstr("nothing has changed"));
}

TEST_F(Discover, JsonAndPicturesTellTheSame) {
  const Finished done =
      from(test::paper_two_cables(), {"--json", "--dot", path("a.dot"), "--svg", path("a.svg")});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto all = nlohmann::json::parse(done.out);
  EXPECT_EQ(all["shape"], "mesh");
  EXPECT_EQ(all["cables"].size(), 2u);
  EXPECT_EQ(all["cables"][1]["b"]["interface"], "en3");
  EXPECT_EQ(all["backend"], "jaccl");
  EXPECT_EQ(all["setup"].size(), 2u);
  EXPECT_THAT(done.out, Not(HasSubstr("-4000-8000-")));
  EXPECT_THAT(
      text_of(path("a.dot")),
      HasSubstr("label=\"80 Gbit/s\", color=\"#0072B2\", taillabel=\"en2\", headlabel=\"en4\""));
  EXPECT_THAT(text_of(path("a.svg")),
              AllOf(HasSubstr(">en3</text>"), HasSubstr(">80 Gbit/s</text>"), HasSubstr("</svg>")));
}

// It read "3 hosts, 2 cables: other", and so did the picture.
TEST_F(Discover, AShapeWithoutANameIsSaidInWords) {
  test::PaperCluster chain(4);
  chain.cable(0, 1, 1, 1).cable(1, 2, 2, 1).cable(2, 2, 3, 1);
  const Finished done = from(chain, {"--svg", path("a.svg")});
  EXPECT_THAT(done.out, AllOf(HasSubstr("4 hosts, 3 cables: neither mesh nor ring nor star\n"),
                              HasSubstr("a ring of all hosts)\n"), Not(HasSubstr("other"))));
  EXPECT_THAT(text_of(path("a.svg")),
              AllOf(HasSubstr("neither mesh nor ring nor star"), Not(HasSubstr("other"))));
}

TEST_F(Discover, WhatHasChangedSinceAFileIsTold) {
  ASSERT_EQ(from(test::paper_mesh(3), {"--out", path("old.json")}).status, 0);
  EXPECT_THAT(from(test::paper_mesh(3), {"--since", path("old.json")}).out,
              HasSubstr("nothing has changed"));
  test::PaperCluster swapped = test::paper_mesh(3);
  swapped.cable(0, 2, 1, 1).cable(0, 1, 2, 1);
  EXPECT_THAT(from(swapped, {"--since", path("old.json")}).out,
              HasSubstr("mac1: towards mac2 rdma_en3 instead of rdma_en2"));
}

TEST_F(Discover, WrongWordsAreToldApart) {
  const struct {
    std::vector<std::string> words;
    const char* says;
  } rows[] = {
      {{}, "discover needs hosts"},
      {{"-oProxyCommand=x"}, ""},
      {{"a b"}, "name hosts as behind ssh"},
      {{"mac1", "mac1"}, "named twice"},
      {{"mac1", "--from", "x"}, "open x"},
      {{"mac1", "--to", "mlxx"}, "did you mean mlx?"},
      {{"--from", path("none.txt")}, "none.txt"},
      {{"--since", path("none.json")}, "none.json"},
      {{"mac1", "--dir", "x"}, "hosts discover takes no --dir"},
  };
  for (const auto& row : rows) {
    const Finished done = discover(row.words);
    EXPECT_EQ(done.status, 1) << row.says << done.out << done.err;
    EXPECT_THAT(done.err, HasSubstr(row.says));
  }
  EXPECT_THAT(run_program(plumbline_argv({"hosts", "show", "a", "--ranks", "2"})).err, Not(""));
}

// A name that no ssh finds costs that host, and is told with what to do; nothing is written.
TEST_F(Discover, AHostThatCannotBeAskedIsNamed) {
  const Finished done = discover({"localhost", "netns:no-such-place", "--out", path("x.json")});
  EXPECT_EQ(done.status, 2);
  EXPECT_THAT(done.out, AllOf(HasSubstr("could not be asked:"), HasSubstr("no-such-place")));
  EXPECT_THAT(done.err, HasSubstr("not every host could be asked"));
  EXPECT_FALSE(std::filesystem::exists(path("x.json")));
}

}  // namespace
}  // namespace plumbline
