#include "reports/read_input.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "core/record/record_read.h"

namespace plumbline {

namespace fs = std::filesystem;

Status read_report_input(const std::vector<std::string>& paths, ReportInput& input,
                         const Assumptions& assume, const RecordSet::Limits& limits) {
  SoakCollector soaks;
  RecordSet set(limits);
  for (const std::string& path : paths) {
    std::string start;  // of the standard input, which cannot be read twice
    Expected<std::optional<ImportResult>> imported =
        path == "-" ? import_from(STDIN_FILENO, "standard input", assume, start)
                    : import_file(path, assume);
    if (!imported) return fail(imported.error());
    if (*imported) {
      for (const Record& record : (*imported)->records) set.take(record);
      const std::vector<std::string>& notes = (*imported)->notes;
      input.notes.insert(input.notes.end(), notes.begin(), notes.end());
      continue;
    }
    const auto take = [&](const Record& record) {
      if (!soaks.take(record)) {
        set.take(record);
      } else if (record.soak->idle_ns == 0) {
        set.take_round(record);
      }
    };
    const Status read = path == "-" ? for_each_piped_record(start, &input.notes, take)
                                    : for_each_record(path, &input.notes, take);
    if (!read) return read;
    if (path == "-") continue;
    const std::string events = (fs::path(path).parent_path() / kEventsFile).string();
    std::error_code code;
    if (!fs::exists(events, code)) continue;
    const Status seen = for_each_event(events, [&](SoakEvent event) { soaks.take(event); });
    if (!seen) input.notes.push_back(seen.error().message());
  }
  for (SoakRun& run : soaks.finish()) {
    if (run.rounds > 1) {
      input.notes.push_back(fmt::format(
          "run {} is a soak of {} rounds: the tables show the last one", run.run_id, run.rounds));
    }
    input.soaks.push_back(std::move(run));
  }
  const std::vector<std::string> notes = set.notes();
  input.notes.insert(input.notes.end(), notes.begin(), notes.end());
  if (set.merged()) input.merged_files.insert(input.merged_files.end(), paths.begin(), paths.end());
  std::vector<Record> records = set.release();
  input.records.insert(input.records.end(), std::make_move_iterator(records.begin()),
                       std::make_move_iterator(records.end()));
  return {};
}

}  // namespace plumbline
