// Changing any one value of a bundle makes verify fail and name it; sealing it anew makes verify
// fail wherever the value follows from others.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "reports/publish/bundle.h"
#include "reports/publish/bundle_derive.h"
#include "reports/publish/bundle_verify.h"
#include "reports/publish/bundle_words.h"
#include "tests/reports/bundle_samples.h"

namespace plumbline {
namespace {

using nlohmann::json;

// "/content/rows/0/hist/n" -> "content.rows[0].hist.n"
std::string path_of(const std::string& pointer) {
  std::string out;
  for (size_t at = 1; at <= pointer.size();) {
    const size_t end = std::min(pointer.find('/', at), pointer.size());
    const std::string part = pointer.substr(at, end - at);
    const bool index = part.find_first_not_of("0123456789") == std::string::npos;
    out += index ? "[" + part + "]" : out.empty() ? part : "." + part;
    at = end + 1;
  }
  return out;
}

// The ways in which a hand changes a value.
std::vector<json> changes(const json& value) {
  if (value.is_boolean()) return {!value.get<bool>()};
  if (value.is_null()) return {1};
  if (value.is_structured()) return {};
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (text.empty()) return {"x"};
    std::string last = text;  // the last digit or letter
    last.back() = last.back() == '7' ? '8' : '7';
    return {last, text + "1"};
  }
  const auto number = value.get<int64_t>();
  const int64_t digit = number % 10 == 9 ? number - 1 : number + 1;
  std::vector<json> out = {number + 1, digit, number * 10};
  if (number != 0) out.insert(out.end(), {-number, number - 1, number / 10});
  return out;
}

// One leaf of each kind and some in the middle of lists: of equal ones (buckets) every 37th.
std::vector<std::string> leaves(const json& document) {
  std::vector<std::string> out;
  size_t buckets = 0, all = 0;
  const json flat = document.flatten();
  for (const auto& item : flat.items()) {
    const bool bucket = item.key().find("/buckets/") != std::string::npos;
    if (bucket && buckets++ % 37 != 0) continue;
    if (all++ % samples::kEvery == 0) out.push_back(item.key());
  }
  return out;
}

// Two rows of six: each change costs a verification.
json small_bundle() {
  json content = samples::bundle()["content"];
  for (const size_t row : {4, 3, 2, 0}) content["rows"].erase(row);
  return json::parse(bundle_text(seal_bundle(content)));
}

std::vector<BundleIssue> problems_of(const json& document) {
  return verify_bundle(bundle_text(document), "").problems;
}

bool names(const std::vector<BundleIssue>& issues, const std::string& path) {
  for (const BundleIssue& issue : issues) {
    if (issue.path == path) return true;
  }
  return false;
}

TEST(BundleTamper, EverySingleValueIsNamed) {
  const json good = small_bundle();
  size_t tried = 0;
  for (const std::string& pointer : leaves(good)) {
    if (pointer == "/signature") continue;  // ssh-keygen's business
    for (const json& value : changes(good[json::json_pointer(pointer)])) {
      if (value == good[json::json_pointer(pointer)]) continue;
      json other = good;
      other[json::json_pointer(pointer)] = value;
      const auto issues = problems_of(other);
      EXPECT_TRUE(names(issues, path_of(pointer)))
          << pointer << " = " << value << ": "
          << (issues.empty() ? "accepted" : issues[0].path + " " + issues[0].text);
      ++tried;
    }
  }
  EXPECT_GT(tried, 500u / samples::kEvery);
}

// Without the schema's and the arithmetic's help: the locator alone finds the place, and for
// numbers the value that was there.
TEST(BundleTamper, TheLocatorTellsPlaceAndValue) {
  const json good = json::parse(bundle_text(samples::bundle()));
  const json::json_pointer at("/content/environment/hosts/1/memory_bytes");
  json other = good;
  other[at] = good[at].get<uint64_t>() + 1;
  const auto issues = problems_of(other);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].path, "content.environment.hosts[1].memory_bytes");
  EXPECT_EQ(issues[0].text, "is 68719476737 now, was 68719476736 when it was sealed");
}

TEST(BundleTamper, TwoChangesAreSaidToBeSeveral) {
  json other = json::parse(bundle_text(samples::bundle()));
  other["content"]["environment"]["hosts"][0]["memory_bytes"] = 5;
  other["content"]["environment"]["hosts"][1]["memory_bytes"] = 6;
  const auto issues = problems_of(other);
  ASSERT_FALSE(issues.empty());
  EXPECT_EQ(issues[0].path, "content");
  EXPECT_NE(issues[0].text.find("more than one"), std::string::npos);
  other["content"]["environment"]["options"]["spin_us"] = "5";
  other["content"]["environment"]["options"]["mesh"] = "eager";
  EXPECT_NE(problems_of(other)[0].text.find("values, "), std::string::npos);
}

// What follows from nothing else: statements and bare facts. Everything else is caught although the
// attacker has sealed the bundle anew.
bool only_stated(const std::string& path) {
  for (const char* part : {".statement.",     ".scenario.",
                           ".environment.",   ".resolved.",
                           ".cell.engine",    ".cell.transport",
                           ".cell.algorithm", ".cell.dtype",
                           ".cell.redop",     ".cell.placement",
                           ".cell.sync",      ".cell.cache",
                           ".cell.repeat",    ".cell.params",
                           ".cell.kind",      ".cell.root",
                           ".pinned",         ".involuntary_switches",
                           "content.date",    "content.suite_version"}) {
    if (path.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(BundleTamper, SealedAnewWhatIsDerivedStillDoesNotFit) {
  const json good = small_bundle();
  size_t tried = 0;
  for (const std::string& pointer : leaves(good["content"])) {
    const std::string path = "content." + path_of(pointer);
    if (only_stated(path)) continue;
    for (const json& value : changes(good["content"][json::json_pointer(pointer)])) {
      json content = good["content"];
      if (content[json::json_pointer(pointer)] == value) continue;
      content[json::json_pointer(pointer)] = value;
      const auto issues = problems_of(json::parse(bundle_text(seal_bundle(content))));
      EXPECT_FALSE(issues.empty()) << path << " = " << value;
      for (const BundleIssue& issue : issues) EXPECT_NE(issue.kind, "altered") << path;
      ++tried;
    }
  }
  EXPECT_GT(tried, 250u / samples::kEvery);
}

TEST(BundleTamper, SealedAnewTheDerivedValueIsNamedWithBothValues) {
  json content = samples::bundle()["content"];
  const std::string was = content["rows"][0]["derived"]["p50_ns"];
  content["rows"][0]["derived"]["p50_ns"] = "1.0";
  const auto issues = problems_of(seal_bundle(content));
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].kind, "derived");
  EXPECT_EQ(issues[0].path, "content.rows[0].derived.p50_ns");
  EXPECT_EQ(issues[0].text, "is \"1.0\", the histogram gives \"" + was + "\"");
}

// A sample moved to the bucket beside it changes no quantile.
TEST(BundleTamper, SealedAnewEveryBucketIsTiedToItsRow) {
  const json good = samples::bundle()["content"];
  const json& buckets = good["rows"][1]["hist"]["buckets"];
  for (size_t i = 1; i + 1 < buckets.size(); i += 11) {
    json content = good;
    json& bucket = content["rows"][1]["hist"]["buckets"][i][0];
    if (bucket.get<int>() + 1 == buckets[i + 1][0].get<int>()) continue;
    bucket = bucket.get<int>() + 1;
    EXPECT_TRUE(names(problems_of(seal_bundle(content)), "content.rows[1].derived.mid_sum_ns"))
        << i;
  }
}

std::string kind_after(const char* pointer, const json& value) {
  json content = samples::bundle()["content"];
  content[json::json_pointer(pointer)] = value;
  const auto issues = problems_of(seal_bundle(content));
  return issues.empty() ? "accepted" : issues[0].kind;
}

TEST(BundleTrust, WhatIsNotToBeBelievedIsRejected) {
  EXPECT_EQ(kind_after("/rows/0/verified", false), "invalid");
  EXPECT_EQ(kind_after("/rows/0/wrong", 1), "invalid");
  EXPECT_EQ(kind_after("/rows/0/noise/verdict", "noisy"), "noisy");
  EXPECT_EQ(kind_after("/rows/0/noise/verdict", "invalid"), "invalid");
  EXPECT_EQ(kind_after("/rows/0/noise/warmup_converged", false), "noisy");
  EXPECT_EQ(kind_after("/rows/0/noise/involuntary_switches", 3000), "noisy");
  EXPECT_EQ(kind_after("/environment/hosts/0/load1_percent", 900), "noisy");
  EXPECT_EQ(kind_after("/environment/hosts/0/cores_usable", 0), "oversubscribed");
  EXPECT_EQ(kind_after("/environment/hosts/0/cores_usable", nullptr), "oversubscribed");
  EXPECT_EQ(kind_after("/rows/0/cell/kind", "workload"), "schema");
}

std::string kind_of_counts(bool all, const json& verified, const json& operations) {
  json content = samples::bundle()["content"];
  json& row = content["rows"][0];
  row["verified"] = all;
  if (!verified.is_null()) row["verified_operations"] = verified;
  if (!operations.is_null()) row["operations"] = operations;
  const auto issues = problems_of(seal_bundle(content));
  return issues.empty() ? "accepted" : issues[0].kind;
}

// Rows say how many operations were verified; those of versions that did not count are taken as
// ever.
TEST(BundleTrust, TheCountOfVerifiedOperationsMustFit) {
  EXPECT_EQ(kind_of_counts(true, nullptr, nullptr), "accepted");
  EXPECT_EQ(kind_of_counts(true, 900'000, 900'000), "accepted");
  EXPECT_EQ(kind_of_counts(false, 60'000, 900'000), "accepted");
  EXPECT_EQ(kind_of_counts(true, 60'000, 900'000), "invalid") << "not all were";
  EXPECT_EQ(kind_of_counts(false, 900'000, 900'000), "invalid");
  EXPECT_EQ(kind_of_counts(false, 0, 900'000), "invalid") << "nobody checked the data";
  EXPECT_EQ(kind_of_counts(true, 3, 3), "invalid") << "fewer than were timed";
  EXPECT_EQ(kind_of_counts(false, 900'001, 900'000), "invalid");
  EXPECT_EQ(kind_of_counts(true, 900'000, nullptr), "invalid");
  EXPECT_EQ(kind_of_counts(true, nullptr, 900'000), "invalid");
  EXPECT_EQ(kind_of_counts(true, -1, 900'000), "schema");
  EXPECT_EQ(kind_of_counts(true, "all", 900'000), "schema");
}

TEST(BundleTrust, NoiseIsSaidWithItsValueAndItsThreshold) {
  json content = samples::bundle()["content"];
  content["environment"]["hosts"][0]["load1_percent"] = 450;
  content["rows"][0]["noise"]["involuntary_switches"] = 3000;
  std::string all;
  for (const BundleIssue& issue : problems_of(seal_bundle(content))) {
    all += issue.path + " " + issue.text + "\n";
  }
  EXPECT_NE(
      all.find(
          "content.rows[0].rank_hosts load 4.50 of a host is 2.50 more than the 2 ranks, may be 1"),
      std::string::npos)
      << all;
  EXPECT_NE(all.find("content.rows[0].noise.involuntary_switches is 3000 for 2000 operations of 2 "
                     "ranks, may be "
                     "0.05 per"),
            std::string::npos)
      << all;
}

TEST(BundleLink, WhatTheStatedLinkCannotDoIsRejected) {
  EXPECT_EQ(kind_after("/statement/link_kind", "thunderbolt4"), "accepted");
  EXPECT_EQ(kind_after("/statement/link_kind", "ethernet-5g"), "impossible");  // 1 MiB in 1 ms
  EXPECT_EQ(kind_after("/statement/link_kind", "wifi"), "impossible");      // 12 us there and back
  EXPECT_EQ(kind_after("/statement/link_kind", "loopback"), "impossible");  // two machines
  EXPECT_EQ(kind_after("/statement/link_speed_bps", 2'000'000'000), "impossible");
  EXPECT_EQ(kind_after("/statement/link_speed_bps", 20'000'000'000), "impossible");  // 10G has not
  EXPECT_EQ(kind_after("/statement/link_kind", "other"), "schema");  // of which speed?
  EXPECT_EQ(kind_after("/environment/hosts/1/machine", "machine1"),
            "impossible");  // nothing crossed
  EXPECT_EQ(kind_after("/statement/hardware", {"a", "b", "c"}), "schema");
  json content = samples::bundle()["content"];
  content["statement"]["link_kind"] = "ethernet-5g";
  content["statement"]["links_per_host"] = 2;
  EXPECT_TRUE(problems_of(seal_bundle(content)).empty());
}

// The row at `at` with other samples, its derived values made to fit.
json sampled_report(json content, size_t at, const Histogram& hist) {
  json& row = content["rows"][at];
  row["hist"] = hist;
  row["derived"] = derive_row(row["cell"].get<Cell>(), hist);
  return content;
}

BundleReport tampered_report(const json& content) {
  return verify_bundle(bundle_text(seal_bundle(content)), "");
}

Histogram around(int64_t ns) {
  Histogram hist;
  for (int64_t i = 0; i < 40; ++i) hist.add(ns + i * i % 37 * ns / 400);
  return hist;
}

// A root that runs ahead hides the link, but never the memory that the bytes are in.
TEST(BundleLink, RootedRowsCannotBeFasterThanMemory) {
  const json base = samples::bundle()["content"];
  ASSERT_EQ(base["rows"][4]["cell"]["op"], "broadcast");  // of 1 MiB
  for (const char* kind : {"ethernet-100g", "thunderbolt5", "wifi"}) {
    for (const int64_t ns : {0, 49, 1000}) {
      json content = sampled_report(base, 4, around(ns));
      for (const size_t other : {5, 3, 2, 1, 0}) content["rows"].erase(other);
      content["statement"]["link_kind"] = kind;
      const BundleReport report = tampered_report(content);
      bool said = false;
      for (const BundleIssue& issue : report.problems) {
        said = said ||
               (issue.kind == "impossible" && issue.path == "content.rows[0].derived.busbw_Bps");
      }
      EXPECT_TRUE(said) << kind << ns;
    }
  }
}

TEST(BundleLink, NoTimeAtAllIsNoMeasurement) {
  json base = samples::bundle()["content"];
  base["rows"][4]["cell"]["bytes"] = base["rows"][4]["cell"]["count"] = 0;
  const BundleReport report = tampered_report(sampled_report(base, 4, around(0)));
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].path, "content.rows[4].hist.min");
  EXPECT_TRUE(tampered_report(sampled_report(base, 4, around(20))).sound());
  EXPECT_FALSE(tampered_report(sampled_report(base, 4, around(19))).sound());
}

// 1 MiB in 0.7 ms on 10 Gbit/s is 120 % of the link: a late start may be the reason, or not.
TEST(BundleLink, RowsAboveTheLinkAreFlagged) {
  const json base = samples::bundle()["content"];
  const BundleReport fast = tampered_report(sampled_report(base, 4, around(700'000)));
  EXPECT_TRUE(fast.sound());
  ASSERT_EQ(fast.flags.size(), 1u);
  EXPECT_EQ(fast.flags[0].kind, "fast");
  EXPECT_EQ(fast.rows[4].marks, std::vector<std::string>{"fast"});
  EXPECT_TRUE(tampered_report(sampled_report(base, 4, around(840'000))).flags.empty());
  EXPECT_FALSE(tampered_report(sampled_report(base, 4, around(580'000))).sound());
}

TEST(BundleTrust, UsableCoresAreAmongThoseOnline) {
  EXPECT_EQ(kind_after("/environment/hosts/0/cores_usable", 9), "impossible");
  EXPECT_EQ(kind_after("/environment/hosts/0/cores_usable", 8), "accepted");
  EXPECT_EQ(kind_after("/environment/hosts/0/cores_online", nullptr), "accepted");
}

TEST(BundleTrust, AddressesPathsAndOddOptionsAreNotAccepted) {
  for (const char* kernel : {"Linux of 10.0.0.1", "Linux /srv/x", "Linux aa:bb:cc:dd:ee:ff"}) {
    EXPECT_EQ(kind_after("/environment/hosts/0/kernel", kernel), "private") << kernel;
  }
  EXPECT_EQ(kind_after("/statement/notes", "see fe80::1"), "private");
  EXPECT_EQ(kind_after("/statement/hardware", {"box at 10.0.0.1"}), "private");
  EXPECT_EQ(kind_after("/rows/0/resolved/kernel", "10.0.0.1"), "private");
  EXPECT_EQ(kind_after("/rows/0/cell/params", {{"chunk_bytes", "banana"}}), "schema");
  EXPECT_EQ(kind_after("/rows/0/cell/params", {{"chunk_bytes", "524288"}}), "schema");  // 512Ki
  EXPECT_EQ(kind_after("/environment/options", {{"transport", "secret.host"}}), "schema");
}

TEST(BundleDates, OnlyDaysOfTheCalendar) {
  for (const char* date : {"2026-19-01", "2026-11-39", "2026-00-10", "2026-02-30", "2025-02-29",
                           "2026-04-31", "2026-11-00"}) {
    EXPECT_EQ(kind_after("/date", date), "schema") << date;
    EXPECT_FALSE(day_number(date)) << date;
  }
  EXPECT_EQ(kind_after("/date", "2024-02-29"), "accepted");
  EXPECT_EQ(day_number("1970-01-01"), 0);
  EXPECT_EQ(day_number("2000-03-01"), 11017);
  EXPECT_EQ(day_number("2026-11-22"), 20779);
}

TEST(BundleForm, ASignatureHasOneFormOnly) {
  json document = samples::bundle();
  const std::string begin = "-----BEGIN SSH SIGNATURE-----\n",
                    end = "-----END SSH SIGNATURE-----\n";
  const std::string line(70, 'A');
  const auto problem = [&](const json& signature) {
    document["signature"] = signature;
    const auto issues = problems_of(document);
    return issues.empty() ? std::string("accepted") : issues[0].kind + " " + issues[0].path;
  };
  EXPECT_EQ(problem(nullptr), "accepted");
  EXPECT_EQ(problem(begin + line + "\nAA==\n" + end), "form signature");  // 72 + 2 digits
  EXPECT_EQ(problem(begin + line + "\nAAAAAA\n" + end), "accepted");
  EXPECT_EQ(problem(begin + line + "\nAAAAA=\n" + end), "accepted");
  for (const std::string& other :
       {std::string(), begin + line + "\nAAAAAB=\n" + end, begin + "AA\n" + line + "AAAA\n" + end,
        begin + line + "AAAAAA\n" + end, begin + line + "\nAAAAAA\n" + end + "\n",
        begin + line + "\nAAAAAA\n" + end + "more", "x" + begin + line + "\nAAAAAA\n" + end,
        begin + end, begin + line + "\nAAAA=A\n" + end, begin + line + "\nAAAAB=\n" + end}) {
    EXPECT_EQ(problem(other), "form signature") << other;
  }
}

// Several ranks share a host, and what they tell each other there does not cross the link.
TEST(BundleLink, OnlyWhatCrossesBetweenHostsIsHeldAgainstTheLink) {
  const auto kinds = [](const std::vector<std::string>& rank_hosts, const char* op) {
    json content = samples::bundle()["content"];
    const json first = content["environment"]["hosts"][0];
    for (int i = 3; i <= 4; ++i) {
      json host = first;
      host["name"] = "host" + std::to_string(i);
      host["machine"] = "machine" + std::to_string(i);
      content["environment"]["hosts"].push_back(host);
    }
    json& row = content["rows"][3];  // 1 MiB in 1 ms
    row["cell"]["op"] = op;
    row["cell"]["ranks"] = rank_hosts.size();
    row["rank_hosts"] = rank_hosts;
    if (std::string(op) != "allreduce") row["cell"]["redop"] = "none";
    row["derived"] = derive_row(row["cell"].get<Cell>(), histogram_from(row["hist"]));
    std::string out;
    for (const BundleIssue& issue : problems_of(seal_bundle(content))) out += issue.kind + " ";
    return out;
  };
  EXPECT_EQ(kinds({"host1", "host1", "host2", "host2"}, "allreduce"), "");
  EXPECT_EQ(kinds({"host1", "host2", "host3", "host4"}, "allreduce"), "impossible ");
  EXPECT_EQ(kinds({"host1", "host2", "host2", "host1"}, "pingpong"), "impossible ");
  EXPECT_EQ(kinds({"host1", "host1", "host2", "host2"}, "pingpong"), "");  // within host1
  EXPECT_EQ(kinds({"host1", "host1"}, "allreduce"), "impossible ");
  EXPECT_EQ(kinds({"host1", "host9"}, "allreduce"), "schema ");
}

}  // namespace
}  // namespace plumbline
