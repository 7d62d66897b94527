// A Communicator and those that were split from it, on one rank. Ranks may wait for the operations
// of several groups in different orders, so whoever waits for one moves the others along: a group
// whose bytes this rank holds back may be what its peers wait for. Thread-safe; each group may be
// used by a thread of its own. Internal to collectives/.
#pragma once

#include <mutex>
#include <vector>

namespace plumbline {

class CommunicatorImpl;

class CommunicatorFamily {
 public:
  void add(CommunicatorImpl& group);
  // Returns when nobody is moving it along any more.
  void remove(const CommunicatorImpl& group);

  // One of the others has operations under way, and no call of its own that moves them.
  bool others_wait(const CommunicatorImpl& but);
  // One round for all others. true = something moved. `idle`: nothing has for a while, so peers
  // that ask are told what each of them waits for.
  bool move_others(const CommunicatorImpl& but, bool idle);

 private:
  std::mutex mutex_;
  std::vector<CommunicatorImpl*> groups_;
};

}  // namespace plumbline
