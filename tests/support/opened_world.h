// A world of ranks opened as ranks open theirs: through a row of the table of transports, each rank
// in its own thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/fake_verbs/fake_verbs.h"
#include "transport/address.h"
#include "transport/memory/memory.h"
#include "transport/transports.h"

namespace plumbline {

// What all ranks of a world have in common; outlives their groups.
struct OpenedWorld {
  OptionSet options{transport_choices()};
  ThreadMeeting meeting;
  Digest token = random_token();
  std::vector<RankEndpoint> endpoints;
  // What the others hear of a claim; empty = the claim.
  std::function<std::string(int rank, const std::string& claimed)> heard;

  GroupSpec spec(int rank) const {
    GroupSpec spec;
    spec.rank = rank;
    spec.size = static_cast<int>(endpoints.size());
    spec.endpoints = endpoints;
    spec.token = token;
    spec.options = &options;
    spec.ranks_on_host = spec.size;
    return spec;
  }
};

// For OpenedWorld::heard: rank r is on machine machines[r], and nobody knows better.
inline std::function<std::string(int, const std::string&)> on_machines(std::vector<int> machines) {
  return [machines = std::move(machines)](int rank, const std::string& claimed) {
    TcpEndpoint endpoint = *read_endpoint(claimed, "a rank");
    for (PairAbility& ability : endpoint.abilities) {
      if (ability.transport != "shm") continue;
      ability.realm = sha256(std::to_string(machines[static_cast<size_t>(rank) % machines.size()]));
    }
    return endpoint_bytes(endpoint);
  };
}

using Claims = std::vector<std::unique_ptr<TransportClaim>>;

// Claims for all ranks, on loopback and any port; their endpoints go into the world. What failed
// stands in `wrong`.
inline Claims claim_all(const TransportRow& row, int ranks, OpenedWorld& world,
                        std::string& wrong) {
  Claims claims;
  if (row.name == std::string_view("rdma")) world.options = test::with_rdma(world.options);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string site = row.site({{{"127.0.0.1", 8, {}}}, 0});
    auto claim = row.claim({site, &world.options, Deadline::after_ms(0), &world.meeting});
    if (!claim) {
      wrong = claim.error().message();
      return {};
    }
    const std::string said = (*claim)->endpoint();
    world.endpoints.push_back({"here", world.heard ? world.heard(rank, said) : said});
    claims.push_back(std::move(*claim));
  }
  return claims;
}

// Groups of all ranks; empty with the reason in `wrong`.
inline std::vector<std::unique_ptr<Group>> open_all(const TransportRow& row, int ranks,
                                                    OpenedWorld& world, std::string& wrong) {
  const Claims claims = claim_all(row, ranks, world, wrong);
  std::vector<std::unique_ptr<Group>> groups(claims.size());
  std::vector<std::string> said(claims.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < claims.size(); ++rank) {
    threads.emplace_back([&, rank] {
      auto group = claims[rank]->open(world.spec(static_cast<int>(rank)));
      if (group) {
        groups[rank] = std::move(*group);
      } else {
        said[rank] = group.error().message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : said) {
    if (!text.empty()) wrong = text;
  }
  return wrong.empty() ? std::move(groups) : std::vector<std::unique_ptr<Group>>();
}

}  // namespace plumbline
