// What is behind a Communicator: options become an OptionSet, endpoints a Group, and each call a
// prepared operation of the Executor, kept for the next call of its kind. Nothing is kept outside.
// Internal to collectives/. One thread, but for what others of its family call
// (communicator_family.h).
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/communicator_family.h"
#include "collectives/communicator_list.h"
#include "collectives/executor.h"
#include "core/options/options.h"
#include "plumbline/communicator.h"
#include "transport/memory/memory.h"
#include "transport/transports.h"

namespace plumbline {

// What the library calls an operation for, where the user has not asked for just that one.
struct CallPurpose {
  uint64_t digest = 0;  // of what all ranks must agree on beside the operation; 0 = nothing
  std::string text;     // OperationSpec::purpose
};

// One call of the interface.
struct Call {
  Op op = Op::kBarrier;
  ConstBuffer in = {};
  Buffer out = {};
  int root = 0;
  RedOp redop = RedOp::kSum;
  const CallPurpose* purpose = nullptr;  // null = none but itself
};

// Memory that is not there is an error like any other.
template <typename Make>
auto with_memory(const std::string& doing, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return fail_errno(ErrorCode::kSystem, doing, ENOMEM, "use smaller arrays or fewer ranks");
}

class CommunicatorImpl : public std::enable_shared_from_this<CommunicatorImpl> {
 public:
  static Expected<std::shared_ptr<CommunicatorImpl>> make(int rank, int size,
                                                          const Options& options);
  ~CommunicatorImpl();
  CommunicatorImpl(const CommunicatorImpl&) = delete;
  CommunicatorImpl& operator=(const CommunicatorImpl&) = delete;

  Status connect(const EndpointExchange& exchange);
  // Without token and endpoints, which memory needs none of.
  GroupSpec spec(int ranks_on_host) const;
  // Of ranks that are threads: the group, and where groups that are split from it will meet.
  void open(std::unique_ptr<Group> group, std::shared_ptr<ThreadMeeting> meeting);

  // Null where this rank has no colour.
  Expected<std::shared_ptr<CommunicatorImpl>> split(std::optional<int> colour, int key);
  const std::vector<int>& parent_ranks() const { return parent_ranks_; }

  Work start(const Call& call);
  Work start_list(std::vector<Buffer> arrays, RedOp redop);
  Status wait(uint64_t ticket, Deadline deadline);
  Expected<bool> test(uint64_t ticket);
  Group& group() { return *group_; }
  // So many operations were made ready, because none of the kind was kept.
  uint64_t plans_made() const { return plans_made_; }
  size_t plans_kept() const { return idle_plans_; }
  int64_t patience_ms() const { return options_->integer("watchdog_timeout_ms"); }
  // An Error of this group: where it was split off, with the numbers that its ranks have in the
  // parent.
  Error in_words(Error error) const;

  // ---- for the other groups of its family, from any thread ----

  // It has something under way, and no call of its own that moves it.
  bool needs_others();
  // One round, where nobody else is in a call of it. true = something moved.
  bool move_along(bool idle);

 private:
  using PreparedPtr = std::unique_ptr<Executor::Prepared, void (*)(Executor::Prepared*)>;
  using Key = std::tuple<Op, DType, RedOp, int, uint64_t, bool, uint64_t>;
  struct Running {
    Key key;
    PreparedPtr prepared;
  };
  // What a rank shows of itself before the others are known.
  struct Arrival {
    std::unique_ptr<TransportClaim> claim;
    std::string endpoint;
  };
  // A call of the user: nobody else moves the group meanwhile.
  class Entry {
   public:
    explicit Entry(CommunicatorImpl& group);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    CommunicatorImpl& group_;
    std::unique_lock<std::mutex> lock_;  // not taken before the first split
  };

  CommunicatorImpl(int rank, int size, std::shared_ptr<const OptionSet> options,
                   const Options& given);
  Expected<Arrival> arrive(uint16_t port) const;
  // Opens the group of those who gave these endpoints. `also_known`: joins what only members know.
  Status join(std::unique_ptr<TransportClaim> claim, const std::vector<std::string>& endpoints,
              const std::string& also_known);
  // An operation of the parent that belongs to a split: everybody's, in rank order.
  Expected<std::shared_ptr<CommunicatorImpl>> try_split(std::optional<int> colour, int key);
  Status gather_for_split(ConstBuffer mine, Buffer all);
  Expected<OperationSpec> operation(const Call& call) const;
  Expected<uint64_t> try_start(const Call& call);
  Expected<uint64_t> try_start_list(std::vector<Buffer> arrays, RedOp redop);
  Expected<PreparedPtr> prepared_for(const Key& key, OperationSpec spec, const Call& call);
  void retire_ended();
  void retire(std::map<uint64_t, Running>::iterator done);
  Work work(const Expected<uint64_t>& ticket);

  Status wait_for(uint64_t ticket, Deadline deadline);
  Status wait_alone(uint64_t ticket, Deadline deadline);
  Status wait_among_family(Executor::Prepared& prepared, Deadline deadline);
  Expected<bool> test_for(uint64_t ticket);
  Expected<bool> test_alone(uint64_t ticket);

  Expected<Array> packing_space(uint64_t bytes);
  Status start_parts(RunningList& list, const Call& call);
  // Copies out what has ended; false = something is under way still.
  bool end_parts(RunningList& list);

  const int rank_, size_;
  const std::shared_ptr<const OptionSet> options_;
  const bool fast_math_;        // of the options, which are looked up by name
  const uint64_t small_bytes_;  // likewise
  const Options given_;
  const std::string host_;
  const Logger log_;
  const KernelSet* kernels_ = nullptr;
  int crowd_ = 0;                           // ranks of all groups on this host; 0 = not known yet
  Digest token_{};                          // of the group
  std::vector<int> parent_ranks_;           // by rank; empty = not split from another
  std::shared_ptr<ThreadMeeting> meeting_;  // null = ranks are processes
  std::unique_ptr<TransportClaim> claim_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Executor> executor_;
  std::map<Key, std::vector<PreparedPtr>> idle_;  // an entry may have none
  size_t idle_plans_ = 0;
  size_t most_running_ = 0;  // that were under way at once
  uint64_t plans_made_ = 0;
  uint64_t last_ticket_ = 0;
  // By ticket. One that is not here has ended. Those that run last go first: what lists have packed
  // may be on its way until then.
  std::map<uint64_t, RunningList> lists_;
  std::map<uint64_t, Running> running_;
  std::vector<Array> idle_space_;  // for packing

  std::shared_ptr<CommunicatorFamily> family_;  // null = never split
  std::mutex mutex_;                            // of all the above, once there is a family
  std::atomic<bool> in_call_{false};
};

}  // namespace plumbline
