// What a rank does between its start and its end: it takes requests of its coordinator, joins
// groups, measures cells, answers. The same over the pipes of a child process and over the
// connection of a rank that a launcher started.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/encode.h"
#include "core/error.h"

namespace plumbline {

class ThreadMeeting;  // transport/memory/memory.h

struct RankLine {
  int from = -1, to = -1;  // requests and answers; blocking
  // The run token does not travel then, only a number from which both ends derive it.
  std::optional<Digest> secret = {};
  int lost_status = 0;   // of a rank whose coordinator went away without a word
  int64_t lease_ms = 0;  // it has gone when nothing has come for so long; 0 = only with the line
  // Told once, from another thread, when the coordinator has gone or dismissed this rank: what is
  // under way is given up, and whoever cannot wait for that ends the process.
  std::function<void()> over = {};
  // Where this rank finds the others when they are threads of its process; null = they are not.
  ThreadMeeting* meeting = nullptr;
};

// Serves the coordinator until it says that the run is over or its end closes. Returns the exit
// status: 0, or `lost_status`.
int serve_rank(const RankLine& line);

// The same for ranks 0 .. ranks-1, each a thread with a part of the line (launch/rank_wire.h),
// until its input ends and all of them have returned.
Status serve_rank_threads(int ranks, const RankLine& line);

}  // namespace plumbline
