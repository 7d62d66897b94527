#include "cli/report_output.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// One report into its file or folder below `directory`; empty path = it went to standard output.
Expected<std::string> write_one(const ReportRow& row, const ReportInput& input,
                                const std::string& directory, Context& context) {
  ReportTarget target;
  const std::string file_name = row.file_name;
  if (file_name.empty()) {
    target.out = context.out;
    target.width = context.width;
    target.colour = context.out_is_terminal && context.colour;
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
  std::ofstream file(path);
  target.out = &file;
  target.directory = directory;
  const auto written = row.write(input, target);
  if (!written) return fail(written.error());
  if (!file.flush()) return fail(ErrorCode::kSystem, "write " + path, "is the disk full?");
  return path;
}

}  // namespace

std::vector<std::string> write_reports(const ReportInput& input,
                                       const std::vector<std::string>& names,
                                       const std::string& directory, Context& context) {
  std::vector<std::string> paths;
  const auto wanted = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  constexpr int kLeastColumns = 60;  // for a plot of characters
  const bool plot = wanted("console") && context.out_is_terminal && context.width >= kLeastColumns;
  // In the table's order, whatever the scenario's: a later report may link what an earlier one
  // drew.
  for (const ReportRow& row : report_table()) {
    const std::string& name = row.descriptor.name;
    if (!wanted(name) && !(plot && name == "terminal")) continue;
    const Expected<std::string> path = write_one(row, input, directory, context);
    if (!path) {
      *context.err << "plumbline: report " << name << ": " << path.error().message() << "\n";
    } else if (!path->empty()) {
      paths.push_back(*path);
    }
  }
  return paths;
}

}  // namespace plumbline
