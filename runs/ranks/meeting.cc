#include "runs/ranks/meeting.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/number.h"
#include "launch/agent_link.h"
#include "launch/data_addresses.h"
#include "launch/pmi.h"

namespace plumbline {
namespace {

// Rank 0 leaves its addresses and a random number with the process manager, for all ranks to fetch.
Expected<Master> master_over_pmi(const LauncherPlace& place, const std::string& descriptor,
                                 const OptionSet& options, std::string& job) {
  constexpr size_t kMostAddresses = 16;
  std::string text;
  if (place.rank == 0) {
    size_t count = 0;
    for (const Nic& nic : list_nics().value_or(std::vector<Nic>{})) {
      if (!why_excluded(nic).empty()) continue;
      for (const NicAddress& address : nic.addresses) {
        const bool usable = !address.loopback && !(address.v6 && address.link_local);
        if (usable && ++count <= kMostAddresses) text += (text.empty() ? "" : ",") + address.ip;
      }
    }
    text += ";" + to_hex(random_token());
  }
  const auto fd = parse_whole(descriptor, 0, std::numeric_limits<int>::max());
  if (!fd) {
    return fail(Error{ErrorCode::kUsage, "PMI_FD is no number of a descriptor", 0,
                      "unset it, or say where the ranks meet with --master ADDRESS", ""});
  }
  const Expected<std::string> shared = share_over_pmi(
      *fd, place.rank, text, Deadline::after_ms(options.integer("connect_timeout_ms")));
  if (!shared) return fail(shared.error());
  const size_t end = shared->find(';');
  job = shared->substr(std::min(end, shared->size()));
  Master master;
  master.from = "PMI";
  for (size_t at = 0; at < std::min(end, shared->size());) {
    const size_t comma = std::min(shared->find(',', at), end);
    master.hosts.push_back(shared->substr(at, comma - at));
    at = comma + 1;
  }
  if (!master.hosts.empty()) return master;
  return fail(Error{ErrorCode::kConfig, "rank 0's host has no address that others could reach", 0,
                    "give its interface an address, or --master ADDRESS", "ip.missing"});
}

bool loopback_name(const std::string& name) { return is_loopback_ip(name) || name == "localhost"; }

}  // namespace

Expected<Meeting> meeting_of(const LauncherPlace& place, const std::string& flag,
                             const OptionSet& options) {
  const Variables variables = own_variables();
  Meeting meeting;
  std::string job = place.job;
  Expected<Master> master = choose_master(place, flag, variables);
  if (!master && variables.count("PMI_FD") > 0) {
    master = master_over_pmi(place, variables.at("PMI_FD"), options, job);
  }
  if (!master) return fail(master.error());
  meeting.master = std::move(*master);
  const Expected<int> port = rendezvous_port(options, variables);
  if (!port) return fail(port.error());
  meeting.port = *port;
  const auto file = variables.find(kTokenVariable);
  if (file == variables.end()) {
    meeting.auth = "rendezvous";
    meeting.secret = sha256(fmt::format("plumbline rendezvous {} {}", job, meeting.port));
    return meeting;
  }
  const Expected<std::string> token = read_token(file->second);
  if (!token) return fail(token.error());
  meeting.auth = "token";
  meeting.secret = sha256("plumbline launch token " + *token);
  return meeting;
}

std::vector<std::string> listening_addresses(const Master& master, const std::vector<Nic>& nics) {
  const bool local = std::all_of(master.hosts.begin(), master.hosts.end(), loopback_name);
  if (local && master.hosts.front() == "::1") return {"::1"};
  if (local) return {"127.0.0.1"};
  std::vector<std::string> addresses = {"0.0.0.0"};
  const bool v6 = std::any_of(nics.begin(), nics.end(), [](const Nic& nic) {
    return std::any_of(nic.addresses.begin(), nic.addresses.end(),
                       [](const NicAddress& address) { return address.v6 && !address.loopback; });
  });
  if (v6) addresses.emplace_back("::");
  return addresses;
}

}  // namespace plumbline
