// What is said between the coordinator and the ranks of its world: one line to each, one answer of
// each. As soon as one fails, the others are told; whoever looks on may end it. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/log.h"
#include "launch/rank_set.h"
#include "runs/caller.h"
#include "runs/ranks/protocol.h"

namespace plumbline {

class RankTalk {
 public:
  // Asked whether to go on, and told every error; null = nobody is.
  RankTalk(Caller* caller, const Logger* log) : caller_(caller), log_(log) {}

  // lines[r] to rank r. Ranks work in step: once one has answered, the others get `grace_ms`. The
  // Error is the most telling one.
  Expected<std::vector<Message>> ask(RankSet& ranks, const std::vector<std::string>& lines,
                                     int64_t timeout_ms, int64_t grace_ms);
  Wish wish() const { return caller_ != nullptr ? caller_->ask() : Wish::kGoOn; }
  // Connections that ranks have refused since the last call.
  RefusedConnections take_refused() { return std::exchange(refused_, {}); }

 private:
  Expected<Message> understood(const RankAnswer& answer);
  static void give_up(RankSet& ranks, const Error& error);

  Caller* caller_;
  const Logger* log_;
  RefusedConnections refused_;
};

}  // namespace plumbline
