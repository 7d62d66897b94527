// The runs of this user on this machine: one small JSON file per run in the state folder, which
// says what was run, where its files are and how it ended; the results themselves stay where the
// user wanted them. A run writes its file when it begins, holds a lock on it while it lives, and
// replaces it when it ends; so a killed run stays in the list as unfinished, and two runs at once
// never touch the same file. Nothing here ever makes a run fail.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

struct HistoryEntry {
  std::string id;              // the run's
  std::string started, ended;  // RFC 3339 UTC; ended is empty until it has
  std::string scenario, version;
  std::string folder;                // absolute, with the records and reports
  std::vector<std::string> command;  // argv
  bool made_folder = false;          // the folder was not there before
  int64_t cells = 0;                 // planned
  int64_t passed = 0, failed = 0, skipped = 0, errors = 0;
  int64_t rules = 0, rules_broken = 0;
  std::optional<int> exit_code;  // absent = it has not ended, or nobody knows how
  bool running = false;          // of the list: its process lives; not part of the file
};

// Its fields as they stand in the file, whose format is "plumbline_run".
nlohmann::json entry_json(const HistoryEntry& entry);
// "ok", "rules broken", "interrupted", "running", "unfinished" ...
std::string state_of(const HistoryEntry& entry);

// $XDG_STATE_HOME/plumbline, else ~/.local/state/plumbline; an Error when neither variable holds an
// absolute path.
Expected<std::string> state_folder();
// The folder `runs` in it.
Expected<std::string> history_folder();

// A run's own entry. Movable; a default one does nothing.
class HistoryRun {
 public:
  HistoryRun() = default;
  // Writes the entry, in a folder of mode 0700.
  static Expected<HistoryRun> begin(HistoryEntry entry);
  HistoryEntry& entry() { return entry_; }
  void finish(int exit_code);

 private:
  HistoryEntry entry_;
  std::string path_;
  Fd lock_;
};

// Newest first. Files that are no entries are told in `notes` and left alone; no folder = no runs.
Expected<std::vector<HistoryEntry>> read_history(std::vector<std::string>& notes);
// Removes the entry's own file only.
Status forget(const HistoryEntry& entry);

}  // namespace plumbline
