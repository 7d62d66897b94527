// What the links of all ranks make of their cell. See link_measure.h.
#include <fmt/format.h>

#include <algorithm>

#include "collectives/links/link_measure.h"

namespace plumbline {

void judge_links(Measurement& measurement) {
  std::vector<LinkResult>& links = measurement.links;
  if (links.empty() || measurement.outcome == Outcome::kSkipped) return;
  std::sort(links.begin(), links.end(), [](const LinkResult& a, const LinkResult& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  size_t failed = 0, skipped = 0;
  const LinkResult* first = nullptr;
  for (const LinkResult& link : links) {
    skipped += link.skipped.empty() ? 0 : 1;
    if (link.error.empty()) continue;
    ++failed;
    if (first == nullptr) first = &link;
  }
  if (failed > 0) {
    measurement.outcome = Outcome::kFailed;
    measurement.cause = first->cause;
    measurement.reason = fmt::format("{} of {} links could not be measured: {}", failed,
                                     links.size() - skipped, first->error);
  } else if (skipped == links.size()) {
    measurement.outcome = Outcome::kSkipped;
    measurement.reason = "no pair is to be measured: " + links.front().skipped;
  }
}

}  // namespace plumbline
