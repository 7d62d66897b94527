#include "launch/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cstring>

#include "core/host/resource_hint.h"

extern char** environ;

namespace plumbline {
namespace {

constexpr size_t kMaxLine = 64u << 20;  // bytes; a line longer than this is a broken child

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

Status wait_fd(int fd, int16_t events, Deadline deadline, const std::string& what) {
  while (true) {
    pollfd entry{fd, events, 0};
    const int ready = poll(&entry, 1, deadline.poll_timeout_ms(1000));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail_errno(ErrorCode::kSystem, what, errno);
    if (deadline.passed()) return fail(ErrorCode::kTimeout, what + ": no answer in time");
  }
}

}  // namespace

Expected<std::unique_ptr<Process>> Process::spawn(const std::vector<std::string>& argv,
                                                  const ProcessOptions& options) {
  if (argv.empty()) return fail(ErrorCode::kUsage, "no program to start");
  Expected<Pipe> in = make_pipe();
  if (!in) return fail(in.error());
  Expected<Pipe> out = make_pipe();
  if (!out) return fail(out.error());
  Expected<Pipe> errors{Pipe{}};
  if (options.catch_errors) errors = make_pipe();
  if (!errors) return fail(errors.error());

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in->read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out->write.get(), STDOUT_FILENO);
  if (options.catch_errors) {
    posix_spawn_file_actions_adddup2(&actions, errors->write.get(), STDERR_FILENO);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);

  std::vector<char*> arguments;
  for (const std::string& text : argv) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int err =
      posix_spawnp(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (err != 0) return fail_errno(ErrorCode::kSystem, "start " + argv[0], err, resource_hint(err));
  std::unique_ptr<Process> process(new Process(pid));
  process->input_ = std::move(in->write);
  process->output_ = std::move(out->read);
  process->errors_ = std::move(errors->read);
  for (const Fd* fd : {&process->input_, &process->output_, &process->errors_}) {
    if (fd->valid()) fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return process;
}

Process::~Process() {
  if (!wait(Deadline::after_ns(0))) {
    kill(SIGKILL);
    wait(Deadline::after_ms(5000));
  }
}

void Process::kill(int signal) {
  if (!reaped_) ::kill(pid_, signal);
}

void Process::kill_group(int signal) {
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
  constexpr int kSignalled = 128;
  return WIFSIGNALED(status_) ? kSignalled + WTERMSIG(status_) : WEXITSTATUS(status_);
}

Status Process::write_line(const std::string& line, Deadline deadline) {
  const std::string text = line + '\n';
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(input_.get(), text.data() + done, text.size() - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      const Status ready =
          wait_fd(input_.get(), POLLOUT, deadline, fmt::format("write to process {}", pid_));
      if (!ready) return ready;
    } else if (n < 0 && errno != EINTR) {
      const int err = errno;
      wait(Deadline::after_ms(200));
      return fail_errno(ErrorCode::kPeerLost, fmt::format("process {} {}", pid_, state()), err);
    }
  }
  return {};
}

void Process::try_write_line(const std::string& line) const {
  const std::string text = line + '\n';
  // A pipe takes so little whole or not at all; whoever reads on sees a broken one.
  static_cast<void>(!::write(input_.get(), text.data(), text.size()));
}

Expected<std::string> Process::read_line(Deadline deadline) {
  while (true) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > kMaxLine) {
      return fail(ErrorCode::kProtocol, fmt::format("process {} writes an endless line", pid_));
    }
    std::array<char, 65536> chunk{};
    const ssize_t n = ::read(output_.get(), chunk.data(), chunk.size());
    if (n > 0) {
      buffer_.append(chunk.data(), static_cast<size_t>(n));
    } else if (n == 0) {
      wait(Deadline::after_ms(1000));
      return fail(ErrorCode::kPeerLost, fmt::format("process {} {}", pid_, state()));
    } else if (errno == EAGAIN) {
      const Status ready =
          wait_fd(output_.get(), POLLIN, deadline, fmt::format("read from process {}", pid_));
      if (!ready) return fail(ready.error());
    } else if (errno != EINTR) {
      return fail_errno(ErrorCode::kSystem, fmt::format("read from process {}", pid_), errno);
    }
  }
}

Status spawn_on(int connection, const std::vector<std::string>& argv) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, connection, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, connection, STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& text : argv) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  const int err = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (err != 0) return fail_errno(ErrorCode::kSystem, "start " + argv[0], err, resource_hint(err));
  return {};
}

}  // namespace plumbline
