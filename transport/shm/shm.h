// Ranks on one machine, bytes through rings in memory that each pair shares. It begins as TCP does:
// the pair's data connection proves who is at its ends, then carries what is needed to share memory
// (the lower rank makes it, the higher one opens it, or is handed it over a Unix socket where
// memory has no names, or says why it cannot: shm_terms.h), and stays for four things: to wake the
// other end when it sleeps, as the sign that it lives, for those who look for the addresses of the
// pair, and to go on over where a pair cannot share after all.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "transport/channel/byte_stream.h"
#include "transport/shm/shared_arrays.h"
#include "transport/tcp/tcp_upgrade.h"
#include "transport/transports.h"

namespace plumbline {

std::string shm_unavailable(bool ranks_in_process);
Expected<std::unique_ptr<TransportClaim>> claim_shm(const ClaimSpec& spec);
// What it makes of the connections between ranks of one machine.
TcpUpgrade shm_upgrade(const OptionSet& options, MemoryWay way);
TcpUpgrade shm_upgrade(const OptionSet& options, const TcpEndpoint& site);

// From so many bytes on the peer may take a message from this rank's memory (PeerMemory::expose).
struct ShmOffers {
  size_t least_read = 0;       // which all ranks only copy, read out of the process
  size_t least_rewritten = 0;  // which is written again at once
};

// The end of rank `self` of a pair's authenticated connection `tcp`, made one over shared memory.
// Returns at once; ByteStream::ready() brings the two ends to terms, which both must do. Then
// `ring_bytes` are held in each direction; the lower rank's choice counts. `realm` tells machines
// apart, as shared_memory_realm() does: those of both ends must be the same text. `arrays`: from
// which the peer may take messages; may be null. Where memory cannot be shared, `stays` is told why
// and the stream goes on over `tcp`; without it, that is an error. `way` must be the same at both
// ends.
std::unique_ptr<ByteStream> make_shm_stream(std::unique_ptr<ByteStream> tcp, int self, int peer,
                                            size_t ring_bytes, const std::string& realm,
                                            std::shared_ptr<SharedArrays> arrays = nullptr,
                                            std::function<void(const std::string&)> stays = nullptr,
                                            ShmOffers offers = {}, MemoryWay way = memory_way());

}  // namespace plumbline
