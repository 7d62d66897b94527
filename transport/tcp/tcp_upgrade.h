// What a transport that begins as TCP makes of the data connections of its pairs, and for which
// pairs: those whose ranks say the same of themselves (PairAbility), which both ends and everybody
// else know before anything is connected. Where there are several such ways, a pair takes the first
// that both its ranks can. The connection stays below what is made of it:
// as doorbell, as the sign that the other end lives, and to go on over where the two ends find out
// that they cannot. Pure functions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/encode.h"
#include "transport/address.h"
#include "transport/channel/byte_stream.h"
#include "transport/peer_memory.h"
#include "transport/transports.h"

namespace plumbline {

struct TcpUpgrade {
  // Told once, with the reason, when a pair stays on its connection after all.
  using Stays = std::function<void(const std::string& reason)>;
  // May need both ends to come to terms (ByteStream::ready). Without `stays` a pair that cannot is
  // an error.
  using Make = std::function<std::unique_ptr<ByteStream>(std::unique_ptr<ByteStream> tcp, int self,
                                                         int peer, int size, Stays stays)>;

  const char* name = "tcp";  // of what pairs become
  Make make = nullptr;       // null: every connection as it is
  // Where the group's arrays come from while any pair becomes this; `below`: where they would come
  // from otherwise, null = they are this process's alone. Null = from there.
  std::function<std::shared_ptr<ArrayPool>(std::shared_ptr<ArrayPool> below)> arrays = nullptr;
  std::optional<Digest> realm = {};  // this rank's, part of its claim
  std::string why_not = {};          // with it, where there is no realm
  bool of_every_pair = true;         // else those that cannot stay on TCP
};

// What a rank says of itself in its claim.
std::vector<PairAbility> abilities_of(const std::vector<TcpUpgrade>& upgrades);

// By peer of rank `self`: what their connection is to become; null = nothing more.
std::vector<const TcpUpgrade*> upgrades_of_peers(const std::vector<TcpUpgrade>& upgrades,
                                                 const std::vector<TcpEndpoint>& endpoints,
                                                 int self, const std::vector<bool>& apart);

// Why two ranks cannot what somebody counts on: "rank 1 on mini2: there is no device"; empty =
// nobody does, or they can.
std::string why_not(const TcpUpgrade& upgrade, const TcpEndpoint& a, const TcpEndpoint& b);

// Where every pair must: the first one of the world that cannot, by name. All ranks find the same.
Status check_every_pair(const std::vector<TcpUpgrade>& upgrades,
                        const std::vector<TcpEndpoint>& endpoints,
                        const std::vector<RankPair>& apart);

}  // namespace plumbline
