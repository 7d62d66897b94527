#include "runs/run_notices.h"

namespace plumbline {

void RunNotices::tell(const std::string& text) {
  caller_.say("plumbline: " + text);
  SoakEvent event;
  event.run_id = run_id_;
  event.time = utc_now_rfc3339();
  event.at_ns = monotonic_ns() - start_ns_;
  event.kind = "ranks";
  event.text = text;
  const std::scoped_lock lock(mutex_);
  Status kept;
  if (!file_) {
    Expected<EventFile> opened = EventFile::open(path_, true);
    if (opened) {
      file_.emplace(std::move(*opened));
    } else {
      kept = fail(opened.error());
    }
  }
  if (file_) kept = file_->append(event);
  if (!kept) caller_.say("plumbline: " + kept.error().message());
}

}  // namespace plumbline
