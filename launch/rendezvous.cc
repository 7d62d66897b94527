// Rank 0's side.

#include "launch/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <list>

#include "launch/join_line.h"
#include "launch/line_io.h"
#include "launch/proof.h"
#include "launch/rendezvous_limits.h"

namespace plumbline {
namespace {

using rendezvous::kAgentMs, rendezvous::kChannel, rendezvous::kMaxJoinLine;
using rendezvous::kMaxSleepMs, rendezvous::kUserTimeoutMs;

constexpr int64_t kFirstSayNs = 2 * kSecond, kSayEveryNs = 5 * kSecond;
constexpr int64_t kJoinMs = 5'000;  // for a proved rank to say who it is
constexpr int kLeastDoor = 32;      // diallers at the same time

// Proved, and about to say who it is.
struct Newcomer {
  Fd fd;
  LineBuffer lines{kMaxJoinLine};
  Deadline deadline;
  std::string where;
};

// Rank 0's side.
class Host {
 public:
  Host(const RollCallSpec& spec, RollCall& roll, std::vector<Fd> listeners)
      : spec_(spec),
        roll_(roll),
        door_(std::move(listeners), listening_end(kChannel, spec.secret),
              static_cast<size_t>(std::max(kLeastDoor, 2 * roll.size()))),
        gathered_{std::vector<Fd>(static_cast<size_t>(roll.size())),
                  std::vector<Fd>(static_cast<size_t>(roll.size()))} {
    door_.refused = [this](const Error& error) { report(error.message()); };
  }

  Expected<Gathered> run() {
    Status status = wait_for_all();
    if (status) status = roll_.agree();
    tell_all(status);
    if (!status) return fail(status.error());
    wait_for_agents();
    return std::move(gathered_);
  }

 private:
  void report(const std::string& text) const {
    if (spec_.stranger) spec_.stranger(text);
  }

  Status wait_for_all() {
    int64_t say_at = monotonic_ns() + kFirstSayNs;
    while (!roll_.complete()) {
      if (spec_.interrupted && spec_.interrupted()) {
        return fail(ErrorCode::kInterrupted, "interrupted; " + roll_.progress(monotonic_ns()));
      }
      if (spec_.deadline.passed()) return fail(roll_.missing_error(spec_.where, monotonic_ns()));
      if (monotonic_ns() >= say_at) {
        if (spec_.say) spec_.say(roll_.progress(monotonic_ns()));
        say_at += kSayEveryNs;
      }
      if (const Status status = round(); !status) return status;
    }
    return {};
  }

  // They are not vital: whoever does not come is missed by the probes only.
  void wait_for_agents() {
    const std::vector<int> wanted = roll_.agents();
    awaiting_agents_ = true;
    const Deadline deadline = Deadline::after_ms(kAgentMs);
    const auto all_there = [&] {
      return std::all_of(wanted.begin(), wanted.end(), [&](int rank) {
        return gathered_.agents[static_cast<size_t>(rank)].valid();
      });
    };
    while (!all_there() && !deadline.passed() && !(spec_.interrupted && spec_.interrupted())) {
      if (!round()) return;
    }
  }

  // One sleep, and everything that it brought.
  Status round() {
    PollSet poll;
    door_.add_to(poll);
    for (const Newcomer& newcomer : newcomers_) poll.add(newcomer.fd.get(), POLLIN);
    for (const Fd& wire : gathered_.wires) {
      if (wire.valid()) poll.add(wire.get(), POLLIN);
    }
    poll.wait(spec_.deadline.poll_timeout_ms(kMaxSleepMs));
    for (Fd& fd : door_.step(poll)) {
      const std::string where = to_text(remote_address(fd.get()));
      tune_connection(fd.get(), kUserTimeoutMs);
      newcomers_.push_back(
          {std::move(fd), LineBuffer(kMaxJoinLine), Deadline::after_ms(kJoinMs), where});
    }
    for (auto it = newcomers_.begin(); it != newcomers_.end();) {
      const Expected<bool> settled = listen_to(*it);
      if (!settled) return fail(settled.error());
      it = *settled ? newcomers_.erase(it) : std::next(it);
    }
    return look_for_losses();
  }

  // true = done with it: it arrived, or went away.
  Expected<bool> listen_to(Newcomer& newcomer) {
    std::array<char, 65536> chunk;
    const ssize_t n = ::recv(newcomer.fd.get(), chunk.data(), chunk.size(), 0);
    const bool later = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (n == 0 || (n < 0 && !later) || newcomer.deadline.passed()) {
      report(newcomer.where + " proved itself and then said nothing");
      return true;
    }
    if (n > 0) newcomer.lines.feed({chunk.data(), static_cast<size_t>(n)});
    const std::optional<std::string> line = newcomer.lines.next();
    if (!line) return newcomer.lines.overlong() > 0;
    return awaiting_agents_ ? admit_agent(newcomer, *line) : admit_rank(newcomer, *line);
  }

  Expected<bool> admit_agent(Newcomer& newcomer, const std::string& line) {
    const Expected<int> rank = decode_agent_offer(line);
    const std::vector<int> wanted = roll_.agents();
    const bool known = rank && std::count(wanted.begin(), wanted.end(), *rank) > 0;
    if (known && !gathered_.agents[static_cast<size_t>(*rank)].valid()) {
      gathered_.agents[static_cast<size_t>(*rank)] = std::move(newcomer.fd);
      return true;
    }
    send(newcomer.fd.get(), {fail(ErrorCode::kMismatch, "all ranks are here already"), false});
    report(newcomer.where + " arrived when all ranks were here already");
    return true;
  }

  Expected<bool> admit_rank(Newcomer& newcomer, const std::string& line) {
    Expected<JoinRequest> request = decode_join(line);
    if (!request) {
      send(newcomer.fd.get(), {fail(request.error()), false});
      report(newcomer.where + ": " + request.error().message());
      return true;
    }
    const auto rank = static_cast<size_t>(request->rank);
    if (const Status status = roll_.arrive(std::move(*request)); !status) {
      send(newcomer.fd.get(), {status, false});
      return fail(status.error());
    }
    gathered_.wires[rank] = std::move(newcomer.fd);
    return true;
  }

  Status look_for_losses() const {
    for (size_t rank = 0; rank < gathered_.wires.size(); ++rank) {
      if (!gathered_.wires[rank].valid() || !connection_ended(gathered_.wires[rank].get()))
        continue;
      return fail(
          Error{ErrorCode::kPeerLost,
                fmt::format("rank {} arrived and went away again before the others came", rank), 0,
                "its own messages say why", "rank.dead"});
    }
    return {};
  }

  static void send(int fd, const JoinAnswer& answer) {
    const std::string line = encode_join_answer(answer) + "\n";
    // Whoever cannot take so little has gone, which the next read tells.
    static_cast<void>(::send(fd, line.data(), line.size(), send_flags()));
  }

  void tell_all(const Status& status) const {
    const std::vector<int> agents = roll_.agents();
    for (size_t rank = 0; rank < gathered_.wires.size(); ++rank) {
      const bool agent = std::count(agents.begin(), agents.end(), static_cast<int>(rank)) > 0;
      if (gathered_.wires[rank].valid()) send(gathered_.wires[rank].get(), {status, agent});
    }
  }

  const RollCallSpec& spec_;
  RollCall& roll_;
  Door door_;
  std::list<Newcomer> newcomers_;
  bool awaiting_agents_ = false;
  Gathered gathered_;
};

}  // namespace

Expected<Gathered> hold_roll_call(const RollCallSpec& spec, RollCall& roll) {
  if (roll.complete()) {
    Gathered alone;
    alone.wires.resize(1);
    alone.agents.resize(1);
    return alone;
  }
  int port = spec.port;
  Expected<std::vector<Fd>> listeners = listen_on_all(spec.listen, port);
  if (!listeners) return fail(listeners.error());
  return Host(spec, roll, std::move(*listeners)).run();
}

std::string own_machine(const std::string& boot_id) {
  std::array<char, 128> space{};
  const ssize_t n = readlink("/proc/self/ns/net", space.data(), space.size() - 1);
  return boot_id + " " +
         (n > 0 ? std::string(space.data(), static_cast<size_t>(n)) : std::string());
}

}  // namespace plumbline
