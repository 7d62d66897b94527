#include "launch/line_wire.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace plumbline {
namespace {

constexpr size_t kLongestWireLine = 64u << 20;  // bytes; nobody who means well sends a longer one
constexpr int kWireSleepMs = 1000;

}  // namespace

void end_wires(const std::vector<RankWire*>& wires, int polite_ms, int term_ms) {
  constexpr int kKillMs = 1000;
  const auto all_gone = [&](int ms) {
    const Deadline deadline = Deadline::after_ms(ms);
    return std::all_of(wires.begin(), wires.end(),
                       [&](RankWire* wire) { return wire->wait(deadline); });
  };
  for (RankWire* wire : wires) wire->close_input();
  if (all_gone(polite_ms)) return;
  for (RankWire* wire : wires) wire->kill(SIGTERM);
  if (all_gone(term_ms)) return;
  for (RankWire* wire : wires) wire->kill(SIGKILL);
  all_gone(kKillMs);
}

Status LineWire::ready(int fd, short events, const char* verb, Deadline deadline) const {
  while (true) {
    pollfd entry{fd, events, 0};
    const int count = poll(&entry, 1, deadline.poll_timeout_ms(kWireSleepMs));
    if (count > 0) return {};
    if (count < 0 && errno != EINTR) return fail_errno(ErrorCode::kSystem, doing(verb), errno);
    if (deadline.passed()) return fail(ErrorCode::kTimeout, doing(verb) + ": no answer in time");
  }
}

Status LineWire::write_line(const std::string& line, Deadline deadline) {
  const std::string text = line + '\n';
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = put(text.data() + done, text.size() - done);
    if (n > 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      const Status may = ready(write_fd(), POLLOUT, "write to", deadline);
      if (!may) return may;
    } else if (errno != EINTR) {
      return fail(gone(errno));
    }
  }
  return {};
}

Expected<std::string> LineWire::read_line(Deadline deadline) {
  while (true) {
    const size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > kLongestWireLine) {
      return fail(ErrorCode::kProtocol, doing("read from") + ": an endless line");
    }
    std::array<char, 65536> chunk;
    const ssize_t n = ::read(from_.get(), chunk.data(), chunk.size());
    if (n > 0) {
      buffer_.append(chunk.data(), static_cast<size_t>(n));
    } else if (n == 0) {
      return fail(gone(0));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      const Status may = ready(from_.get(), POLLIN, "read from", deadline);
      if (!may) return fail(may.error());
    } else if (errno != EINTR) {
      return fail(gone(errno));
    }
  }
}

}  // namespace plumbline
