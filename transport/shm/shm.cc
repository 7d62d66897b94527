#include "transport/shm/shm.h"

#include "transport/channel/ring.h"
#include "transport/shm/shared_arrays.h"
#include "transport/shm/shared_memory.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

// Of one direction. Two ranks have larger ones, in which messages of 16 to 96 KiB take half to two
// thirds of the time; with more ranks nothing is gained (docs/performance.md).
constexpr size_t kRingBytes = 512 << 10, kRingBytesOfTwo = 2 << 20;
// A message that the system has to copy pays from here on: below, rings are faster, as measured
// with rings of 512 KiB (docs/performance.md). What is below direct_bytes is not offered at all.
constexpr size_t kLeastRead = 512 << 10;
// Through their larger rings two ranks are faster with what is written again at once, up to here;
// who asks for a smaller direct_bytes than is usual gets what he asks for.
constexpr size_t kLeastRewrittenOfTwo = 576 << 10, kUsualDirect = 128 << 10;

}  // namespace

std::string shm_unavailable(bool /*ranks_in_process*/) { return shared_memory_unavailable(); }

Expected<std::unique_ptr<TransportClaim>> claim_shm(const ClaimSpec& spec) {
  return claim_over_tcp(spec, [&spec](const TcpEndpoint&) {
    return std::vector<TcpUpgrade>{shm_upgrade(*spec.options, memory_way())};
  });
}

TcpUpgrade shm_upgrade(const OptionSet& options, const TcpEndpoint& /*site*/) {
  return shm_upgrade(options, memory_way());
}

TcpUpgrade shm_upgrade(const OptionSet& options, MemoryWay way) {
  const auto arrays = std::make_shared<SharedArrays>(direct_bytes(options), way);
  const std::string realm = shared_memory_realm();
  const bool usual = direct_bytes(options) >= kUsualDirect;
  const auto make = [arrays, realm, usual, way](std::unique_ptr<ByteStream> tcp, int self, int peer,
                                                int size, TcpUpgrade::Stays stays) {
    const bool two = size == 2;
    const ShmOffers offers = {kLeastRead, two && usual ? kLeastRewrittenOfTwo : 0};
    return make_shm_stream(std::move(tcp), self, peer,
                           ring_bytes_of(size, two ? kRingBytesOfTwo : kRingBytes), realm, arrays,
                           std::move(stays), offers, way);
  };
  return {"shm", make, [arrays](const std::shared_ptr<ArrayPool>&) { return arrays; },
          sha256(realm)};
}

}  // namespace plumbline
