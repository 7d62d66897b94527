#include "collectives/links/link_path.h"

#include <algorithm>

#include "transport/address.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

std::string without_scope(const std::string& ip) { return ip.substr(0, ip.find('%')); }

bool share_subnet(const TcpEndpoint& mine, const TcpEndpoint& peer, const LinkPath& path) {
  const auto pairs = address_pairs(mine, peer);
  return pairs && std::any_of(pairs->begin(), pairs->end(), [&](const AddressPair& pair) {
           return pair.shared_subnet &&
                  without_scope(pair.local.ip) == without_scope(path.local_ip) &&
                  without_scope(pair.remote.ip) == without_scope(path.remote_ip);
         });
}

}  // namespace

Expected<LinkPath> link_path(Group& group, int peer, const std::vector<RankEndpoint>* endpoints,
                             Deadline deadline) {
  const Expected<Channel*> channel = group.channel(peer, deadline);
  if (!channel) return fail(channel.error());
  const StreamStats stats = (*channel)->stream().stats();
  LinkPath path;
  std::string ignored;
  Expected<SocketAddress> local = address_of_text(stats.local, path.local_ip, path.interface);
  if (!local) return fail(local.error());
  Expected<SocketAddress> remote = address_of_text(stats.remote, path.remote_ip, ignored);
  if (!remote) return fail(remote.error());
  path.local = *local;
  path.remote = *remote;
  if (endpoints != nullptr) {
    const auto mine = tcp_endpoint(group.rank(), (*endpoints)[static_cast<size_t>(group.rank())]);
    if (!mine) return fail(mine.error());
    const auto theirs = tcp_endpoint(peer, (*endpoints)[static_cast<size_t>(peer)]);
    if (!theirs) return fail(theirs.error());
    path.direct = share_subnet(*mine, *theirs, path);
  }
  return path;
}

}  // namespace plumbline
