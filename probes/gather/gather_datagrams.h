// Streams of numbered datagrams between pairs of hosts, both directions at once: sockets at the
// receivers, then senders beside whatever else the caller asks in the same batch, then the counts.
// Fills QualityEvidence::datagrams. Not thread-safe; used by gather_quality.cc alone.
#pragma once

#include <string>
#include <vector>

#include "probes/gather/gather.h"

namespace plumbline {

// What the streams of one direction said so far of loss: to decide what else is measured, no
// verdict.
struct LossSigns {
  bool tcp_some = false, tcp_sure = false;              // of the paced streams
  bool datagrams_some = false, datagrams_sure = false;  // some did not come, while others did
  void add(const LossSigns& other);
};
LossSigns loss_signs(const PairEvidence& pair);

// How long other datagrams of this direction have to be waited for, ms, where a whole stream of
// them has just got lost, as behind a default-deny filter; 0: there is no reason to hurry. (They
// may still be let through: to the job's own ports.)
int64_t silence_that_tells_ms(const PairEvidence& pair);

class DatagramStreams {
 public:
  explicit DatagramStreams(ProbeContext& context) : context_(context) {}

  // Opens the receivers of both directions of these pairs (indices of hosts). Pairs where nothing
  // passes at all are left out: there is nothing to count. `alone`: longer and slower, so that
  // what a filter rations by the second can be told from what is lost by chance.
  void open(const std::vector<std::pair<size_t, size_t>>& pairs, bool alone);
  void send(AgentBatch& batch);
  // After the batch was collected.
  void close();

 private:
  struct Way {
    PairEvidence* pair = nullptr;
    size_t from = 0, to = 0;
    AskedWay way;
    std::string id, to_interface, token;
    int port = 0;  // 0: the receiver could not open it
    DatagramEvidence result;
  };
  void add(size_t from, size_t to, bool alone);

  ProbeContext& context_;
  std::vector<Way> ways_;
};

}  // namespace plumbline
