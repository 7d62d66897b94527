#include "lab/shell.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

#include "core/clock.h"
#include "core/command.h"
#include "core/fd.h"
#include "core/number.h"

extern char** environ;

namespace plumbline {
namespace {

constexpr int64_t kReadyMs = 20'000;
constexpr int64_t kGentleMs = 300;  // between SIGTERM and SIGKILL

std::string last_line(const std::string& text) {
  std::istringstream in(text);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

// Start time and state of a process; false when there is none. The name in parentheses may hold
// anything, so the fields are counted behind its last parenthesis.
bool read_stat(long pid, char& state, long long& start) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t behind = text.rfind(')');
  if (behind == std::string::npos) return false;
  std::istringstream fields(text.substr(behind + 1));
  if (!(fields >> state)) return false;
  std::string field;
  for (int number = 4; number <= 22; ++number) {
    if (!(fields >> field)) return false;
  }
  start = parse_whole(field).value_or(0);
  return true;
}

// Takes the whole line that says "ready" from the helper's output: one that still writes when we
// close our end would die of it.
bool wait_for_line(const Fd& out) {
  const Deadline deadline = Deadline::after_ms(kReadyMs);
  std::array<char, 256> buffer;
  while (!deadline.passed()) {
    pollfd waiting{out.get(), POLLIN, 0};
    if (poll(&waiting, 1, deadline.poll_timeout_ms(1000)) <= 0) continue;
    const ssize_t got = read(out.get(), buffer.data(), buffer.size());
    if (got <= 0) return false;
    if (buffer[static_cast<size_t>(got) - 1] == '\n') return true;
  }
  return false;
}

}  // namespace

std::string in_netns(const std::string& netns, const std::string& command) {
  return "ip netns exec " + netns + " " + command;
}

std::string ip_in(const std::string& netns, const std::string& command) {
  return "ip -n " + netns + " " + command;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Status run_script(const std::string& what, const std::string& script, int64_t within_ms) {
  CommandOptions options;
  options.input = script + "\n";
  const auto done = run_command({"sh", "-e"}, Deadline::after_ms(within_ms), options);
  if (!done) return fail(done.error());
  if (done->status == 0) return {};
  std::string said = last_line(done->err);
  if (said.empty()) said = "exit status " + std::to_string(done->status);
  return fail(ErrorCode::kSystem, what + ": " + said);
}

bool namespace_exists(const std::string& netns) {
  struct stat info {};
  return stat(("/run/netns/" + netns).c_str(), &info) == 0;
}

Expected<ProcessId> start_helper(const FaultHelper& helper) {
  std::vector<std::string> argv = {find_program("ip"), "netns", "exec", helper.netns};
  argv.insert(argv.end(), helper.argv.begin(), helper.argv.end());
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  int ends[2];
  if (pipe(ends) != 0) return fail_errno(ErrorCode::kSystem, "pipe for a helper", errno);
  Fd out(ends[0]), child_out(ends[1]);
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int status =
      posix_spawn(&pid, argv[0].c_str(), &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (status != 0) return fail_errno(ErrorCode::kSystem, "start " + helper.argv[0], status);
  child_out.reset();
  ProcessId process;
  process.pid = pid;
  char state = 0;
  if (!read_stat(pid, state, process.start) || !wait_for_line(out)) {
    end_process(process);
    return fail(ErrorCode::kSystem,
                "helper '" + helper.argv[0] + "' in " + helper.netns + " did not get ready");
  }
  return process;
}

bool is_running(const ProcessId& process) {
  char state = 0;
  long long start = 0;
  return read_stat(process.pid, state, start) && start == process.start && state != 'Z';
}

void end_process(const ProcessId& process) {
  const auto gone = [&] {
    waitpid(static_cast<pid_t>(process.pid), nullptr, WNOHANG);  // when it is our own child
    return !is_running(process);
  };
  if (gone()) return;
  for (const int number : {SIGTERM, SIGKILL}) {
    kill(static_cast<pid_t>(process.pid), number);
    const Deadline deadline = Deadline::after_ms(kGentleMs);
    while (!deadline.passed()) {
      if (gone()) return;
      usleep(5000);
    }
  }
}

void end_processes_in(const std::string& netns) {
  const auto listed = run_command({"ip", "netns", "pids", netns}, Deadline::after_ms(5000));
  if (!listed) return;
  std::istringstream in(listed->out);
  for (long pid = 0; in >> pid;) {
    ProcessId process{pid, 0};
    char state = 0;
    if (pid != getpid() && read_stat(pid, state, process.start)) end_process(process);
  }
}

}  // namespace plumbline
