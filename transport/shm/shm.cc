#include "transport/shm/shm.h"

#include <algorithm>
#include <bit>

#include "transport/channel/ring.h"
#include "transport/shm/shared_arrays.h"
#include "transport/shm/shared_memory.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

// Of one direction, at least; and of all rings of a rank, at least. Larger than a second-level
// cache on purpose: what is written again lies in the third-level cache then, from where it comes
// in half the time that it takes to get it back from the core that read it last
// (docs/performance.md).
constexpr size_t kLeastRing = 512 << 10, kAllRingsOfRank = 4 << 20;
// A message that the system has to copy pays from here on: below, rings that stay in the caches are
// faster (docs/performance.md). What is below direct_bytes is not offered at all.
constexpr size_t kLeastRead = 512 << 10;

size_t shm_ring_bytes(int ranks) {
  const auto rings = 2 * static_cast<size_t>(std::max(ranks - 1, 1));
  return ring_bytes_of(ranks, std::max(kLeastRing, std::bit_floor(kAllRingsOfRank / rings)));
}

}  // namespace

std::string shm_unavailable(bool /*ranks_in_process*/) { return shared_memory_unavailable(); }

Expected<std::unique_ptr<TransportClaim>> claim_shm(const ClaimSpec& spec) {
  return claim_over_tcp(spec, shm_upgrade(*spec.options));
}

TcpUpgrade shm_upgrade(const OptionSet& options, MemoryWay way) {
  const auto arrays = std::make_shared<SharedArrays>(direct_bytes(options), way);
  const std::string realm = shared_memory_realm();
  const auto make = [arrays, realm, way](std::unique_ptr<ByteStream> tcp, int self, int peer,
                                         int size, TcpUpgrade::Stays stays) {
    return make_shm_stream(std::move(tcp), self, peer, shm_ring_bytes(size), realm, arrays,
                           std::move(stays), kLeastRead, way);
  };
  return {"shm", make, arrays, sha256(realm)};
}

}  // namespace plumbline
