#include "runs/run_notices.h"

#include <filesystem>
#include <utility>

namespace plumbline {

RunNotices::RunNotices(const std::string& folder, std::string run_id, Caller& caller)
    : path_(folder.empty() ? "" : (std::filesystem::path(folder) / kEventsFile).string()),
      run_id_(std::move(run_id)),
      caller_(caller) {}

Status RunNotices::begin() {
  Expected<EventFile> opened = EventFile::open(path_);
  if (!opened) return fail(opened.error());
  file_.emplace(std::move(*opened));
  start_ns_ = monotonic_ns();
  return {};
}

void RunNotices::tell(const std::string& text) {
  SoakEvent event;
  event.at_ns = now();
  event.kind = "ranks";
  event.text = text;
  add(std::move(event), true);
}

void RunNotices::add(SoakEvent event, bool aloud) {
  event.run_id = run_id_;
  event.time = utc_now_rfc3339();
  if (aloud) {
    caller_.say("plumbline: " + (event.host.empty() ? "" : event.host + ": ") + event.text);
  }
  const std::scoped_lock lock(mutex_);
  const Status kept = append(event);
  if (kept || std::exchange(failed_, true)) return;
  caller_.say("plumbline: events cannot be written: " + kept.error().message());
}

Status RunNotices::append(const SoakEvent& event) {
  if (path_.empty()) return {};
  if (!file_) {
    Expected<EventFile> opened = EventFile::open(path_, true);
    if (!opened) return fail(opened.error());
    file_.emplace(std::move(*opened));
  }
  return file_->append(event);
}

}  // namespace plumbline
