// Captures: started, ended and analysed, their files read in pieces.
#include <algorithm>

#include "core/base64.h"
#include "core/clock.h"
#include "probes/actions/requests.h"
#include "probes/traces/analyse.h"

namespace plumbline {
namespace {

constexpr int64_t kMaxKeptBytes = 64 << 20, kMaxCaptureMs = 600'000;
constexpr int64_t kMaxPiece = 1 << 20;  // bytes of one capture.read, before base64
constexpr int64_t kMaxSettleMs = 1000;

Expected<CaptureStarted> run_start(const Session& session, const AskCaptureStart& asked) {
  CaptureSettings settings;
  settings.device = asked.interface.empty() ? capture_device(asked.own) : asked.interface;
  settings.filter = capture_filter(asked.own, asked.peers, asked.ports);
  settings.snap_bytes = asked.snap_bytes;
  settings.max_bytes = std::clamp<int64_t>(asked.max_bytes, 1024, kMaxKeptBytes);
  settings.max_ns = std::clamp<int64_t>(asked.max_ms, 1, kMaxCaptureMs) * kMillisecond;

  const std::lock_guard lock(session->mutex);
  if (session->closed) return session_ended();
  if (session->running.count(asked.id) != 0) {
    return fail(ErrorCode::kUsage, "a capture '" + asked.id + "' is running already");
  }
  session->kept.erase(asked.id);
  if (session->running.size() + session->kept.size() >= kMaxCaptures) {
    return CaptureStarted{false, "too many captures at once"};
  }
  auto capture = start_capture(settings);
  if (!capture) return CaptureStarted{false, capture.error().message()};
  session->running[asked.id] = std::move(*capture);
  return CaptureStarted{true};
}

Expected<CaptureStopped> run_stop(const Session& session, const AskCaptureStop& asked,
                                  const AgentCall& call) {
  const int64_t settle_ms = std::clamp<int64_t>(asked.settle_ms, 0, kMaxSettleMs);
  std::shared_ptr<Capture> capture;
  {
    const std::lock_guard lock(session->mutex);
    const auto it = session->running.find(asked.id);
    if (it == session->running.end()) {
      return fail(ErrorCode::kUsage, "no capture '" + asked.id + "' is running");
    }
    capture = std::move(it->second);
    session->running.erase(it);
  }
  const int64_t left_ms = std::max<int64_t>(0, call.deadline.remaining_ns() / kMillisecond);
  CaptureResult result = capture->stop(static_cast<int>(std::min(settle_ms, left_ms)));
  CaptureStopped out;
  if (auto summary = analyse_trace(result.pcap, asked.id)) {
    out.summary = std::move(*summary);
  } else {
    out.summary.problems = {summary.error().message()};
  }
  out.packets = result.packets;
  out.dropped = result.dropped;
  out.cut = result.cut;
  out.bytes = result.pcap.size();
  if (asked.keep) {
    const std::lock_guard lock(session->mutex);
    if (!session->closed) {
      session->kept[asked.id] = std::make_shared<const std::string>(std::move(result.pcap));
    }
  }
  return out;
}

Expected<CapturePiece> run_read(const Session& session, const AskCaptureRead& asked) {
  std::shared_ptr<const std::string> file;
  {
    const std::lock_guard lock(session->mutex);
    const auto it = session->kept.find(asked.id);
    if (it == session->kept.end()) {
      return fail(ErrorCode::kUsage, "no capture '" + asked.id + "' is kept");
    }
    file = it->second;
  }
  const auto size = static_cast<int64_t>(file->size());
  const int64_t offset = std::clamp<int64_t>(asked.offset, 0, size);
  const int64_t wanted = std::clamp<int64_t>(asked.bytes, 1, kMaxPiece);
  const std::string piece = file->substr(static_cast<size_t>(offset), static_cast<size_t>(wanted));
  return CapturePiece{to_base64(piece), offset + static_cast<int64_t>(piece.size()) >= size};
}

}  // namespace

std::vector<AgentRequest> capture_requests(const Session& session) {
  return {
      AgentWire<AskCaptureStart>::row("captures packets between addresses",
                                      [session](const AskCaptureStart& asked, const AgentCall&) {
                                        return run_start(session, asked);
                                      }),
      AgentWire<AskCaptureStop>::row("ends a capture and analyses it",
                                     [session](const AskCaptureStop& asked, const AgentCall& call) {
                                       return run_stop(session, asked, call);
                                     }),
      AgentWire<AskCaptureRead>::row("the file of a capture that was kept, in pieces",
                                     [session](const AskCaptureRead& asked, const AgentCall&) {
                                       return run_read(session, asked);
                                     }),
  };
}

}  // namespace plumbline
