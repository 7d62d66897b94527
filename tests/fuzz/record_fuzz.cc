// The record reader on arbitrary bytes: as a file that is read as far as possible, as one where
// every damage is an error, and what was read as reports see it, held and merged. Whatever comes
// out must add up.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/file.h"
#include "core/record/record.h"
#include "fuzz_bytes.h"
#include "reports/record_set.h"
#include "reports/report.h"
#include "reports/view.h"
#include "tests/support/record_line.h"

namespace plumbline {
namespace {

// One file for all inputs: a new folder for each would be all that is measured.
const std::string& path() {
  static const TemporaryFolder folder;
  static const std::string path = (folder.path() / "records.jsonl").string();
  return path;
}

void check_item(const Item& item) {
  const TimeSummary& time = item.time;
  if (time.n == 0) return;
  require(time.min && time.p50 && time.max);
  require(!time.p50_ci95 || time.p50_ci95->first <= time.p50_ci95->second);
  require(!item.algbw_Bps || *item.algbw_Bps > 0);
}

void check_view(const std::vector<Record>& records) {
  const View view = make_view(records);
  for (const Item& item : view.items) {
    check_item(item);
    require(!describe(*item.record).empty() || item.record->cell.op.empty());
  }
  size_t rows = 0;
  for (const ViewGroup& group : view.groups) {
    for (const Pair& pair : group.rows) rows += (pair.out ? 1 : 0) + (pair.in ? 1 : 0);
  }
  require(rows + view.roofs.size() == view.items.size());
}

void check_reports(const std::vector<Record>& records) {
  ReportInput input;
  input.records = records;
  for (const char* name : {"console", "csv", "markdown"}) {
    std::ostringstream out;
    ReportTarget target;
    target.out = &out;
    target.width = 80;
    require(find_report(name)->write(input, target).has_value());
  }
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using plumbline::Record;
  std::ofstream(plumbline::path(), std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  std::vector<Record> records;
  std::vector<std::string> warnings;
  plumbline::RecordSet merged({1, 1 << 20, 10});
  const auto take = [&](const Record& record) {
    records.push_back(record);
    merged.take(record);
    // What was read can be written, and is then the same again.
    const std::string line = plumbline::to_line(record);
    const auto back = plumbline::record_from_line(line);
    plumbline::require(back && plumbline::to_line(*back) == line);
  };
  const auto read = plumbline::for_each_record(plumbline::path(), &warnings, take);
  plumbline::require(!read.has_value() || !records.empty());
  plumbline::require(warnings.size() <= plumbline::kMostWarnings + 1);
  const auto strict = plumbline::read_records(plumbline::path());
  plumbline::require(!strict || strict->size() <= records.size());
  plumbline::check_view(records);
  plumbline::check_view(merged.release());
  plumbline::check_reports(records);
  return 0;
}
