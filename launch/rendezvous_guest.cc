// The side of the ranks that dial.

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "launch/join_line.h"
#include "launch/proof.h"
#include "launch/rendezvous.h"
#include "launch/rendezvous_limits.h"
#include "launch/socket_wire.h"

namespace plumbline {
namespace {

using rendezvous::kAgentMs, rendezvous::kChannel, rendezvous::kMaxJoinLine;
using rendezvous::kMaxSleepMs, rendezvous::kUserTimeoutMs;

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
  std::string masters;
  for (const std::string& name : spec.masters) masters += (masters.empty() ? "" : ", ") + name;
  return fail(
      Error{ErrorCode::kTimeout,
            fmt::format("rank 0 could not be met at {} port {} within {:.1f} s; at last: {}",
                        masters, spec.port, static_cast<double>(spec.timeout_ms) / 1000, problem),
            0,
            "is it running, on that host? --master and --master-port choose where the "
            "ranks meet",
            "rank.missing"});
}

void make_blocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

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
