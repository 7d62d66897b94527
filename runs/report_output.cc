#include "runs/report_output.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// One report into its file or folder below `directory`; empty path = it went to standard output.
Expected<std::string> write_one(const ReportRow& row, const ReportInput& input,
                                const std::string& directory, const ReportScreen& screen) {
  ReportTarget target;
  const std::string file_name = row.file_name;
  if (file_name.empty()) {
    target.out = screen.out;
    target.width = screen.look.width;
    target.colour = screen.look.colour;
    const auto written = row.write(input, target);
    if (!written) return fail(written.error());
    return std::string();
  }
  const std::string path = (fs::path(directory) / file_name).string();
  if (file_name.back() == '/') {
    target.directory = path;
    const auto written = row.write(input, target);
    if (!written) return fail(written.error());
    return written->empty() ? std::string() : path;
  }
  if (const Status written = write_report_file(row, input, path); !written) {
    return fail(written.error());
  }
  return path;
}

}  // namespace

Status write_report_file(const ReportRow& row, const ReportInput& input, const std::string& path) {
  std::ofstream file(path);
  if (!file) return fail_errno(ErrorCode::kConfig, "open " + path, errno, "choose another --out");
  ReportTarget target;
  target.out = &file;
  target.directory = fs::absolute(path).parent_path().string();
  const auto written = row.write(input, target);
  errno = 0;
  file.close();
  if (written && file) return {};
  const int why = errno;
  std::error_code code;
  if (fs::is_regular_file(path, code)) fs::remove(path, code);
  if (!written) return fail(written.error());
  return fail_errno(ErrorCode::kSystem, "write " + path, why, "is the disk full?");
}

WrittenReports write_reports(const ReportInput& input, const std::vector<std::string>& names,
                             const std::string& directory, const ReportScreen& screen,
                             Caller& caller) {
  WrittenReports all;
  const auto wanted = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  constexpr int kLeastColumns = 60;  // for a plot of characters
  const bool plot = wanted("console") && screen.look.terminal && screen.look.width >= kLeastColumns;
  // In the table's order, whatever the scenario's: a later report may link what an earlier one
  // drew.
  for (const ReportRow& row : report_table()) {
    const std::string& name = row.descriptor.name;
    if (!wanted(name) && !(plot && name == "terminal")) continue;
    const Expected<std::string> path = write_one(row, input, directory, screen);
    if (!path) {
      caller.say("plumbline: report " + name + ": " + path.error().message());
      all.failed = all.failed || path.error().code != ErrorCode::kUnsupported;
    } else if (!path->empty()) {
      all.paths.push_back(*path);
    }
  }
  return all;
}

}  // namespace plumbline
