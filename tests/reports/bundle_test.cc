// The bundle's form, its seal, its schema and its derived values.
// clang-format off: valijson converts integers, so the checked conversions come first
#include "core/json.h"
// clang-format on

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "core/op.h"
#include "core/stats/stats.h"
#include "reports/publish/bundle.h"
#include "reports/publish/bundle_derive.h"
#include "reports/publish/bundle_verify.h"
#include "reports/publish/bundle_words.h"
#include "tests/reports/bundle_samples.h"
#include "tests/reports/exchange_samples.h"
#include "tests/support/golden.h"
#include "tests/support/places.h"

namespace plumbline {
namespace {

using nlohmann::json;

std::string why_not(const std::string& text) {
  const auto parsed = parse_bundle(text);
  return parsed ? "" : parsed.error().what;
}

TEST(Bundle, HostileBytesAreRefusedWithAReason) {
  EXPECT_NE(why_not(R"({"a":1,"a":2})").find("twice"), std::string::npos);
  EXPECT_NE(why_not(R"({"a":{"b":[{"c":1,"\u0063":2}]}})").find("twice"), std::string::npos);
  EXPECT_NE(why_not(std::string(100'000, '[')).find("deeper"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 50'000; ++i) deep += "{\"a\":";
  EXPECT_NE(why_not(deep).find("deeper"), std::string::npos);
  EXPECT_NE(why_not(std::string(kBundleMaxBytes + 1, ' ')).find("bytes"), std::string::npos);
  for (const char* text : {"", "{", "NaN", R"({"a":NaN})", R"({"a":Infinity})", R"({"a":1e999})",
                           "{\"a\":\"\xff\"}", "{\"a\":\"\xed\xa0\x80\"}", "[]", "1", "null",
                           "{} {}", "{\"a\":01}", "\xef\xbb\xbf", "{\"a\":\"\n\"}"}) {
    EXPECT_FALSE(why_not(text).empty()) << text;
  }
  EXPECT_EQ(why_not("{}"), "");
}

// What the queue pairs were belongs to the result; where a library lies and what a device is called
// belongs to its host.
TEST(Bundle, ARunOverRdmaIsPublishedAndVerifies) {
  std::vector<Record> run = samples::seeded_run();
  for (Record& record : run) {
    record.cell.transport = record.measurement.resolved.transport = "rdma";
    record.environment.options["transport"] = {"rdma", "flag"};
    record.environment.options["rdma_qp"] = {"uc", "flag"};
    record.environment.options["rdma_frame_bytes"] = {"64Ki", "flag"};
    record.environment.options["rdma_gid_index"] = {"1", "flag"};
    record.environment.options["rdma_device"] = {"rdma_annette0", "flag"};
    record.environment.options["rdma_library"] = {"/opt/annette/librdma.so", "flag"};
  }
  Redactor redactor;
  const auto built = build_bundle(run, samples::statement(), {"submit"}, redactor);
  ASSERT_TRUE(built) << built.error().message();
  const std::string text = bundle_text(*built->document);
  EXPECT_TRUE(verify_bundle(text, "").sound());
  EXPECT_EQ(text.find("annette"), std::string::npos);
  const json& content = (*built->document)["content"];
  const json& options = content["environment"]["options"];
  EXPECT_EQ(options["rdma_qp"], "uc");
  EXPECT_EQ(options["rdma_frame_bytes"], "64Ki");
  EXPECT_EQ(options["rdma_gid_index"], "1");
  ASSERT_FALSE(content["rows"].empty());
  for (const json& row : content["rows"]) EXPECT_EQ(row["resolved"]["transport"], "rdma");
}

// No exception and no crash, and never accepted, whatever stands there.
TEST(Bundle, TruncatedAndMutatedFilesAreRejected) {
  const std::string text = bundle_text(samples::bundle());
  for (size_t length = 0; length < text.size(); length += 997) {
    EXPECT_FALSE(verify_bundle(text.substr(0, length), "").sound()) << length;
  }
  std::mt19937 random(5);
  for (int i = 0; i < 60; ++i) {
    std::string other = text;
    const size_t at = random() % other.size();
    other[at] = static_cast<char>(other[at] ^ (1 + random() % 255));
    EXPECT_FALSE(verify_bundle(other, "").sound()) << at;
  }
}

TEST(Bundle, HasOneFormOnly) {
  const json document = samples::bundle();
  const std::string text = bundle_text(document);
  EXPECT_TRUE(verify_bundle(text, "").sound());
  for (const std::string& other : {document.dump(), text + "\n", text.substr(0, text.size() - 1)}) {
    const BundleReport report = verify_bundle(other, "");
    ASSERT_EQ(report.problems.size(), 1u);
    EXPECT_EQ(report.problems[0].kind, "form");
  }
  EXPECT_EQ(bundle_text(json::parse(text)), text);
}

TEST(Bundle, TheFileIsCalledAsItsId) {
  const json document = samples::bundle();
  const std::string text = bundle_text(document), id = document["id"];
  EXPECT_TRUE(verify_bundle(text, "some/where/" + id + ".json").sound());
  const BundleReport report = verify_bundle(text, "0123456789abcdef.json");
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].path, "id");
  EXPECT_NE(report.problems[0].text.find("0123456789abcdef"), std::string::npos);
}

TEST(BundleSchema, IsPublished) {
  EXPECT_TRUE(equals_golden(bundle_schema_json(), "../../docs/bundle.schema.json"));
}

// The full validator and our own walk agree on what is wrong, one change at a time.
TEST(BundleSchema, AFullValidatorSaysTheSame) {
  valijson::Schema schema;
  const json published = json::parse(bundle_schema_json());
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(published),
                                          schema);
  valijson::Validator validator(
      valijson::Validator::kStrongTypes);  // one: it keeps what it compiles
  const auto accepts = [&](const json& document) {
    return validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
  };
  json content = samples::bundle()["content"];  // as little as has every kind of field
  for (const size_t row : {4, 3, 2, 1}) content["rows"].erase(row);
  const json good = json::parse(bundle_text(seal_bundle(content)));
  valijson::ValidationResults results;
  EXPECT_TRUE(validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(good), &results));
  for (const auto& error : results) {
    ADD_FAILURE() << testing::PrintToString(error.context) << error.description;
  }
  EXPECT_TRUE(schema_issues(good).empty());
  size_t refused = 0;
  const json flat = good.flatten();
  std::set<std::string> kinds;  // one of each kind of place
  for (const auto& item : flat.items()) {
    std::string kind;
    for (const char c : item.key()) kind += std::isdigit(static_cast<unsigned char>(c)) ? '0' : c;
    if (!kinds.insert(kind).second || kinds.size() % samples::kEvery != 0) continue;
    const json::json_pointer at(item.key());
    for (const json& value :
         {json(-1), json(1.5), json("x<y"), json(nullptr), json::object(), json::array(),
          json(std::string(3000, 'a')), json(true), json(INT64_MAX), json("host1")}) {
      json other = good;
      other[at] = value;
      const bool accepted = schema_issues(other).empty();
      EXPECT_EQ(accepted, accepts(other)) << item.key() << " = " << value;
      refused += accepted ? 0 : 1;
    }
  }
  EXPECT_GT(kinds.size(), 70u);
  EXPECT_GT(refused, 500u / samples::kEvery);
}

TEST(BundleSchema, UnknownMissingAndInvisibleAreNamed) {
  const json good = json::parse(bundle_text(samples::bundle()));
  const auto first = [&](json document) {
    const auto issues = schema_issues(document);
    return issues.empty() ? std::string() : issues[0].path + ": " + issues[0].text;
  };
  json other = good;
  other["content"]["statement"]["cabel"] = "x";
  EXPECT_EQ(first(other), "content.statement.cabel: is not a key of a bundle; did you mean cable?");
  other = good;
  other["content"]["environment"]["options"]["ifname"] = "x";
  EXPECT_NE(first(other).find("content.environment.options.ifname"), std::string::npos);
  other = good;
  other["content"]["rows"][2]["hist"].erase("sum");
  EXPECT_EQ(first(other), "content.rows[2].hist.sum: is missing");
  for (const char* text :
       {"a\u202eb", "a\u200bb", "see www.example", "WwW.x", "MAILTO:x", "x://y", "a\u2066",
        "a\u3164", "a\U000e0041", "a\u180e", "a\u2063", "a\ufe0f", "a\u2800"}) {
    other = good;
    other["content"]["statement"]["notes"] = text;
    EXPECT_NE(first(other).find("content.statement.notes: holds"), std::string::npos) << text;
  }
}

TEST(BundleDerive, AgreesWithTheStatistics) {
  std::mt19937_64 random(3);
  for (const int n : {1, 2, 5, 6, 7, 10, 99, 100, 199, 200, 999, 1000, 9999, 10000, 12345}) {
    Histogram h;
    for (const int64_t ns :
         samples::times(random(), n, 1 + static_cast<int64_t>(random() % 90'000)))
      h.add(ns);
    Cell cell;
    cell.op = "allreduce";
    cell.ranks = 3;
    cell.bytes = 1 << 20;
    const json d = derive_row(cell, h);
    const TimeSummary time = summarize(h);
    const auto close = [&](const json& text, double value) {
      EXPECT_NEAR(std::stod(text.get<std::string>()), value, 1e-6 * value + 1e-9) << n;
    };
    const auto same = [&](const char* name, const std::optional<double>& value) {
      EXPECT_EQ(d[name].is_null(), !value) << name << " " << n;
      if (!value || d[name].is_null()) return;
      EXPECT_EQ(d[name].get<double>(), *value) << name << " " << n;
    };
    close(d["p50_ns"], *time.p50);
    close(d["mad_ns"], *time.mad);
    close(d["mean_ns"], static_cast<double>(h.sum()) / n);
    same("p90_ns", time.p90);
    same("p95_ns", time.p95);
    same("p99_ns", time.p99);
    same("p999_ns", time.p999);
    same("min_ns", time.min);
    same("max_ns", time.max);
    EXPECT_EQ(d["p50_ci95_ns"].is_null(), !time.p50_ci95) << n;
    if (time.p50_ci95) {
      EXPECT_EQ(d["p50_ci95_ns"][0].get<double>(), time.p50_ci95->first) << n;
      EXPECT_EQ(d["p50_ci95_ns"][1].get<double>(), time.p50_ci95->second) << n;
    }
    const double busbw = busbw_Bps(Op::kAllreduce, 3, cell.bytes, *time.p50);
    EXPECT_NEAR(d["busbw_Bps"].get<double>(), busbw, 1 + 1e-9 * busbw);
  }
}

TEST(BundleDerive, TheRanksOfTheIntervalAreThoseOfTheFormula) {
  for (uint64_t n = 6; n <= 1000; ++n) {
    Histogram h;  // value = rank
    for (uint64_t i = 1; i <= n; ++i) h.add(static_cast<int64_t>(i));
    const auto ranks = median_ci_ranks(n);
    const json ci = derive_row(Cell(), h)["p50_ci95_ns"];
    EXPECT_EQ(ci[0].get<uint64_t>(), ranks->first) << n;
    EXPECT_EQ(ci[1].get<uint64_t>(), ranks->second) << n;
  }
}

TEST(BundleDerive, DecimalsAreCutOffNotRounded) {
  EXPECT_EQ(decimal_text(2, 3, 3), "0.666");
  EXPECT_EQ(decimal_text(13, 2, 1), "6.5");
  EXPECT_EQ(decimal_text(static_cast<Wide>(UINT64_MAX) * 1000, 1, 1), "18446744073709551615000.0");
}

TEST(BundleDerive, ImpossibleHistogramsAreNamed) {
  const json good = {
      {"n", 3}, {"min", 10}, {"max", 30}, {"sum", 60}, {"buckets", {{10, 1}, {20, 1}, {30, 1}}}};
  EXPECT_TRUE(histogram_issues(good, "h").empty());
  const auto path = [&](const char* pointer, const json& value) {
    json other = good;
    other[json::json_pointer(pointer)] = value;
    const auto issues = histogram_issues(other, "h");
    return issues.empty() ? std::string() : issues[0].path;
  };
  EXPECT_EQ(path("/n", 4), "h.n");
  EXPECT_EQ(path("/min", 9), "h.min");
  EXPECT_EQ(path("/max", 31), "h.max");
  EXPECT_EQ(path("/sum", 61), "h.sum");
  EXPECT_EQ(path("/sum", 59), "h.sum");
  // Two samples are the least and the most, and nothing between.
  json two = {
      {"n", 2}, {"min", 122880}, {"max", 131071}, {"sum", 253951}, {"buckets", json::array()}};
  two["buckets"] = {{Histogram::bucket_of(122880), 1}, {Histogram::bucket_of(131071), 1}};
  EXPECT_TRUE(histogram_issues(two, "h").empty());
  for (const int more : {60, 1, -1}) {
    json other = two;
    other["sum"] = 253951 + more;
    const auto issues = histogram_issues(other, "h");
    ASSERT_EQ(issues.size(), 1u) << more;
    EXPECT_EQ(issues[0].path, "h.sum");
  }
  json one = {
      {"n", 1}, {"min", 122880}, {"max", 122881}, {"sum", 122880}, {"buckets", json::array()}};
  one["buckets"] = {{Histogram::bucket_of(122880), 1}};
  EXPECT_EQ(histogram_issues(one, "h").at(0).path, "h.max");
  EXPECT_EQ(path("/buckets/1/0", 10), "h.buckets[1][0]");
  EXPECT_EQ(path("/buckets/1/1", 0), "h.buckets[1][1]");
  EXPECT_EQ(path("/buckets/2/0", 1u << 30), "h.buckets[2][0]");
}

// One as it was sealed when records were of version 1.
TEST(Bundle, OfRecordsOfVersionOneVerifies) {
  const std::string path = test::source_dir() + "/tests/reports/bundles/88f66cc3e55fd928.json";
  const BundleReport report = verify_bundle(samples::file_text(path), path);
  EXPECT_TRUE(report.sound()) << report.problems.front().text;
  EXPECT_GT(report.rows.size(), 1u);
}

}  // namespace
}  // namespace plumbline
