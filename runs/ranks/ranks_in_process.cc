#include "runs/ranks/ranks_in_process.h"

namespace plumbline {
namespace {

// Why a thread of this machine's process cannot be a rank of that host; empty = it can.
std::string why_elsewhere(const ScenarioHost& host) {
  if (!host.ssh.empty()) return "another machine, behind ssh";
  if (!host.netns.empty()) return "network namespace " + host.netns;
  if (!host.binary.empty()) return "run with a program of its own, " + host.binary;
  return {};
}

}  // namespace

Status check_ranks_in_process(bool asked, const std::optional<LauncherPlace>& place) {
  if (!place || !asked) return {};
  return fail(ErrorCode::kUsage,
              "--ranks-in-process under " + place->program + ", which starts a process per rank",
              "leave it out, or add --launcher none and start one process");
}

Status check_ranks_in_process(bool asked, const std::vector<ScenarioHost>& hosts) {
  if (!asked) return {};
  for (const ScenarioHost& host : hosts) {
    const std::string reason = why_elsewhere(host);
    if (reason.empty()) continue;
    return fail(ErrorCode::kUsage,
                "--ranks-in-process: the ranks of host " + host.name +
                    " cannot be threads of one process with the others: it is " + reason,
                "leave the flag out, or choose hosts that are this machine itself");
  }
  return {};
}

}  // namespace plumbline
