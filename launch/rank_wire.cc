#include "launch/rank_wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/number.h"
#include "launch/line_io.h"
#include "launch/process.h"
#include "transport/tcp/socket.h"

namespace plumbline {
namespace {

constexpr size_t kLongestWireLine = 64u << 20;  // bytes; nobody who means well sends a longer one
constexpr int kWireSleepMs = 1000;

constexpr size_t kLongestShared = 64u << 20;  // bytes, as of any wire to a rank

std::string for_rank(size_t rank, std::string_view line) {
  return fmt::format("{} {}", rank, line);
}

// "3 {...}" -> 3 and "{...}"; nothing when it is no line for one of `count` ranks.
std::optional<std::pair<size_t, std::string_view>> take_apart(std::string_view line, size_t count) {
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return {};
  const auto rank = parse_whole<size_t>(line.substr(0, blank));
  if (!rank || *rank >= count) return {};
  return std::pair{*rank, line.substr(blank + 1)};
}

// One process and what it has said that nobody has asked for yet.
class SharedProcess {
 public:
  SharedProcess(std::unique_ptr<Process> process, size_t count)
      : process_(std::move(process)), lines_(count) {}

  Process& process() { return *process_; }
  bool has_line(size_t rank) const { return !lines_[rank].empty() || process_->has_line(); }

  Expected<std::string> read_line(size_t rank, Deadline deadline) {
    while (lines_[rank].empty()) {
      Expected<std::string> line = process_->read_line(deadline);
      if (!line) return line;
      const auto parts = take_apart(*line, lines_.size());
      if (!parts) {
        return fail(ErrorCode::kProtocol,
                    fmt::format("process {} says what none of its ranks does", process_->pid()));
      }
      lines_[parts->first].emplace_back(parts->second);
    }
    std::string line = std::move(lines_[rank].front());
    lines_[rank].pop_front();
    return line;
  }

 private:
  const std::unique_ptr<Process> process_;
  std::vector<std::deque<std::string>> lines_;  // by rank
};

class SharedWire : public RankWire {
 public:
  SharedWire(std::shared_ptr<SharedProcess> shared, size_t rank)
      : shared_(std::move(shared)), rank_(rank) {}

  pid_t pid() const override { return process().pid(); }
  Status write_line(const std::string& line, Deadline deadline) override {
    return process().write_line(for_rank(rank_, line), deadline);
  }
  void try_write_line(const std::string& line) const override {
    process().try_write_line(for_rank(rank_, line));
  }
  Expected<std::string> read_line(Deadline deadline) override {
    return shared_->read_line(rank_, deadline);
  }
  int read_fd() const override { return process().read_fd(); }
  bool has_line() const override { return shared_->has_line(rank_); }
  void close_input() override { process().close_input(); }
  bool is_stopped() const override { return process().is_stopped(); }
  void kill(int signal) override { process().kill(signal); }
  bool wait(Deadline deadline) override { return process().wait(deadline); }

 private:
  Process& process() const { return shared_->process(); }
  const std::shared_ptr<SharedProcess> shared_;
  const size_t rank_;
};

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

ssize_t SocketWire::put(const char* bytes, size_t count) const {
  return ::send(from_.get(), bytes, count, send_flags());
}

Error SocketWire::gone(int err) {
  const std::string what =
      !from_.valid() ? " is closed" : " ended: that process, or its host, is gone";
  if (err == 0 || !from_.valid()) return Error{ErrorCode::kPeerLost, who_ + what, 0, "", ""};
  return socket_error(who_, err);
}

std::vector<std::unique_ptr<RankWire>> share_process(std::unique_ptr<Process> process, int count) {
  const auto ranks = static_cast<size_t>(count);
  const auto shared = std::make_shared<SharedProcess>(std::move(process), ranks);
  std::vector<std::unique_ptr<RankWire>> wires;
  for (size_t rank = 0; rank < ranks; ++rank) {
    wires.push_back(std::make_unique<SharedWire>(shared, rank));
  }
  return wires;
}

Expected<std::unique_ptr<SharedEnd>> SharedEnd::open(int from, int to, int count) {
  std::unique_ptr<SharedEnd> end(new SharedEnd(from, to));
  for (int rank = 0; rank < count; ++rank) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
      const int err = errno;
      return fail_errno(ErrorCode::kSystem, fmt::format("a connection to rank {}", rank), err,
                        resource_hint(err));
    }
    for (const int fd : ends) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    end->ours_.emplace_back(ends[0]);
    end->ranks_.emplace_back(ends[1]);
  }
  return end;
}

void SharedEnd::leave(int rank) const { ::shutdown(rank_fd(rank), SHUT_RDWR); }

void SharedEnd::hang_up(int how) const {
  for (const Fd& fd : ours_) ::shutdown(fd.get(), how);
}

void SharedEnd::carry() const {
  std::thread answers([this] { carry_answers(); });
  carry_requests();
  hang_up(SHUT_WR);
  answers.join();
}

void SharedEnd::carry_requests() const {
  LineBuffer lines(kLongestShared);
  while (feed_from(from_, lines)) {
    while (const std::optional<std::string> line = lines.next()) {
      const auto parts = take_apart(*line, ours_.size());
      if (!parts) return;
      if (!write_all(ours_[parts->first].get(), std::string(parts->second) + "\n")) return;
    }
  }
}

void SharedEnd::carry_answers() const {
  std::vector<LineBuffer> lines(ours_.size(), LineBuffer(kLongestShared));
  std::vector<pollfd> entries;
  for (const Fd& fd : ours_) entries.push_back({fd.get(), POLLIN, 0});
  for (size_t there = entries.size(); there > 0;) {
    if (::poll(entries.data(), static_cast<nfds_t>(entries.size()), -1) < 0) {
      if (errno == EINTR) continue;
      return hang_up(SHUT_RDWR);
    }
    for (size_t rank = 0; rank < entries.size(); ++rank) {
      if (entries[rank].revents == 0) continue;
      if (!feed_from(entries[rank].fd, lines[rank])) {
        entries[rank].fd = -1;  // that rank has left, and poll passes it over
        --there;
        continue;
      }
      while (const std::optional<std::string> line = lines[rank].next()) {
        if (!write_all(to_, for_rank(rank, *line) + "\n")) return hang_up(SHUT_RDWR);
      }
    }
  }
}

}  // namespace plumbline
