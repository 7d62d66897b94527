#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>

#include "core/command.h"
#include "core/file.h"
#include "core/host/requirement.h"
#include "core/json.h"
#include "reports/charts/chart.h"
#include "reports/charts/draw.h"
#include "reports/html/page.h"
#include "reports/text.h"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kDrawingMs = 60'000;
constexpr size_t kMostSvg = 4 << 20;  // more would not become a SafeSvg
constexpr size_t kFigureLabel = 160;  // they wrap

// Draws figures `from` and on, until one fails. Returns the first that has no picture, or the end.
Expected<size_t> draw_from(std::vector<Figure>& figures, size_t from, const fs::path& folder,
                           Deadline deadline, std::string& why) {
  std::string script;
  for (size_t i = from; i < figures.size(); ++i) {
    script += inline_script(figures[i].chart, figures[i].frame, (folder / figures[i].id).string());
  }
  const fs::path path = folder / "page.gp";
  if (const Status written = write_text_file(path.string(), script); !written) {
    return fail(written.error());
  }
  const auto drawn = run_command({"gnuplot", "-d", path.string()}, deadline);
  if (!drawn) return fail(drawn.error());
  size_t at = from;
  for (; at < figures.size(); ++at) {
    Figure& figure = figures[at];
    const std::string path_of_svg = (folder / (figure.id + ".svg")).string();
    const auto svg = make_safe_svg(read_input_file(path_of_svg, kMostSvg).value_or(""), figure.id,
                                   chart_blocks(figure.chart), figure.chart.title,
                                   figure.chart.subtitle + ". " + figure.chart.says);
    if (!svg) break;
    figure.svg = *svg;
  }
  if (at < figures.size()) why = "gnuplot: " + first_complaint(drawn->err);
  return at;
}

Status draw_all(std::vector<Figure>& figures, std::string& why) {
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return fail_errno(ErrorCode::kSystem, "make a temporary folder", errno);
  }
  for (const Figure& figure : figures) {
    const Status written =
        write_text_file((folder.path() / (figure.id + ".dat")).string(), chart_data(figure.chart));
    if (!written) return written;
  }
  const Deadline deadline = Deadline::after_ms(kDrawingMs);
  // One that gnuplot refuses shall not cost the others.
  for (size_t at = 0; at < figures.size(); ++at) {
    const auto failed = draw_from(figures, at, folder.path(), deadline, why);
    if (!failed) return fail(failed.error());
    at = *failed;
  }
  return {};
}

// Of the lines that guides are drawn as, in their order (chart_script.cc).
constexpr const char* kDashes[] = {"M-2,0 h1.4 M0.6,0 h1.4",
                                   "M-2,0 h.6 M-.9,0 h.6 M.2,0 h.6 M1.3,0 h.6",
                                   "M-2,0 h1.4 M-.2,0 h.4 M.6,0 h1.4"};

void write_stroke(const char* path, const char* width, HtmlWriter& html) {
  html.element("path", "", {{"d", path}, {"stroke", "currentColor"}, {"stroke-width", width}});
}

// gnuplot's point type, by the name that it has in shapes.svg.
void write_symbol(int symbol, HtmlWriter& html) {
  html.element("use", "", {{"href", fmt::format("#gpPt{}", symbol - 1)}});
}
constexpr int kRing = 6, kDisc = 7;

size_t guides_before(const Chart& chart, size_t index) {
  const auto end = chart.series.begin() + static_cast<std::ptrdiff_t>(index);
  const auto is_guide = [](const ChartSeries& each) { return each.mark == ChartMark::kGuide; };
  return static_cast<size_t>(std::count_if(chart.series.begin(), end, is_guide));
}

void write_swatch(const Chart& chart, size_t index, HtmlWriter& html) {
  const ChartSeries& series = chart.series[index];
  const ChartLook look = look_of(index);
  const bool guide = series.mark == ChartMark::kGuide;
  const std::string colour = guide ? std::string("guide") : fmt::format("s{}", look.colour);
  const auto swatch =
      html.in("svg", {{"class", colour}, {"viewBox", "-2 -2 4 4"}, {"aria-hidden", "true"}});
  if (guide && !is_joined(series)) {
    write_symbol(cross_of(guides_before(chart, index)), html);
  } else if (guide) {
    write_stroke(kDashes[guides_before(chart, index) % std::size(kDashes)], "0.8", html);
  } else if (series.mark == ChartMark::kDots) {
    write_symbol(kDisc, html);
  } else if (series.mark == ChartMark::kLine) {
    if (look.dashed) write_stroke(kDashes[2], "0.6", html);
    write_symbol(look.symbol, html);
  } else {
    write_stroke("M-2,0 h4", "1.4", html);
  }
}

bool any_hollow(const Chart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(), has_hollow);
}

void write_hollow_key(HtmlWriter& html) {
  const auto item = html.in("li");
  const auto key = html.in("span", {{"class", "key"}});
  {
    const auto swatch =
        html.in("svg", {{"class", "guide"}, {"viewBox", "-2 -2 4 4"}, {"aria-hidden", "true"}});
    write_symbol(kRing, html);
  }
  html.element("span", kHollowWords);
}

void write_legend(const Chart& chart, HtmlWriter& html) {
  const auto list = html.in("ul", {{"class", "legend"}});
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const auto item = html.in("li");
    const auto button =
        html.in("button",
                {{"type", "button"}, {"aria-pressed", "true"}, {"data-toggle", std::to_string(i)}});
    write_swatch(chart, i, html);
    html.element("span", fit_label(chart.series[i].label, kFigureLabel));
  }
  if (any_hollow(chart)) write_hollow_key(html);
}

}  // namespace

std::vector<Figure> draw_figures(std::vector<Chart> charts, std::string& why) {
  std::vector<Figure> figures;
  for (Chart& chart : charts) {
    Figure figure;
    figure.chart = std::move(chart);
    figure.frame = inline_frame(figure.chart);
    figure.id = fmt::format("f{}", figures.size() + 1);
    figures.push_back(std::move(figure));
  }
  if (figures.empty()) return figures;
  if (const auto reason = no_gnuplot()) {
    why = *reason;
  } else if (const Status drawn = draw_all(figures, why); !drawn) {
    why = drawn.error().message();
  }
  return figures;
}

void write_figure(const Figure& figure, HtmlWriter& html) {
  if (!figure.svg) return;
  const Chart& chart = figure.chart;
  const auto element = html.in("figure", {{"data-chart", figure.id}});
  {
    const auto caption = html.in("figcaption");
    html.element("b", chart.title);
    html.element("span", chart.subtitle);
    // Seen only where there is room beside a lone plot; the picture's description has it anyway.
    html.element("span", chart.says, {{"class", "says"}, {"aria-hidden", "true"}});
  }
  if (!chart.y.label.empty()) html.element("p", chart.y.label, {{"class", "axis"}});
  {
    const auto plot =
        html.in("div", {{"class", "plot"},
                        {"tabindex", "0"},
                        {"role", "group"},
                        {"aria-label", chart.title + ": values with the arrow keys"}});
    html.svg(*figure.svg);
  }
  html.element("p", chart.x.label, {{"class", "axis x"}});
  if (chart.series.size() > 1 || chart.always_legend || any_hollow(chart)) {
    write_legend(chart, html);
  }
  html.newline();
}

nlohmann::json values_of(const Figure& figure) {
  nlohmann::json series = nlohmann::json::array();
  for (const ChartSeries& one : figure.chart.series) {
    nlohmann::json points = nlohmann::json::array();
    for (const auto* list : {&one.points, &one.faint}) {
      for (const ChartPoint& point : *list) {
        if (point.says.empty()) continue;
        const auto [x, y] = pixel_of(figure.chart, figure.frame, point);
        if (!std::isfinite(x) || !std::isfinite(y)) continue;
        points.push_back({std::round(10 * x) / 10, std::round(10 * y) / 10, clean(point.says)});
      }
    }
    series.push_back({{"name", clean(one.label)}, {"points", std::move(points)}});
  }
  return {{"width", figure.frame.width},
          {"height", figure.frame.height},
          {"series", std::move(series)}};
}

}  // namespace plumbline
