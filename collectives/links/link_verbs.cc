// What queue pairs of their own bring between two ranks: perftest's measures (bare_verbs.h), told
// over the control connection of the pair.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/links/link_session.h"
#include "core/stats/stats.h"
#include "core/text.h"
#include "transport/rdma/bare_verbs.h"

namespace plumbline {
namespace {

constexpr int kVerbsWarmup = 50,
              kVerbsWarmupLarge = 5;         // round trips, which also say how long one takes
constexpr int64_t kFewestVerbsTrips = 1000;  // as many as a p99 needs, and perftest makes
constexpr int64_t kMostVerbsTrips = 20'000;
constexpr int64_t kVerbsStretch = 4;    // at most so many times the asked time for these
constexpr int64_t kVerbsQuietMs = 500;  // later messages count as lost
constexpr unsigned kVerbsLooks = 1024;  // between two looks at the connection

using Pairs = std::vector<std::unique_ptr<BareVerbs>>;
using EndWords = BareVerbs::EndWords;

Patience for_flow(const FlowSettings& settings) {
  return settings.wait.until(Deadline::after_ms(flow_limit_ms(settings.time_ns)));
}

Status say(LinkSession& session, const std::vector<uint64_t>& numbers, const Patience& patience) {
  return send_numbers(session.control.get(), numbers, patience);
}
// Why this end cannot go on: a text in the place of numbers, of a length that these never have.
constexpr size_t kReasonWords = 31;
std::vector<uint64_t> words_of_reason(const Error& error) {
  std::string text = error.what.substr(0, kReasonWords * kWordBytes);
  text.resize(kReasonWords * kWordBytes, '\0');
  std::vector<uint64_t> words(kReasonWords);
  get_words(reinterpret_cast<const unsigned char*>(text.data()), words);
  return words;
}
std::string reason_of_words(const std::vector<uint64_t>& words) {
  std::vector<unsigned char> bytes(words.size() * kWordBytes);
  put_words(words, bytes.data());
  const std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), 0));
  return printable(text);
}

// Exactly so many.
Expected<std::vector<uint64_t>> hear(LinkSession& session, size_t count, const Patience& patience) {
  auto numbers = receive_numbers(session.control.get(), std::max(count, kReasonWords), patience);
  if (!numbers) return fail(numbers.error());
  if (numbers->size() == count) return numbers;
  if (numbers->size() != kReasonWords) {
    return fail(ErrorCode::kProtocol, "the other end says something else than was due");
  }
  return fail(ErrorCode::kPeerLost, "the other end: " + reason_of_words(*numbers));
}

Expected<Pairs> make_pairs(const LinkSession& session, const FlowSettings& settings, bool rates) {
  Pairs pairs;
  const bool reliable = session.path.rdma->qp_type() == kReliable;
  if (rates && settings.move == VerbsMove::kWrite && !reliable) {
    return fail(ErrorCode::kUnsupported, "on UC nobody tells how many RDMA WRITEs came");
  }
  for (int i = 0; i < settings.pairs; ++i) {
    auto pair =
        BareVerbs::create(session.path.rdma, settings.move, settings.message_bytes, session.name);
    if (!pair) return fail(pair.error());
    pairs.push_back(std::move(*pair));
  }
  return pairs;
}

// Both ends make theirs, and neither goes on without the other.
Expected<Pairs> joined_pairs(LinkSession& session, const FlowSettings& settings, bool rates,
                             const Patience& patience) {
  Expected<Pairs> pairs = make_pairs(session, settings, rates);
  std::vector<uint64_t> words;
  if (!pairs) {
    words = words_of_reason(pairs.error());
  } else {
    for (const auto& pair : *pairs) {
      const EndWords end = pair->end();
      words.insert(words.end(), end.begin(), end.end());
    }
  }
  if (const Status told = say(session, words, patience); !told) return fail(told.error());
  const size_t count = static_cast<size_t>(settings.pairs) * EndWords().size();
  const auto theirs = hear(session, count, patience);
  if (!pairs) return fail(pairs.error());
  if (!theirs) return fail(theirs.error());
  Status connected;
  for (size_t i = 0; i < pairs->size() && connected; ++i) {
    EndWords end{};
    std::copy_n(theirs->begin() + static_cast<std::ptrdiff_t>(i * end.size()), end.size(),
                end.begin());
    connected = (*pairs)[i]->connect(end);
  }
  // Before anything is sent both are ready to receive.
  const Status told = say(
      session, connected ? std::vector<uint64_t>{1} : words_of_reason(connected.error()), patience);
  if (!connected) return fail(connected.error());
  if (!told) return fail(told.error());
  if (const auto ready = hear(session, 1, patience); !ready) return fail(ready.error());
  return pairs;
}

Error of_the_path(ErrorCode code, const std::string& what, const char* hint) {
  return {code, what, 0, hint, "rdma.path"};
}

Status damaged() {
  return fail(ErrorCode::kWrongData, "what came over the queue pair is not what was sent",
              "a card, a cable or memory that damages data: measure again with another of each");
}

// Unable is not broken: this pair has no such thing.
Status not_measured(const Error& error, LinkResult* result) {
  if (error.code != ErrorCode::kUnsupported || !error.cause.empty()) return fail(error);
  if (result != nullptr) result->skipped = error.what;
  return {};
}

int warmup_of(const FlowSettings& settings) {
  constexpr size_t kLarge = 64 << 10;
  return settings.message_bytes > kLarge ? kVerbsWarmupLarge : kVerbsWarmup;
}

int64_t median_of(std::vector<int64_t> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// ---- bandwidth ----

bool all_ended(const Pairs& pairs) {
  return std::all_of(pairs.begin(), pairs.end(),
                     [](const auto& pair) { return pair->ended() == pair->begun(); });
}
uint64_t count_of(const Pairs& pairs, uint64_t (BareVerbs::*count)() const) {
  uint64_t sum = 0;
  for (const auto& pair : pairs) sum += ((*pair).*count)();
  return sum;
}

// Begins messages for the time, and waits for the last one.
Status send_on(Pairs& pairs, int64_t time_ns, const Patience& patience) {
  const Deadline enough = Deadline::after_ns(time_ns);
  for (unsigned looks = 1;; ++looks) {
    const bool more = !enough.passed();
    for (const auto& pair : pairs) {
      if (Status done = pair->step(more ? UINT64_MAX : 0); !done) return done;
    }
    if (!more && all_ended(pairs)) return {};
    if (looks % kVerbsLooks != 0) continue;
    if (patience.over()) {
      return fail(of_the_path(ErrorCode::kTimeout, "messages on the queue pair did not end in time",
                              "plumbline doctor looks at the path"));
    }
    if (patience.yield) std::this_thread::yield();
  }
}

// The receiver's report of SENDs: nothing was lost, none of its credits either, which would have
// slowed everything behind it. The last ones may come behind the report.
Status all_came(Pairs& pairs, uint64_t sent, const std::vector<uint64_t>& report,
                const Patience& patience) {
  if (report.front() != sent) {
    return fail(of_the_path(
        ErrorCode::kPeerLost,
        fmt::format("{} messages were sent on the queue pairs, and {} came", sent, report.front()),
        "look for errors and drops on the link"));
  }
  const Patience short_while = patience.within(kVerbsQuietMs * kMillisecond);
  while (count_of(pairs, &BareVerbs::credits_got) < report.back()) {
    for (const auto& pair : pairs) {
      if (Status done = pair->step(0); !done) return done;
    }
    if (short_while.over()) {
      return fail(of_the_path(ErrorCode::kPeerLost,
                              "a message of the receiver, which gives room to send, was lost",
                              "look for errors and drops on the link"));
    }
  }
  return {};
}

// Takes messages until the other end has said how many there were, and all of them or none for a
// while have come.
Status take_all(LinkSession& session, Pairs& pairs, const Patience& patience) {
  std::optional<uint64_t> sent;
  Deadline quiet = Deadline::never();
  uint64_t seen = 0;
  for (unsigned looks = 1;; ++looks) {
    for (const auto& pair : pairs) {
      if (Status done = pair->take(); !done) return done;
    }
    if (looks % kVerbsLooks != 0) continue;
    const uint64_t taken = count_of(pairs, &BareVerbs::taken);
    if (sent && (taken >= *sent || quiet.passed())) return {};
    if (sent && std::exchange(seen, taken) != taken) quiet = Deadline::after_ms(kVerbsQuietMs);
    pollfd entry{session.control.get(), POLLIN, 0};
    if (!sent && ::poll(&entry, 1, 0) > 0) {
      const auto told = hear(session, 1, patience);
      if (!told) return fail(told.error());
      sent = told->front();
      quiet = Deadline::after_ms(kVerbsQuietMs);
    }
    if (patience.over())
      return fail(ErrorCode::kTimeout, "the sender on the queue pair never ended");
    if (patience.yield) std::this_thread::yield();
  }
}

}  // namespace

Status verbs_latency_from(LinkSession& session, const FlowSettings& settings, LinkResult& result) {
  const Patience patience = for_flow(settings);
  const Expected<Pairs> pairs = joined_pairs(session, settings, false, patience);
  if (!pairs) return not_measured(pairs.error(), &result);
  BareVerbs& pair = *pairs->front();
  std::vector<int64_t> times;
  if (Status done = pair.round_trips(true, warmup_of(settings), patience, &times); !done)
    return done;
  const int64_t one = std::max<int64_t>(median_of(times), 1);
  const int64_t fit = std::max(settings.time_ns / one,
                               std::min(kFewestVerbsTrips, kVerbsStretch * settings.time_ns / one));
  const auto count = static_cast<int>(std::clamp<int64_t>(fit, 1, kMostVerbsTrips));
  times.clear();
  times.reserve(static_cast<size_t>(count));
  Status done = say(session, {static_cast<uint64_t>(count)}, patience);
  // The first one finds the other end asleep.
  if (done) done = pair.round_trips(true, 1, patience, nullptr);
  if (done) done = pair.round_trips(true, count, patience, &times);
  // The other end keeps its queue pair until its last message has come.
  if (done) done = say(session, {1}, patience);
  if (!done) return done;
  const auto intact = hear(session, 1, patience);
  if (!intact) return fail(intact.error());
  if (intact->front() != 1 || !pair.is_intact()) return damaged();
  const TimeSummary summary = summarize(times);
  result.rtt = LinkRtt{summary.n, summary.min, summary.p50, summary.p99, summary.max};
  result.queue_pair = pair.name();
  return {};
}

Status verbs_latency_to(LinkSession& session, const FlowSettings& settings) {
  const Patience patience = for_flow(settings);
  const Expected<Pairs> pairs = joined_pairs(session, settings, false, patience);
  if (!pairs) return not_measured(pairs.error(), nullptr);
  BareVerbs& pair = *pairs->front();
  if (Status done = pair.round_trips(false, warmup_of(settings), patience, nullptr); !done)
    return done;
  const auto count = hear(session, 1, patience);
  if (!count) return fail(count.error());
  const auto trips = static_cast<int>(std::min(count->front(), uint64_t{kMostVerbsTrips}));
  if (Status done = pair.round_trips(false, 1 + trips, patience, nullptr); !done) return done;
  if (const auto came = hear(session, 1, patience); !came) return fail(came.error());
  // READ leaves nothing here.
  const bool intact = settings.move == VerbsMove::kRead || pair.is_intact();
  return say(session, {intact ? 1u : 0u}, patience);
}

Status verbs_rate_from(LinkSession& session, const FlowSettings& settings, LinkResult& result) {
  const Patience patience = for_flow(settings);
  Expected<Pairs> pairs = joined_pairs(session, settings, true, patience);
  if (!pairs) return not_measured(pairs.error(), &result);
  const int64_t start = monotonic_ns();
  if (Status done = send_on(*pairs, settings.time_ns, patience); !done) return done;
  int64_t elapsed = monotonic_ns() - start;
  const uint64_t sent = count_of(*pairs, &BareVerbs::begun);
  if (Status told = say(session, {sent}, patience); !told) return told;
  // How many came, whether they are intact, and how many credits were given for them.
  const auto report = hear(session, 3, patience);
  if (!report) return fail(report.error());
  const BareVerbs& first = *pairs->front();
  // On UC, that they have left says nothing.
  if (settings.move == VerbsMove::kSend && !first.is_reliable()) elapsed = monotonic_ns() - start;
  const Status whole =
      settings.move == VerbsMove::kSend ? all_came(*pairs, sent, *report, patience) : Status();
  // The other end keeps its queue pairs until its last credits have come.
  if (Status told = say(session, {1}, patience); !told) return told;
  if (!whole) return whole;
  const bool intact =
      settings.move != VerbsMove::kRead ||
      std::all_of(pairs->begin(), pairs->end(), [](const auto& pair) { return pair->is_intact(); });
  if ((*report)[1] != 1 || !intact) return damaged();
  const double seconds = static_cast<double>(elapsed) * 1e-9;
  result.messages_per_s = static_cast<double>(sent) / seconds;
  result.rate_Bps = *result.messages_per_s * static_cast<double>(settings.message_bytes);
  result.elapsed_ns = elapsed;
  result.queue_pair = first.name();
  for (const auto& pair : *pairs) {
    LinkStream stream;
    stream.bytes = pair->begun() * settings.message_bytes;
    stream.retransmits.reset();
    result.streams.push_back(std::move(stream));
  }
  return {};
}

Status verbs_rate_to(LinkSession& session, const FlowSettings& settings) {
  const Patience patience = for_flow(settings);
  Expected<Pairs> pairs = joined_pairs(session, settings, true, patience);
  if (!pairs) return not_measured(pairs.error(), nullptr);
  if (settings.move == VerbsMove::kSend) {
    if (Status done = take_all(session, *pairs, patience); !done) return done;
  } else if (const auto told = hear(session, 1, patience); !told) {
    return fail(told.error());
  }
  const bool intact =
      settings.move == VerbsMove::kRead ||
      std::all_of(pairs->begin(), pairs->end(), [](const auto& pair) { return pair->is_intact(); });
  if (Status told = say(session,
                        {count_of(*pairs, &BareVerbs::taken), intact ? 1u : 0u,
                         count_of(*pairs, &BareVerbs::credits_given)},
                        patience);
      !told) {
    return told;
  }
  const auto came = hear(session, 1, patience);
  return came ? Status() : fail(came.error());
}

}  // namespace plumbline
