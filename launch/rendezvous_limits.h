// What both sides of the rendezvous agree on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plumbline::rendezvous {

inline constexpr const char* kChannel = "rendezvous";
inline constexpr int kUserTimeoutMs = 20'000;  // unacknowledged bytes: the other machine has gone
inline constexpr int kMaxSleepMs = 200;
inline constexpr int64_t kAgentMs = 5'000;        // for the agents' connections
inline constexpr size_t kMaxJoinLine = 4u << 20;  // bytes

}  // namespace plumbline::rendezvous
