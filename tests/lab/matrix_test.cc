// How the matrix compares, counts and shows; no lab is made here.
#include "lab/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/json.h"
#include "lab/snapshot.h"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Injected fault(const std::string& cause, const std::string& host, const std::string& peer = "") {
  Injected injected;
  injected.fault = cause;
  injected.causes = {cause};
  injected.expect_host = host;
  injected.expect_peer = peer;
  return injected;
}

SaidFinding said(const std::string& cause, const std::string& host, const std::string& peer = "",
                 const std::string& outcome = "fail") {
  SaidFinding finding;
  finding.cause = cause;
  finding.host = host;
  finding.peer = peer;
  finding.outcome = outcome;
  return finding;
}

Diagnosis diagnosis(std::vector<SaidFinding> findings) {
  Diagnosis out;
  out.verdict = findings.empty() ? "ok" : "fail";
  out.findings = std::move(findings);
  return out;
}

TEST(Judge, TheRightCauseOnTheRightHost) {
  const auto judged = judge({fault("link.down", "a")}, diagnosis({said("link.down", "a")}), false);
  EXPECT_TRUE(judged.first_is_right);
  EXPECT_THAT(judged.found, ElementsAre("link.down"));
  EXPECT_THAT(judged.missed, IsEmpty());
  EXPECT_THAT(judged.wrong, IsEmpty());
  EXPECT_EQ(judged.named, 1);
}

TEST(Judge, NearMissesAreNotRight) {
  const Injected drop = fault("firewall.drop_inbound", "a", "b");
  for (const SaidFinding& finding :
       {said("firewall.drop_outbound", "a", "b"), said("firewall.drop_inbound", "b", "a"),
        said("firewall.drop_inbound", "a"), said("firewall.drop_inbound", "a", "c"),
        said("firewall.drop_inbound", "a", "b", "warn")}) {
    const auto judged = judge({drop}, diagnosis({finding}), false);
    EXPECT_FALSE(judged.first_is_right) << finding.cause << finding.host << finding.peer;
    EXPECT_EQ(judged.missed.size(), 1U);
    EXPECT_EQ(judged.wrong.size(), 1U);
  }
  // A host's fault is one finding about the host.
  EXPECT_FALSE(names_fault(fault("link.down", "a"), said("link.down", "a", "b"), false));
}

TEST(Judge, SymmetricFaultsMayNameEitherEnd) {
  Injected isolated = fault("neighbour.unresolved", "a", "b");
  isolated.other_hosts = {"b"};
  EXPECT_TRUE(names_fault(isolated, said("neighbour.unresolved", "a", "b"), false));
  EXPECT_TRUE(names_fault(isolated, said("neighbour.unresolved", "b", "a"), false));
  EXPECT_FALSE(names_fault(isolated, said("neighbour.unresolved", "b", "c"), false));
  EXPECT_FALSE(names_fault(isolated, said("neighbour.unresolved", "c", "a"), false));
}

TEST(Judge, CoarserIdsCountOnlyWithoutPrivileges) {
  Injected drop = fault("firewall.drop_inbound", "a");
  drop.coarse = {"firewall.drop_path"};
  EXPECT_FALSE(names_fault(drop, said("firewall.drop_path", "a"), false));
  EXPECT_TRUE(names_fault(drop, said("firewall.drop_path", "a"), true));
}

TEST(Judge, AWrongCauseBesideTheRightOne) {
  const auto judged =
      judge({fault("link.down", "a")},
            diagnosis({said("link.down", "a"), said("tcp.no_listener", "b")}), false);
  EXPECT_TRUE(judged.first_is_right);
  EXPECT_THAT(judged.wrong, ElementsAre("tcp.no_listener on b"));
  EXPECT_EQ(judged.named, 2);
}

TEST(Judge, TheOrderOfCausesCounts) {
  const auto judged =
      judge({fault("link.down", "a")},
            diagnosis({said("tcp.no_listener", "b"), said("link.down", "a")}), false);
  EXPECT_FALSE(judged.first_is_right);
  EXPECT_THAT(judged.found, ElementsAre("link.down"));
}

TEST(Judge, NotesHarmNothing) {
  const auto judged =
      judge({fault("link.down", "a")},
            diagnosis({said("link.down", "a"), said("icmp.blocked", "c", "", "note")}), false);
  EXPECT_TRUE(judged.first_is_right);
  EXPECT_THAT(judged.wrong, IsEmpty());
  EXPECT_EQ(judged.named, 1);
  // A note that is what was asked for.
  Injected ping = fault("icmp.blocked", "c");
  ping.warn = true;
  EXPECT_TRUE(
      judge({ping}, diagnosis({said("icmp.blocked", "c", "", "note")}), false).first_is_right);
}

TEST(Judge, WhatIsTrueOfTheMachineIsNobodysFault) {
  const auto judged =
      judge({}, diagnosis({said("host.overloaded", "a", "", "warn")}), false, {"host.overloaded"});
  EXPECT_THAT(judged.wrong, IsEmpty());
  EXPECT_EQ(judged.named, 0);
  EXPECT_EQ(judge({}, diagnosis({said("host.overloaded", "a", "", "warn")}), false).wrong.size(),
            1U);
}

TEST(Judge, TheVerdictMustAgreeWithTheFindings) {
  Diagnosis empty = diagnosis({});
  empty.verdict = "fail";
  EXPECT_THAT(judge({}, empty, false).wrong, ElementsAre("verdict fail without a finding"));
  Diagnosis busy = diagnosis({said("host.overloaded", "a", "", "warn")});
  busy.verdict = "warn";
  EXPECT_THAT(judge({}, busy, false, {"host.overloaded"}).wrong, IsEmpty());
}

TEST(Judge, BothOfTwo) {
  const auto one = judge({fault("link.down", "a"), fault("tcp.port_in_use", "b")},
                         diagnosis({said("tcp.port_in_use", "b")}), false);
  EXPECT_THAT(one.missed, ElementsAre("link.down"));
  EXPECT_TRUE(one.first_is_right);
}

TEST(Diagnosis, IsReadFromDoctorsJson) {
  const Diagnosis read = parse_diagnosis(
      R"({"schema":1,"verdict":"fail","hosts":["a"],"checks":[],"findings":[{"cause":"link.down",
          "outcome":"fail","host":"a","peer":null,"port":null,"ports":[1,2],"confidence":1.0,
          "evidence":[{"host":"a","check":"link","text":"eth0 is down"}],
          "remedy":"ip link set eth0 up","explains":[]}]})",
      2);
  EXPECT_EQ(read.problem, "");
  ASSERT_EQ(read.findings.size(), 1U);
  EXPECT_EQ(read.findings[0].peer, "");
  EXPECT_THAT(read.findings[0].ports, ElementsAre(1, 2));
  EXPECT_THAT(read.findings[0].evidence, ElementsAre("a: eth0 is down"));
}

TEST(Diagnosis, AnythingElseIsAProblem) {
  for (const char* text :
       {"", "plumbline: no such file", "{}", "[]", R"({"verdict":1,"findings":[]})",
        R"({"verdict":"ok"})", R"({"verdict":"ok","findings":{"a":1}})",
        R"({"verdict":"ok","findings":[1]})",
        R"({"verdict":"ok","findings":[{"ports":["x"],"evidence":[]}]})"}) {
    const Diagnosis read = parse_diagnosis(text, 1);
    EXPECT_TRUE(!read.problem.empty() || !read.findings.empty()) << text;
  }
  EXPECT_THAT(parse_diagnosis("", 139).problem, HasSubstr("139"));
}

TEST(Proportion, WilsonsInterval) {
  const Proportion most{8, 10}, all{10, 10}, none{0, 10}, empty{};
  EXPECT_NEAR(most.low(), 0.4902, 1e-3);  // computed by hand from the formula
  EXPECT_NEAR(most.high(), 0.9433, 1e-3);
  EXPECT_NEAR(all.low(), 0.7225, 1e-3);
  EXPECT_DOUBLE_EQ(all.high(), 1);
  EXPECT_DOUBLE_EQ(none.low(), 0);
  EXPECT_NEAR(none.high(), 0.2775, 1e-3);
  EXPECT_EQ(empty.low(), 0);
  EXPECT_EQ(empty.high(), 1);
}

TEST(Cells, AreEnough) {
  MatrixOptions options;
  options.seeds = 2;
  const auto cells = matrix_cells(options);
  ASSERT_TRUE(cells);
  std::set<std::string> singles, pairs, zoo;
  for (const MatrixCell& cell : *cells) {
    (cell.kind == MatrixCellKind::kSingle ? singles
     : cell.kind == MatrixCellKind::kPair ? pairs
                                          : zoo)
        .insert(cell.name);
    for (const std::string& name : cell.faults) EXPECT_NE(find_fault(name), nullptr) << name;
  }
  EXPECT_GE(singles.size(), 45U);
  EXPECT_GE(pairs.size(), 10U);
  EXPECT_GE(zoo.size(), 12U);
  EXPECT_EQ(cells->size(), 2 * (singles.size() + pairs.size()) + 5 * zoo.size());
}

TEST(Cells, AreChosenByNameAndKind) {
  MatrixOptions options;
  options.only = {"drop_inbound"};
  ASSERT_EQ(matrix_cells(options)->size(), 1U);
  options.only = {"zoo"};
  const auto zoo = matrix_cells(options);
  EXPECT_GT(zoo->size(), 50U);
  for (const MatrixCell& cell : *zoo) EXPECT_EQ(cell.kind, MatrixCellKind::kZoo);
  options.only = {"drop_inbond"};
  const auto unknown = matrix_cells(options);
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("drop_inbound"));
  options = {};
  options.reduced = true;
  const auto few = matrix_cells(options);
  EXPECT_LT(few->size(), 30U);
  EXPECT_GT(few->size(), 15U);
}

TEST(Cells, PairsAndZooFindTheirNetworks) {
  MatrixOptions options;
  options.seeds = 5;
  const auto cells = matrix_cells(options);
  for (const MatrixCell& cell : *cells) {
    if (cell.kind == MatrixCellKind::kSingle) continue;
    const CellNetwork network = cell_network(cell, false);
    EXPECT_EQ(network.unavailable, "") << cell.name << " " << cell.seed;
    EXPECT_EQ(topology_problem(network.topology), "") << cell.name;
    EXPECT_EQ(in_words(network.topology), in_words(cell_network(cell, false).topology));
  }
}

CellResult cell(MatrixCellKind kind, const std::string& name, bool right) {
  CellResult out;
  out.cell = {kind, name, {}, 1};
  out.right = right;
  out.injected = kind == MatrixCellKind::kZoo ? std::vector<Injected>{}
                                              : std::vector<Injected>{fault("link.down", "a")};
  out.diagnosis =
      right && kind != MatrixCellKind::kZoo ? diagnosis({said("link.down", "a")}) : diagnosis({});
  out.diagnosis.verdict = kind == MatrixCellKind::kZoo ? "ok" : "fail";
  out.judgement = judge(out.injected, out.diagnosis, false);
  out.diagnosis.took_ns = 3'000'000'000;
  return out;
}

TEST(Summary, CountsWhatCounts) {
  MatrixResult result;
  result.cells = {cell(MatrixCellKind::kSingle, "link_down", true),
                  cell(MatrixCellKind::kSingle, "link_down", false),
                  cell(MatrixCellKind::kZoo, "star", true)};
  result.cells[0].remedy_tried = result.cells[0].healed = true;
  CellResult skipped = cell(MatrixCellKind::kZoo, "bond", false);
  skipped.skipped = "this kernel has no devices of type bond";
  CellResult broken = cell(MatrixCellKind::kSingle, "arp_off", false);
  broken.error = "doctor crashed";
  result.cells.push_back(skipped);
  result.cells.push_back(broken);
  const MatrixSummary summary = summarise(result);
  EXPECT_EQ(summary.singles.hits, 1);
  EXPECT_EQ(summary.singles.all, 3);  // an error is no success
  EXPECT_EQ(summary.recall.hits, 1);
  EXPECT_EQ(summary.recall.all, 2);
  EXPECT_EQ(summary.zoo.all, 1);
  EXPECT_EQ(summary.skipped, 1);
  EXPECT_EQ(summary.errors, 1);
  EXPECT_EQ(summary.remedies.hits, 1);
  EXPECT_DOUBLE_EQ(summary.median_s, 3);
  EXPECT_FALSE(summary.all_right());
  ASSERT_EQ(summary.confusions.size(), 1U);
  EXPECT_THAT(summary.confusions[0], HasSubstr("got nothing"));
}

TEST(Show, TextJsonAndTables) {
  MatrixResult result;
  result.cells = {cell(MatrixCellKind::kSingle, "link_down", true),
                  cell(MatrixCellKind::kSingle, "drop_inbound", false),
                  cell(MatrixCellKind::kZoo, "star", true)};
  const std::string text = matrix_text(result, false);
  EXPECT_THAT(text, HasSubstr("WRONG"));
  EXPECT_THAT(text, HasSubstr("--only drop_inbound --seed 1"));
  EXPECT_THAT(text, HasSubstr("95 % interval"));
  const auto json = nlohmann::json::parse(matrix_json(result));
  EXPECT_EQ(json["recall"]["n"], 2);
  EXPECT_EQ(json["cells"].size(), 3U);
  const std::string docs = matrix_docs(result);
  EXPECT_THAT(docs, HasSubstr("| `link_down` |"));
  EXPECT_THAT(docs, HasSubstr("| star | 1/1 |"));
  // What no fault made is counted apart.
  const std::string apart = docs.substr(docs.find("### Not made here"));
  EXPECT_THAT(apart, HasSubstr("`host.clock_skew`"));
  EXPECT_THAT(apart, Not(HasSubstr("`link.down`")));
}

TEST(Show, ReplacesItsOwnPartOfAPage) {
  const std::string page =
      "# Diagnosis\n\n<!-- matrix:begin -->\nold\n<!-- matrix:end -->\n\nMore.\n";
  const std::string fresh = with_generated(page, "matrix", "new\n");
  EXPECT_EQ(fresh, "# Diagnosis\n\n<!-- matrix:begin -->\nnew\n<!-- matrix:end -->\n\nMore.\n");
  EXPECT_EQ(with_generated(fresh, "matrix", "new\n"), fresh);
  EXPECT_EQ(with_generated("Text", "matrix", "new\n"),
            "Text\n<!-- matrix:begin -->\nnew\n<!-- matrix:end -->\n");
  // A lonely mark is no place to write.
  EXPECT_THAT(with_generated("<!-- matrix:begin -->\nprose\n", "matrix", "new\n"),
              HasSubstr("prose"));
}

TEST(Snapshots, LeaveOutWhatChangesByItself) {
  const char* before =
      "== links\n[{\"ifindex\":2,\"ifname\":\"eth0\",\"flags\":[\"UP\",\"BROADCAST\"],\"mtu\":1500,"
      "\"addr_info\":[{\"local\":\"10.0.0.1\",\"prefixlen\":24,\"scope\":\"global\","
      "\"valid_life_time\":77}]}]\n"
      "== routes\n[{\"dst\":\"10.0.0.0/24\",\"dev\":\"eth0\",\"flags\":[]}]\n"
      "== legacy\n*filter\n:INPUT ACCEPT [5:300]\n-A INPUT -p tcp -j DROP\nCOMMIT\n"
      "== qdiscs\nqdisc tbf 8001: dev eth0 root refcnt 3 rate 1Gbit\nqdisc noqueue 0: dev lo\n"
      "== sysctls\nnet.ipv4.conf.eth0.rp_filter = 0\n";
  const char* after =
      "== links\n[{\"ifindex\":9,\"ifname\":\"eth0\",\"flags\":[\"BROADCAST\",\"UP\"],\"mtu\":1500,"
      "\"addr_info\":[{\"local\":\"10.0.0.1\",\"prefixlen\":24,\"scope\":\"global\","
      "\"valid_life_time\":12}]}]\n"
      "== routes\n[{\"dst\":\"10.0.0.0/24\",\"dev\":\"eth0\",\"flags\":[\"linkdown\"]}]\n"
      "== legacy\n*filter\n:INPUT ACCEPT [9:900]\n-A INPUT -p tcp -j DROP\nCOMMIT\n*nat\nCOMMIT\n"
      "== qdiscs\nqdisc tbf 8007: dev eth0 root refcnt 5 rate 1Gbit\n"
      "== sysctls\nnet.ipv4.conf.eth0.rp_filter = 0\n";
  EXPECT_THAT(difference(normalised(before), normalised(after)), IsEmpty());
  EXPECT_THAT(normalised(before), Not(IsEmpty()));
}

TEST(Snapshots, ShowWhatWasChanged) {
  const Snapshot before = normalised("== nft\ntable inet a {\n}\n== sysctls\nx = 0\n");
  const Snapshot after = normalised("== nft\ntable inet b {\n}\n== sysctls\nx = 1\n");
  EXPECT_THAT(difference(before, after),
              ::testing::UnorderedElementsAre("- nft: table inet a {", "+ nft: table inet b {",
                                              "- sysctls: x = 0", "+ sysctls: x = 1"));
  // Hostile text is no crash.
  for (const char* text : {"", "== links\n{", "== links\n[1]\n", "== rules\nnull\n", "==\n== \n"}) {
    (void)normalised(text);
  }
}

}  // namespace
}  // namespace plumbline
