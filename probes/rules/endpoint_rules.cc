// Causes at a server of language models: one finding for each cause and server, at the host on
// which the server is where the job names that, else at the first host that asked.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/host/ip.h"
#include "core/ranges.h"
#include "probes/rules/endpoint_verdicts.h"
#include "probes/rules/host_common.h"
#include "probes/rules/rules.h"
#include "transport/http/url.h"

namespace plumbline {
namespace {

constexpr const char* kUnreachable = "endpoint.unreachable";

// Of one server.
struct Trouble {
  std::vector<EndpointVerdict> verdicts;
  std::vector<std::string> hosts;  // that met it, each once
};

const JobHost* server_host(const EvidenceSet& evidence, const HttpUrl& url) {
  return find_where(evidence.job.hosts, [&](const JobHost& host) {
    return host.name == url.host || any_of(host.data, [&](const std::string& text) {
             return parse_cidr(text).ip == url.host;
           });
  });
}

Remedy server_remedy(const std::string& cause, const HttpUrl& url, bool from_some_only) {
  if (cause == kUnreachable && from_some_only) {
    return fmt::format(
        "other hosts reach it: look at this host's way to {} (its firewall, its route, the name), "
        "or let the server listen on all addresses (0.0.0.0) and not on one",
        authority(url));
  }
  if (cause == kUnreachable) {
    return Remedy(
               "start the server, and let it listen where the others can reach it: on 0.0.0.0 "
               "or its data address, not on 127.0.0.1")
        .say(fmt::format("let connections to port {} through its host's firewall", url.port));
  }
  if (cause == "endpoint.busy") {
    return "send fewer requests at a time, let clients wait and try again, or lengthen the "
           "server's queue";
  }
  if (cause == "endpoint.stalled") {
    return Remedy(
               "all ranks must enter generate() for every request: look whether every worker "
               "process of the server runs, on every host")
        .say(
            "let the port over which the workers are told what to do through, from every worker "
            "to the first rank")
        .say("stop the server on all hosts, end what is left of it, and start it again");
  }
  return Remedy(
             "ask for a model by the name that /v1/models gives, with the key that the server "
             "wants (key_from), at the port where it listens")
      .say(
          "where a sum is wrong: load the same weights and the same versions on all hosts, and "
          "start the server again");
}

Candidate finding_of(const EvidenceSet& evidence, const Checks& checks, const std::string& cause,
                     const HttpUrl& url, const Trouble& trouble, bool from_some_only) {
  const JobHost* server = server_host(evidence, url);
  const bool here = cause == kUnreachable && from_some_only;
  const std::string host = here || server == nullptr ? trouble.hosts.front() : server->name;
  Proposal proposal(cause, cause == "endpoint.busy" ? Severity::kWarn : Severity::kFail, host);
  proposal.ports({url.port}).proven();
  for (const EndpointVerdict& verdict : trouble.verdicts) {
    proposal.see(verdict.check.host, verdict.check.key, verdict.check.reason);
  }
  return proposal.remedy(server_remedy(cause, url, from_some_only)).take(checks);
}

}  // namespace

Candidates propose_endpoints(const EvidenceSet& evidence, const Checks& checks) {
  std::map<std::pair<std::string, std::string>, Trouble> troubles;  // by URL and cause
  std::map<std::string, std::set<std::string>> asked;               // hosts, by URL
  for (EndpointVerdict& verdict : endpoint_verdicts(evidence)) {
    asked[verdict.url].insert(verdict.check.host);
    if (verdict.cause.empty()) continue;
    Trouble& trouble = troubles[{verdict.url, verdict.cause}];
    if (!is_in(trouble.hosts, verdict.check.host)) trouble.hosts.push_back(verdict.check.host);
    trouble.verdicts.push_back(std::move(verdict));
  }
  Candidates out;
  for (const auto& [place, trouble] : troubles) {
    const Expected<HttpUrl> url = parse_http_url(place.first);
    if (!url) continue;  // a file's own; no agent would have asked there
    const bool some_only = trouble.hosts.size() < asked[place.first].size();
    if (place.second != kUnreachable || !some_only) {
      out.push_back(finding_of(evidence, checks, place.second, *url, trouble, false));
      continue;
    }
    for (const std::string& host : trouble.hosts) {
      Trouble own;
      own.hosts = {host};
      for (const EndpointVerdict& verdict : trouble.verdicts) {
        if (verdict.check.host == host) own.verdicts.push_back(verdict);
      }
      out.push_back(finding_of(evidence, checks, place.second, *url, own, true));
    }
  }
  return out;
}

}  // namespace plumbline
