#include "runs/history.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "core/clock.h"
#include "core/json.h"
#include "core/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kEnding = ".json";
constexpr int kFormat = 1;
constexpr size_t kLargestEntry = 1 << 20;  // a command line may be long, but not that long

std::string entry_path(const std::string& folder, const std::string& id) {
  return (fs::path(folder) / (id + kEnding)).string();
}

std::string to_text(const HistoryEntry& entry) {
  return printable_json(json_text(entry_json(entry)));
}

int64_t count_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return 0;
  if (!found->is_number_unsigned()) return 0;  // it is below
  return static_cast<int64_t>(std::min<uint64_t>(found->get<uint64_t>(), INT64_MAX));
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// nullopt when the text is no entry of this id.
std::optional<HistoryEntry> entry_from(const std::string& text, const std::string& id) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object() || count_in(object, "plumbline_run") != kFormat) return std::nullopt;
  HistoryEntry entry;
  entry.id = text_in(object, "id");
  if (entry.id != id) return std::nullopt;
  entry.started = text_in(object, "started");
  entry.ended = text_in(object, "ended");
  entry.scenario = text_in(object, "scenario");
  entry.version = text_in(object, "version");
  entry.folder = text_in(object, "folder");
  const auto command = object.find("command");
  if (command != object.end() && command->is_array()) {
    for (const json& word : *command) {
      if (word.is_string()) entry.command.push_back(word.get<std::string>());
    }
  }
  const auto made = object.find("made_folder");
  entry.made_folder = made != object.end() && made->is_boolean() && made->get<bool>();
  entry.cells = count_in(object, "cells");
  entry.passed = count_in(object, "passed");
  entry.failed = count_in(object, "failed");
  entry.skipped = count_in(object, "skipped");
  entry.errors = count_in(object, "errors");
  entry.rules = count_in(object, "rules");
  entry.rules_broken = count_in(object, "rules_broken");
  const auto code = object.find("exit_code");
  if (code != object.end() && code->is_number_integer()) {
    entry.exit_code = static_cast<int>(std::min<int64_t>(count_in(object, "exit_code"), 255));
  }
  return entry;
}

Status write_all(int fd, const std::string& text, const std::string& path) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(ErrorCode::kSystem, "write " + path, errno);
    done += static_cast<size_t>(n);
  }
  return {};
}

// The text of a regular file of ours; `alive` = somebody holds its lock. Never blocks, whatever
// lies there (a FIFO, a link to elsewhere).
std::optional<std::string> read_entry(const std::string& path, bool& alive) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  alive = flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  std::string text;
  char buffer[4096];
  while (text.size() <= kLargestEntry) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

// An absolute path in the variable; relative ones are to be ignored (XDG base directories, 0.8).
std::string absolute_variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && text[0] == '/' ? std::string(text) : std::string();
}

}  // namespace

nlohmann::json entry_json(const HistoryEntry& entry) {
  json object = {{"plumbline_run", kFormat},
                 {"id", entry.id},
                 {"started", entry.started},
                 {"ended", entry.ended},
                 {"scenario", entry.scenario},
                 {"version", entry.version},
                 {"folder", entry.folder},
                 {"command", entry.command},
                 {"made_folder", entry.made_folder},
                 {"cells", entry.cells},
                 {"passed", entry.passed},
                 {"failed", entry.failed},
                 {"skipped", entry.skipped},
                 {"errors", entry.errors},
                 {"rules", entry.rules},
                 {"rules_broken", entry.rules_broken},
                 {"exit_code", nullptr}};
  if (entry.exit_code) object["exit_code"] = *entry.exit_code;
  return object;
}

std::string state_of(const HistoryEntry& entry) {
  if (!entry.exit_code) return entry.running ? "running" : "unfinished";
  switch (*entry.exit_code) {
    case 0:
      return "ok";
    case 1:
      return "not started";
    case 2:
      return "failed";
    case 3:
      return "wrong data";
    case 4:
      return "rules broken";
    case 130:
      return "interrupted";
    default:
      return fmt::format("exit code {}", *entry.exit_code);
  }
}

Expected<std::string> state_folder() {
  const std::string state = absolute_variable("XDG_STATE_HOME"), home = absolute_variable("HOME");
  if (!state.empty()) return state + "/plumbline";
  if (!home.empty()) return home + "/.local/state/plumbline";
  return fail(ErrorCode::kConfig, "neither XDG_STATE_HOME nor HOME is an absolute path",
              "set one of them");
}

Expected<std::string> history_folder() {
  const Expected<std::string> state = state_folder();
  if (!state) return fail(state.error());
  return *state + "/runs";
}

Expected<HistoryRun> HistoryRun::begin(HistoryEntry entry) {
  const Expected<std::string> folder = history_folder();
  if (!folder) return fail(folder.error());
  const fs::path own = fs::path(*folder).parent_path();
  std::error_code code;
  const bool fresh = fs::create_directories(own, code);
  if (fresh) fs::permissions(own, fs::perms::owner_all, code);  // names of scenarios, paths
  fs::create_directories(*folder, code);
  if (code) {
    return fail_errno(ErrorCode::kSystem, "create folder " + *folder, code.value());
  }
  HistoryRun run;
  run.path_ = entry_path(*folder, entry.id);
  run.entry_ = std::move(entry);
  run.lock_.reset(
      open(run.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!run.lock_.valid()) return fail_errno(ErrorCode::kSystem, "create " + run.path_, errno);
  flock(run.lock_.get(), LOCK_EX | LOCK_NB);  // where there are no locks, "running" is not known
  if (const Status wrote = write_all(run.lock_.get(), to_text(run.entry_), run.path_); !wrote) {
    unlink(run.path_.c_str());
    return fail(wrote.error());
  }
  return run;
}

void HistoryRun::finish(int exit_code) {
  if (path_.empty()) return;
  entry_.exit_code = exit_code;
  entry_.ended = utc_now_rfc3339();
  const std::string fresh = path_ + ".new";
  const Fd fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  // What cannot be written leaves the run in the list as unfinished.
  if (fd.valid() && write_all(fd.get(), to_text(entry_), fresh)) {
    rename(fresh.c_str(), path_.c_str());
  } else {
    unlink(fresh.c_str());
  }
  path_.clear();
  lock_.reset();
}

Expected<std::vector<HistoryEntry>> read_history(std::vector<std::string>& notes) {
  const Expected<std::string> folder = history_folder();
  if (!folder) return fail(folder.error());
  std::vector<HistoryEntry> entries;
  std::error_code code;
  fs::directory_iterator files(*folder, code);
  if (code && code != std::errc::no_such_file_or_directory) {
    return fail_errno(ErrorCode::kConfig, "read folder " + *folder, code.value());
  }
  for (; !code && files != fs::directory_iterator(); files.increment(code)) {
    const fs::path path = files->path();
    if (path.extension() != kEnding) continue;
    bool alive = false;
    std::optional<HistoryEntry> entry;
    // Twice: a run may end, and replace its file, between the look at its lock and the reading.
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::optional<std::string> text = read_entry(path.string(), alive);
      entry = text ? entry_from(*text, path.stem().string()) : std::nullopt;
      if (entry && (entry->exit_code || alive)) break;
    }
    if (!entry) {
      notes.push_back(path.string() + " is no entry of a run; ignored");
      continue;
    }
    entry->running = alive && !entry->exit_code;
    entries.push_back(std::move(*entry));
  }
  std::sort(entries.begin(), entries.end(), [](const HistoryEntry& a, const HistoryEntry& b) {
    return std::tie(a.started, a.id) > std::tie(b.started, b.id);
  });
  return entries;
}

Status forget(const HistoryEntry& entry) {
  const Expected<std::string> folder = history_folder();
  if (!folder) return fail(folder.error());
  const std::string path = entry_path(*folder, entry.id);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return fail_errno(ErrorCode::kSystem, "remove " + path, errno);
  }
  return {};
}

}  // namespace plumbline
