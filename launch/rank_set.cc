#include "launch/rank_set.h"

#include <fmt/format.h>
#include <poll.h>

#include <numeric>
#include <utility>

#include "launch/rank_wire.h"
#include "launch/ssh.h"

namespace plumbline {
namespace {

constexpr int kMostLines = 1000;  // of one rank at a time, whatever it sends
// Over ssh a process may need as long for its first word.
constexpr int64_t kSlowestStartNs = 10 * kSecond;
// Looks that lie further apart: we were stopped ourselves, or our machine slept.
constexpr int64_t kSleptNs = 3 * kSecond;

}  // namespace

Expected<std::unique_ptr<RankSet>> RankSet::start(const std::vector<ServingCommand>& places,
                                                  const std::string& alive, const RankLines& say,
                                                  RanksAre ranks) {
  std::unique_ptr<RankSet> set(new RankSet());
  set->places_ = places;
  std::vector<Fd> errors;
  if (Status status = set->spawn(ranks, say != nullptr, errors); !status) {
    return fail(status.error());
  }
  if (say) set->errors_ = std::make_unique<ErrorLines>(std::move(errors), say);
  set->use_all();
  const bool remote = std::any_of(places.begin(), places.end(),
                                  [](const ServingCommand& place) { return place.remote; });
  set->alive_ = alive;
  if (remote && !alive.empty()) {
    set->keeper_ = std::thread([set = set.get()] { set->keep_alive(); });
  }
  return set;
}

// The processes of all places, and the ends of their standard error.
Status RankSet::spawn(RanksAre ranks, bool catch_errors, std::vector<Fd>& errors) {
  ProcessOptions options;
  options.catch_errors = catch_errors;
  const size_t processes = ranks == RanksAre::kThreads ? 1 : places_.size();
  for (size_t rank = 0; rank < processes; ++rank) {
    Expected<std::unique_ptr<Process>> process = Process::spawn(places_[rank].argv, options);
    if (!process) {
      Error error = process.error();
      error.what = fmt::format("start rank {} on {}: {}", rank, places_[rank].host, error.what);
      return fail(std::move(error));
    }
    errors.push_back((*process)->take_errors());
    if (ranks == RanksAre::kThreads) {
      ranks_ = share_process(std::move(*process), static_cast<int>(places_.size()));
    } else {
      ranks_.push_back(std::move(*process));
    }
  }
  return {};
}

std::unique_ptr<RankSet> RankSet::adopt(const std::vector<std::string>& hosts,
                                        std::vector<std::unique_ptr<RankWire>> wires,
                                        const std::string& alive) {
  std::unique_ptr<RankSet> set(new RankSet());
  set->alive_ = alive;
  for (const std::string& host : hosts) set->places_.push_back({host, {}, false});
  set->ranks_ = std::move(wires);
  set->use_all();
  return set;
}

RankSet::~RankSet() { stop(500); }

void RankSet::use_all() {
  for (const ServingCommand& place : places_) lives_.push_back({.spoke = !place.remote});
  used_.resize(ranks_.size());
  std::iota(used_.begin(), used_.end(), size_t{0});
}

void RankSet::keep_alive() {
  const NoSigpipe no_sigpipe;
  constexpr auto kEvery = std::chrono::nanoseconds(kAliveEveryNs);
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

// What has come of its next answer: kTimeout when that is not there yet.
RankAnswer RankSet::read_one(int rank) {
  const size_t index = used_[static_cast<size_t>(rank)];
  Life& life = lives_[index];
  RankAnswer answer = ranks_[index]->read_line(Deadline::after_ns(0));
  for (int i = 0; answer && i < kMostLines; ++i) {
    const bool beat = !alive_.empty() && *answer == alive_;
    life.heard_ns = monotonic_ns();
    life.spoke |= beat;
    // A login shell may say its own before it starts the rank.
    const bool of_shell = !life.spoke && life.shell_lines < kMostShellLines && is_of_shell(*answer);
    if (!beat && !of_shell) {
      life.spoke = true;
      return answer;
    }
    if (of_shell) ++life.shell_lines;
    answer = ranks_[index]->read_line(Deadline::after_ns(0));
  }
  Error error =
      answer ? Error{ErrorCode::kTimeout, "no answer in time", 0, "", ""} : answer.error();
  error.what = fmt::format("rank {} on {}: {}", rank, places_[index].host, error.what);
  const bool late = error.code == ErrorCode::kTimeout;
  error.cause = late ? "rank.late" : "rank.dead";
  if (late) error.hint = "is its process stopped, or its host overloaded or out of reach?";
  return fail(std::move(error));
}

void RankSet::watch(int64_t limit_ns) {
  watch_ns_ = limit_ns;
  watched_since_ns_ = looked_ns_ = monotonic_ns();
  for (Life& life : lives_) life.heard_ns = life.stopped_ns = 0;
}

// Why a rank that is watched is given up; nullopt = it is not.
std::optional<Error> RankSet::lost(int rank) {
  const size_t index = used_[static_cast<size_t>(rank)];
  const ServingCommand& place = places_[index];
  Life& life = lives_[index];
  const int64_t now = monotonic_ns();
  const auto seconds = [&](int64_t since) { return static_cast<double>(now - since) / 1e9; };
  if (ranks_[index]->is_stopped()) {
    if (life.stopped_ns == 0) life.stopped_ns = now;
    if (now - life.stopped_ns < watch_ns_) return std::nullopt;
    return Error{ErrorCode::kPeerLost,
                 fmt::format("rank {} on {} has been stopped for {:.1f} s while it starts ({} {})",
                             rank, place.host, seconds(life.stopped_ns),
                             place.remote ? "its ssh, process" : "process", ranks_[index]->pid()),
                 0, "find out who or what stops it (SIGSTOP, a debugger)", "rank.dead"};
  }
  life.stopped_ns = 0;
  const bool seen_here = !place.remote && !place.argv.empty();
  if (seen_here || alive_.empty()) return std::nullopt;
  const bool silent_yet = !life.spoke;
  const int64_t limit = silent_yet ? std::max(watch_ns_, kSlowestStartNs) : watch_ns_;
  const int64_t since = std::max(life.heard_ns, watched_since_ns_);
  if (now - since < limit) return std::nullopt;
  return Error{ErrorCode::kPeerLost,
               fmt::format("rank {} on {} has said nothing for {:.1f} s while it starts (stopped, "
                           "or its host hangs or is out of reach)",
                           rank, place.host, seconds(since)),
               0, "look at that rank's process and its host", "rank.dead"};
}

// By rank: is there something to read? At most 200 ms; ranks that have failed are left alone.
std::vector<bool> RankSet::wait_for_lines(const Answers& answers, Deadline deadline) const {
  std::vector<pollfd> entries;
  bool buffered = false;
  for (size_t rank = 0; rank < used_.size(); ++rank) {
    const auto& process = ranks_[used_[rank]];
    const bool wanted = !answers[rank] || (watch_ns_ > 0 && *answers[rank]);
    entries.push_back({wanted ? process->read_fd() : -1, POLLIN, 0});
    buffered |= wanted && process->has_line();
  }
  poll(entries.data(), entries.size(), buffered ? 0 : deadline.poll_timeout_ms(200));
  std::vector<bool> readable;
  for (size_t rank = 0; rank < used_.size(); ++rank) {
    const bool wanted = entries[rank].fd >= 0;
    readable.push_back(wanted && (entries[rank].revents != 0 || ranks_[used_[rank]]->has_line()));
  }
  return readable;
}

// Its answer, or what became of it; nullopt = nothing new.
std::optional<RankAnswer> RankSet::look_at(int rank, bool answered, bool readable) {
  if (readable) {
    RankAnswer answer = read_one(rank);
    // Perhaps only part of a line: its rest follows.
    const bool nothing = !answer && answer.error().code == ErrorCode::kTimeout;
    if (!nothing && answer && answered) {
      return fail(ErrorCode::kProtocol, fmt::format("rank {} speaks out of turn", rank));
    }
    if (!nothing) return answer;
  }
  if (watch_ns_ == 0) return std::nullopt;
  std::optional<Error> error = lost(rank);
  if (!error) return std::nullopt;
  return fail(std::move(*error));
}

std::vector<RankAnswer> RankSet::collect(Deadline deadline, int64_t grace_ns,
                                         const std::function<bool()>& tick,
                                         const RankHeard& heard) {
  Answers answers(used_.size());
  const auto missing = [&] {
    return std::count_if(answers.begin(), answers.end(), [](const auto& a) { return !a; });
  };
  while (missing() > 0 && !deadline.passed()) {
    if (tick && !tick()) break;
    const std::vector<bool> readable = wait_for_lines(answers, deadline);
    if (monotonic_ns() - std::exchange(looked_ns_, monotonic_ns()) > kSleptNs) {
      watched_since_ns_ = looked_ns_;
      for (Life& life : lives_) life.stopped_ns = 0;
    }
    for (size_t rank = 0; rank < used_.size(); ++rank) {
      const bool answered = answers[rank].has_value();
      if (answered && !*answers[rank]) continue;
      auto news = look_at(static_cast<int>(rank), answered, readable[rank]);
      if (!news) continue;
      answers[rank] = std::move(news);
      const std::optional<int64_t> told = heard ? heard(rank, *answers[rank]) : std::nullopt;
      deadline =
          Deadline::at_ns(std::min(deadline.at_ns(), monotonic_ns() + told.value_or(grace_ns)));
    }
  }
  std::vector<RankAnswer> result;
  for (size_t rank = 0; rank < used_.size(); ++rank) {
    result.push_back(answers[rank] ? std::move(*answers[rank]) : read_one(static_cast<int>(rank)));
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
  std::vector<RankWire*> all;
  for (const auto& rank : ranks_) all.push_back(rank.get());
  constexpr int kTermMs = 200;
  end_wires(all, polite_ms, kTermMs);
  errors_.reset();  // with their last words
}

}  // namespace plumbline
