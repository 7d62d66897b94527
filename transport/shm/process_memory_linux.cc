#include <fmt/format.h>
#include <sys/types.h>
#include <sys/uio.h>

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

}  // namespace

Status read_process_memory(int64_t process, const ProcessBadge& badge, uint64_t address,
                           std::span<std::byte> to) {
  uint64_t number = 0;
  do {
    // The badge first: the system copies in order.
    const std::array<iovec, 2> here = {iovec{&number, sizeof number}, {to.data(), to.size()}};
    const std::array<iovec, 2> there = {iovec{remote(badge.at), sizeof number},
                                        {remote(address), to.size()}};
    const size_t parts = to.empty() ? 1 : 2;
    const ssize_t got =
        ::process_vm_readv(static_cast<pid_t>(process), here.data(), parts, there.data(), parts, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(read_refused(process, errno));
    const auto copied = static_cast<size_t>(got);
    if (copied < sizeof number || number != badge.number) {
      return fail(ErrorCode::kProtocol,
                  fmt::format("process {} is not the one that its rank was (any more)", process),
                  "the other rank gave the operation up, or its process ended: read its own log");
    }
    // It stops at memory that is not there; what begins with such is that.
    const size_t bytes = copied - sizeof number;
    if (bytes == 0 && !to.empty()) return fail(read_refused(process, EFAULT));
    to = to.subspan(bytes);
    address += bytes;
  } while (!to.empty());
  return {};
}

}  // namespace plumbline
