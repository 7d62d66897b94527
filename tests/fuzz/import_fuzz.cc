// Output of other tools: each text that an importer recognises is refused with a reason, or becomes
// records that our own format can hold and any report can show. The first byte chooses the report,
// and what the user is taken to have said with --assume.

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string>

#include "reports/import/importer.h"
#include "reports/report.h"
#include "tests/support/record_line.h"

namespace {

// Of the reports that write text; those that draw or fill folders are too slow here.
void show(const plumbline::ReportInput& input, size_t which) {
  constexpr const char* kNames[] = {"console",     "csv",         "junit",
                                    "openmetrics", "gbench-json", "iperf3-json"};
  if (which >= std::size(kNames)) return;
  std::ostringstream out;
  plumbline::ReportTarget target;
  target.out = &out;
  const auto written = plumbline::find_report(kNames[which])->write(input, target);
  if (!written && written.error().message().empty()) std::abort();
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  plumbline::Assumptions assume;
  if ((data[0] & 1) != 0) assume.ranks = 4;
  if ((data[0] & 2) != 0) assume.unit = "Gb/s";
  if ((data[0] & 4) != 0) assume.op = "allgather";
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const plumbline::ImportRow* row = plumbline::recognise_import(text);
  if (row == nullptr) return 0;
  auto imported = plumbline::import_text(*row, {"FILE", text, assume});
  if (!imported) {
    if (imported.error().message().empty()) std::abort();  // refused without a word
    return 0;
  }
  if (imported->records.empty()) std::abort();
  for (const plumbline::Record& record : imported->records) {
    const auto again = plumbline::record_from_line(plumbline::to_line(record));
    if (!again || again->algbw_Bps.has_value() != record.algbw_Bps.has_value()) std::abort();
  }
  plumbline::ReportInput input;
  input.records = std::move(imported->records);
  show(input, data[0] >> 3U & 7U);
  return 0;
}
