// The picture of RESULTS.md: one dot for the best row of each link, the links of an operation below
// each other, on scales of powers of ten. Written by hand and with whole numbers, because gnuplot's
// picture would be another one with every version of it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <vector>

#include "reports/publish/bundle_words.h"
#include "reports/publish/results_page.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr int kWidth = 960, kLeft = 400, kRight = 840, kMargin = 16;  // pixels
constexpr int kLine = 22, kHeading = 28;
constexpr size_t kChartLabel = 54;
constexpr size_t kMostOperations = 4, kMostLinks = 10;  // in one panel; the table has them all

// The background is the picture's own, so that it can be read on any page.
constexpr const char* kStyle =
    "<style>\n"
    "text { font-family: system-ui, 'DejaVu Sans', sans-serif; font-size: 13px; fill: #1b1f24; }\n"
    ".title { font-size: 16px; font-weight: 600; }\n"
    ".operation { font-weight: 600; }\n"
    ".muted { font-size: 12px; fill: #545d68; }\n"
    ".card { fill: #ffffff; stroke: #d5dae1; }\n"
    ".grid { stroke: #d5dae1; }\n"
    ".dot { fill: #0072b2; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e7edf3; }\n"
    ".muted { fill: #a3afbb; }\n"
    ".card { fill: #161b21; stroke: #313b46; }\n"
    ".grid { stroke: #3b4652; }\n"
    ".dot { fill: #58b4f0; }\n"
    "}\n"
    "</style>\n";

struct Dot {
  std::string label, value;  // "loopback, 8 B, 2 ranks", "11.368 us"
  uint64_t at = 0;           // in the panel's unit
};
struct Operation {
  std::string name;
  std::vector<Dot> dots;  // the best first
};
struct Panel {
  std::string title;
  uint64_t one = 1;                // what 1 ns or 1 B/s is in its unit
  std::vector<const char*> units;  // each 1000 times the one before
  std::vector<Operation> operations;
  size_t left_out = 0;
};

// log2 in units of 2^-16, cut off. Needs value > 0.
uint64_t log2_of(uint64_t value) {
  const auto whole = static_cast<unsigned>(std::bit_width(value)) - 1;
  Wide mantissa = static_cast<Wide>(value) << (63 - whole);  // 1 <= m < 2, in 2^-63
  uint64_t out = whole;
  for (int bit = 0; bit < 16; ++bit) {
    mantissa = (mantissa * mantissa) >> 63;
    const bool two = (mantissa >> 64) != 0;
    if (two) mantissa >>= 1;
    out = 2 * out + (two ? 1 : 0);
  }
  return out;
}

// From one power of ten to another.
struct Scale {
  uint64_t low = 1, high = 10;
  int x(uint64_t value) const {
    const uint64_t from = log2_of(low), to = log2_of(high);
    const uint64_t along =
        (log2_of(std::max(value, low)) - from) * static_cast<uint64_t>(kRight - kLeft);
    return kLeft + static_cast<int>(along / (to - from));
  }
};

Scale scale_of(const Panel& panel) {
  uint64_t least = UINT64_MAX, most = 0;
  for (const Operation& operation : panel.operations) {
    for (const Dot& dot : operation.dots) {
      least = std::min(least, dot.at);
      most = std::max(most, dot.at);
    }
  }
  Scale scale{panel.one, panel.one * 10};
  while (scale.low * 10 <= least) scale.low *= 10;
  while (scale.high < most || scale.high <= scale.low) scale.high *= 10;
  return scale;
}

std::string tic_text(const Panel& panel, uint64_t value) {
  uint64_t number = value / panel.one;
  size_t unit = 0;
  while (number >= 1000 && unit + 1 < panel.units.size()) {
    number /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", number, panel.units[unit]);
}

// A text of the picture; `look` is a class, or "".
std::string text_at(int x, int y, const std::string& text, const char* look,
                    const char* anchor = "start") {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y,
                     anchor, look, escape_markup(text));
}

std::string line(int x1, int y1, int x2, int y2) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"grid\"/>\n", x1, y1, x2,
                     y2);
}

std::string axis_text(const Panel& panel, const Scale& scale, int top, int bottom) {
  constexpr uint64_t kFewDecades = 100;  // then there is room for 2 and 5
  std::string out;
  for (uint64_t decade = scale.low; decade <= scale.high; decade *= 10) {
    for (const uint64_t step : {1U, 2U, 5U}) {
      const uint64_t value = decade * step;
      if (value > scale.high || (step > 1 && scale.high / scale.low > kFewDecades)) continue;
      out += line(scale.x(value), top + 6, scale.x(value), bottom);
      out += text_at(scale.x(value), top, tic_text(panel, value), "muted", "middle");
    }
  }
  return out;
}

// Adds the panel below `y` and moves it.
std::string panel_text(const Panel& panel, int& y) {
  const Scale scale = scale_of(panel);
  std::string dots;
  y += kHeading;
  std::string out = text_at(kMargin, y, panel.title, "muted");
  const int top = y;
  for (const Operation& operation : panel.operations) {
    y += kHeading;
    dots += text_at(kMargin, y, operation.name, "operation");
    for (const Dot& dot : operation.dots) {
      y += kLine;
      const size_t columns = std::min(kChartLabel, display_width(dot.label));
      dots += text_at(kMargin + 14, y, fit(dot.label, columns, true), "");
      dots += line(kLeft, y - 4, kRight, y - 4);
      dots += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"5\" class=\"dot\"/>\n", scale.x(dot.at),
                          y - 4);
      dots += text_at(kWidth - kMargin, y, dot.value, "", "end");
    }
  }
  out += axis_text(panel, scale, top, y + 4) + dots;
  if (panel.left_out > 0) {
    y += kLine;
    out += text_at(kMargin, y, fmt::format("{} more in the table", panel.left_out), "muted");
  }
  y += kLine / 2;
  return out;
}

Dot dot_of(const ResultRow& row) {
  Dot dot;
  const std::string size = size_text(row);
  dot.label = fmt::format("{}{}, {} ranks", link_text(*row.statement),
                          size.empty() ? "" : ", " + size, row.row->cell.ranks);
  dot.value = row.latency() ? decimal_text(row.twice_p50, 2000, 3) + " us"
                            : decimal_text(row.busbw_Bps, 1'000'000'000, 4) + " GB/s";
  dot.at = row.latency() ? row.twice_p50 : row.busbw_Bps;
  return dot;
}

// Operations measured over the most links come first: these are what a reader can compare.
void fill(Panel& panel, bool latency, const std::vector<BestRow>& best) {
  std::map<std::string, size_t> places;
  for (const BestRow& row : best) {
    if (row.best->latency() != latency) continue;
    const std::string& name = row.best->row->cell.op;
    const auto [it, is_new] = places.emplace(name, panel.operations.size());
    if (is_new) panel.operations.push_back({name, {}});
    panel.operations[it->second].dots.push_back(dot_of(*row.best));
  }
  std::stable_sort(
      panel.operations.begin(), panel.operations.end(),
      [](const Operation& a, const Operation& b) { return a.dots.size() > b.dots.size(); });
  for (size_t i = 0; i < panel.operations.size(); ++i) {
    std::vector<Dot>& dots = panel.operations[i].dots;
    std::stable_sort(dots.begin(), dots.end(), [latency](const Dot& a, const Dot& b) {
      return latency ? a.at < b.at : a.at > b.at;
    });
    const size_t kept = i < kMostOperations ? std::min(dots.size(), kMostLinks) : 0;
    panel.left_out += dots.size() - kept;
    dots.resize(kept);
  }
  panel.operations.resize(std::min(panel.operations.size(), kMostOperations));
}

// For those who cannot see it.
std::string in_words(const std::vector<Panel>& panels) {
  std::vector<std::string> out;
  for (const Panel& panel : panels) {
    for (const Operation& operation : panel.operations) {
      for (const Dot& dot : operation.dots) {
        out.push_back(fmt::format("{} over {}: {}", operation.name, dot.label, dot.value));
      }
    }
  }
  return out.empty() ? "There are no rows yet." : join(out, "; ") + ".";
}

}  // namespace

std::string results_chart(const std::vector<BundleReport>& bundles, const PageOptions& options) {
  const std::vector<ResultRow> rows = result_rows(bundles, options);
  const std::vector<BestRow> best = best_rows(rows);
  std::vector<Panel> panels = {
      {"latency: median time, less is better", 2, {"ns", "us", "ms", "s"}, {}, 0},
      {"bandwidth: bus bandwidth, more is better",
       1,
       {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"},
       {},
       0}};
  fill(panels[0], true, best);
  fill(panels[1], false, best);
  constexpr const char* kTitle = "The best row of each link";
  int y = 2 * kMargin;
  std::string body = text_at(kMargin, y, kTitle, "title");
  for (const Panel& panel : panels) {
    if (!panel.operations.empty()) body += panel_text(panel, y);
  }
  if (best.empty()) body += text_at(kMargin, y += kHeading, "There are no rows yet.", "");
  const int height = y + kMargin;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
             "{0} {1}\" role=\"img\" aria-labelledby=\"title words\">\n"
             "<!-- Made by plumbline results update; never edited, never merged by hand. -->\n"
             "<title id=\"title\">{2}</title>\n<desc id=\"words\">{3}</desc>\n",
             kWidth, height, kTitle, escape_markup(in_words(panels))) +
         kStyle +
         fmt::format(
             "<rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"8\" "
             "class=\"card\"/>\n",
             kWidth - 1, height - 1) +
         body + "</svg>\n";
}

}  // namespace plumbline
