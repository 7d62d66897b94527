// RESULTS.md: always the same bytes, and nothing in it that a bundle could smuggle in.
#include "reports/publish/results_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "reports/publish/bundle.h"
#include "reports/publish/bundle_derive.h"
#include "tests/reports/bundle_samples.h"

namespace plumbline {
namespace {

using nlohmann::json;

BundleReport report_of(const json& content) {
  return verify_bundle(bundle_text(seal_bundle(content)), "");
}

json content(uint64_t seed, const std::string& hardware, const std::string& date = "2026-11-20") {
  json out = samples::bundle(seed)["content"];
  out["statement"]["hardware"] = {hardware};
  out["date"] = date;
  return out;
}

json by(json content, const std::string& submitter) {
  content["statement"]["submitter"] = submitter;
  return content;
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

TEST(ResultsPage, WithoutBundlesItSaysSo) {
  const std::string page = results_page({}, {});
  EXPECT_NE(page.find("There are no rows yet."), std::string::npos);
  EXPECT_EQ(page.find('|'), std::string::npos);
}

TEST(ResultsPage, BeginsWithWhatItAnswersAndHowToAddARow) {
  for (const std::string& page :
       {results_page({}, {}), results_page({report_of(content(1, "m"))}, {})}) {
    const size_t answers = page.find("**What this page answers:**");
    const size_t add = page.find("**Add a row:** `plumbline run submit");
    ASSERT_NE(answers, std::string::npos) << page;
    ASSERT_NE(add, std::string::npos) << page;
    EXPECT_LT(answers, add);
    EXPECT_LT(add, std::min(page.find("\n## "), page.size()));
    EXPECT_LT(std::count(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(add), '\n'), 10);
  }
}

// The lines of the table of the best rows.
std::vector<std::string> best_lines(const std::string& page) {
  std::vector<std::string> out;
  const size_t from = page.find("\n## The best of each link\n");
  const size_t to = std::min(page.find("\np50 is", from), page.size());
  for (size_t at = page.find("\n|---", from); at < to;) {
    at = page.find("\n| ", at + 1);
    if (at < to) out.push_back(page.substr(at + 1, page.find('\n', at + 1) - at - 1));
  }
  return out;
}

TEST(ResultsPage, TheBestRowsOfEachLinkComeFirst) {
  std::vector<BundleReport> bundles;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    json c = content(seed, "machine " + std::to_string(seed));
    if (seed > 3) c["statement"]["link_kind"] = "thunderbolt5";
    bundles.push_back(report_of(c));
    ASSERT_TRUE(bundles.back().sound());
  }
  const std::string page = results_page(bundles, {});
  const std::vector<std::string> best = best_lines(page);
  ASSERT_FALSE(best.empty()) << page;
  EXPECT_LT(page.find("## The best of each link"), page.find("## ethernet-10g, latency"));
  EXPECT_NE(page.find("![The best row of each link, as the table below has it](RESULTS.svg)"),
            std::string::npos);
  const auto least = [&](size_t from, size_t to) {  // pingpong, of these bundles
    uint64_t time = UINT64_MAX;
    std::string id;
    for (size_t i = from; i < to; ++i) {
      for (const BundleRow& row : bundles[i].rows) {
        if (row.cell.op != "pingpong" || twice_p50(row.hist) >= time) continue;
        time = twice_p50(row.hist);
        id = bundles[i].id;
      }
    }
    return id;
  };
  const auto line_of = [&](const std::string& start) {
    for (const std::string& line : best) {
      if (line.starts_with(start)) return line;
    }
    return std::string();
  };
  const std::string ethernet = line_of("| ethernet-10g | pingpong latency | ");
  const std::string thunderbolt = line_of("| thunderbolt5 | pingpong latency | ");
  EXPECT_NE(ethernet.find(least(0, 3)), std::string::npos) << ethernet;
  EXPECT_NE(ethernet.find(" | 3 | machine "), std::string::npos) << ethernet;
  EXPECT_NE(thunderbolt.find(least(3, 5)), std::string::npos) << thunderbolt;
  EXPECT_NE(thunderbolt.find(" | 2 | machine "), std::string::npos) << thunderbolt;
  EXPECT_NE(line_of("| ethernet-10g | allreduce bandwidth | ").find(" GB/s | "), std::string::npos);
  std::set<std::string> seen;
  for (const std::string& line : best) {  // one row each
    EXPECT_TRUE(seen.insert(line.substr(0, line.find(" | ", line.find(" | ") + 3))).second) << line;
  }
}

TEST(ResultsPage, ARowWithAFlagIsNobodysBest) {
  std::vector<BundleReport> bundles = {report_of(content(1, "one")), report_of(content(2, "two"))};
  const std::vector<std::string> before = best_lines(results_page(bundles, {}));
  ASSERT_FALSE(before.empty());
  for (BundleRow& row : bundles[0].rows) row.marks = {"fast"};
  for (const std::string& line : best_lines(results_page(bundles, {}))) {
    EXPECT_EQ(line.find(bundles[0].id), std::string::npos) << line;
  }
  for (BundleRow& row : bundles[1].rows) row.marks = {"regular"};
  EXPECT_TRUE(best_lines(results_page(bundles, {})).empty());
}

TEST(ResultsPage, DoesNotDependOnTheOrder) {
  std::vector<BundleReport> bundles;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    bundles.push_back(report_of(content(seed, "machine " + std::to_string(seed))));
    EXPECT_TRUE(bundles.back().sound());
  }
  const std::string page = results_page(bundles, {});
  EXPECT_EQ(page, results_page(bundles, {}));
  std::reverse(bundles.begin(), bundles.end());
  EXPECT_EQ(page, results_page(bundles, {}));
  std::rotate(bundles.begin(), bundles.begin() + 1, bundles.end());
  EXPECT_EQ(page, results_page(bundles, {}));
  for (const BundleReport& bundle : bundles) {
    EXPECT_GT(count(page, "[" + bundle.id + "](reports/community/" + bundle.id + ".json)"), 6u);
  }
  EXPECT_NE(page.find("| machine 3 | 2026-11-20 | unsigned |"), std::string::npos);
  for (const char* word : {"## ethernet-10g, latency", "## ethernet-10g, bandwidth", "95 % CI (us)",
                           "busbw (GB/s)", "| allreduce | 1 MiB | 2 | 2 |", "unsigned"}) {
    EXPECT_NE(page.find(word), std::string::npos) << word;
  }
  // Sorted: within an operation the faster row comes first.
  EXPECT_LT(page.find("| pingpong |"), page.find("## ethernet-10g, bandwidth"));
}

TEST(ResultsPage, TheNewerRowOfTheSameMachineReplacesTheOlder) {
  const std::vector<BundleReport> two = {report_of(by(content(1, "mine", "2026-11-01"), "Ann")),
                                         report_of(by(content(2, "mine", "2026-11-09"), "Ann"))};
  const std::string page = results_page(two, {});
  EXPECT_EQ(count(page, "| pingpong |"), 1u);
  EXPECT_EQ(count(page, two[0].id), 2u);  // only in the list of bundles, text and link
  EXPECT_GT(count(page, two[1].id), 6u);
}

// Whoever types another's name has not signed with their key.
TEST(ResultsPage, AnUnsignedRowNeverReplacesASignedOne) {
  const std::vector<BundleReport> bundles = {
      report_of(by(content(1, "mine", "2026-11-01"), "Ann")),
      report_of(by(content(2, "mine", "2026-11-09"), "Ann")),
      report_of(by(content(3, "mine", "2026-11-10"), "Ann")),
      report_of(by(content(4, "mine", "2026-11-11"), "Ann"))};
  PageOptions options;
  options.signers[bundles[0].id] = "signer ann";
  options.signers[bundles[2].id] = "key SHA256:one";
  options.signers[bundles[3].id] = "key SHA256:two";
  EXPECT_EQ(count(results_page(bundles, options), "| pingpong |"), 4u);
  options.signers[bundles[3].id] = "signer ann";  // her own newer one does
  const std::string page = results_page(bundles, options);
  EXPECT_EQ(count(page, "| pingpong |"), 3u);
  EXPECT_EQ(count(page, bundles[0].id), 2u);
}

TEST(ResultsPage, NobodyReplacesNobody) {
  const std::vector<BundleReport> bundles = {report_of(content(1, "mine", "2026-11-01")),
                                             report_of(content(2, "mine", "2026-11-09"))};
  EXPECT_EQ(count(results_page(bundles, {}), "| pingpong |"), 2u);
}

TEST(ResultsPage, AKindsOwnSpeedIsNoOtherClass) {
  const BundleReport plain = report_of(content(1, "m"));
  json same = content(2, "m2");
  same["statement"]["link_speed_bps"] = 10'000'000'000;
  const BundleReport stated = report_of(same);
  EXPECT_EQ(class_of(plain, plain.rows[0]), class_of(stated, stated.rows[0]));
  EXPECT_EQ(count(results_page({plain, stated}, {}), "## ethernet-10g, latency"), 1u);
  json local = content(3, "m3");
  local["statement"]["link_kind"] = "loopback";
  for (json& host : local["environment"]["hosts"]) host["machine"] = "machine1";
  const BundleReport loopback = report_of(local);
  local["statement"]["link_speed_bps"] = 1;  // of no cable
  const BundleReport odd = report_of(local);
  ASSERT_TRUE(loopback.sound() && odd.sound());
  EXPECT_EQ(class_of(loopback, loopback.rows[0]), class_of(odd, odd.rows[0]));
}

TEST(ResultsPage, PercentilesOnlyFromTenRowsOfAClass) {
  const auto page_of = [](uint64_t bundles) {
    std::vector<BundleReport> all;
    for (uint64_t seed = 1; seed <= bundles; ++seed) {
      all.push_back(report_of(content(seed, "machine " + std::to_string(seed))));
    }
    return results_page(all, {});
  };
  const auto percentiles = [](const std::string& page) {
    std::vector<std::string> out;
    for (size_t at = page.find("| pingpong |"); at != std::string::npos;
         at = page.find("| pingpong |", at + 1)) {
      std::vector<std::string> cells;
      const std::string line = page.substr(at, page.find('\n', at) - at);
      for (size_t from = 0; from < line.size();) {
        const size_t end = std::min(line.find(" | ", from), line.size());
        cells.push_back(line.substr(from, end - from));
        from = end + 3;
      }
      out.push_back(cells.at(9));
    }
    return out;
  };
  EXPECT_EQ(percentiles(page_of(9)), std::vector<std::string>(9, "n/a"));
  const auto ten = percentiles(page_of(10));
  ASSERT_EQ(ten.size(), 10u);
  EXPECT_EQ(ten.front(), "100");  // all others are slower
  EXPECT_EQ(ten.back(), "0");
  for (size_t i = 1; i < ten.size(); ++i) EXPECT_GE(std::stoi(ten[i - 1]), std::stoi(ten[i]));
}

TEST(ResultsPage, OtherLinksAndOptionsAreOtherClasses) {
  const BundleReport plain = report_of(content(1, "m"));
  const auto key = [&](const char* pointer, const json& value) {
    json other = content(1, "m");
    other[json::json_pointer(pointer)] = value;
    const BundleReport report = report_of(other);
    return class_of(report, report.rows[0]);
  };
  const std::string same = class_of(plain, plain.rows[0]);
  EXPECT_EQ(key("/statement/cable", "another"), same);
  EXPECT_EQ(key("/rows/0/cell/repeat", 3), same);
  EXPECT_NE(key("/statement/link_kind", "thunderbolt4"), same);
  EXPECT_NE(key("/statement/link_speed_bps", 9'000'000'000), same);
  EXPECT_NE(key("/environment/options", {{"spin_us", "7"}}), same);
  EXPECT_NE(key("/rows/0/resolved/transport", "rdma"), same);
  EXPECT_NE(key("/rows/0/cell/sync", "window"), same);
}

// Names that the schema lets through, and those that it would refuse, if it ever did not.
TEST(ResultsPage, NamesBecomeNeitherMarkupNorLinks) {
  json c = content(1, "a");
  BundleReport report = report_of(c);
  json document = *report.document;
  json& s = document["content"]["statement"];
  s["hardware"] = {"<script>alert(1)</script>", "x | y | z", "**bold** _it_ `code`"};
  s["submitter"] = "me@example.org www.example.org https://example.org";
  s["cable"] = "[click](javascript:alert) ![img](x)";
  s["notes"] = "line\nbreak \x1b[31m &lt;b&gt; # head";
  report.document = std::make_shared<const json>(document);
  const std::string page = results_page({report}, {});
  for (const char* never : {"<script", "[click](", "![img", "me@example", "https://example",
                            "www.e", "\x1b", "line\nbreak", "&lt;b&gt;"}) {
    EXPECT_EQ(page.find(never), std::string::npos) << never;
  }
  EXPECT_EQ(count(page, "!["), 1u);  // the page's own picture
  const size_t at = page.find("## Bundles");
  const std::string row = page.substr(page.rfind('\n', page.size() - 2) + 1);
  ASSERT_NE(at, std::string::npos);
  size_t bars = 0;
  for (size_t i = 0; i < row.size(); ++i) bars += row[i] == '|' && (i == 0 || row[i - 1] != '\\');
  EXPECT_EQ(bars, 10u) << row;
}

TEST(ResultsPage, MarksAndSignaturesStandInTheRow) {
  BundleReport report = report_of(content(1, "m"));
  report.rows[0].marks = {"scaled"};
  PageOptions options;
  options.signatures[report.id] = "signed by ann <x>";
  const std::string page = results_page({report}, options);
  EXPECT_NE(page.find("signed by ann &lt;x&gt;, scaled"), std::string::npos);
}

}  // namespace
}  // namespace plumbline
