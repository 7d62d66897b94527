#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/file.h"
#include "core/number.h"
#include "launch/leftovers.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShown = 120;  // characters of a command line

struct Family {
  pid_t parent = 0;
  bool ended = false;
};

// "4711 (any ) name) S 4700 ...", see proc(5).
bool read_family(const fs::path& folder, Family& family) {
  const std::string text = read_system_file(folder / "stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return false;
  const char state = text[name_end + 2];
  family.ended = state == 'Z' || state == 'X';
  family.parent = leading_whole<pid_t>(std::string_view(text).substr(name_end + 4)).value_or(0);
  return true;
}

}  // namespace

std::vector<Leftover> find_marked(const std::string& variable) {
  std::vector<Leftover> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const auto pid = parse_whole<pid_t>(entry.path().filename().string());
    if (!pid || *pid == getpid()) continue;
    struct stat owner {};
    if (stat(entry.path().c_str(), &owner) != 0 || owner.st_uid != geteuid()) continue;
    // Empty for those that have ended and wait to be reaped, too.
    const std::string id = process_variable(*pid, variable);
    if (id.empty()) continue;
    std::string command = read_system_file(entry.path() / "cmdline").substr(0, kShown);
    std::replace_if(
        command.begin(), command.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
    found.push_back({*pid, id, command});
  }
  return found;
}

// The attribute stays with this process, and the programs that it starts do not inherit it.
Offspring::Offspring() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> Offspring::find() const {
  std::map<pid_t, Family> all;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const auto pid = parse_whole<pid_t>(entry.path().filename().string());
    if (!pid) continue;
    Family family;
    if (read_family(entry.path(), family)) all.emplace(*pid, family);
  }
  std::vector<pid_t> found;
  for (const auto& [pid, family] : all) {
    if (family.ended || pid == getpid()) continue;
    // Up to us, or to the top. The list was read over some time, and a number may have been given
    // away meanwhile: no line is longer than all.
    pid_t at = pid;
    for (size_t steps = 0; steps < all.size() && at != getpid(); ++steps) {
      const auto above = all.find(at);
      if (above == all.end()) break;
      at = above->second.parent;
    }
    if (at == getpid()) found.push_back(pid);
  }
  return found;
}

}  // namespace plumbline
