#include "launch/rank_set.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "launch/line_io.h"
#include "launch/ssh.h"

namespace plumbline {

Expected<std::unique_ptr<RankSet>> RankSet::start(const std::vector<RankPlace>& places,
                                                  const std::string& alive, const RankLines& say) {
  std::unique_ptr<RankSet> set(new RankSet());
  set->places_ = places;
  ProcessOptions options;
  options.catch_errors = say != nullptr;
  std::vector<Fd> errors;
  for (size_t rank = 0; rank < places.size(); ++rank) {
    Expected<std::unique_ptr<Process>> process = Process::spawn(places[rank].argv, options);
    if (!process) {
      Error error = process.error();
      error.what = fmt::format("start rank {} on {}: {}", rank, places[rank].host, error.what);
      return fail(std::move(error));
    }
    errors.push_back((*process)->take_errors());
    set->ranks_.push_back(std::move(*process));
  }
  if (say) set->errors_ = std::make_unique<ErrorLines>(std::move(errors), say);
  set->use_all();
  const bool remote = std::any_of(places.begin(), places.end(),
                                  [](const RankPlace& place) { return place.remote; });
  if (remote && !alive.empty()) {
    set->alive_ = alive;
    set->keeper_ = std::thread([set = set.get()] { set->keep_alive(); });
  }
  return set;
}

std::unique_ptr<RankSet> RankSet::adopt(const std::vector<std::string>& hosts,
                                        std::vector<std::unique_ptr<RankWire>> wires) {
  std::unique_ptr<RankSet> set(new RankSet());
  for (const std::string& host : hosts) set->places_.push_back({host, {}, false});
  set->ranks_ = std::move(wires);
  set->use_all();
  return set;
}

RankSet::~RankSet() { stop(500); }

void RankSet::use_all() {
  for (const RankPlace& place : places_) spoke_.push_back(!place.remote);
  used_.resize(ranks_.size());
  std::iota(used_.begin(), used_.end(), size_t{0});
}

void RankSet::keep_alive() {
  const NoSigpipe no_sigpipe;
  constexpr auto kEvery = std::chrono::seconds(2);
  std::unique_lock lock(writing_);
  while (!stopping_.wait_for(lock, kEvery, [this] { return stopped_; })) {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (places_[rank].remote) ranks_[rank]->try_write_line(alive_);
    }
  }
}

Status RankSet::send(const std::vector<std::string>& lines, Deadline deadline) {
  const NoSigpipe no_sigpipe;
  const std::scoped_lock lock(writing_);
  Status all;
  for (size_t rank = 0; rank < used_.size(); ++rank) {
    const Status sent = ranks_[used_[rank]]->write_line(lines[rank], deadline);
    if (sent || !all) continue;
    Error error = sent.error();
    error.what = fmt::format("rank {} on {}: {}", rank, places_[used_[rank]].host, error.what);
    error.cause = "rank.dead";
    all = fail(std::move(error));
  }
  return all;
}

Status RankSet::send_all(const std::string& line, Deadline deadline) {
  return send(std::vector<std::string>(used_.size(), line), deadline);
}

RankAnswer RankSet::read_one(int rank, Deadline deadline) {
  const size_t index = used_[static_cast<size_t>(rank)];
  RankAnswer answer = ranks_[index]->read_line(deadline);
  // A login shell may say its own before it starts the rank.
  for (int i = 0; answer && !spoke_[index] && is_of_shell(*answer) && i < kMostShellLines; ++i) {
    answer = ranks_[index]->read_line(deadline);
  }
  if (answer) {
    spoke_[index] = true;
    return answer;
  }
  Error error = answer.error();
  error.what = fmt::format("rank {} on {}: {}", rank, places_[index].host, error.what);
  const bool late = error.code == ErrorCode::kTimeout;
  error.cause = late ? "rank.late" : "rank.dead";
  if (late) error.hint = "is its process stopped, or its host overloaded or out of reach?";
  return fail(std::move(error));
}

std::vector<RankAnswer> RankSet::collect(Deadline deadline, int64_t grace_ns,
                                         const std::function<bool()>& tick, const Heard& heard) {
  std::vector<std::optional<RankAnswer>> answers(used_.size());
  const auto missing = [&] {
    return std::count_if(answers.begin(), answers.end(), [](const auto& a) { return !a; });
  };
  while (missing() > 0 && !deadline.passed()) {
    if (tick && !tick()) break;
    std::vector<pollfd> entries;
    bool buffered = false;
    for (size_t rank = 0; rank < used_.size(); ++rank) {
      const auto& process = ranks_[used_[rank]];
      entries.push_back({answers[rank] ? -1 : process->read_fd(), POLLIN, 0});
      buffered |= !answers[rank] && process->has_line();
    }
    if (!buffered) poll(entries.data(), entries.size(), deadline.poll_timeout_ms(200));
    for (size_t rank = 0; rank < used_.size(); ++rank) {
      if (answers[rank]) continue;
      if (entries[rank].revents == 0 && !ranks_[used_[rank]]->has_line()) continue;
      // Readable, but perhaps only part of a line: its rest follows at once, or the rank hangs and
      // the deadline tells.
      answers[rank] = read_one(static_cast<int>(rank), deadline);
      const std::optional<int64_t> told = heard ? heard(rank, *answers[rank]) : std::nullopt;
      deadline =
          Deadline::at_ns(std::min(deadline.at_ns(), monotonic_ns() + told.value_or(grace_ns)));
    }
  }
  std::vector<RankAnswer> result;
  for (size_t rank = 0; rank < used_.size(); ++rank) {
    result.push_back(answers[rank] ? std::move(*answers[rank])
                                   : read_one(static_cast<int>(rank), Deadline::after_ns(0)));
  }
  return result;
}

void RankSet::stop(int polite_ms) {
  {
    const std::scoped_lock lock(writing_);
    stopped_ = true;
  }
  stopping_.notify_all();
  if (keeper_.joinable()) keeper_.join();
  for (const auto& rank : ranks_) rank->close_input();
  const auto all_gone = [&](Deadline deadline) {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [&](const auto& rank) { return rank->wait(deadline); });
  };
  if (!all_gone(Deadline::after_ms(polite_ms))) {
    for (const auto& rank : ranks_) rank->kill(SIGTERM);
    if (!all_gone(Deadline::after_ms(200))) {
      for (const auto& rank : ranks_) rank->kill(SIGKILL);
      all_gone(Deadline::after_ms(1000));
    }
  }
  errors_.reset();  // with their last words
}

}  // namespace plumbline
