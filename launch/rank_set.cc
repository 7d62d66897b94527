#include "launch/rank_set.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <optional>

namespace plumbline {

Expected<std::unique_ptr<RankSet>> RankSet::start(const std::vector<RankPlace>& places) {
  std::unique_ptr<RankSet> set(new RankSet());
  set->places_ = places;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    Expected<std::unique_ptr<Process>> process = Process::spawn(places[rank].argv);
    if (!process) {
      Error error = process.error();
      error.what = fmt::format("start rank {} on {}: {}", rank, places[rank].host, error.what);
      return fail(std::move(error));
    }
    set->ranks_.push_back(std::move(*process));
  }
  return set;
}

RankSet::~RankSet() { stop(500); }

Status RankSet::send(const std::vector<std::string>& lines, Deadline deadline) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Status sent = ranks_[rank]->write_line(lines[rank], deadline);
    if (!sent) {
      Error error = sent.error();
      error.what = fmt::format("rank {} on {}: {}", rank, places_[rank].host, error.what);
      error.cause = "rank.dead";
      return fail(std::move(error));
    }
  }
  return {};
}

Status RankSet::send_all(const std::string& line, Deadline deadline) {
  return send(std::vector<std::string>(ranks_.size(), line), deadline);
}

RankAnswer RankSet::read_one(int rank, Deadline deadline) {
  const auto index = static_cast<size_t>(rank);
  RankAnswer answer = ranks_[index]->read_line(deadline);
  if (answer) return answer;
  Error error = answer.error();
  error.what = fmt::format("rank {} on {}: {}", rank, places_[index].host, error.what);
  error.cause = error.code == ErrorCode::kTimeout ? "rank.late" : "rank.dead";
  return fail(std::move(error));
}

std::vector<RankAnswer> RankSet::collect(Deadline deadline, int64_t grace_ns,
                                         const std::function<bool()>& tick) {
  std::vector<std::optional<RankAnswer>> answers(ranks_.size());
  const auto missing = [&] {
    return std::count_if(answers.begin(), answers.end(), [](const auto& a) { return !a; });
  };
  while (missing() > 0 && !deadline.passed()) {
    if (tick && !tick()) break;
    std::vector<pollfd> entries;
    bool buffered = false;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      entries.push_back({answers[rank] ? -1 : ranks_[rank]->read_fd(), POLLIN, 0});
      buffered |= !answers[rank] && ranks_[rank]->has_line();
    }
    if (!buffered) poll(entries.data(), entries.size(), deadline.poll_timeout_ms(200));
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (answers[rank] || (entries[rank].revents == 0 && !ranks_[rank]->has_line())) continue;
      // Readable, but perhaps only part of a line: its rest follows at once, or the rank hangs and
      // the deadline tells.
      answers[rank] = read_one(static_cast<int>(rank), deadline);
      deadline = Deadline::at_ns(std::min(deadline.at_ns(), monotonic_ns() + grace_ns));
    }
  }
  std::vector<RankAnswer> result;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    result.push_back(answers[rank] ? std::move(*answers[rank])
                                   : read_one(static_cast<int>(rank), Deadline::after_ns(0)));
  }
  return result;
}

void RankSet::stop(int polite_ms) {
  for (const auto& rank : ranks_) rank->close_input();
  const auto all_gone = [&](Deadline deadline) {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [&](const auto& rank) { return rank->wait(deadline); });
  };
  if (all_gone(Deadline::after_ms(polite_ms))) return;
  for (const auto& rank : ranks_) rank->kill(SIGTERM);
  if (all_gone(Deadline::after_ms(200))) return;
  for (const auto& rank : ranks_) rank->kill(SIGKILL);
  all_gone(Deadline::after_ms(1000));
}

}  // namespace plumbline
