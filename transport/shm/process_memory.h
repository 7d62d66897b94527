// Memory of another process of this machine that the two do not share: the system copies it on
// demand. A badge, a number at a known place there, comes along with every copy, before the bytes
// and behind them, so that bytes of anybody else are refused: of another process that got the
// number of one that has ended, of one that has become another program, and of one that has taken
// its badge off before it gave the memory back or wrote something else there. Linux:
// process_vm_readv(2); macOS has nothing that works without root.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.h"

namespace plumbline {

// Of a process, and of this machine only.
struct ProcessBadge {
  uint64_t at = 0;      // address in that process
  uint64_t number = 0;  // what stands there
};

// Copies all of `to` from `address` on there; without `to` only the badge is looked at. kPeerLost:
// the process has ended, is another one, or has taken the badge off; kProtocol: it wears it and has
// no such memory; kSystem with the system's words: it does not let us.
Status read_process_memory(int64_t process, const ProcessBadge& badge, uint64_t address,
                           std::span<std::byte> to);

}  // namespace plumbline
