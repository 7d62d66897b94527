// Every field that the tables tell is written, read back, described, and told once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "core/encode.h"
#include "core/json.h"
#include "core/record/record.h"
#include "tests/support/record_line.h"
#include "tests/support/references.h"

namespace plumbline {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Where any value of the type will not do.
const std::map<std::string, json>& special_values() {
  static const std::map<std::string, json> kValues = {
      {"schema", kRecordSchema},
      {"outcome", "failed"},
      {"hist", {{"n", 2}, {"min", 3}, {"max", 4}, {"sum", 7}, {"buckets", {3, 1, 1, 1}}}},
      {"samples_ns", pack_samples({3, 4})},
      {"cell.kind", "check"},
      {"cell.ranks", 9},
      {"links[].from", 0},
      {"links[].to", 1},
      {"links[].streams[].bytes", 5},
      {"links[].udp.sent", 100},
      {"environment", json::parse(R"({"hosts":[],"options":{"o":{"value":"v","origin":"p"}},
                                      "command":["c"],"control":"pipes","auth":"token"})")},
  };
  return kValues;
}

json value_of(const FieldRow& row);

json object_below(const std::string& prefix) {
  json object = json::object();
  for (const FieldRow& row : record_fields()) {
    const std::string path = row.path;
    if (!path.starts_with(prefix)) continue;
    const std::string name = path.substr(prefix.size());
    if (name.find_first_of(".[") == std::string::npos)
      object[name == "*" ? "k" : name] = value_of(row);
  }
  return object;
}

// Something else than what stands there when nothing is said.
json value_of(const FieldRow& row) {
  const std::string path = row.path;
  const auto special = special_values().find(path);
  if (special != special_values().end()) return special->second;
  const std::string type = row.type;
  if (type == "string") return "x";
  if (type == "boolean") return true;
  if (type == "integer") return 3;
  if (type == "number") return 1.5;
  if (type == "object") return object_below(path + ".");
  json list = json::array();
  for (const FieldRow& other : record_fields()) {
    if (other.path == path + "[]") list.push_back(value_of(other));
  }
  return list;
}

// What follows from the rest is written, not read.
json without_derived(json record) {
  for (const char* key : {"cell_id", "time_ns", "algbw_Bps", "busbw_Bps", "ideal_wire_bytes"}) {
    EXPECT_EQ(record.erase(key), 1u) << key;
  }
  EXPECT_EQ(record["links"][0]["udp"].erase("lost"), 1u);
  return record;
}

TEST(RecordFields, EveryOneIsWrittenAndReadBack) {
  const json all = object_below("");
  const auto record = record_from_line(all.dump());
  ASSERT_TRUE(record) << record.error().message();
  const json again = json::parse(to_line(*record));
  EXPECT_EQ(without_derived(again), without_derived(all));
}

TEST(RecordFields, WhatIsLeftOutIsReadAsTheTableSays) {
  const json all = object_below("");
  size_t left_out = 0;
  for (const FieldRow& row : record_fields()) {
    const std::string path = row.path;
    if (path.find_first_of(".[") != std::string::npos) continue;
    json without = all;
    without.erase(path);
    const auto record = record_from_line(without.dump());
    const bool derived = path == "cell_id" || path == "time_ns" || path.ends_with("bw_Bps") ||
                         path == "ideal_wire_bytes";
    EXPECT_EQ(record.has_value(), row.optional || derived) << path;
    if (!record) {
      EXPECT_THAT(record.error().what, HasSubstr(path));
      continue;
    }
    if (!row.optional) continue;
    ++left_out;
    const json again = json::parse(to_line(*record));
    EXPECT_FALSE(again.contains(path)) << path;
    // As if it had been written out.
    without[path] = json::parse(row.absent);
    const auto told = record_from_line(without.dump());
    ASSERT_TRUE(told) << path << " " << told.error().message();
    EXPECT_EQ(to_line(*told), to_line(*record)) << path;
  }
  EXPECT_GT(left_out, 10u);
}

TEST(RecordFields, EveryOneIsDescribedOnce) {
  std::set<std::string> paths;
  for (const FieldRow& row : record_fields()) {
    EXPECT_TRUE(paths.insert(row.path).second) << row.path;
    EXPECT_STRNE(row.help, "") << row.path;
    EXPECT_TRUE(json::accept(row.limits)) << row.path;
  }
  EXPECT_TRUE(paths.contains("per_rank[].context_switches"));
  EXPECT_TRUE(paths.contains("links[].streams[].series[]"));
  EXPECT_EQ(environment_line_fields().front().path, std::string("environment"));
}

TEST(PackedSamples, AnyListSurvives) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const std::vector<int64_t>& list :
       {std::vector<int64_t>{}, {0}, {1000, 1010, 990}, {kMax, kMin, 0, kMin, kMax, -1, 1}}) {
    std::vector<int64_t> back = {7};
    EXPECT_TRUE(unpack_samples(pack_samples(list), back));
    EXPECT_EQ(back, list);
  }
  // As docs/record_format.md says: differences 1000, 10, -20 as 2000, 20, 39.
  EXPECT_EQ(pack_samples({1000, 1010, 990}), "0A8UJw==");
}

TEST(PackedSamples, OtherTextIsRefused) {
  std::vector<int64_t> samples;
  for (const char* text : {"x", "gA==", "////////////fw==", "//////////////8B", "AAA", "\x01"}) {
    EXPECT_FALSE(unpack_samples(text, samples)) << text;
  }
}

}  // namespace
}  // namespace plumbline
