// What is behind a Communicator: options become an OptionSet, endpoints a Group, and each call a
// prepared operation of the Executor, kept for the next call of its kind. Nothing is kept outside.
// Internal to collectives/; one thread.
#pragma once

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/executor.h"
#include "core/options/options.h"
#include "plumbline/communicator.h"
#include "transport/transports.h"

namespace plumbline {

// One call of the interface.
struct Call {
  Op op = Op::kBarrier;
  ConstBuffer in = {};
  Buffer out = {};
  int root = 0;
  RedOp redop = RedOp::kSum;
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
  Status connect(const EndpointExchange& exchange, const Options& options);
  // Without token and endpoints, which memory needs none of.
  GroupSpec spec(int ranks_on_host) const;
  void open(std::unique_ptr<Group> group);

  Work start(const Call& call);
  Status wait(uint64_t ticket, Deadline deadline);
  Expected<bool> test(uint64_t ticket);
  Group& group() { return *group_; }
  int64_t patience_ms() const { return options_.integer("watchdog_timeout_ms"); }

 private:
  using PreparedPtr = std::unique_ptr<Executor::Prepared, void (*)(Executor::Prepared*)>;
  using Key = std::tuple<Op, DType, RedOp, int, uint64_t, bool>;
  struct Running {
    Key key;
    PreparedPtr prepared;
  };

  CommunicatorImpl(int rank, int size, OptionSet options, const Options& given);
  Expected<GroupSpec> meet(TransportClaim& claim, const EndpointExchange& exchange,
                           const Options& options) const;
  Expected<OperationSpec> operation(const Call& call) const;
  Expected<uint64_t> try_start(const Call& call);
  Expected<PreparedPtr> prepared_for(const Key& key, const OperationSpec& spec);
  void retire(std::map<uint64_t, Running>::iterator done);

  const int rank_, size_;
  const OptionSet options_;
  const Logger log_;
  const KernelSet* kernels_ = nullptr;
  std::unique_ptr<TransportClaim> claim_;
  std::unique_ptr<Group> group_;
  std::unique_ptr<Executor> executor_;
  std::map<Key, std::vector<PreparedPtr>> idle_;
  size_t idle_plans_ = 0;
  uint64_t last_ticket_ = 0;
  // By ticket. One that is not here has ended.
  std::map<uint64_t, Running> running_;
};

}  // namespace plumbline
