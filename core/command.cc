#include "core/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "core/fd.h"

extern char** environ;

namespace plumbline {
namespace {

// Pipes that a child inherits only through the file actions of its own spawn.
bool make_pipe(Fd& read_end, Fd& write_end) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
}

// Our environment with the C locale, so that tools speak the language that the parsers know.
std::vector<std::string> child_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("LC_", 0) != 0 && text.rfind("LANG", 0) != 0) out.push_back(text);
  }
  out.emplace_back("LC_ALL=C");
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Reads what is there; false when the stream has ended.
bool drain(const Fd& from, std::string& to, size_t max_bytes, bool& truncated) {
  std::array<char, 65536> buffer;
  const ssize_t got = read(from.get(), buffer.data(), buffer.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  const size_t room = max_bytes - std::min(max_bytes, to.size());
  to.append(buffer.data(), std::min(room, static_cast<size_t>(got)));
  truncated = truncated || static_cast<size_t>(got) > room;
  return got > 0;
}

struct Streams {
  Fd out, err, in;
  size_t written = 0;
};

// Ends a command, which has a process group of its own, when its caller no longer wants it.
class Stopper {
 public:
  Stopper(pid_t pid, const CommandOptions& options) : pid_(pid), options_(options) {}

  int slice_ms() const { return options_.stop ? 20 : 1000; }
  bool asked() const { return asked_; }
  // False when there is nothing more to wait for.
  bool go_on() {
    const int level = options_.stop ? options_.stop() : 0;
    if (level == 0) return true;
    if (!asked_) ::kill(-pid_, SIGTERM);
    if (!asked_) patience_ = Deadline::after_ms(kGentleMs);
    asked_ = true;
    return level == 1 && !patience_.passed();
  }

 private:
  static constexpr int64_t kGentleMs = 2000;
  pid_t pid_;
  const CommandOptions& options_;
  bool asked_ = false;
  Deadline patience_ = Deadline::after_ms(0);
};

// Moves bytes until both outputs have ended; false at the deadline, or when it is to stop.
bool move_bytes(Streams& streams, const CommandOptions& options, CommandResult& result,
                Stopper& stopper, Deadline deadline) {
  if (options.input.empty()) streams.in.reset();
  while (streams.out.valid() || streams.err.valid()) {
    // Invalid descriptors (-1) are ignored by poll.
    std::array<pollfd, 3> fds{{{streams.out.get(), POLLIN, 0},
                               {streams.err.get(), POLLIN, 0},
                               {streams.in.get(), POLLOUT, 0}}};
    if (deadline.passed() || !stopper.go_on()) return false;
    if (poll(fds.data(), fds.size(), deadline.poll_timeout_ms(stopper.slice_ms())) < 0 &&
        errno != EINTR) {
      return false;
    }
    if (fds[0].revents != 0 &&
        !drain(streams.out, result.out, options.max_bytes, result.truncated)) {
      streams.out.reset();
    }
    if (fds[1].revents != 0 &&
        !drain(streams.err, result.err, options.max_bytes, result.truncated)) {
      streams.err.reset();
    }
    if (fds[2].revents != 0) {
      const ssize_t sent = write(streams.in.get(), options.input.data() + streams.written,
                                 options.input.size() - streams.written);
      if (sent > 0) streams.written += static_cast<size_t>(sent);
      if ((sent < 0 && errno != EAGAIN && errno != EINTR) ||
          streams.written == options.input.size()) {
        streams.in.reset();
      }
    }
  }
  return true;
}

bool wait_until(pid_t pid, int& status, Stopper& stopper, Deadline deadline) {
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (deadline.passed() || !stopper.go_on()) return false;
    usleep(1000);
  }
  return true;
}

}  // namespace

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? name : std::string();
  }
  const char* path = getenv("PATH");
  std::string folders = path != nullptr ? path : "";
  folders += ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin";
  size_t begin = 0;
  while (begin <= folders.size()) {
    const size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string file = folders.substr(begin, end - begin) + "/" + name;
    std::error_code ignored;
    if (end > begin && access(file.c_str(), X_OK) == 0 &&
        std::filesystem::is_regular_file(file, ignored)) {
      return file;
    }
    begin = end + 1;
  }
  return {};
}

Expected<CommandResult> run_command(const std::vector<std::string>& argv, Deadline deadline,
                                    const CommandOptions& options) {
  if (argv.empty()) return fail(ErrorCode::kUsage, "no command given");
  const std::string program = find_program(argv[0]);
  if (program.empty()) {
    return fail(ErrorCode::kUnsupported, "there is no program '" + argv[0] + "' here");
  }
  Streams streams;
  Fd child_in, child_out, child_err;
  if (!make_pipe(streams.out, child_out) || !make_pipe(streams.err, child_err) ||
      !make_pipe(child_in, streams.in)) {
    const int err = errno;
    return fail_errno(ErrorCode::kSystem, "pipe for " + argv[0], err, resource_hint(err));
  }
  fcntl(streams.in.get(), F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, child_in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, child_err.get(), 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own, so that whatever it starts can be ended with it.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::vector<std::string> words = argv, environment = child_environment();
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return fail_errno(ErrorCode::kSystem, "start " + program, error, resource_hint(error));
  }
  child_in.reset();
  child_out.reset();
  child_err.reset();

  CommandResult result;
  int status = 0;
  Stopper stopper(pid, options);
  const bool done = move_bytes(streams, options, result, stopper, deadline) &&
                    wait_until(pid, status, stopper, deadline);
  // Also when it is done: helpers that it left behind would hold our pipes and ports.
  if (!done) {
    ::kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (stopper.asked()) {
    return fail(ErrorCode::kInterrupted, "'" + argv[0] + "' was ended: interrupted");
  }
  if (!done) {
    return fail(ErrorCode::kTimeout, "'" + argv[0] + "' did not end in time and was killed");
  }
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return result;
}

}  // namespace plumbline
