#include "launch/rendezvous.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>

#include "launch/line_io.h"
#include "launch/proof.h"
#include "launch/rank_wire.h"

namespace plumbline {
namespace {

// Of both sides.
constexpr const char* kChannel = "rendezvous";
constexpr int kUserTimeoutMs = 20'000;  // unacknowledged bytes: the other machine has gone
constexpr int kMaxSleepMs = 200;
constexpr int64_t kAgentMs = 5'000;        // for the agents' connections
constexpr size_t kMaxJoinLine = 4u << 20;  // bytes

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

// The side of the ranks that dial.

constexpr int64_t kOneTryMs = 2'000;  // to connect to one address and prove

// All addresses of these names, in their order; nothing when none resolves. The resolver's own
// time-outs bound it.
std::vector<SocketAddress> resolve(const std::vector<std::string>& names, int port,
                                   std::string& problem) {
  std::vector<SocketAddress> out;
  for (const std::string& name : names) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int status = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (status != 0) {
      problem = fmt::format("the name {} gives no address: {}", name, gai_strerror(status));
      continue;
    }
    for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
      SocketAddress address;
      std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
      address.length = entry->ai_addrlen;
      out.push_back(address);
    }
    freeaddrinfo(list);
  }
  return out;
}

// One line, and not a byte beyond it: what follows is the next reader's.
Expected<std::string> read_answer(int fd, Deadline deadline) {
  std::string line;
  while (true) {
    std::array<char, 4096> chunk;
    const ssize_t n = ::recv(fd, chunk.data(), chunk.size(), MSG_PEEK);
    if (n == 0) return fail(ErrorCode::kPeerLost, "rank 0 closed the connection");
    if (n < 0) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        return fail(socket_error("the connection to rank 0", errno));
      }
      if (deadline.passed()) return fail(ErrorCode::kTimeout, "rank 0 does not say who takes part");
      pollfd entry{fd, POLLIN, 0};
      poll(&entry, 1, deadline.poll_timeout_ms(kMaxSleepMs));
      continue;
    }
    const auto* newline =
        static_cast<const char*>(std::memchr(chunk.data(), '\n', static_cast<size_t>(n)));
    const size_t take = newline == nullptr ? static_cast<size_t>(n)
                                           : static_cast<size_t>(newline - chunk.data()) + 1;
    if (::recv(fd, chunk.data(), take, 0) != static_cast<ssize_t>(take)) {
      return fail(ErrorCode::kPeerLost, "rank 0 closed the connection");
    }
    line.append(chunk.data(), newline == nullptr ? take : take - 1);
    if (newline != nullptr) return line;
    if (line.size() > kMaxJoinLine)
      return fail(ErrorCode::kProtocol, "rank 0 sends a line without an end");
  }
}

// Dials all addresses in turn until one proves itself or the time is over.
Expected<Fd> find_rank_0(const AttendSpec& spec, Deadline deadline) {
  const HandshakeIdentity self = dialling_end(kChannel, spec.secret);
  constexpr int kFirstPauseMs = 20, kLongestPauseMs = 500;
  std::string problem = "it was never tried";
  for (int pause_ms = kFirstPauseMs;; pause_ms = std::min(2 * pause_ms, kLongestPauseMs)) {
    for (const SocketAddress& address : resolve(spec.masters, spec.port, problem)) {
      const Deadline one = Deadline::after_ms(kOneTryMs);
      Expected<Fd> fd =
          dial_and_prove(address, self, one.at_ns() < deadline.at_ns() ? one : deadline);
      if (fd) return fd;
      problem = fd.error().message();
    }
    if (deadline.remaining_ns() < pause_ms * kMillisecond) break;
    poll(nullptr, 0, pause_ms);
  }
  return fail(
      Error{ErrorCode::kTimeout,
            fmt::format("rank 0 could not be met at {} port {} within {:.1f} s; at last: {}",
                        fmt::join(spec.masters, ", "), spec.port,
                        static_cast<double>(spec.timeout_ms) / 1000, problem),
            0,
            "is it running, on that host? --master and --master-port choose where the "
            "ranks meet",
            "rank.missing"});
}

void make_blocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK); }

// A connection that has proved itself and sent this line.
Expected<Fd> arrive(const AttendSpec& spec, const std::string& line, Deadline deadline) {
  Expected<Fd> fd = find_rank_0(spec, deadline);
  if (!fd) return fd;
  tune_connection(fd->get(), kUserTimeoutMs);
  SocketWire wire(std::move(*fd), "the connection to rank 0");
  if (const Status sent = wire.write_line(line, deadline); !sent) return fail(sent.error());
  return wire.take();
}

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

Expected<Attendance> attend_roll_call(const AttendSpec& spec, const JoinRequest& request,
                                      bool& told) {
  told = false;
  Expected<Fd> wire = arrive(spec, encode_join(request), Deadline::after_ms(spec.timeout_ms));
  if (!wire) return fail(wire.error());
  constexpr int64_t kMarginMs = 5'000;
  const Expected<std::string> line =
      read_answer(wire->get(), Deadline::after_ms(spec.timeout_ms + kMarginMs));
  if (!line) return fail(line.error());
  const JoinAnswer answer = decode_join_answer(*line);
  if (!answer.status) {
    told = true;
    return fail(answer.status.error());
  }
  Attendance attendance;
  attendance.wire = std::move(*wire);
  make_blocking(attendance.wire.get());
  if (!answer.agent) return attendance;
  Expected<Fd> agent = arrive(spec, encode_agent_offer(request.rank), Deadline::after_ms(kAgentMs));
  if (!agent) return attendance;  // only the probes miss it, and they say so
  attendance.agent = std::move(*agent);
  make_blocking(attendance.agent.get());
  return attendance;
}

}  // namespace plumbline
