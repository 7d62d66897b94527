// How a run ended, in one word: the same on the page, on the terminal and in Markdown. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/document.h"
#include "reports/links/link_view.h"
#include "reports/report.h"
#include "reports/view.h"

namespace plumbline {

struct RunAnswer {
  Tone tone = Tone::kPlain;
  std::string word;  // "Sound", "Sound, with remarks", "Not sound" ...
  // Of the links between hosts: those that stand out, those of which it cannot be said, and whether
  // one stays far below the speed that is stated.
  size_t outliers = 0, unknown_links = 0;
  bool link_fails = false;
};

// `worlds` = link_worlds(view).
RunAnswer answer_of(const ReportInput& input, const View& view,
                    const std::vector<LinkWorld>& worlds);

}  // namespace plumbline
