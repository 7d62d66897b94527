// The roll-call of a launched world: who has arrived at rank 0, who is missing and for how long,
// and whether all of them mean the same run; and the first line that an arriving rank sends to rank
// 0, with the answer to it, as JSON. What comes from the other end is checked before it is
// believed. Pure: it is told what came and when, and knows no socket.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/host/host.h"

namespace plumbline {

// What a rank says of itself when it arrives.
struct JoinRequest {
  int rank = 0, size = 1;
  std::string launcher;  // "mpirun (Open MPI)"
  std::string version;
  std::string host;  // its node's name
  int64_t pid = 0;
  // Which network stack it lives in: boot id and network namespace. Ranks of one are reachable over
  // loopback; names are never compared, they are equal on many a pair of machines.
  std::string machine;
  std::vector<Nic> nics;
  std::map<std::string, std::string> config;  // must be the same on all ranks
  // What the command line says beside options: "--maxbytes" -> "64M". The same on all ranks, and
  // what one leaves out, all do.
  std::map<std::string, std::string> words;
  std::map<std::string, std::string> variables;  // PLUMBLINE_* and MCCL_*, of which rank 0's count
};

class RollCall {
 public:
  // `own` is rank 0's own entry; `now_ns` as of monotonic_ns().
  RollCall(JoinRequest own, int64_t now_ns);

  int size() const { return static_cast<int>(ranks_.size()); }
  const JoinRequest& own() const { return *ranks_.front(); }
  // One more came. An Error means that this world can never be whole: another size, a rank that
  // there is not or that came already, another version of the program.
  Status arrive(JoinRequest request);
  bool complete() const { return missing().empty(); }
  std::vector<int> missing() const;
  // "3 of 4 ranks have arrived after 5 s; missing: rank 2".
  std::string progress(int64_t now_ns) const;
  // rank.missing: who did not come to `where` within the time, and who did.
  Error missing_error(const std::string& where, int64_t now_ns) const;
  // Of a complete world. config.mismatch with every key or word that differs and on which ranks;
  // a rank that does not have a key (it cannot read the scenario file) agrees.
  Status agree() const;
  // Variables that differ between ranks, one line each: rank 0's values are the ones that count.
  std::vector<std::string> drift() const;
  // The lowest rank of every machine but rank 0's, in ascending order: its host's agent.
  std::vector<int> agents() const;
  // Of a complete world, by rank.
  std::vector<JoinRequest> requests() const;

 private:
  std::string describe(const JoinRequest& request) const;
  std::string spread(const std::string& key, std::map<std::string, std::string> JoinRequest::*texts,
                     const char* absent) const;
  std::vector<std::optional<JoinRequest>> ranks_;
  int64_t start_ns_;
};

// "rank 2", "ranks 1, 3-5".
std::string rank_list(const std::vector<int>& ranks);

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
