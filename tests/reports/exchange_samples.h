// What the tests of exports and importers share: a report as text, sample files, hostile strings.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "reports/import/importer.h"
#include "reports/read_input.h"
#include "reports/report.h"
#include "tests/support/places.h"

namespace plumbline::samples {

inline std::string report_text(const std::string& name, const ReportInput& input) {
  std::ostringstream out;
  ReportTarget target;
  target.out = &out;
  const auto written = find_report(name)->write(input, target);
  EXPECT_TRUE(written) << written.error().message();
  return out.str();
}

inline ReportInput input_of(std::vector<Record> records) {
  ReportInput input;
  input.records = std::move(records);
  return input;
}

inline std::string sample_path(const std::string& name) {
  return test::source_dir() + "/tests/reports/samples/" + name;
}

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text as a file of whatever format it is recognised as.
inline Expected<ImportResult> import_of(const std::string& text, const Assumptions& assume = {}) {
  const ImportRow* row = recognise_import(text);
  if (row == nullptr) return fail(ErrorCode::kConfig, "not recognised");
  return import_text(*row, {"FILE", text, assume});
}

// A record's strings as bad as they can be: markup of every format, control characters, broken
// UTF-8, the two code points that XML forbids.
inline Record hostile(Record r) {
  const std::string evil =
      "<b>&\"'\\{}]]>\n\t\x01\x1b[2J\xFF\xFE \xEF\xBF\xBE\xEF\xBF\xBF \u2028,=@|#";
  r.run_id = r.scenario = r.question = "=cmd|' /C calc'!A0" + evil;
  r.cell.algorithm = r.cell.engine = r.cell.dtype = r.cell.hosts = evil;
  r.cell.params[evil] = evil;
  r.measurement.resolved.transport = evil;
  r.measurement.resolved.address_pairs = {evil, "0-1 a:b>c", ">", "0-1 x:99999999999>y:1"};
  r.measurement.reason = evil + "# EOF\n<!-- --><?xml?><![CDATA[";
  r.measurement.cause = evil;
  r.noise = {"noisy", {evil}};
  r.environment.command = {evil};
  if (!r.environment.hosts.empty()) r.environment.hosts[0].hostname = evil;
  return r;
}

}  // namespace plumbline::samples
