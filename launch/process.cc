#include "launch/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cstring>

#include "core/error.h"

extern char** environ;

namespace plumbline {
namespace {

struct Pipe {
  Fd read, write;
};

Expected<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  // Children must not inherit each other's pipe ends, or an end of file would never come.
  if (!open_pipe(ends.data())) {
    const int err = errno;
    return fail_errno(ErrorCode::kSystem, "pipe", err, resource_hint(err));
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

Expected<pid_t> start_program(const std::vector<std::string>& argv, const StandardStreams& streams,
                              bool own_group) {
  if (argv.empty()) return fail(ErrorCode::kUsage, "no program to start");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::pair<int, int> ends[] = {
      {streams.in, STDIN_FILENO}, {streams.out, STDOUT_FILENO}, {streams.errors, STDERR_FILENO}};
  for (const auto& [ours, its] : ends) {
    if (ours >= 0) posix_spawn_file_actions_adddup2(&actions, ours, its);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  constexpr short kOwnGroup = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK;
  posix_spawnattr_setflags(&attributes, own_group ? kOwnGroup : short{0});

  std::vector<char*> arguments;
  for (const std::string& text : argv) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int err =
      posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (err != 0) return fail_errno(ErrorCode::kSystem, "start " + argv[0], err, resource_hint(err));
  return pid;
}

Expected<std::unique_ptr<Process>> Process::spawn(const std::vector<std::string>& argv,
                                                  const ProcessOptions& options) {
  Expected<Pipe> in = make_pipe();
  if (!in) return fail(in.error());
  Expected<Pipe> out = make_pipe();
  if (!out) return fail(out.error());
  Expected<Pipe> errors{Pipe{}};
  if (options.catch_errors) errors = make_pipe();
  if (!errors) return fail(errors.error());
  const Expected<pid_t> pid =
      start_program(argv, {in->read.get(), out->write.get(), errors->write.get()}, true);
  if (!pid) return fail(pid.error());
  for (const Fd* fd : {&in->write, &out->read, &errors->read}) {
    if (fd->valid()) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return std::unique_ptr<Process>(
      new Process(*pid, std::move(in->write), std::move(out->read), std::move(errors->read)));
}

Process::~Process() {
  if (!wait(Deadline::after_ns(0))) {
    kill(SIGKILL);
    wait(Deadline::after_ms(5000));
  }
}

void Process::kill(int signal) {
  if (!reaped_) ::kill(-pid_, signal);
}

bool Process::wait(Deadline deadline) {
  while (!reaped_) {
    const pid_t got = waitpid(pid_, &status_, WNOHANG);
    if (got == pid_ || (got < 0 && errno != EINTR)) reaped_ = true;
    if (reaped_ || deadline.passed()) break;
    constexpr int kPauseMs = 2;
    poll(nullptr, 0, kPauseMs);
  }
  return reaped_;
}

bool Process::is_stopped() const {
  if (reaped_) return false;
  siginfo_t info{};
  // WNOWAIT: what it is now, not what has changed since somebody asked.
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid_;
}

std::string Process::state() const {
  if (!reaped_) return "is running";
  if (WIFSIGNALED(status_)) {
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status_),
                       strsignal(WTERMSIG(status_)));
  }
  return fmt::format("exited with status {}", WEXITSTATUS(status_));
}

int Process::exit_status() const {
  if (!reaped_) return -1;
  return exit_status_of(status_);
}

int exit_status_of(int status) {
  constexpr int kSignalled = 128;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Process::doing(const char* verb) const {
  return fmt::format("{} process {}", verb, pid_);
}

Error Process::gone(int err) {
  constexpr int64_t kEndMs = 1000, kBrokenMs = 200;
  wait(Deadline::after_ms(err == 0 ? kEndMs : kBrokenMs));
  return Error{ErrorCode::kPeerLost, fmt::format("process {} {}", pid_, state()), err, "", ""};
}

void Process::try_write_line(const std::string& line) const {
  const std::string text = line + '\n';
  // A pipe takes so little whole or not at all; whoever reads on sees a broken one.
  static_cast<void>(!::write(to_.get(), text.data(), text.size()));
}

}  // namespace plumbline
