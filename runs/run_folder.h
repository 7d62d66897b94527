// What plumbline writes into the folder of a run, by name, for whoever lists or removes it: a
// folder with anything else in it is somebody's own, and stays as it is. One run per folder:
// whoever writes there holds a lock on a file in it, which the kernel releases when its process
// ends, whatever ended it. The file tells who that is, and goes when the lock is given up in order;
// what a killed run leaves is taken over.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

inline constexpr const char* kRecordsFile = "records.jsonl";
inline constexpr const char* kRulesFile = "rules.json";  // beside it
// The record file that a path means: the one in the folder of a run, else the file itself.
std::string records_in(const std::string& path);

// Of `run --interleave`: the folders of two runs, and their comparison beside them.
bool is_interleaved(const std::string& folder);

// Reports that lie in the folder, as paths, in the order of the table of reports.
std::vector<std::string> reports_in(const std::string& folder);

// All files of the folder, when every one of them is plumbline's; else an Error that names the
// first that is not. Links are never followed, and never ours.
Expected<std::vector<std::string>> own_files(const std::string& folder);
// Removes exactly those files, then the folders that are empty. Looks anew, so that what came
// meanwhile stays.
Status remove_run_folder(const std::string& folder);

inline constexpr const char* kFolderLock = "run.lock";

class FileLock {
 public:
  FileLock() = default;  // holds nothing
  ~FileLock();
  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = default;

  // Takes the lock file `path`; `what` is locked by it, as errors call it ("the folder out").
  // kBusy, with who holds it, when it is taken; never waits.
  static Expected<FileLock> take(const std::string& path, const std::string& what);
  bool held() const { return file_.valid(); }

 private:
  Fd file_;
  std::string path_;
};

}  // namespace plumbline
