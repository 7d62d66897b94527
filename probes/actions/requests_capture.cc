// Captures: started, ended and analysed, their files read in pieces.
#include <algorithm>

#include "core/clock.h"
#include "core/json.h"
#include "probes/actions/requests.h"
#include "probes/actions/text.h"
#include "probes/traces/analyse.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMaxKeptBytes = 64 << 20, kMaxCaptureMs = 600'000;
constexpr int64_t kMaxPiece = 1 << 20;  // bytes of one capture.read, before base64
constexpr int64_t kMaxSettleMs = 1000;

Expected<Json> run_start(const Session& session, const Json& params) {
  const auto id = params.at("id").get<std::string>();
  const auto own = params.value("own", std::vector<std::string>());
  CaptureSettings settings;
  settings.device = params.value("interface", std::string());
  if (settings.device.empty()) settings.device = capture_device(own);
  settings.filter = capture_filter(own, params.value("peers", std::vector<std::string>()),
                                   params.value("ports", std::vector<int>()));
  settings.snap_bytes = params.value("snap_bytes", settings.snap_bytes);
  settings.max_bytes =
      std::clamp<int64_t>(params.value("max_bytes", settings.max_bytes), 1024, kMaxKeptBytes);
  const int64_t ms = params.value("max_ms", settings.max_ns / kMillisecond);
  settings.max_ns = std::clamp<int64_t>(ms, 1, kMaxCaptureMs) * kMillisecond;

  const std::lock_guard lock(session->mutex);
  if (session->closed) return fail(ErrorCode::kAborted, "the session of this agent has ended");
  if (session->running.count(id) != 0) {
    return fail(ErrorCode::kUsage, "a capture '" + id + "' is running already");
  }
  session->kept.erase(id);
  if (session->running.size() + session->kept.size() >= kMaxCaptures) {
    return Json{{"running", false}, {"reason", "too many captures at once"}};
  }
  auto capture = start_capture(settings);
  if (!capture) return Json{{"running", false}, {"reason", capture.error().message()}};
  session->running[id] = std::move(*capture);
  return Json{{"running", true}, {"reason", ""}};
}

Expected<Json> run_stop(const Session& session, const Json& params, const AgentCall& call) {
  const auto id = params.at("id").get<std::string>();
  const int64_t settle_ms =
      std::clamp<int64_t>(params.value("settle_ms", int64_t{50}), 0, kMaxSettleMs);
  std::shared_ptr<Capture> capture;
  {
    const std::lock_guard lock(session->mutex);
    const auto it = session->running.find(id);
    if (it == session->running.end()) {
      return fail(ErrorCode::kUsage, "no capture '" + id + "' is running");
    }
    capture = std::move(it->second);
    session->running.erase(it);
  }
  const int64_t left_ms = std::max<int64_t>(0, call.deadline.remaining_ns() / kMillisecond);
  CaptureResult result = capture->stop(static_cast<int>(std::min(settle_ms, left_ms)));
  Json out = {{"packets", result.packets},
              {"dropped", result.dropped},
              {"cut", result.cut},
              {"bytes", result.pcap.size()}};
  auto summary = analyse_trace(result.pcap, id);
  if (!summary) {
    out["summary"] = TraceSummary();
    out["summary"]["problems"] = std::vector<std::string>{summary.error().message()};
  } else {
    out["summary"] = *summary;
  }
  if (params.value("keep", false)) {
    const std::lock_guard lock(session->mutex);
    if (!session->closed) {
      session->kept[id] = std::make_shared<const std::string>(std::move(result.pcap));
    }
  }
  return out;
}

Expected<Json> run_read(const Session& session, const Json& params) {
  const auto id = params.at("id").get<std::string>();
  std::shared_ptr<const std::string> file;
  {
    const std::lock_guard lock(session->mutex);
    const auto it = session->kept.find(id);
    if (it == session->kept.end())
      return fail(ErrorCode::kUsage, "no capture '" + id + "' is kept");
    file = it->second;
  }
  const auto size = static_cast<int64_t>(file->size());
  const int64_t offset = std::clamp<int64_t>(params.value("offset", int64_t{0}), 0, size);
  const int64_t wanted = std::clamp<int64_t>(params.value("bytes", kMaxPiece), 1, kMaxPiece);
  const std::string piece = file->substr(static_cast<size_t>(offset), static_cast<size_t>(wanted));
  return Json{{"base64", to_base64(piece)},
              {"end", offset + static_cast<int64_t>(piece.size()) >= size}};
}

}  // namespace

std::vector<AgentRequest> capture_requests(const Session& session) {
  return {
      {"capture.start", "captures packets between addresses",
       [session](const Json& params, const AgentCall&) { return run_start(session, params); }},
      {"capture.stop", "ends a capture and analyses it",
       [session](const Json& params, const AgentCall& call) {
         return run_stop(session, params, call);
       }},
      {"capture.read", "the file of a capture that was kept, in pieces",
       [session](const Json& params, const AgentCall&) { return run_read(session, params); }},
  };
}

}  // namespace plumbline
