#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/number.h"
#include "launch/leftovers.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShown = 120;  // characters of a command line

std::string read_all(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The value of one variable in the text of /proc/PID/environ; see proc(5).
std::string variable_in(const std::string& environment, const std::string& name) {
  const std::string wanted = name + "=";
  for (size_t at = 0; at < environment.size();) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    if (environment.compare(at, wanted.size(), wanted) == 0) {
      return environment.substr(at + wanted.size(), end - at - wanted.size());
    }
    at = end + 1;
  }
  return {};
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
    const std::string id = variable_in(read_all(entry.path() / "environ"), variable);
    if (id.empty()) continue;
    std::string command = read_all(entry.path() / "cmdline").substr(0, kShown);
    std::replace_if(
        command.begin(), command.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
    found.push_back({*pid, id, command});
  }
  return found;
}

}  // namespace plumbline
