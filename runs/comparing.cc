#include "runs/comparing.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/host/requirement.h"
#include "reports/charts/draw.h"
#include "reports/compare/compare.h"
#include "reports/import/importer.h"
#include "reports/read_input.h"
#include "runs/run_folder.h"

namespace plumbline {

namespace fs = std::filesystem;

Expected<std::vector<std::string>> record_files(const std::string& path) {
  std::error_code code;
  if (!fs::is_directory(path, code)) return std::vector<std::string>{path};
  const fs::path own = fs::path(path) / kRecordsFile;
  if (fs::exists(own, code)) return std::vector<std::string>{own.string()};
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, code)) {
    const fs::path inner = entry.path() / kRecordsFile;
    if (fs::exists(inner, code)) files.push_back(inner.string());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    return fail(ErrorCode::kConfig, "no records.jsonl in " + path + ", nor in a folder below it",
                "give the folder that a run wrote, or its records.jsonl");
  }
  return files;
}

Status read_side(CompareCollector& collector, size_t side, const std::string& path,
                 std::vector<std::string>& notes, int64_t last_series) {
  const auto files = record_files(path);
  if (!files) return fail(files.error());
  for (const std::string& file : *files) {
    const auto imported = import_file(file, {});
    if (!imported) return fail(imported.error());
    if (*imported) {
      for (const Record& record : (*imported)->records) collector.take(side, record);
      notes.insert(notes.end(), (*imported)->notes.begin(), (*imported)->notes.end());
      continue;
    }
    const Status read = for_each_record(file, &notes, [&](const Record& record) {
      if (!record.launch || record.launch->series <= last_series) collector.take(side, record);
    });
    if (!read) return read;
  }
  if (collector.records(side) == 0) {
    return fail(ErrorCode::kConfig, "nothing in " + path + " could be compared",
                "it needs measured cells");
  }
  return {};
}

void note_incomplete(const std::string& path, const char* side, Comparison& comparison) {
  const auto files = record_files(path);
  if (!files) return;
  for (const std::string& file : *files) {
    const std::string folder = fs::path(file).parent_path().string();
    const auto state = read_run_state(folder.empty() ? "." : folder);
    const std::string text = state ? incomplete_text(*state, folder) : state.error().message();
    if (!text.empty()) comparison.notes.push_back(fmt::format("{} ({}): {}", side, file, text));
  }
}

Status check_common(const Comparison& comparison) {
  if (comparison.anything_common()) return {};
  return fail(ErrorCode::kConfig,
              fmt::format("nothing to compare: no cell is in {} and in {}", comparison.name_a,
                          comparison.name_b),
              "cells match by all their fields; --ignore FIELD lets one differ, as --ignore "
              "algorithm");
}

int compare_exit_code(const Comparison& comparison, bool strict) {
  if (comparison.wrong_data()) return 3;
  if (comparison.count(Change::kBroken) > 0) return 2;
  if (comparison.count(Change::kRegress) > 0) return 5;
  return strict && comparison.verdict() == Change::kInconclusive ? 6 : 0;
}

Status draw_comparison(const Comparison& comparison, const std::string& path,
                       std::vector<std::string>& written) {
  static constexpr std::array kNeeds = {"gnuplot"};
  if (const auto reason = unmet(kNeeds)) {
    return fail(ErrorCode::kUnsupported, "no plot: " + *reason);
  }
  fs::path target = path;
  if (target.extension() == ".svg" || target.extension() == ".png") target.replace_extension();
  const std::string name = target.filename().string();
  const std::string folder = target.parent_path().empty() ? "." : target.parent_path().string();
  // The name stands in a script.
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (name.empty() || !plain) {
    return fail(ErrorCode::kUsage, "plot " + path,
                "its name may have letters, digits, '.', '_' and '-'");
  }
  const bool any =
      std::any_of(comparison.rows.begin(), comparison.rows.end(),
                  [](const CompareRow& row) { return row.judged && row.shift && row.shift->ci95; });
  if (!any) {
    return fail(
        ErrorCode::kUnsupported, "no plot: no row has a confidence interval",
        "that takes 6 launches a side in turns, or 4 of separate runs: plumbline run --repeat");
  }
  return draw_files(folder, name, compare_plot_data(comparison),
                    compare_plot_script(comparison, name), written);
}

}  // namespace plumbline
