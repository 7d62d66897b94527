// One run per folder. Whoever writes there holds a lock on a file in it, which the kernel releases
// when its process ends, whatever ended it. The file tells who that is, and goes when the lock is
// given up in order; what a killed run leaves is taken over.
#pragma once

#include <string>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

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
