// Results of two engines in one run stand apart in every report, and each says whose it is.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "reports/publish/bundle.h"
#include "reports/publish/bundle_derive.h"
#include "reports/publish/results_page.h"
#include "reports/report.h"
#include "reports/view.h"
#include "tests/reports/bundle_samples.h"
#include "tests/reports/samples.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::Not;

// The same cells of both.
std::vector<Record> of_two_engines() {
  std::vector<Record> records;
  for (const char* engine : {"native", "gloo"}) {
    for (const uint64_t bytes : {64, 4096}) {
      for (const char* kind : {"latency", "bandwidth"}) {
        const double p50 = engine == std::string("gloo") ? 9000 : 5000;
        Record record = samples::record(kind, "allreduce", "auto", 2, bytes, p50);
        record.cell.engine = engine;
        record.measurement.resolved.library = engine == std::string("gloo") ? "gloo 0.5.0" : "";
        records.push_back(std::move(record));
      }
    }
  }
  return records;
}

// All that a report writes, files and all.
std::string written(const ReportRow& report, const std::vector<Record>& records) {
  const fs::path folder = fs::path(testing::TempDir()) / ("engines-" + report.descriptor.name);
  fs::create_directories(folder);
  ReportInput input;
  input.records = records;
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  target.directory = folder.string();
  const auto files = report.write(input, target);
  EXPECT_TRUE(files) << report.descriptor.name << ": " << files.error().message();
  std::string text = out.str();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    std::ifstream file(entry.path());
    text += std::string(std::istreambuf_iterator<char>(file), {});
  }
  fs::remove_all(folder);
  return text;
}

TEST(EnginesShown, TheirRowsAreOfDifferentGroups) {
  const std::vector<Record> records = of_two_engines();
  const View view = make_view(records);
  EXPECT_EQ(view.groups.size(), 4u);
  for (const ViewGroup& group : view.groups) {
    EXPECT_EQ(group.rows.size(), 2u);
    const bool other = title_of(group).find("engine gloo") != std::string::npos;
    EXPECT_EQ(other, group.engine == "gloo") << title_of(group);
  }
}

TEST(EnginesShown, EveryReportOfOperationsNamesTheOtherEngine) {
  for (const ReportRow& report : report_table()) {
    const std::string name = report.descriptor.name;
    if (name == "links" || name == "soak" || name == "iperf3-json") continue;  // of other kinds
    EXPECT_THAT(written(report, of_two_engines()), HasSubstr("gloo")) << name;
  }
}

TEST(EnginesShown, TheLibraryIsAColumnOfCsv) {
  const std::string text = written(*find_report("csv"), of_two_engines());
  EXPECT_THAT(text, HasSubstr("library"));
  EXPECT_THAT(text, HasSubstr("gloo 0.5.0"));
}

TEST(EnginesShown, ThePageOfResultsSaysWhoseTheyAreAndRanksThemApart) {
  nlohmann::json content = samples::bundle()["content"];
  const auto page = [](const nlohmann::json& of) {
    return results_page({verify_bundle(bundle_text(seal_bundle(of)), "")}, {});
  };
  EXPECT_THAT(page(content), Not(HasSubstr("engine gloo")));
  for (auto& row : content["rows"]) row["cell"]["engine"] = "gloo";
  EXPECT_THAT(page(content), HasSubstr("engine gloo"));
}

}  // namespace
}  // namespace plumbline
