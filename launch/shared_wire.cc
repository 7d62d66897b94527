#include "launch/shared_wire.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/host/resource_hint.h"
#include "core/number.h"
#include "launch/line_io.h"

namespace plumbline {
namespace {

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
