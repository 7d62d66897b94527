// Samples that were made, not measured.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/op.h"
#include "reports/links/link_kinds.h"
#include "reports/publish/bundle.h"
#include "reports/publish/bundle_derive.h"
#include "reports/publish/bundle_verify.h"
#include "tests/reports/bundle_samples.h"

namespace plumbline {
namespace {

using nlohmann::json;

// Row `at` with other samples, its derived values made to fit, sealed.
json with_samples(json content, size_t at, const std::vector<int64_t>& samples) {
  Histogram h;
  for (const int64_t ns : samples) h.add(ns);
  json& row = content["rows"][at];
  row["hist"] = h;
  row["derived"] = derive_row(row["cell"].get<Cell>(), h);
  return content;
}

BundleReport report_of(const json& content) {
  return verify_bundle(bundle_text(seal_bundle(content)), "");
}

std::string kinds_of(const std::vector<BundleIssue>& issues) {
  std::string out;
  for (const BundleIssue& issue : issues) out += issue.kind + " " + issue.path + "\n";
  return out;
}

std::vector<int64_t> changed(std::vector<int64_t> samples, double factor, int64_t plus) {
  for (int64_t& ns : samples) ns = static_cast<int64_t>(static_cast<double>(ns) * factor) + plus;
  return samples;
}

TEST(BundleRegular, MeasuredRowsAreNotFlagged) {
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const BundleReport report = report_of(samples::bundle(seed)["content"]);
    EXPECT_EQ(kinds_of(report.problems) + kinds_of(report.flags), "") << seed;
  }
}

TEST(BundleRegular, ScaledAndShiftedCopiesAreFlaggedInBothRows) {
  const auto original = samples::times(9, 1500, 90'000);
  const json base = with_samples(samples::bundle()["content"], 1, original);
  for (const double factor : {0.5, 0.93, 1.07, 2.0, 3.3}) {
    const BundleReport report = report_of(with_samples(base, 0, changed(original, factor, 0)));
    EXPECT_EQ(kinds_of(report.problems), "") << factor;
    EXPECT_EQ(kinds_of(report.flags), "scaled content.rows[0].hist\nscaled content.rows[1].hist\n")
        << factor;
    ASSERT_EQ(report.rows[0].marks.size(), 1u);
    EXPECT_EQ(report.rows[0].marks[0], "scaled");
  }
  const BundleReport shifted = report_of(with_samples(base, 0, changed(original, 1, 7'000)));
  EXPECT_EQ(kinds_of(shifted.flags), "scaled content.rows[0].hist\nscaled content.rows[1].hist\n");
}

TEST(BundleRegular, TheSameSamplesTwiceAreRejected) {
  const auto original = samples::times(9, 1500, 90'000);
  const json base = with_samples(samples::bundle()["content"], 1, original);
  EXPECT_EQ(kinds_of(report_of(with_samples(base, 0, original)).problems),
            "repeated content.rows[0].hist\nrepeated content.rows[1].hist\n");
  json twice = samples::bundle()["content"];
  twice["rows"][2] = twice["rows"][1];
  EXPECT_NE(kinds_of(report_of(twice).problems).find("repeated content.rows[2].cell"),
            std::string::npos);
}

TEST(BundleRegular, TooFewTooEvenAndRepeatedSamplesAreFlagged) {
  const json base = samples::bundle()["content"];
  const auto flags = [&](const std::vector<int64_t>& samples) {
    const BundleReport report = report_of(with_samples(base, 0, samples));
    EXPECT_EQ(kinds_of(report.problems), "");
    return kinds_of(report.flags);
  };
  const std::string flagged = "regular content.rows[0].hist\n";
  EXPECT_EQ(flags(std::vector<int64_t>(500, 12'000)), flagged);
  std::vector<int64_t> even, repeated = samples::times(4, 400, 12'000);
  for (int i = 0; i < 50; ++i) even.push_back(12'800 + 64 * i);
  EXPECT_EQ(flags(even), flagged);
  const auto once = repeated;
  repeated.insert(repeated.end(), once.begin(), once.end());
  EXPECT_EQ(flags(repeated), flagged);
}

TEST(BundleRegular, BundlesAreComparedWithEachOther) {
  std::vector<BundleReport> same = {report_of(samples::bundle(1)["content"]),
                                    report_of(samples::bundle(2)["content"])};
  compare_bundles(same);
  EXPECT_TRUE(same[0].sound() && same[1].sound());
  json stolen = samples::bundle(1)["content"];
  stolen["statement"]["hardware"] = {"something better"};
  std::vector<BundleReport> two = {report_of(samples::bundle(1)["content"]), report_of(stolen)};
  compare_bundles(two);
  EXPECT_FALSE(two[0].sound());
  EXPECT_FALSE(two[1].sound());
  EXPECT_NE(two[1].problems[0].text.find(two[0].id), std::string::npos) << two[1].problems[0].text;
  json faster = samples::bundle(1)["content"];
  std::vector<int64_t> samples = samples::times(1, 2000, 12'000);
  faster = with_samples(faster, 0, changed(samples, 0.9, 0));
  for (size_t i = faster["rows"].size(); i-- > 1;) faster["rows"].erase(i);
  std::vector<BundleReport> scaled = {report_of(samples::bundle(1)["content"]), report_of(faster)};
  compare_bundles(scaled);
  EXPECT_EQ(kinds_of(scaled[1].problems), "");
  EXPECT_EQ(kinds_of(scaled[1].flags), "scaled content.rows[0].hist\n");
}

std::vector<int64_t> without(std::vector<int64_t> samples, size_t every) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (i % every != every - 1) out.push_back(samples[i]);
  }
  return out;
}

json only_row(const std::vector<int64_t>& samples) {
  json content = with_samples(samples::bundle()["content"], 0, samples);
  while (content["rows"].size() > 1) content["rows"].erase(1);
  content["rows"][0]["noise"]["involuntary_switches"] = 0;
  return content;
}

bool repeated(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  json other = only_row(b);
  other["statement"]["hardware"] = {"another"};
  std::vector<BundleReport> two = {report_of(only_row(a)), report_of(other)};
  EXPECT_TRUE(two[0].sound() && two[1].sound());
  compare_bundles(two);
  EXPECT_EQ(two[0].sound(), two[1].sound());
  return !two[1].sound();
}

// One sample less is the same run.
TEST(BundleRegular, ACopyWithSomeSamplesLessIsRejected) {
  for (const int n : {60, 300, 3000, 30'000}) {
    const auto samples = samples::times(77, n, 90'000);
    EXPECT_TRUE(repeated(samples, without(samples, static_cast<size_t>(n)))) << n;
    auto changed = samples;
    changed.back() += 1;
    *std::max_element(changed.begin(), changed.end()) += 1;
    EXPECT_TRUE(repeated(samples, changed)) << n;
  }
  const auto samples = samples::times(77, 3000, 90'000);
  EXPECT_TRUE(repeated(samples, without(samples, 200)));
}

TEST(BundleRegular, TheSameRunTwiceIsRejectedHoweverShort) {
  for (const int n : {3, 4, 9, 20, 29}) {
    const auto samples = samples::times(5, n, 930'000);
    EXPECT_TRUE(repeated(samples, samples)) << n;
    EXPECT_FALSE(repeated(samples, samples::times(6, n, 930'000))) << n;
  }
  EXPECT_FALSE(repeated({930'000}, {930'000}));  // chance enough
}

// Independent rows of one distribution, in ns and with a clock that ticks every 42 ns.
TEST(BundleRegular, TwoRunsOfOneMachineAreNotTheSame) {
  for (const int64_t tick : {1, 42}) {
    for (const int n : {30, 100, 2000}) {
      for (uint64_t seed = 1; seed <= 4; ++seed) {
        auto a = samples::times(seed, n, 12'000), b = samples::times(seed + 100, n, 12'000);
        for (auto* list : {&a, &b}) {
          for (int64_t& ns : *list) ns = ns / tick * tick;
        }
        EXPECT_FALSE(repeated(a, b)) << n << " " << seed << " " << tick;
      }
    }
  }
}

// A list of all pairs of 1000 equal rows took 800 MB.
TEST(BundleRegular, ManyEqualRowsMakeAShortList) {
  json content = samples::bundle()["content"];
  const json row = content["rows"][1];
  content["rows"] = json::array();
  for (int i = 0; i < 100; ++i) {
    content["rows"].push_back(row);
    content["rows"].back()["cell"]["repeat"] = i;
  }
  const BundleReport report = report_of(content);
  EXPECT_EQ(report.problems.size(), 100u);
  EXPECT_TRUE(report.flags.empty());
  for (const BundleRow& typed : report.rows) EXPECT_EQ(typed.marks.size(), 1u);
}

TEST(LinkKinds, TheTableIsSound) {
  for (const LinkKindRow& row : link_kind_table()) {
    EXPECT_EQ(find_link_kind(row.name), &row);
    EXPECT_GT(std::string(row.source).size(), 5u);
    EXPECT_GE(row.min_one_way_ns, 20u);
    EXPECT_EQ(row.rate_bps == 0, std::string(row.name) == "other");
  }
  EXPECT_EQ(find_link_kind("ethernet-10g")->min_one_way_ns, 257u);
  EXPECT_EQ(find_link_kind("none"), nullptr);
}

TEST(LinkKinds, CrossingsByOperation) {
  EXPECT_EQ(crossings_of("pingpong", "barrier"), 2);
  EXPECT_EQ(crossings_of("allreduce", "none"), 1);
  EXPECT_EQ(crossings_of("broadcast", "barrier"), 0);
  EXPECT_EQ(crossings_of("broadcast", "window"), 1);
  EXPECT_EQ(crossings_of("nonsense", "barrier"), 0);
}

}  // namespace
}  // namespace plumbline
