// Asks each machine once for what should be the same everywhere: versions, variables, files.
#include <algorithm>

#include "core/ranges.h"
#include "core/text.h"
#include "probes/evidence_query.h"
#include "probes/gather/gather.h"

namespace plumbline {
namespace {

constexpr int64_t kSoftwareMs = 6000, kSoftwareBesideMs = 2000;
constexpr int64_t kArtifactMs = 60'000, kArtifactDeepMs = 560'000;

std::string param_of(const ProbeCallSpec& call, const char* name) {
  const auto found = call.params.find(name);
  return found == call.params.end() ? std::string() : found->second;
}

bool is_first_of_machine(const EvidenceSet& evidence, size_t host) {
  return same_as_earlier(evidence, evidence.job.hosts[host]).empty();
}

}  // namespace

void ask_software(ProbeContext& context, const std::vector<ProbeCallSpec>& calls) {
  EvidenceSet& evidence = context.evidence;
  AskSoftware asked;
  asked.timeout_ms = kSoftwareMs;
  for (const ProbeCallSpec& call : calls) {
    if (call.probe != "software") continue;
    if (asked.python.empty()) asked.python = param_of(call, "python");
    for (std::string& name : comma_list(param_of(call, "packages"))) {
      if (!is_in(asked.packages, name)) asked.packages.push_back(std::move(name));
    }
  }
  evidence.job.packages = asked.packages;
  AgentBatch batch(context);
  for (size_t i = 0; i < evidence.hosts.size(); ++i) {
    if (!is_first_of_machine(evidence, i)) continue;
    // Whom ssh started is in the session that ranks get.
    asked.as_over_ssh = evidence.job.hosts[i].reached_by != "ssh";
    batch.ask(
        i, asked, kSoftwareMs + kSoftwareBesideMs,
        [&evidence, i](SoftwareEvidence reply) { evidence.hosts[i].software = std::move(reply); },
        [&evidence, i](const Error& error) {
          evidence.hosts[i].software.emplace().error = error.message();
        });
  }
  batch.collect();
}

void ask_artifacts(ProbeContext& context, const std::vector<ProbeCallSpec>& calls) {
  EvidenceSet& evidence = context.evidence;
  std::vector<std::string> known;
  for (const ProbeCallSpec& call : calls) {
    if (call.probe != "artifact") continue;
    for (const std::string& path : comma_list(param_of(call, "path"))) {
      if (is_in(known, path) || is_over(context)) continue;
      known.push_back(path);
      AskArtifact asked;
      asked.path = path;
      asked.deep = evidence.job.deep;
      AgentBatch batch(context);
      for (size_t i = 0; i < evidence.hosts.size(); ++i) {
        if (!is_first_of_machine(evidence, i)) continue;
        batch.ask(
            i, asked, asked.deep ? kArtifactDeepMs : kArtifactMs,
            [&evidence, &path, i](ArtifactEvidence reply) {
              reply.path = path;
              evidence.hosts[i].artifacts.push_back(std::move(reply));
            },
            [&evidence, &path, i](const Error& error) {
              ArtifactEvidence& untold = evidence.hosts[i].artifacts.emplace_back();
              untold.path = path;
              untold.error = error.message();
            });
      }
      batch.collect();
    }
  }
}

}  // namespace plumbline
