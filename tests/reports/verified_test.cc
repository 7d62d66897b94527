// Reports say how many operations were verified of how many, and of old records that nobody
// counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "core/record/record.h"
#include "reports/report.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

using samples::record;
using testing::HasSubstr;
using testing::Not;

Record counted(double verified, double operations) {
  Record result = record("latency", "allreduce", "ring", 2, 64, 12'000, 60);
  result.measurement.verified = verified == operations;
  result.measurement.extra[kVerifiedOperations] = verified;
  result.measurement.extra[kOperations] = operations;
  return result;
}

std::string report_text(const char* name, const std::vector<Record>& records) {
  ReportInput input;
  input.records = records;
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  EXPECT_TRUE(find_report(name)->write(input, target)) << name;
  return out.str();
}

TEST(Verified, IsSaidInWordsAndOldRecordsAreOfUnknownCount) {
  EXPECT_EQ(verified_text(counted(41, 320).measurement), "verified 41 of 320 operations");
  EXPECT_EQ(verified_text(counted(0, 320).measurement), "not verified");
  Measurement old;
  old.verified = true;
  old.wrong = 0;
  EXPECT_FALSE(verified_count(old));
  EXPECT_EQ(verified_text(old), "verified, count unknown");
  old.wrong.reset();
  EXPECT_EQ(verified_text(old), "not verified");
}

// What a file claims is believed only where it can be true.
TEST(Verified, CountsThatCannotBeAreUnknown) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const auto& [verified, operations] :
       {std::pair(5.0, 4.0), std::pair(-1.0, 4.0), std::pair(1.5, 4.0), std::pair(1.0, 1e300),
        std::pair(1.0, infinite), std::pair(std::nan(""), 4.0)}) {
    EXPECT_FALSE(verified_count(counted(verified, operations).measurement)) << verified;
  }
  Measurement half;
  half.extra[kVerifiedOperations] = 3;
  EXPECT_FALSE(verified_count(half));
}

TEST(Verified, EveryReportSaysIt) {
  Record second = counted(300, 320);
  second.cell.bytes = 128;
  Record old = record("latency", "allreduce", "ring", 2, 256, 12'000, 60);
  const std::vector<Record> records = {counted(41, 320), second, old};
  for (const char* name : {"console", "markdown", "html"}) {
    const std::string text = report_text(name, records);
    EXPECT_THAT(text, HasSubstr("verified 341 of 640 operations")) << name;
    EXPECT_THAT(text, HasSubstr("1 cell verified, count unknown")) << name;
  }
  const std::string csv = report_text("csv", records);
  EXPECT_THAT(csv, HasSubstr(",verified,verified_operations,operations,wrong_elements,"));
  EXPECT_THAT(csv, HasSubstr(",no,41,320,0,"));
  EXPECT_THAT(csv, HasSubstr(",yes,,,0,"));
  EXPECT_THAT(report_text("junit", records), HasSubstr("verified 41 of 320 operations"));
  EXPECT_THAT(report_text("console", {old}), Not(HasSubstr("operations")));
}

}  // namespace
}  // namespace plumbline
