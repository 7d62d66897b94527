#include "launch/stopped_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "core/clock.h"
#include "launch/process.h"

namespace plumbline {
namespace {

constexpr int kLookMs = 200;
// For an end in order. The next rank waits longer for the port (kClaimWaitMs in transport/tcp).
constexpr int kOrderlyMs = 1500;

}  // namespace

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
  while (getppid() == over && poll(&end, 1, kLookMs) <= 0) {
  }
  const Deadline orderly = Deadline::after_ms(kOrderlyMs);
  while (getppid() == over && !orderly.passed()) usleep(kLookMs * 1000);
  // Still our parent, so the number is still its.
  if (getppid() == over) ::kill(over, SIGKILL);
}

}  // namespace plumbline
