#include "reports/read_input.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// The records that the tables show: all, but of a soak only the last round's.
class LastRounds {
 public:
  explicit LastRounds(std::vector<Record>& records) : records_(records) {}

  void take(Record record, bool soak) {
    if (soak && record.soak->idle_ns > 0) return;
    if (!soak) {
      records_.push_back(std::move(record));
      return;
    }
    const std::string key = record.run_id + " " + cell_id(record);
    const auto [found, is_new] = place_.try_emplace(key, records_.size());
    if (is_new) {
      records_.push_back(std::move(record));
    } else {
      records_[found->second] = std::move(record);
    }
  }

 private:
  std::vector<Record>& records_;
  std::map<std::string, size_t> place_;  // of a soak's cell in records_
};

}  // namespace

Status read_report_input(const std::vector<std::string>& paths, ReportInput& input) {
  SoakCollector soaks;
  LastRounds last(input.records);
  for (const std::string& path : paths) {
    const Status read = for_each_record(path, &input.notes, [&](Record record) {
      const bool soak = soaks.take(record);
      last.take(std::move(record), soak);
    });
    if (!read) return read;
    const std::string events = (fs::path(path).parent_path() / "events.jsonl").string();
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
  return {};
}

}  // namespace plumbline
