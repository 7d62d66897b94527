// The first line that an arriving rank sends to rank 0, and the answer to it, as JSON. What comes
// from the other end is checked before it is believed. Pure, thread-safe.
#pragma once

#include <string>

#include "launch/roll_call.h"

namespace plumbline {

std::string encode_join(const JoinRequest& request);
Expected<JoinRequest> decode_join(const std::string& line);

// The answer: welcome (no error), or why the world does not come about.
struct JoinAnswer {
  Status status;
  bool agent = false;  // that rank shall offer an agent for its host, over a second connection
};
std::string encode_join_answer(const JoinAnswer& answer);
JoinAnswer decode_join_answer(const std::string& line);

// First line of such a second connection: whose it is.
std::string encode_agent_offer(int rank);
Expected<int> decode_agent_offer(const std::string& line);

}  // namespace plumbline
