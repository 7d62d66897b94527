// "Beside this file": links to what the same run wrote, and to nothing else of the same name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/file.h"
#include "reports/report.h"
#include "tests/reports/samples.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_in(const std::string& folder, const std::vector<Record>& records) {
  ReportInput input;
  input.records = records;
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  target.directory = folder;
  EXPECT_TRUE(find_report("html")->write(input, target));
  return out.str();
}

TEST(HtmlBeside, OnlyInTheFolderOfTheRun) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  std::filesystem::create_directories(folder.path() / "plots");
  std::vector<Record> records = {samples::record("latency", "allreduce", "ring", 2, 64, 1000)};
  records[0].run_id = "0123456789abcdef";
  // Somebody else's plots, then the records of another run, then ours.
  EXPECT_THAT(page_in(path, records), Not(HasSubstr("Beside this file")));
  Record other = records[0];
  other.run_id = "fedcba9876543210";
  std::ofstream(folder.path() / "records.jsonl") << to_line(other) << "\n";
  EXPECT_THAT(page_in(path, records), Not(HasSubstr("Beside this file")));
  std::ofstream(folder.path() / "records.jsonl", std::ios::app) << to_line(records[0]) << "\n";
  const std::string page = page_in(path, records);
  EXPECT_THAT(page, HasSubstr("Beside this file"));
  EXPECT_THAT(page, HasSubstr("<a href=\"plots\">plots</a>"));
  EXPECT_THAT(page, Not(HasSubstr("href=\"links\"")));
  EXPECT_THAT(page_in("", records), Not(HasSubstr("Beside this file")));
}

}  // namespace
}  // namespace plumbline
