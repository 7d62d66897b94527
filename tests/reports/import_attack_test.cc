// Nothing in a foreign file can do worse than be refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/json.h"
#include "tests/reports/import_samples.h"
#include "tests/reports/samples.h"
#include "tests/support/record_line.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using samples::error_of;
using samples::import_of;
using samples::sample_path;
using testing::HasSubstr;

TEST(ImportAttack, EverySampleCutAnywhereIsReadOrRefused) {
  const Assumptions assume = *parse_assumptions({"ranks=4", "unit=Gb/s", "op=reduce"});
  for (const auto& entry : fs::directory_iterator(sample_path(""))) {
    const std::string text = samples::file_text(entry.path().string());
    for (size_t length = 0; length < text.size(); length += 1 + text.size() / 150) {
      const auto out = import_of(text.substr(0, length), assume);
      EXPECT_TRUE(out || !out.error().message().empty());
    }
  }
}

TEST(ImportAttack, WrongTypesEverywhere) {
  const Assumptions assume = *parse_assumptions({"ranks=4", "unit=Gb/s"});
  for (const char* name : {"iperf3_tcp.json", "iperf3_udp.json", "nccl_tests.json", "gbench.json",
                           "perftest_lat.json"}) {
    const std::string text = samples::file_text(sample_path(name));
    const nlohmann::json doc = nlohmann::json::parse(text);
    const nlohmann::json flat = doc.flatten();
    size_t i = 0;
    for (const auto& item : flat.items()) {
      if (++i % (test::kSanitized ? 40 : 5) != 0) continue;  // a fifth of the fields is many
      for (const char* value : {"null", "-1.5e99", "\"\\u0000\"", "[]", "{}", "1e308", "-1", "true",
                                "18446744073709551615", "[[[]]]"}) {
        nlohmann::json changed = doc;
        changed[nlohmann::json::json_pointer(item.key())] = nlohmann::json::parse(value);
        const auto out = import_of(changed.dump(), assume);
        if (!out) continue;
        for (const Record& record : out->records) {
          const auto again = record_from_line(to_line(record));
          EXPECT_TRUE(again) << name << " " << item.key() << " " << value << ": "
                             << again.error().message();
        }
      }
    }
  }
}

// 1e308 microseconds became infinite nanoseconds, null in the record, and the record unreadable.
TEST(ImportAttack, NumbersThatOverflowInOurUnits) {
  std::string text = samples::file_text(sample_path("perftest_lat.json"));
  text.replace(text.find("0.85"), 4, "1e308");  // t_avg
  const auto out = import_of(text);
  ASSERT_TRUE(out);
  EXPECT_FALSE(out->records.at(0).measurement.extra.contains("mean_ns"));
  EXPECT_TRUE(record_from_line(to_line(out->records.at(0))));
}

TEST(ImportAttack, DeepAndManyAndHuge) {
  const std::string deep = "{\"start\":{\"connected\":" + std::string(100'000, '[');
  EXPECT_THAT(error_of(deep), HasSubstr("nested deeper than"));
  std::string many = "{\"start\":{\"connected\":[";
  for (int i = 0; i < 4'100'000; ++i) many += "1,";
  EXPECT_THAT(error_of(many), HasSubstr("more than 4000000 values"));
  EXPECT_THAT(error_of("{\"start\":{\"connected\":1e999999}}"), HasSubstr("broken JSON"));
  std::string rows = "# OSU MPI Latency Test v7\n# Size  Latency (us)\n";
  for (size_t i = 0; i <= kMaxImportRecords; ++i) rows += "8 1.0\n";
  EXPECT_THAT(error_of(rows), HasSubstr("more than 100000 results"));
}

TEST(ImportAttack, AHundredMebibytesOfGarbage) {
  const std::string path = testing::TempDir() + "plumbline_import_garbage";
  for (const std::string& start :
       {std::string("# OSU MPI Latency Test v7\n"), std::string("xyz")}) {
    std::ofstream file(path, std::ios::binary);
    file << start;
    file << std::string(1 << 20, '\x93');
    file.close();
    fs::resize_file(path, 100 << 20);  // zeros, without the disk
    const auto out = import_file(path, {});
    ASSERT_FALSE(out);
    EXPECT_THAT(out.error().message(),
                HasSubstr(start[0] == '#' ? "more than 64 MiB of osu" : "holds no results"));
  }
  fs::remove(path);
}

TEST(ImportAttack, TextAroundJson) {
  const std::string text = samples::file_text(sample_path("iperf3_udp.json"));
  const auto behind = import_of(text + "\niperf3: the client has terminated\n");
  ASSERT_TRUE(behind);
  EXPECT_THAT(behind->notes.at(0), HasSubstr("text after the JSON"));
  const auto twice = import_of(text + "\n" + text + "{\"start\":{\"cut");
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->records.size(), 2U);
  EXPECT_THAT(twice->notes.at(0), HasSubstr("cut off; left out"));
}

TEST(ImportAttack, HostileNamesAreShownHarmless) {
  const auto out = import_of(
      "{\"context\":{\"caches\":[],\"executable\":\"=x\"},\"benchmarks\":[{\"name\":"
      "\"=1+1<b>\\u001b[2J/"
      "`$(x)`\",\"run_type\":\"iteration\",\"real_time\":1,\"time_unit\":\"ns\"}]}");
  ASSERT_TRUE(out) << out.error().message();
  const ReportInput input = samples::input_of(out->records);
  EXPECT_THAT(samples::report_text("csv", input), HasSubstr("'=1+1<b>"));
  EXPECT_EQ(samples::report_text("console", input).find('\x1b'), std::string::npos);
  EXPECT_EQ(samples::report_text("markdown", input).find("<b>"), std::string::npos);
}

}  // namespace
}  // namespace plumbline
