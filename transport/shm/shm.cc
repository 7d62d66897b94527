#include "transport/shm/shm.h"

#include "transport/channel/ring.h"
#include "transport/shm/shared_arrays.h"
#include "transport/shm/shared_memory.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

constexpr size_t kShmRingBytes = 512 << 10;  // both directions: half of a second-level cache
// A message that the system has to copy pays from here on: below, rings that stay in the caches are
// faster (docs/performance.md). What is below direct_bytes is not offered at all.
constexpr size_t kLeastRead = 512 << 10;

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
    return make_shm_stream(std::move(tcp), self, peer, ring_bytes_of(size, kShmRingBytes), realm,
                           arrays, std::move(stays), kLeastRead, way);
  };
  return {"shm", make, arrays, sha256(realm)};
}

}  // namespace plumbline
