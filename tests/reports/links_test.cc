// The links report over synthetic matrices: verdicts, topology, texts, pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/host/requirement.h"
#include "core/record/record.h"
#include "reports/charts/heat_map.h"
#include "reports/links/link_view.h"
#include "reports/report.h"
#include "tests/reports/link_samples.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using samples::link_record;
using testing::HasSubstr;
using testing::Not;

struct Worlds {
  explicit Worlds(std::vector<Record> all) : records(std::move(all)), view(make_view(records)) {
    worlds = link_worlds(view);
  }
  std::vector<Record> records;
  View view;
  std::vector<LinkWorld> worlds;
};

// One link shaped to a tenth (b > c), one lossy (d > a), as the lab makes them.
std::vector<Record> broken(int ranks = 4) {
  const auto shaped = [](LinkResult& link) {
    if (link.from == 1 && link.to == 2) link.rate_Bps = 2.5e6;
  };
  const auto lossy = [](LinkResult& link) {
    if (link.from == 3 && link.to == 0) link.udp->received -= 52;
  };
  return {link_record("latency", ranks), link_record("stream", ranks, shaped),
          link_record("udp", ranks, lossy), link_record("loaded_rtt", ranks)};
}

std::vector<std::string> kinds_and_pairs(const std::vector<LinkVerdict>& verdicts) {
  std::vector<std::string> out;
  for (const LinkVerdict& v : verdicts) {
    out.push_back(v.kind + " " + std::to_string(v.from) + " " + std::to_string(v.to));
  }
  return out;
}

TEST(Links, HealthyWorldHasNoVerdicts) {
  for (const int ranks : {2, 3, 4, 8}) {
    const Worlds w(
        {link_record("latency", ranks), link_record("stream", ranks), link_record("udp", ranks)});
    ASSERT_EQ(w.worlds.size(), 1u);
    const LinkVerdicts verdicts = judge_world(w.worlds[0]);
    EXPECT_TRUE(verdicts.list.empty()) << ranks << ": " << verdicts.list.front().text;
    EXPECT_TRUE(verdicts.uneven.empty());
  }
}

TEST(Links, ShapedAndLossyLinkAreNamedAndNothingElse) {
  const Worlds w(broken());
  const LinkVerdicts verdicts = judge_world(w.worlds.at(0));
  EXPECT_EQ(kinds_and_pairs(verdicts.list),
            (std::vector<std::string>{"slow link 1 2", "lossy link 3 0"}));
  EXPECT_THAT(verdicts.list[0].text, HasSubstr("slow link b > c: 20 Mb/s (0.00250 GB/s)"));
  EXPECT_THAT(verdicts.list[1].text, HasSubstr("lossy link d > a: 2.0 % of 2600"));
  EXPECT_EQ(kinds_and_pairs(verdicts.uneven), (std::vector<std::string>{"uneven pair 1 2"}));
}

// 50 Mb/s of datagrams over a link of 20 Mb/s: what is lost had no room. The same loss where
// streams carry more is a loss.
TEST(Links, TooManyDatagramsForTheLinkAreNoLoss) {
  const auto half = [](LinkResult& link) {
    if (link.from == 1 && link.to == 2) link.udp->received = 1000;
  };
  const auto slow = [](LinkResult& link) {
    if (link.from == 1 && link.to == 2) link.rate_Bps = 2.3e6;
  };
  const Worlds full({link_record("stream", 4, slow), link_record("udp", 4, half)});
  const LinkVerdicts verdicts = judge_world(full.worlds.at(0));
  EXPECT_EQ(kinds_and_pairs(verdicts.list), (std::vector<std::string>{"slow link 1 2"}));
  EXPECT_THAT(verdicts.notes.front(), HasSubstr("too many, not lossy"));
  const Worlds lossy({link_record("stream", 4), link_record("udp", 4, half)});
  EXPECT_EQ(kinds_and_pairs(judge_world(lossy.worlds.at(0)).list),
            (std::vector<std::string>{"lossy link 1 2"}));
}

TEST(Links, FewLostDatagramsAreANearMiss) {
  const Worlds w({link_record("udp", 4, [](LinkResult& link) {
    if (link.from == 0) link.udp->received -= 4;
  })});
  EXPECT_TRUE(judge_world(w.worlds.at(0)).list.empty());
}

TEST(Links, FullReceiveBufferIsTheHostNotTheLink) {
  const Worlds w({link_record("udp", 3, [](LinkResult& link) {
    if (link.to != 1) return;
    link.udp->received -= 500;
    link.udp->dropped = 500;
  })});
  const LinkVerdicts verdicts = judge_world(w.worlds.at(0));
  EXPECT_TRUE(verdicts.list.empty());
  ASSERT_EQ(verdicts.notes.size(), 2u);
  EXPECT_THAT(verdicts.notes[0], HasSubstr("socket's buffer full"));
}

TEST(Links, LateRoundTripIsNamedOncePerPair) {
  const Worlds w({link_record("latency", 4, [](LinkResult& link) {
    if (link.from + link.to == 5 && link.from > 1) link.rtt->p50 = 5e6;
  })});
  EXPECT_EQ(kinds_and_pairs(judge_world(w.worlds.at(0)).list),
            (std::vector<std::string>{"late link 2 3"}));
}

// Both of a pair's measurements take the same way there and back.
TEST(Links, ARoundTripThatIsLateInOneOfTwoMeasurementsIsNotTheLinks) {
  const Worlds once({link_record("latency", 4, [](LinkResult& link) {
    if (link.from == 0 || (link.from == 3 && link.to == 2)) link.rtt->p50 = 5e6;
  })});
  EXPECT_EQ(kinds_and_pairs(judge_world(once.worlds.at(0)).list), std::vector<std::string>());
  // Where there is no other measurement, the one counts.
  const Worlds alone({link_record("latency", 4, [](LinkResult& link) {
    if (link.from == 3 && link.to == 2) link.rtt->p50 = 5e6;
    if (link.from == 2 && link.to == 3) link.rtt.reset();
  })});
  EXPECT_EQ(kinds_and_pairs(judge_world(alone.worlds.at(0)).list),
            (std::vector<std::string>{"late link 3 2"}));
}

// One sender slower than the others; all hosts on one machine or not.
LinkVerdicts judge_slow_sender(double rate, double others, bool shared) {
  Record record = link_record(
      "stream", 4, [&](LinkResult& link) { link.rate_Bps = link.from == 1 ? rate : others; });
  record.environment.hosts.resize(2);
  for (HostFacts& host : record.environment.hosts) host.boot_id = shared ? "one boot" : "";
  return judge_world(Worlds({record}).worlds.at(0));
}

TEST(Links, StreamsThatCompeteForCoresSayNothing) {
  EXPECT_EQ(judge_slow_sender(0.1e9, 3e9, false).list.size(), 1u);
  EXPECT_TRUE(judge_slow_sender(0.1e9, 3e9, true).list.empty());
  EXPECT_TRUE(judge_slow_sender(0.1e9, 3e9, true).uneven.empty());
  // No lack of a core explains this one.
  EXPECT_EQ(judge_slow_sender(0.01e9, 3e9, true).list.size(), 1u);
  // Links that are all slower than cores copy are judged as everywhere.
  EXPECT_EQ(judge_slow_sender(0.01e9, 0.1e9, true).list.size(), 1u);
}

TEST(Links, RateAgainstTheSpeedOfTheLink) {
  const Worlds w({link_record("stream", 3, [](LinkResult& link) {
    if (link.from == 0) link.speed_bps = link.to == 1 ? 1e9 : 2.1e8;
  })});
  const LinkVerdicts verdicts = judge_world(w.worlds.at(0));
  EXPECT_EQ(kinds_and_pairs(verdicts.list), (std::vector<std::string>{"slow link 0 1"}));
  EXPECT_THAT(verdicts.list[0].text, HasSubstr("21 % of the link's 1 Gb/s"));
  EXPECT_FALSE(verdicts.fails()) << "nobody knows who told that speed";
  EXPECT_THAT(verdicts.notes.back(), HasSubstr("speed of 4 of 6 links unknown"));
}

// Four hosts whose interfaces tell `told` of their speed, behind links of `stated`; c carries 14 %.
Record one_bad_host(std::optional<uint64_t> told, std::optional<double> stated) {
  Record record = link_record("stream", 4, [&](LinkResult& link) {
    link.local = "10.0.0." + std::to_string(link.from);
    link.remote = "10.0.0." + std::to_string(link.to);
    link.rate_Bps = link.from == 2 || link.to == 2 ? 17.5e6 : 117e6;
    link.speed_bps = stated;
  });
  for (int rank = 0; rank < 4; ++rank) {
    Nic nic;
    nic.addresses.push_back({"10.0.0." + std::to_string(rank), 24});
    nic.speed_bps = told;
    record.environment.hosts.emplace_back().nics.push_back(nic);
  }
  return record;
}

// One bad host of four is half of all links.
TEST(Links, OneBadHostOfFourIsNamedByEveryOutput) {
  const Worlds w({one_bad_host({}, {})});
  const LinkVerdicts verdicts = judge_world(w.worlds.at(0));
  EXPECT_EQ(kinds_and_pairs(verdicts.list), (std::vector<std::string>{"slow host 2 2"}));
  EXPECT_THAT(verdicts.list[0].text,
              HasSubstr("slow host c to and from all others: 140 Mb/s (0.018 GB/s), 6.69 times"));
  EXPECT_FALSE(links_fail(w.worlds));
  const std::string dot = topology_dot(w.worlds[0], verdicts);
  EXPECT_THAT(dot, HasSubstr("r1 -- r2 [label=\"140 Mb/s\", color=\"#D55E00\"]"));
  EXPECT_THAT(dot, HasSubstr("r0 -- r1 [label=\"936 Mb/s\", color=\"#0072B2\"]"));
  const View view = make_view(w.records);
  Document document;
  add_links(view, document);
  std::ostringstream text;
  render_text(document, 100, false, text);
  EXPECT_THAT(text.str(), HasSubstr("slow host c"));
  EXPECT_THAT(text.str(), Not(HasSubstr("stands out.")));
}

TEST(Links, BelowAQuarterOfAStatedSpeedIsAFailure) {
  const Worlds stated({one_bad_host({}, 1e9)});
  EXPECT_TRUE(links_fail(stated.worlds));
  EXPECT_THAT(judge_world(stated.worlds[0]).list.at(0).text,
              HasSubstr("14 % of the link's 1 Gb/s"));
  EXPECT_FALSE(links_fail(Worlds({one_bad_host(1'000'000'000, 1e9)}).worlds)) << "negotiated";
  Record both = one_bad_host(1'000'000'000, 1e9);  // stated, and the interface says the same
  both.measurement.extra[kStatedSpeeds] = static_cast<double>(both.measurement.links.size());
  EXPECT_TRUE(links_fail(Worlds({both}).worlds));
  EXPECT_TRUE(links_fail(Worlds({one_bad_host(10'000'000'000, 1e9)}).worlds)) << "stated";
  EXPECT_FALSE(links_fail(Worlds({one_bad_host({}, 0.5e9)}).worlds)) << "28 %";
}

TEST(Links, EveryLinkBelowItsSpeedIsOneSentence) {
  const Worlds w({link_record("stream", 4, [](LinkResult& link) { link.speed_bps = 1e9; })});
  const LinkVerdicts verdicts = judge_world(w.worlds.at(0));
  EXPECT_EQ(kinds_and_pairs(verdicts.list), (std::vector<std::string>{"slow everywhere -1 -1"}));
  EXPECT_THAT(topology_dot(w.worlds[0], verdicts), Not(HasSubstr("#0072B2")));
}

TEST(Links, TwoHostsWithoutASpeedAreUnknown) {
  const Worlds w({link_record("stream", 2)});
  const LinkVerdicts verdicts = judge_world(w.worlds.at(0));
  EXPECT_TRUE(verdicts.list.empty());
  ASSERT_EQ(verdicts.unknown.size(), 1u);
  Document document;
  add_links(w.view, document);
  std::ostringstream text;
  render_text(document, 100, false, text);
  EXPECT_THAT(text.str(), HasSubstr("Not known:"));
  EXPECT_THAT(text.str(), Not(HasSubstr("stands out.")));
}

// A hiccup of one measure is no slow link.
TEST(Links, TheBestOfTwoMeasuresCounts) {
  const auto hiccup = [](LinkResult& link) {
    if (link.from == 0 && link.to == 1) link.rate_Bps = 2e6;
  };
  const Worlds w({link_record("stream", 4, hiccup), link_record("parallel", 4)});
  EXPECT_TRUE(judge_world(w.worlds.at(0)).list.empty());
}

// --- topology
// ---------------------------------------------------------------------------------------

std::vector<bool> edges(int ranks, const std::vector<std::pair<int, int>>& pairs) {
  std::vector<bool> direct(static_cast<size_t>(ranks * ranks), false);
  for (const auto& [a, b] : pairs) {
    direct[pair_index(ranks, a, b)] = direct[pair_index(ranks, b, a)] = true;
  }
  return direct;
}

TEST(Topology, Classes) {
  EXPECT_EQ(classify_topology(edges(2, {{0, 1}}), 2), "mesh");
  EXPECT_EQ(classify_topology(edges(2, {}), 2), "other");
  EXPECT_EQ(classify_topology(edges(3, {{0, 1}, {1, 2}, {0, 2}}), 3), "mesh");
  EXPECT_EQ(classify_topology(edges(3, {{0, 1}, {1, 2}}), 3), "star");
  EXPECT_EQ(classify_topology(edges(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}), 4), "ring");
  EXPECT_EQ(classify_topology(edges(4, {{2, 0}, {2, 1}, {2, 3}}), 4), "star");
  EXPECT_EQ(classify_topology(edges(4, {{0, 1}, {1, 2}, {2, 3}}), 4), "other");  // a chain
  EXPECT_EQ(classify_topology(edges(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}}), 4), "other");
  // Two rings of three: everybody has two neighbours, but it is not one ring.
  EXPECT_EQ(classify_topology(edges(6, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}}), 6),
            "other");
}

TEST(Topology, SkippedAndRoutedPairsAreNoEdges) {
  const Worlds star({link_record("stream", 4, [](LinkResult& link) {
    if (link.from == 0 || link.to == 0) return;
    link.skipped = "leaves";
    link.rate_Bps.reset();
  })});
  EXPECT_EQ(classify_topology(star.worlds[0].direct(), 4), "star");
  EXPECT_EQ(star.worlds[0].skipped.size(), 6u);
  const Worlds ring({link_record("stream", 4, [](LinkResult& link) {
    link.direct = (link.from + link.to) % 2 == 1;  // the diagonals are routed
  })});
  EXPECT_EQ(classify_topology(ring.worlds[0].direct(), 4), "ring");
}

TEST(Topology, GraphsMarkTheBadPairsAndEscapeNames) {
  Record record = link_record("stream", 3, [](LinkResult& link) {
    if (link.from == 0 && link.to == 1) link.rate_Bps = 1e6;
    if (link.from == 2) link.from_host = "<c> & \"x\"";
    if (link.to == 2) link.to_host = "<c> & \"x\"";
  });
  const Worlds w({record});
  const LinkVerdicts verdicts = judge_world(w.worlds[0]);
  const std::string dot = topology_dot(w.worlds[0], verdicts);
  EXPECT_THAT(dot, HasSubstr("r0 -- r1 [label=\"8 Mb/s\", color=\"#D55E00\"]"));
  EXPECT_THAT(dot, HasSubstr("r0 -- r2 [label=\"2"));
  EXPECT_THAT(dot, HasSubstr("label=\"<c> & \\\"x\\\"\""));
  const std::string svg = topology_svg(w.worlds[0], verdicts);
  EXPECT_THAT(svg, HasSubstr("&lt;c&gt; &amp; &quot;x&quot;"));
  EXPECT_THAT(svg, Not(HasSubstr("<c>")));
}

// --- texts and pictures
// ---------------------------------------------------------------------------------------

std::string links_text(const std::vector<Record>& records, int width = 100) {
  const View view = make_view(records);
  Document document;
  add_links(view, document);
  std::ostringstream out;
  render_text(document, width, false, out);
  return out.str();
}

TEST(Links, TextShowsMatricesCountersAndRings) {
  const std::string text = links_text(broken());
  for (const char* part : {"Topology: mesh", "Outliers: 2", "slow link b > c", "lossy link d > a",
                           "One stream, one way", "GB/s, 10^9", "Round trip, median (64 B)",
                           "Datagrams lost (50 Mb/s)", "Ring orders", "all orders were tried",
                           "suggested", "loaded / idle", "50"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Links, TheSuggestedRingIsNamedAsAnAlgorithm) {
  const Record slow = link_record("stream", 4, [](LinkResult& link) {
    const std::pair<int, int> pair = std::minmax(link.from, link.to);
    if (pair == std::pair(0, 1) || pair == std::pair(2, 3)) link.rate_Bps = *link.rate_Bps / 10;
  });
  EXPECT_THAT(links_text({slow}, 400),
              HasSubstr("with --algorithm ring:0-3-1-2, or ring:2:0-3-1-2."));
  EXPECT_THAT(links_text({link_record("stream", 4)}, 400), Not(HasSubstr("--algorithm")));
}

TEST(Links, ErrorsAndMissingMatricesAreShown) {
  Record error = link_record("stream", 3);
  error.measurement.links.clear();
  error.measurement.outcome = Outcome::kError;
  error.measurement.reason = "rank 1 (b) is gone";
  error.measurement.cause = "rank.dead";
  const std::string text = links_text({error});
  EXPECT_THAT(text, HasSubstr("link stream, 3 ranks, tcp: error: rank 1 (b) is gone (rank.dead)"));
  Record failed = link_record("stream", 3, [](LinkResult& link) {
    if (link.to != 2) return;
    link.error = "a > c: no answer";
    link.rate_Bps.reset();
  });
  EXPECT_THAT(links_text({failed}), HasSubstr("stream: a > c: no answer"));
}

TEST(Links, NoLinksNoText) { EXPECT_EQ(links_text({}), ""); }

TEST(HeatMap, NamesCannotSmuggleCommands) {
  Record record = link_record("stream", 2, [](LinkResult& link) {
    link.from_host = link.from == 0 ? "a'; system('x'); '" : "b\"; x \"";
    link.to_host = link.to == 0 ? "a'; system('x'); '" : "b\"; x \"";
  });
  const Worlds w({record});
  const std::string script = heat_map_script(w.worlds[0], w.worlds[0].grids[0], "stream");
  EXPECT_THAT(script, HasSubstr("'a''; system("));
  EXPECT_THAT(script, HasSubstr("set cblabel 'Gb/s"));
  const std::string data = heat_map_data(w.worlds[0], w.worlds[0].grids[0]);
  EXPECT_THAT(data, HasSubstr("0 0 NaN"));
  EXPECT_THAT(data, HasSubstr("Mb/s\" \"0.025 GB/s\""));
}

Expected<std::vector<std::string>> write_links(const std::vector<Record>& records,
                                               const fs::path& folder) {
  ReportInput input;
  input.records = records;
  ReportTarget target;
  target.directory = folder.string();
  return find_report("links")->write(input, target);
}

TEST(LinksReport, WritesPageGraphsAndHeatMaps) {
  static constexpr std::array kNeeds = {"gnuplot"};
  const fs::path folder = fs::path(testing::TempDir()) / "plumbline links";
  fs::remove_all(folder);
  const auto written = write_links(broken(), folder);
  ASSERT_TRUE(written) << written.error().message();
  for (const char* name : {"links.md", "topology.dot", "topology.svg"}) {
    EXPECT_GT(fs::file_size(folder / name), 100u) << name;
  }
  if (!unmet(kNeeds)) {
    for (const char* name : {"stream.png", "latency_p50_64B.png", "loss_50Mbs.png", "stream.svg"}) {
      EXPECT_GT(fs::file_size(folder / name), 1000u) << name;
    }
  }
  if (std::getenv("TEST_KEEP_PICTURES") == nullptr) fs::remove_all(folder);
}

TEST(LinksReport, RecordsWithoutLinksGiveNoFolder) {
  const fs::path folder = fs::path(testing::TempDir()) / "plumbline no links";
  const auto written = write_links({}, folder);
  ASSERT_TRUE(written);
  EXPECT_TRUE(written->empty());
  EXPECT_FALSE(fs::exists(folder));
}

TEST(LinksReport, NeedsAFolder) {
  ReportInput input;
  EXPECT_FALSE(find_report("links")->write(input, ReportTarget{}));
}

}  // namespace
}  // namespace plumbline
