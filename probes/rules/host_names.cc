#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/remedy.h"
#include "probes/rules/host_readiness.h"

namespace plumbline {

using enum Standing;

namespace {

Remedy remedy_for(const std::string& name, const std::string& ip) {
  if (fits(Slot::kHostName, name)) return remedy_own_name(name, ip);
  return fmt::format(
      "give the host a name of letters, digits and hyphens, and the line '{} NAME' in /etc/hosts",
      ip);
}

std::vector<std::string> addresses_of(const NameEvidence& name) {
  std::vector<std::string> out = name.v4;
  out.insert(out.end(), name.v6.begin(), name.v6.end());
  std::sort(out.begin(), out.end());
  return out;
}

// In the network of one of the host's data addresses, by the prefix that the interface really has.
bool in_data_network(const std::string& ip, const JobHost& job, const HostEvidence& host) {
  const auto data = data_of(job);
  return any_of(data, [&](const Cidr& wanted) {
    int prefix = wanted.prefix;
    if (const InterfaceEvidence* carrier = interface_of(host, wanted.ip)) {
      const AddressEvidence* own = find_address(*carrier, wanted.ip);
      if (own != nullptr && prefix == 0) prefix = own->prefix;
    }
    return same_subnet(ip, wanted.ip, prefix > 0 ? prefix : address_bits(wanted.ip));
  });
}

const NameEvidence* own_name(const HostEvidence& host) {
  return find_where(host.names, [](const NameEvidence& name) { return name.role == "own"; });
}

// Network namespaces of one machine share its name and mostly its /etc/hosts, so that the name can
// mean only one of them. Empty when the name is the host's own, else why it is not judged.
std::string shared_name(const EvidenceSet& evidence, const HostEvidence& host,
                        const NameEvidence& own) {
  std::map<std::vector<std::string>, int> answers;
  int sharing = 0;
  std::string other;
  for (const HostEvidence& candidate : evidence.hosts) {
    const NameEvidence* name = own_name(candidate);
    if (name == nullptr || name->name != own.name || candidate.boot_id != host.boot_id) continue;
    ++answers[addresses_of(*name)];
    ++sharing;
    if (candidate.name != host.name) other = candidate.name;
  }
  if (sharing < 2) return {};
  // Who gets another answer than most of them has a file of its own, and that is judged.
  const int same = answers[addresses_of(own)];
  if (same < 2 || same * 2 < sharing) return {};
  return fmt::format("'{}' is the name of the machine that {} is on as well", own.name, other);
}

HostVerdict judge_own(const EvidenceSet& evidence, const JobHost& job, const HostEvidence& host,
                      const NameEvidence& name) {
  const Subject subject = {"name", job.name};
  const auto say = [&](CheckOutcome outcome, const std::string& reason,
                       const char* cause = "") -> HostVerdict {
    HostVerdict verdict = {make_check(subject, outcome, reason), cause, {}};
    if (*cause != '\0') verdict.remedy = remedy_for(name.name, parse_cidr(job.data.front()).ip);
    return verdict;
  };
  const auto found = addresses_of(name);
  const std::string list = join_words(found);
  const std::string shared = shared_name(evidence, host, name);
  const bool v6 = is_v6(parse_cidr(job.data.front()).ip);
  if (!shared.empty()) return say(kSkipped, shared);
  if (name.error == "no answer in time") {
    return say(kUnknown, fmt::format("the resolver gave no answer for '{}' in time", name.name));
  }
  if (found.empty()) {
    return say(kFail,
               fmt::format("the host cannot resolve its own name '{}': {}", name.name,
                           name.error.empty() ? "no address" : name.error),
               "name.unresolved");
  }
  if (any_of(found, [&](const std::string& ip) { return in_data_network(ip, job, host); })) {
    return say(kPass, fmt::format("'{}' is {}", name.name, list));
  }
  if (all_of(found, is_loopback_ip)) {
    return say(
        kFail,
        fmt::format("the host's own name '{}' is {}, which peers cannot reach", name.name, list),
        "name.loopback");
  }
  const bool other_family = v6 ? name.v6.empty() : name.v4.empty();
  return say(kFail,
             fmt::format("the host's own name '{}' is {}, not in the data network of {}{}",
                         name.name, list, job.data.front(),
                         !other_family ? ""
                         : v6          ? "; it has no IPv6 address at all"
                                       : "; it has no IPv4 address at all"),
             "name.wrong_address");
}

// How many hosts got an address for this name of somebody else.
int resolved_by(const EvidenceSet& evidence, const std::string& name) {
  int count = 0;
  for (const HostEvidence& host : evidence.hosts) {
    count += any_of(host.names, [&](const NameEvidence& other) {
      return other.role != "own" && other.name == name && !addresses_of(other).empty();
    });
  }
  return count;
}

// A peer's name matters only as far as others can use it: the job itself goes by addresses. So it
// is wrong where it leads to this very host, or where the others know it and this one does not.
HostVerdict judge_peer(const EvidenceSet& evidence, const JobHost& job, const NameEvidence& name) {
  const Subject subject = {"name", job.name, name.of, {}, name.role == "peer" ? "" : name.role};
  const auto found = addresses_of(name);
  const JobHost* peer = find_job_host(evidence, name.of);
  const bool known_elsewhere = resolved_by(evidence, name.name) > 0;
  HostVerdict out;
  if (!found.empty() && all_of(found, is_loopback_ip)) {
    out.check =
        make_check(subject, kFail,
                   fmt::format("'{}', the name of {}, is {} here, which is this host itself",
                               name.name, name.of, join_words(found)));
    out.cause = "name.loopback";
  } else if (!found.empty()) {
    out.check = make_check(subject, kPass, fmt::format("'{}' is {}", name.name, join_words(found)));
  } else if (name.error == "no answer in time") {
    out.check = make_check(subject, kUnknown, fmt::format("no answer for '{}' in time", name.name));
  } else if (known_elsewhere || name.role == "ssh") {
    out.check =
        make_check(subject, kFail,
                   fmt::format("this host cannot resolve '{}', the name of {}: {}", name.name,
                               name.of, name.error.empty() ? "no address" : name.error));
    out.cause = "name.unresolved";
  } else {
    out.check = make_check(
        subject, kSkipped,
        fmt::format("no host knows the name '{}'; the job goes by addresses", name.name));
  }
  if (!out.cause.empty() && peer != nullptr && !peer->data.empty()) {
    out.remedy = remedy_for(name.name, parse_cidr(peer->data.front()).ip);
  }
  if (!out.cause.empty() && out.remedy.empty()) {
    out.remedy = fmt::format("put the address of {} into /etc/hosts", name.of);
  }
  return out;
}

}  // namespace

std::vector<HostVerdict> judge_names(const EvidenceSet& evidence, const JobHost& job,
                                     const HostEvidence& host) {
  const auto only = [&](CheckOutcome outcome, const std::string& reason) {
    return std::vector<HostVerdict>{{make_check({"name", job.name}, outcome, reason), "", ""}};
  };
  if (evidence.stack) {
    return only(kSkipped, evidence.stack->own_name
                              ? "what its own name gives is a question of the probe stack"
                              : evidence.stack->stack + " does not tell peers the host's own name");
  }
  if (job.data.empty()) {
    return only(kUnknown, "the host file names no data address of this host");
  }
  if (only_loopback(job)) {
    return only(kSkipped,
                "the data address is loopback: no other machine has to reach this host by its "
                "name");
  }
  if (host.names.empty()) {
    return only(kUnknown, "this host was not asked what its name resolves to");
  }
  std::vector<HostVerdict> out;
  for (const NameEvidence& name : host.names) {
    HostVerdict verdict =
        name.role == "own" ? judge_own(evidence, job, host, name) : judge_peer(evidence, job, name);
    const bool twice =
        any_of(out, [&](const HostVerdict& known) { return known.check.key == verdict.check.key; });
    if (!twice) out.push_back(std::move(verdict));
  }
  return out;
}

}  // namespace plumbline
