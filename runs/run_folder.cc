#include "runs/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "core/clock.h"
#include "core/number.h"
#include "core/record/event.h"
#include "reports/read_input.h"
#include "reports/report.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// Beside the reports of the table.
constexpr const char* kFiles[] = {kRecordsFile,    kEventsFile,   kDoctorFile,
                                  "evidence.json", kRulesFile,    kScenarioFile,
                                  kChecklistFile,  kRunStateFile, kFolderLock};
constexpr const char* kFolders[] = {"traces/"};
// What stands in the folders of reports and traces.
constexpr const char* kFileEndings[] = {".svg", ".png",  ".dat",  ".gp",  ".md", ".json",
                                        ".csv", ".html", ".pcap", ".log", ".dot"};

bool is_own_file(const std::string& name) {
  const bool fixed = std::find(std::begin(kFiles), std::end(kFiles), name) != std::end(kFiles);
  return fixed || std::any_of(report_table().begin(), report_table().end(),
                              [&](const ReportRow& row) { return name == row.file_name; });
}

bool is_own_folder(const std::string& name) {
  const std::string path = name + "/";
  const bool fixed =
      std::find(std::begin(kFolders), std::end(kFolders), path) != std::end(kFolders);
  return fixed || std::any_of(report_table().begin(), report_table().end(),
                              [&](const ReportRow& row) { return path == row.file_name; });
}

bool is_own_ending(const fs::path& path) {
  return std::find(std::begin(kFileEndings), std::end(kFileEndings), path.extension()) !=
         std::end(kFileEndings);
}

// Of one cell: traces/0123456789abcdef.
bool is_trace_folder(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.parent_path().filename() == "traces" && name.size() == 16 &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Error foreign(const fs::path& path) {
  return Error{ErrorCode::kConfig, path.string() + " was not written by plumbline", 0, "", ""};
}

// Adds what stands in `folder`; `top` = the run's folder itself.
Status collect(const fs::path& folder, bool top, std::vector<std::string>& files,
               std::vector<std::string>& folders) {
  std::error_code code;
  fs::directory_iterator entries(folder, code);
  for (; !code && entries != fs::directory_iterator(); entries.increment(code)) {
    const fs::path& path = entries->path();
    const std::string name = path.filename().string();
    const fs::file_status status = entries->symlink_status(code);
    if (code) break;
    const bool ours = top ? is_own_folder(name) : is_trace_folder(path);
    if (status.type() == fs::file_type::directory && ours) {
      folders.push_back(path.string());
      if (const Status inner = collect(path, false, files, folders); !inner) return inner;
      continue;
    }
    const bool own = top ? is_own_file(name) : is_own_ending(path);
    if (status.type() != fs::file_type::regular || !own) return fail(foreign(path));
    files.push_back(path.string());
  }
  if (code) {
    return fail_errno(ErrorCode::kSystem, "read folder " + folder.string(), code.value());
  }
  return {};
}

constexpr const char* kSides[] = {"a", "b"};
constexpr const char* kComparison[] = {"compare.json", "compare.svg", "compare.png", "compare.dat",
                                       "compare.gp"};

template <typename Names>
bool is_one_of(const std::string& name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// The same of a folder of run --interleave.
Status collect_sides(const fs::path& folder, std::vector<std::string>& files,
                     std::vector<std::string>& folders) {
  std::error_code code;
  fs::directory_iterator entries(folder, code);
  for (; !code && entries != fs::directory_iterator(); entries.increment(code)) {
    const fs::path& path = entries->path();
    const std::string name = path.filename().string();
    const fs::file_type type = entries->symlink_status(code).type();
    if (code) break;
    if (type == fs::file_type::directory && is_one_of(name, kSides)) {
      folders.push_back(path.string());
      if (const Status inner = collect(path, true, files, folders); !inner) return inner;
    } else if (type == fs::file_type::regular && is_one_of(name, kComparison)) {
      files.push_back(path.string());
    } else {
      return fail(foreign(path));
    }
  }
  if (!code) return {};
  return fail_errno(ErrorCode::kSystem, "read folder " + folder.string(), code.value());
}

Expected<std::vector<std::string>> collect_all(const std::string& folder,
                                               std::vector<std::string>& folders) {
  std::error_code code;
  const fs::path path = folder;
  if (!path.is_absolute() || fs::symlink_status(path, code).type() != fs::file_type::directory) {
    return fail(ErrorCode::kConfig, folder + " is no folder");
  }
  std::vector<std::string> files;
  if (is_interleaved(folder)) {
    if (const Status read = collect_sides(path, files, folders); !read) return fail(read.error());
    return files;
  }
  if (const Status read = collect(path, true, files, folders); !read) return fail(read.error());
  // Without its records it is not known to be a run's.
  const bool records =
      std::find(files.begin(), files.end(), (path / kRecordsFile).string()) != files.end();
  if (!records) return fail(ErrorCode::kConfig, folder + " holds no records.jsonl");
  return files;
}

constexpr int kTries = 20;  // each needs another run to end in the same moment

Expected<Fd> open_lock(const std::string& path) {
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
  if (!file.valid()) {
    return fail_errno(ErrorCode::kConfig, "open the lock " + path, errno,
                      "choose a writable place");
  }
  struct stat info {};
  if (fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode)) return file;
  return fail(ErrorCode::kConfig, path + " is no regular file, so that it cannot be a lock",
              "remove it, or write to another place");
}

// Somebody may have removed it between our opening and our locking: then it locks nothing.
bool is_still_there(const Fd& file, const std::string& path) {
  struct stat ours {
  }, there{};
  return fstat(file.get(), &ours) == 0 && lstat(path.c_str(), &there) == 0 &&
         ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

// "PID since TIME" of the file, where it can be believed: two words of digits and of RFC 3339.
std::string holder(const Fd& file) {
  std::array<char, 64> text{};
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  const std::string_view all(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  const size_t space = std::min(all.find_first_not_of("0123456789"), all.size());
  const std::optional<int64_t> pid = parse_whole(all.substr(0, space), int64_t{1}, INT64_MAX);
  if (!pid) return "another process";
  const std::string_view time = all.substr(space, all.find('\n') - space);
  const bool told = time.size() > 1 && time.front() == ' ' &&
                    time.find_first_not_of("0123456789-:.TZ", 1) == time.npos;
  return told ? fmt::format("process {}, since{}", *pid, time) : fmt::format("process {}", *pid);
}

// Of no consequence where it cannot be written: the lock holds all the same.
void sign(const Fd& file) {
  const std::string text = fmt::format("{} {}\n", getpid(), utc_now_rfc3339());
  if (ftruncate(file.get(), 0) != 0) return;
  static_cast<void>(!pwrite(file.get(), text.data(), text.size(), 0));
}

}  // namespace

std::string records_in(const std::string& path) {
  std::error_code code;
  return fs::is_directory(path, code) ? (fs::path(path) / kRecordsFile).string() : path;
}

bool is_interleaved(const std::string& folder) {
  return std::all_of(std::begin(kSides), std::end(kSides), [&](const char* side) {
    std::error_code code;
    return fs::exists(fs::path(folder) / side / kRecordsFile, code);
  });
}

std::vector<std::string> reports_in(const std::string& folder) {
  std::vector<std::string> found;
  if (is_interleaved(folder)) {
    for (const char* name : kComparison) {
      std::error_code code;
      const fs::path path = fs::path(folder) / name;
      if (fs::exists(path, code)) found.push_back(path.string());
    }
    for (const char* side : kSides) {
      const std::vector<std::string> inner = reports_in((fs::path(folder) / side).string());
      found.insert(found.end(), inner.begin(), inner.end());
    }
    return found;
  }
  for (const ReportRow& row : report_table()) {
    if (*row.file_name == '\0') continue;
    std::error_code code;
    const fs::path path = fs::path(folder) / row.file_name;
    if (fs::exists(path, code)) found.push_back(path.string());
  }
  return found;
}

Expected<std::vector<std::string>> own_files(const std::string& folder) {
  std::vector<std::string> folders;
  return collect_all(folder, folders);
}

Status remove_run_folder(const std::string& folder) {
  std::vector<std::string> folders;
  const Expected<std::vector<std::string>> files = collect_all(folder, folders);
  if (!files) return fail(files.error());
  for (const std::string& file : *files) {
    if (unlink(file.c_str()) != 0) return fail_errno(ErrorCode::kSystem, "remove " + file, errno);
  }
  folders.insert(folders.begin(), folder);
  for (size_t i = folders.size(); i-- > 0;) {
    if (rmdir(folders[i].c_str()) != 0) {
      return fail_errno(ErrorCode::kSystem, "remove folder " + folders[i], errno);
    }
  }
  return {};
}

FileLock::~FileLock() {
  // While it is still ours.
  if (file_.valid()) unlink(path_.c_str());
}

Expected<FileLock> FileLock::take(const std::string& path, const std::string& what) {
  for (int i = 0; i < kTries; ++i) {
    Expected<Fd> file = open_lock(path);
    if (!file) return fail(file.error());
    if (flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return fail_errno(ErrorCode::kConfig, "lock " + path, errno);
      return fail(
          ErrorCode::kBusy,
          fmt::format("{} is written by another run: {} holds {}", what, holder(*file), path),
          "wait until it ends, end it (plumbline stop --list), or write to another place");
    }
    if (!is_still_there(*file, path)) continue;
    sign(*file);
    FileLock lock;
    lock.file_ = std::move(*file);
    lock.path_ = path;
    return lock;
  }
  return fail(ErrorCode::kBusy, "lock " + path + ": others take and leave it all the time",
              "write to another place");
}

}  // namespace plumbline
