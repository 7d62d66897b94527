#include "runs/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/record/event.h"
#include "reports/report.h"
#include "reports/run_folder.h"
#include "reports/run_state.h"
#include "runs/folder_lock.h"

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

}  // namespace plumbline
