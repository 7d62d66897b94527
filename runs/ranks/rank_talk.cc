#include "runs/ranks/rank_talk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"

namespace plumbline {
namespace {

// For the other ranks once one has answered with an error: they have been told, and say soon what
// they know of it.
constexpr int64_t kToldNs = 500 * kMillisecond;

// The most telling of several errors: a death or a named divergence before a relayed abort, and
// that before a bare timeout.
const Error& first_fault(const std::vector<Error>& errors) {
  const auto weight = [](const Error& e) {
    if (e.cause == "rank.dead" && e.code == ErrorCode::kPeerLost) return 0;
    if (!resource_hint(e.sys_errno).empty()) return 1;  // others only miss this rank
    if (e.code == ErrorCode::kMismatch || e.code == ErrorCode::kWrongData) return 1;
    if (e.cause == "rank.late") return 4;
    return e.code == ErrorCode::kAborted ? 3 : 2;
  };
  return *std::min_element(errors.begin(), errors.end(),
                           [&](const Error& a, const Error& b) { return weight(a) < weight(b); });
}

}  // namespace

Expected<std::vector<Message>> RankTalk::ask(RankSet& ranks, const std::vector<std::string>& lines,
                                             int64_t timeout_ms, int64_t grace_ms) {
  const Status sent = ranks.send(lines, Deadline::after_ms(5000));
  std::vector<Error> errors;
  if (!sent) errors.push_back(sent.error());
  bool told = false;
  const auto tick = [&] {
    if (wish() != Wish::kGoOn && !told) {
      told = true;
      // A rank that cannot take the line is about to be reported by its missing answer.
      static_cast<void>(ranks.send_all(encode(InterruptMessage{}), Deadline::after_ms(500)));
    }
    return wish() != Wish::kEndNow;
  };
  bool broken = !sent;
  if (broken) give_up(ranks, sent.error());
  std::vector<std::optional<Expected<Message>>> heard(lines.size());
  const auto hear = [&](size_t rank, const RankAnswer& answer) -> std::optional<int64_t> {
    const bool said_why = heard[rank] && !*heard[rank];  // what becomes of it then is no news
    if (!said_why) heard[rank] = understood(answer);
    if (!*heard[rank] && !broken) {
      broken = true;
      give_up(ranks, heard[rank]->error());
    }
    return broken ? std::optional(kToldNs) : std::nullopt;
  };
  const std::vector<RankAnswer> answers = ranks.collect(
      Deadline::after_ms(sent ? timeout_ms : 2000), grace_ms * kMillisecond, tick, hear);
  std::vector<Message> messages;
  for (size_t rank = 0; rank < answers.size(); ++rank) {
    if (!heard[rank]) heard[rank] = understood(answers[rank]);  // it came too late, or nothing did
    if (*heard[rank]) {
      messages.push_back(std::move(**heard[rank]));
    } else {
      errors.push_back(heard[rank]->error());
    }
  }
  if (wish() == Wish::kEndNow) {
    return fail(ErrorCode::kInterrupted, "interrupted twice: ranks ended at once");
  }
  if (!errors.empty()) {
    if (log_ != nullptr) {
      for (const Error& error : errors) log_->info(error.message());
    }
    return fail(first_fault(errors));
  }
  return messages;
}

// What a rank answered; an Error when it failed, has gone, or makes no sense.
Expected<Message> RankTalk::understood(const RankAnswer& answer) {
  if (!answer) return fail(answer.error());
  Expected<Message> message = decode(*answer);
  if (!message) return message;
  const auto count = [this](const auto& value) {
    if constexpr (requires { value.refused; }) refused_.add(value.refused);
  };
  std::visit(count, *message);
  if (const auto* error = std::get_if<ErrorMessage>(&*message)) return fail(error->error);
  return message;
}

// The others may be waiting for one that will never come.
void RankTalk::give_up(RankSet& ranks, const Error& error) {
  const Error told{ErrorCode::kAborted, "the coordinator ended the group: " + error.what, 0,
                   error.hint, error.cause};
  // Whoever cannot be told has gone, or is reported by its missing answer.
  static_cast<void>(ranks.send_all(encode(GiveUpMessage{told}), Deadline::after_ms(500)));
}

}  // namespace plumbline
