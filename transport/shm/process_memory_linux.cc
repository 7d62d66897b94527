#include <fmt/format.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "transport/shm/process_memory.h"

namespace plumbline {
namespace {

void* remote(uint64_t address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

Error read_refused(int64_t process, int err) {
  const std::string what = fmt::format("read the memory of process {}", process);
  if (err == ESRCH) {
    return {ErrorCode::kPeerLost, what, err, "its process ended: read its own log", "rank.dead"};
  }
  if (err == EFAULT) {
    return {ErrorCode::kProtocol, what + ": a message is said to lie where nothing is", err,
            "arrays must stay until their operation is done; --direct-bytes 0 copies them instead",
            ""};
  }
  return {ErrorCode::kSystem, what, err, "--direct-bytes 0 does without", ""};
}

Error other_badge(int64_t process) {
  return {ErrorCode::kPeerLost,
          fmt::format("process {} is not the one that its rank was (any more)", process), 0,
          "the other rank gave the operation up, or its process ended: read its own log", ""};
}

}  // namespace

Status read_process_memory(int64_t process, const ProcessBadge& badge, uint64_t address,
                           std::span<std::byte> to) {
  // The badge before the bytes and behind them: the system copies in order.
  uint64_t before = 0, behind = 0;
  do {
    const std::array<iovec, 3> here = {
        iovec{&before, sizeof before}, {to.data(), to.size()}, {&behind, sizeof behind}};
    const std::array<iovec, 3> there = {iovec{remote(badge.at), sizeof before},
                                        {remote(address), to.size()},
                                        {remote(badge.at), sizeof behind}};
    const size_t parts = to.empty() ? 1 : 3;
    const ssize_t got =
        ::process_vm_readv(static_cast<pid_t>(process), here.data(), parts, there.data(), parts, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(read_refused(process, errno));
    const auto copied = static_cast<size_t>(got);
    if (copied < sizeof before || before != badge.number) return fail(other_badge(process));
    // It stops at memory that is not there; what begins with such is that, unless its owner has
    // just taken it away.
    const size_t bytes = std::min(copied - sizeof before, to.size());
    if (bytes == 0 && !to.empty()) {
      const Status still = read_process_memory(process, badge, 0, {});
      return still ? fail(read_refused(process, EFAULT)) : still;
    }
    const bool all = bytes == to.size();
    if (all && parts == 3 && behind != badge.number) return fail(other_badge(process));
    to = to.subspan(bytes);
    address += bytes;
  } while (!to.empty());
  return {};
}

}  // namespace plumbline
