#include "launch/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "core/clock.h"
#include "core/error.h"
#include "core/fd.h"
#include "core/json.h"
#include "launch/leftovers.h"
#include "launch/line_io.h"
#include "launch/process.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr int kGuardLookMs = 100;

template <typename Order, typename Each>
void each_field_of_order(Order& order, const Each& each) {
  each("argv", order.argv);
  each("environment", order.environment);
  each("current_folder", order.current_folder);
  each("folder", order.folder);
  each("files", order.files);
  each("takes_input", order.takes_input);
}

// The order's files, there while this lives.
class OrderedFiles {
 public:
  ~OrderedFiles() {
    for (const std::string& path : paths_) unlink(path.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  OrderedFiles() = default;
  OrderedFiles(const OrderedFiles&) = delete;
  OrderedFiles& operator=(const OrderedFiles&) = delete;

  Status write(const GuardOrder& order) {
    if (order.folder.empty()) return {};
    constexpr mode_t kOwnerOnly = 0700, kOwnerReads = 0600;
    // Only one that was not there: whoever took the name may have put anything behind it.
    if (mkdir(order.folder.c_str(), kOwnerOnly) != 0) {
      return fail_errno(ErrorCode::kSystem, "create folder " + order.folder, errno);
    }
    folder_ = order.folder;
    for (const auto& [name, text] : order.files) {
      const std::string path = order.folder + "/" + name;
      const Fd file(
          open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kOwnerReads));
      if (!file.valid()) return fail_errno(ErrorCode::kSystem, "create " + path, errno);
      paths_.push_back(path);
      if (!write_all(file.get(), text)) {
        return fail_errno(ErrorCode::kSystem, "write " + path, errno);
      }
    }
    return {};
  }

 private:
  std::string folder_;
  std::vector<std::string> paths_;
};

// `input` = what it reads as its standard input; -1 = nothing.
Expected<pid_t> spawn_leader(const GuardOrder& order, int input) {
  const Fd nothing(input < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1);
  if (input < 0 && !nothing.valid()) {
    return fail_errno(ErrorCode::kSystem, "open /dev/null", errno);
  }
  Expected<pid_t> pid =
      start_program(order.argv, {input < 0 ? nothing.get() : input, -1, -1}, true);
  if (!pid) pid.error().hint = "is it there, and may it be executed, on this host?";
  return pid;
}

// The program's standard input: what has come for it, until it reads it.
class ProgramInput {
 public:
  // The end for the program; -1 when it gets none.
  Expected<int> open(bool wanted) {
    if (!wanted) return -1;
    int ends[2];
    if (!open_pipe(ends)) return fail_errno(ErrorCode::kSystem, "open a pipe", errno);
    theirs_ = Fd(ends[0]);
    ours_ = Fd(ends[1]);
    fcntl(ours_.get(), F_SETFL, O_NONBLOCK);
    return theirs_.get();
  }
  void started() { theirs_.reset(); }
  // So much waits for a program that does not read that no more is taken for now.
  bool full() const { return waiting().size() >= kMostWaiting; }
  int wants_to_write() const { return waiting().empty() ? -1 : ours_.get(); }

  // false: what came is no input.
  bool take(std::string_view bytes) {
    if (!frames_.feed(bytes)) return false;
    if (!ours_.valid()) frames_.input().clear();
    write();
    return true;
  }

  void write() {
    std::string& input = frames_.input();
    while (!input.empty() && ours_.valid()) {
      const ssize_t n = ::write(ours_.get(), input.data(), input.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n < 0) return close();  // it reads no more
      input.erase(0, static_cast<size_t>(n));
    }
    if (frames_.ended()) close();
  }

 private:
  static constexpr size_t kMostWaiting = 1 << 20;

  const std::string& waiting() const { return frames_.input(); }
  void close() {
    ours_.reset();
    frames_.input().clear();
  }

  Fd theirs_, ours_;
  InputFrames frames_;
};

// The asker, as far as its end of the input tells.
class Asker {
 public:
  Asker(const GuardSettings& settings, ProgramInput& program)
      : settings_(settings), program_(program), lease_(settings.lease_ms) {}

  // Waits a moment; true when it has gone.
  bool gone() {
    const bool full = program_.full();
    const auto listen = static_cast<short>(full ? 0 : POLLIN);
    pollfd entries[] = {{settings_.input, listen, 0}, {program_.wants_to_write(), POLLOUT, 0}};
    poll(entries, 2, kGuardLookMs);
    if (entries[1].revents != 0) program_.write();
    if (entries[0].revents != 0) {
      if (full) return true;  // asked for nothing, so it is the end
      std::array<char, 65536> chunk;
      const ssize_t n = ::read(settings_.input, chunk.data(), chunk.size());
      if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return true;
      if (n > 0 && !program_.take({chunk.data(), static_cast<size_t>(n)})) return true;
      lease_.heard();
    }
    // Whoever does not listen cannot tell silence.
    if (full) lease_.heard();
    return lease_.over() || (settings_.ended && settings_.ended());
  }

 private:
  const GuardSettings& settings_;
  ProgramInput& program_;
  Lease lease_;
};

// The guarded program and everything that came of it.
class Guarded {
 public:
  Guarded(pid_t leader, const Offspring& offspring) : leader_(leader), offspring_(offspring) {}

  bool ended() const { return ended_; }
  int status() const { return status_; }

  // Takes note of those that have ended: the leader, and orphans whose parent we have become.
  void reap() {
    int status = 0;
    pid_t got = 0;
    while ((got = waitpid(-1, &status, WNOHANG)) > 0) {
      if (got != leader_) continue;
      ended_ = true;
      status_ = status;
    }
    // Nobody is left to wait for; whoever started us had children reap themselves.
    if (!ended_ && got < 0 && errno == ECHILD) {
      ended_ = true;
      status_ = 0;
    }
  }

  // Nothing of it is left afterwards, whatever sessions it has put itself into; but for what this
  // user may not end.
  void end(int64_t gentle_ms) {
    signal_all(SIGTERM);
    if (gone_before(Deadline::after_ms(gentle_ms), 0)) return;
    gone_before(Deadline::after_ms(kKillMs), SIGKILL);
  }

 private:
  static constexpr int64_t kKillMs = 1'000;

  void signal_all(int number) const {
    kill(-leader_, number);
    for (const pid_t pid : offspring_.find()) kill(pid, number);
  }

  // `again` is sent over and over: between a look and a signal others may have been started.
  bool gone_before(Deadline deadline, int again) {
    do {
      if (again != 0) signal_all(again);
      reap();
      if (ended_ && kill(-leader_, 0) != 0 && offspring_.find().empty()) return true;
      constexpr int kPauseMs = 10;
      poll(nullptr, 0, kPauseMs);
    } while (!deadline.passed());
    return false;
  }

  const pid_t leader_;
  const Offspring& offspring_;
  bool ended_ = false;
  int status_ = SIGKILL;  // of one that does not even end by that, in the form of waitpid(2)
};

constexpr int kStopLookMs = 200;
// For an end in order. The next rank waits longer for the port (kClaimWaitMs in transport/tcp).
constexpr int kOrderlyMs = 1500;

}  // namespace

std::string encode(const GuardOrder& order) {
  json object;
  each_field_of_order(order, [&](const char* key, const auto& value) { object[key] = value; });
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Expected<GuardOrder> decode_guard_order(const std::string& line) {
  GuardOrder order;
  try {
    const json object = json::parse(line);
    each_field_of_order(order,
                        [&](const char* key, auto& value) { get_field(object, key, value); });
  } catch (const json::exception& bad) {
    return fail(ErrorCode::kProtocol, "not an order: " + json_trouble(bad));
  }
  if (order.argv.empty() || order.argv[0].empty()) {
    return fail(ErrorCode::kProtocol, "the order names no program");
  }
  for (const auto& [name, text] : order.files) {
    if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..") {
      return fail(ErrorCode::kProtocol, "'" + name + "' is no file name");
    }
  }
  return order;
}

Expected<int> run_guarded(const GuardOrder& order, const GuardSettings& settings) {
  OrderedFiles files;
  if (const Status written = files.write(order); !written) return fail(written.error());
  for (const auto& [name, value] : order.environment) setenv(name.c_str(), value.c_str(), 1);
  // Like mlx.launch: the same folder where there is one.
  if (!order.current_folder.empty()) static_cast<void>(!chdir(order.current_folder.c_str()));
  const Offspring offspring;
  ProgramInput input;
  const Expected<int> end = input.open(order.takes_input);
  if (!end) return fail(end.error());
  const Expected<pid_t> pid = spawn_leader(order, *end);
  if (!pid) return fail(pid.error());
  input.started();
  Asker asker(settings, input);
  Guarded guarded(*pid, offspring);
  while (!guarded.ended() && !asker.gone()) guarded.reap();
  guarded.end(settings.gentle_ms);
  return exit_status_of(guarded.status());
}

Status watch_for_stops(int input) {
  const Expected<std::string> program = own_program_path();
  if (!program) return fail(program.error());
  const Fd nothing(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!nothing.valid()) return fail_errno(ErrorCode::kSystem, "open /dev/null", errno);
  const Expected<pid_t> started =
      start_program({*program, "guard", "--over", std::to_string(getpid())},
                    {input, nothing.get(), nothing.get()}, true);
  if (!started) return fail(started.error());
  return {};
}

void end_when_abandoned(pid_t over, int input) {
  die_with_parent();
  // Nothing is asked for: an end is told all the same, and what waits to be read is not ours.
  pollfd end{input, 0, 0};
  while (getppid() == over && poll(&end, 1, kStopLookMs) <= 0) {
  }
  const Deadline orderly = Deadline::after_ms(kOrderlyMs);
  while (getppid() == over && !orderly.passed()) usleep(kStopLookMs * 1000);
  // Still our parent, so the number is still its.
  if (getppid() == over) ::kill(over, SIGKILL);
}

}  // namespace plumbline
