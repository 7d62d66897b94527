#include "collectives/roof_verbs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include "transport/channel/raw.h"

namespace plumbline {
namespace {

constexpr uint64_t kLargestMessage = 1 << 20;
constexpr unsigned kStepsOfARoof = 1024;  // between two looks at the clock

Patience patience_of_roof(const WaitOptions& wait, Deadline deadline) {
  return {deadline, wait.failed, wait.spin_ns, wait.yield};
}

// What a message of the pair holds, for so many bytes in all.
uint64_t message_of(const RdmaPort& port, uint64_t bytes) {
  const uint64_t most = std::min<uint64_t>(kLargestMessage, port.most_message());
  return std::min<uint64_t>(message_bytes(port.profile(), std::min(bytes, most)), most);
}

}  // namespace

Expected<std::unique_ptr<VerbsRoof>> VerbsRoof::join(ByteStream& stream, uint64_t bytes, bool whole,
                                                     const WaitOptions& wait, Deadline deadline) {
  const auto ports = stream.rdma_ports();
  if (ports.size() != 1) return nullptr;
  const std::shared_ptr<RdmaPort>& port = ports.front();
  const uint64_t message = message_of(*port, bytes);
  auto pair = BareVerbs::create(port, VerbsMove::kSend, message, "the other rank");
  // Zeros: there is none.
  BareVerbs::EndWords ours{}, theirs{};
  const bool can = pair && (whole ? message >= bytes : (*pair)->is_reliable());
  if (can) ours = (*pair)->end();
  std::array<std::byte, sizeof ours> said{}, heard{};
  std::memcpy(said.data(), ours.data(), sizeof ours);
  const auto swap = [&] {
    return raw_duplex(stream, said.size(), said.size(), wait, deadline, nullptr,
                      {said.data(), heard.data()});
  };
  if (Status swapped = swap(); !swapped) return fail(swapped.error());
  std::memcpy(theirs.data(), heard.data(), sizeof theirs);
  if (!can || theirs == BareVerbs::EndWords{}) return nullptr;
  if (Status connected = (*pair)->connect(theirs); !connected) return fail(connected.error());
  // Nothing is sent before both are connected.
  if (Status swapped = swap(); !swapped) return fail(swapped.error());
  return std::unique_ptr<VerbsRoof>(new VerbsRoof(std::move(*pair), bytes, message));
}

Status VerbsRoof::round_trips(bool begins, int count, const WaitOptions& wait, Deadline deadline,
                              std::vector<int64_t>* times) {
  return pair_->round_trips(begins, count, patience_of_roof(wait, deadline),
                            begins ? times : nullptr);
}

Status VerbsRoof::one_way(bool sends, ByteStream& stream, const WaitOptions& wait,
                          Deadline deadline, int64_t& ns) {
  const Patience patience = patience_of_roof(wait, deadline);
  const uint64_t count = (bytes_ + message_ - 1) / message_;
  const uint64_t begun = pair_->begun() + count, taken = pair_->taken() + count;
  const int64_t start = monotonic_ns();
  for (unsigned steps = 1; sends ? pair_->ended() < begun : pair_->taken() < taken; ++steps) {
    const Status moved = sends ? pair_->step(begun - pair_->begun()) : pair_->take();
    if (!moved) return moved;
    if (steps % kStepsOfARoof != 0) continue;
    if (patience.over()) {
      return fail(ErrorCode::kTimeout, "messages of the bare queue pair did not arrive in time");
    }
    if (patience.yield) std::this_thread::yield();
  }
  Status done = raw_stream(stream, !sends, 1, 1, wait, deadline, nullptr);
  // Of the messages' bytes, which may be a few more, those that were asked for.
  const auto took = static_cast<double>(monotonic_ns() - start);
  ns = sends ? static_cast<int64_t>(took * static_cast<double>(bytes_) /
                                    static_cast<double>(count * message_))
             : 0;
  return done;
}

}  // namespace plumbline
