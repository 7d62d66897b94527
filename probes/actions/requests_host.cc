// What an agent is asked about its own host alone.
#include <nlohmann/json.hpp>

#include "core/command.h"
#include "core/host.h"
#include "probes/actions/counters.h"
#include "probes/actions/requests.h"
#include "probes/actions/text.h"
#include "probes/sources/source.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kCommandMs = 5000;  // when the request does not say

Expected<Json> run_snapshot(const Json& params, const AgentCall& call) {
  const auto request = params.get<SnapshotRequest>();
  return Json(take_snapshot(params.value("host", std::string()), request, call.deadline));
}

Expected<Json> run_nics(const Json&, const AgentCall&) {
  const auto nics = list_nics();
  if (!nics) return fail(nics.error());
  return Json(*nics);
}

Expected<Json> run_counters(const Json&, const AgentCall&) {
  const auto counters = read_counters();
  if (!counters) return fail(counters.error());
  return Json(*counters);
}

Expected<Json> run_command_request(const Json& params, const AgentCall& call) {
  const auto words = params.at("command").get<std::vector<std::string>>();
  const int64_t ms = params.value("timeout_ms", kCommandMs);
  if (words.empty()) return fail(ErrorCode::kUsage, "no command given");
  CommandEvidence out;
  out.label = params.value("label", std::string());
  for (const std::string& word : words) out.command += (out.command.empty() ? "" : " ") + word;
  CommandOptions options;
  options.max_bytes = kMaxCommandOut;
  const auto done = run_command(words, within(call, ms * kMillisecond).deadline, options);
  if (!done) {
    out.error = done.error().message();
    return Json(out);
  }
  out.status = done->status;
  // Many tools tell their version on standard error only.
  out.out = valid_utf8(done->out.empty() ? done->err : done->out, kMaxCommandOut);
  return Json(out);
}

}  // namespace

std::vector<AgentRequest> host_requests() {
  return {
      {"snapshot", "what this host says about itself", run_snapshot},
      {"nics", "network interfaces of this host with their addresses", run_nics},
      {"counters", "packet counters of this host's network stack", run_counters},
      {"command", "runs a read-only command and returns its output", run_command_request},
  };
}

}  // namespace plumbline
