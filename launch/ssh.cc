#include "launch/ssh.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/file.h"
#include "core/shell_words.h"

namespace plumbline {
namespace {

// Seconds. Connecting is one TCP handshake and one login; a network that is dead for as long as
// three questions go unanswered will not come back in time for a measurement.
constexpr const char* kOptions[] = {
    "BatchMode=yes",         "ConnectTimeout=5",        "ConnectionAttempts=1",
    "ServerAliveInterval=2", "ServerAliveCountMax=3",   "ForwardX11=no",
    "ForwardAgent=no",       "ClearAllForwardings=yes", "RequestTTY=no",
    "PermitLocalCommand=no",
};
// The shared connection outlives its last command by this, for the next one.
constexpr const char* kPersist = "ControlPersist=2";

std::vector<std::string> common(const SshTarget& target, const char* control_master) {
  std::vector<std::string> argv = {"ssh"};
  if (!target.config.empty()) argv.insert(argv.end(), {"-F", target.config});
  for (const char* option : kOptions) argv.insert(argv.end(), {"-o", option});
  if (!target.control_path.empty()) {
    argv.insert(argv.end(), {"-S", target.control_path, "-o", control_master, "-o", kPersist});
  }
  if (!target.user.empty()) argv.insert(argv.end(), {"-l", target.user});
  if (target.port != 0) argv.insert(argv.end(), {"-p", std::to_string(target.port)});
  if (!target.key.empty()) {
    argv.insert(argv.end(), {"-i", target.key, "-o", "IdentitiesOnly=yes"});
  }
  return argv;
}

struct SshFailure {
  const char* words;  // in lower case
  const char* cause;
};
// What ssh says of itself (exit status 255). First match wins: a warning about a key file precedes
// the refusal that follows from it.
constexpr SshFailure kOwnFailures[] = {
    {"could not resolve hostname", "name.unresolved"},
    {"unprotected private key file", "ssh.key_permissions"},
    {"bad permissions", "ssh.key_permissions"},
    {"bad owner or permissions", "ssh.key_permissions"},
    {"remote host identification has changed", "ssh.host_key"},
    {"host key verification failed", "ssh.host_key"},
    {"no matching host key", "ssh.host_key"},
    {"connection refused", "ssh.refused"},
    {"kex_exchange_identification", "ssh.refused"},
    {"banner exchange", "ssh.refused"},
    {"permission denied (", "ssh.auth"},
    {"too many authentication failures", "ssh.auth"},
    {"connection timed out", "ssh.unreachable"},
    {"operation timed out", "ssh.unreachable"},
    {"no route to host", "ssh.unreachable"},
    {"network is unreachable", "ssh.unreachable"},
    {"host is down", "ssh.unreachable"},
    {"connection reset", "ssh.unreachable"},
    {"connection closed by", "ssh.unreachable"},
};
// What the shell or the loader there says of the program.
constexpr SshFailure kProgramFailures[] = {
    {"exec format error", "ssh.wrong_binary"},
    {"cannot execute binary file", "ssh.wrong_binary"},
    {"bad cpu type", "ssh.wrong_binary"},
    {"error while loading shared libraries", "ssh.no_binary"},
    {"library not loaded", "ssh.no_binary"},
    {"command not found", "ssh.no_binary"},
    {"no such file or directory", "ssh.no_binary"},
};

// ssh adds a suffix of 17 characters while it binds the socket, and a socket's path has at most 104
// on macOS; %C is 40.
constexpr size_t kLongestBase = 20;
constexpr mode_t kOwnerOnly = 0700, kPermissions = 0777;

// What lies there itself, not where a link leads.
bool own_folder(const std::string& path, struct stat& state) {
  return lstat(path.c_str(), &state) == 0 && S_ISDIR(state.st_mode) && state.st_uid == getuid();
}

Error open_to_others(const std::string& folder) {
  return Error{ErrorCode::kConfig, folder + " is not a folder that only this user can enter", 0,
               "remove it, or correct it: chmod 700 " + shell_line({folder}), ""};
}

// Our folder in $XDG_RUNTIME_DIR; empty where there is none that is this user's (sudo keeps the
// variable of the user before) or its name is too long.
Expected<std::string> runtime_folder() {
  const char* variable = std::getenv("XDG_RUNTIME_DIR");
  const std::string base = variable == nullptr ? "" : variable;
  struct stat state {};
  if (base.empty() || base.front() != '/' || base.size() > kLongestBase) return std::string();
  if (!own_folder(base, state)) return std::string();
  if (const Status safe = check_folders_above(base); !safe) return fail(safe.error());
  const std::string folder = base + "/plumbline-" + std::to_string(getuid());
  if (mkdir(folder.c_str(), kOwnerOnly) != 0 && errno != EEXIST) {
    return fail_errno(ErrorCode::kSystem, "create folder " + folder, errno);
  }
  if (!own_folder(folder, state) || (state.st_mode & kPermissions) != kOwnerOnly) {
    return fail(open_to_others(folder));
  }
  return folder;
}

// Where a folder with a fresh name may be made: others must not be able to put theirs in its place.
Expected<std::string> temporary_base() {
  const char* variable = std::getenv("TMPDIR");
  std::string base = variable == nullptr ? "" : variable;
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  if (base.empty() || base.front() != '/' || base.size() > kLongestBase) base = "/tmp";
  if (const Status safe = check_folders_above(base); !safe) return fail(safe.error());
  return base;
}

}  // namespace

std::vector<std::string> ssh_command(const SshTarget& target,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> argv = common(target, "ControlMaster=auto");
  argv.insert(argv.end(), {"-T", "--", target.destination, "exec " + shell_line(words)});
  return argv;
}

std::vector<std::string> ssh_end_command(const SshTarget& target) {
  std::vector<std::string> argv = common(target, "ControlMaster=no");
  argv.insert(argv.end(), {"-q", "-O", "exit", "--", target.destination});
  return argv;
}

Expected<SshControl> ssh_control() {
  const std::string name = "/" + std::to_string(getpid()) + "-%C";
  const Expected<std::string> runtime = runtime_folder();
  if (!runtime) return fail(runtime.error());
  if (!runtime->empty()) return SshControl{*runtime + name, nullptr};
  const Expected<std::string> base = temporary_base();
  if (!base) return fail(base.error());
  auto folder = std::make_shared<const TemporaryFolder>(*base);
  if (folder->path().empty()) {
    return fail_errno(ErrorCode::kSystem, "create a folder for ssh's sockets in " + *base, errno,
                      "is it there, and may this user write into it?");
  }
  return SshControl{folder->path().string() + name, folder};
}

std::string ssh_cause(const std::string& words, int exit_status) {
  constexpr int kNotExecutable = 126, kNotFound = 127, kSshItself = 255;
  std::string text = words;
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const auto named = [&text](const auto& rows) -> std::string {
    for (const SshFailure& row : rows) {
      if (text.find(row.words) != std::string::npos) return row.cause;
    }
    return "";
  };
  if (exit_status == kSshItself) {
    const std::string cause = named(kOwnFailures);
    return cause.empty() ? "ssh.unreachable" : cause;
  }
  const std::string cause = named(kProgramFailures);
  const bool never_ran = exit_status == kNotExecutable || exit_status == kNotFound;
  return cause.empty() && never_ran ? "ssh.no_binary" : cause;
}

}  // namespace plumbline
