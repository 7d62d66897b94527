// The library's door (include/plumbline/).
#include "plumbline/communicator.h"

#include <algorithm>

#include "collectives/communicator_impl.h"
#include "plumbline/version.h"
#include "transport/memory/memory.h"

namespace plumbline {
namespace {

constexpr int64_t kLongestPatienceMs = int64_t{1000} * 24 * 3600 * 1000;  // 1000 days

Error gone() {
  return {ErrorCode::kUsage,
          "the communicator of this operation is gone",
          0,
          "keep it until all its operations have been waited for",
          {}};
}

Done done_or(const Status& status) { return status ? Done() : Done(status.error()); }

}  // namespace

const char* library_version() { return PLUMBLINE_VERSION; }

Done Work::wait(std::chrono::milliseconds patience) {
  if (!ticket_) return ticket_.error();
  const std::shared_ptr<CommunicatorImpl> owner = owner_.lock();
  if (!owner) return gone();
  const int64_t ms = std::min<int64_t>(patience.count(), kLongestPatienceMs);
  return done_or(owner->wait(*ticket_, Deadline::after_ms(ms)));
}

Done Work::wait() {
  const std::shared_ptr<CommunicatorImpl> owner = owner_.lock();
  return wait(std::chrono::milliseconds(owner ? owner->patience_ms() : 0));
}

ErrorOr<bool> Work::test() {
  if (!ticket_) return ticket_.error();
  const std::shared_ptr<CommunicatorImpl> owner = owner_.lock();
  if (!owner) return gone();
  const Expected<bool> done = owner->test(*ticket_);
  if (!done) return done.error();
  return *done;
}

// ---- Communicator ------------------------------------------------------------------------------

Communicator::Communicator(std::shared_ptr<CommunicatorImpl> impl) : impl_(std::move(impl)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

ErrorOr<Communicator> Communicator::connect(int rank, int size, const EndpointExchange& exchange,
                                            const Options& options) {
  const auto impl = CommunicatorImpl::make(rank, size, options);
  if (!impl) return impl.error();
  const Status status = (*impl)->connect(exchange);
  if (!status) return status.error();
  return Communicator(*impl);
}

ErrorOr<std::vector<Communicator>> local_ranks(int size, const Options& options) {
  std::vector<std::shared_ptr<CommunicatorImpl>> impls;
  for (int rank = 0; rank < std::max(size, 1); ++rank) {
    auto impl = CommunicatorImpl::make(rank, size, options);
    if (!impl) return impl.error();
    impls.push_back(std::move(*impl));
  }
  const GroupSpec spec = impls.front()->spec(size);
  using Groups = std::vector<std::unique_ptr<Group>>;
  Expected<Groups> groups = with_memory("ranks in memory", [&]() -> Expected<Groups> {
    return make_memory_groups(size, channel_options(spec), wait_options(spec));
  });
  if (!groups) return groups.error();
  const auto meeting = std::make_shared<ThreadMeeting>();
  std::vector<Communicator> ranks;
  for (size_t rank = 0; rank < impls.size(); ++rank) {
    impls[rank]->open(std::move((*groups)[rank]), meeting);
    ranks.push_back(Communicator(std::move(impls[rank])));
  }
  return {std::move(ranks)};
}

int Communicator::rank() const { return impl_->group().rank(); }
int Communicator::size() const { return impl_->group().size(); }

void Communicator::abort(const std::string& reason) {
  impl_->group().control().abort({ErrorCode::kAborted, reason, 0, {}, {}});
}

std::optional<Error> Communicator::failure() const {
  const ControlPlane& control = impl_->group().control();
  return control.failed() ? std::optional(impl_->in_words(control.failure())) : std::nullopt;
}

ErrorOr<std::optional<Communicator>> Communicator::split(std::optional<int> colour, int key) {
  auto impl = impl_->split(colour, key);
  if (!impl) return impl.error();
  return *impl ? std::optional(Communicator(std::move(*impl))) : std::nullopt;
}

const std::vector<int>& Communicator::parent_ranks() const { return impl_->parent_ranks(); }

Work Communicator::allreduce(ConstBuffer in, Buffer out, RedOp op) {
  return impl_->start({Op::kAllreduce, in, out, 0, op});
}
Work Communicator::allreduce(Buffer inout, RedOp op) { return allreduce(inout, inout, op); }
Work Communicator::allreduce_coalesced(std::vector<Buffer> arrays, RedOp op) {
  return impl_->start_list(std::move(arrays), op);
}
Work Communicator::reduce_scatter(ConstBuffer in, Buffer out, RedOp op) {
  return impl_->start({Op::kReduceScatter, in, out, 0, op});
}
Work Communicator::allgather(ConstBuffer in, Buffer out) {
  return impl_->start({Op::kAllgather, in, out});
}
Work Communicator::alltoall(ConstBuffer in, Buffer out) {
  return impl_->start({Op::kAlltoall, in, out});
}
Work Communicator::reduce(ConstBuffer in, Buffer out, int root, RedOp op) {
  return impl_->start({Op::kReduce, in, out, root, op});
}
Work Communicator::gather(ConstBuffer in, Buffer out, int root) {
  return impl_->start({Op::kGather, in, out, root});
}
Work Communicator::scatter(ConstBuffer in, Buffer out, int root) {
  return impl_->start({Op::kScatter, in, out, root});
}
Work Communicator::broadcast(Buffer inout, int root) {
  return impl_->start({Op::kBroadcast, inout, inout, root});
}
Work Communicator::barrier() { return impl_->start({Op::kBarrier}); }

}  // namespace plumbline
