// The page as a whole: head, navigation, sections, and the report's row. A page that comes out too
// large is written again with less in it.
#include "reports/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <set>

#include "core/encode.h"
#include "core/json.h"
#include "reports/charts/picture.h"
#include "reports/charts/view_charts.h"
#include "reports/content.h"
#include "reports/html/writer.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// What charts are planned from; the pictures of lines only once, because there can be many records.
struct ChartSource {
  const View& view;
  const std::vector<Picture>& lines;
};

// Which charts stand in which section, how many of them at most, and how many are planned to know
// what is left out.
struct SectionCharts {
  const char* section;
  size_t most, planned;
  std::vector<Chart> (*plan)(const ChartSource& source, size_t most);
};
constexpr size_t kAll = 1000;

template <CellKind Kind>
std::vector<Chart> lines_of(const ChartSource& source, size_t most) {
  std::vector<Chart> charts;
  for (const Picture& picture : source.lines) {
    if (charts.size() < most && picture.kind == Kind) charts.push_back(chart_of(picture));
  }
  return charts;
}
template <std::vector<Chart> (*Plan)(const View&, size_t)>
std::vector<Chart> of_view(const ChartSource& source, size_t most) {
  return Plan(source.view, most);
}

constexpr SectionCharts kCharts[] = {
    {"latency", 12, kAll, lines_of<CellKind::kLatency>},
    {"bandwidth", 1, 1, of_view<roof_charts>},
    {"bandwidth", 12, kAll, lines_of<CellKind::kBandwidth>},
    {"throughput", 6, kAll, lines_of<CellKind::kThroughput>},
    {"tails", 8, 8, of_view<tail_charts>},
    {"ranks", 4, 4, of_view<rank_charts>},
    {"order", 4, 4, of_view<strip_charts>},
};

// From large to small; the last one always fits.
constexpr PageLimits kLimits[] = {
    {{200, 2000}, 40, 50, 65'536, 4000, 16},
    {{100, 800}, 24, 30, 32'768, 2000, 8},
    {{50, 300}, 12, 15, 8192, 800, 4},
    {{20, 60}, 0, 8, 2048, 300, 1},
};

std::string digest_of(std::string_view text) {
  const auto bytes = sha256(text);
  return to_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Nothing from elsewhere, and no script or style but ours: a second wall behind the escaping.
std::string content_policy() {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; "
      "base-uri 'none'; form-action 'none'",
      digest_of(page_js()), digest_of(page_css()));
}

// "iperf3, osu" where everything was imported; else empty.
std::string tools_of(const View& view) {
  std::set<std::string> tools;
  for (const Item& item : view.items) {
    if (!item.imported()) return {};
    tools.insert(item.record->measurement.reported->tool);
  }
  return join({tools.begin(), tools.end()}, ", ");
}

std::string question_of(const Page& page) {
  for (const Item& item : page.view->items) {
    if (!item.record->question.empty()) return item.record->question;
  }
  const std::string tools = tools_of(*page.view);
  if (!tools.empty()) return "Results of " + tools;
  for (const Item& item : page.view->items) {
    if (!item.record->scenario.empty()) return "Results of " + item.record->scenario;
  }
  return "Results";
}

// "2026-11-20 05:06 to 05:07 UTC" of RFC 3339 times; anything else as it is.
std::string span_of(const std::string& first, const std::string& last) {
  constexpr size_t kDay = 10, kMinute = 16;
  if (first.size() <= kMinute || last.size() <= kMinute || first[kDay] != 'T' ||
      last[kDay] != 'T') {
    return first == last ? first : first + " to " + last;
  }
  const auto clock = [](const std::string& time) {
    return time.substr(kDay + 1, kMinute - kDay - 1);
  };
  std::string text = first.substr(0, kDay) + " " + clock(first);
  if (first.substr(0, kMinute) != last.substr(0, kMinute)) {
    const bool same_day = first.substr(0, kDay) == last.substr(0, kDay);
    text += " to " + (same_day ? std::string() : last.substr(0, kDay) + " ") + clock(last);
  }
  return text + " UTC";
}

// "quickstart, 2026-11-20 05:06 to 05:07 UTC, run 0123..., plumbline 0.1.0"
std::string origin_text(const View& view) {
  const auto [scenarios, runs, versions, first, last] = origin_of(view);
  const auto few = [](std::vector<std::string> list, const std::string& word) {
    constexpr size_t kMost = 3;
    if (list.size() > kMost) return fmt::format("{} {}s", list.size(), word);
    std::sort(list.begin(), list.end());
    return (list.size() == 1 ? word : word + "s") + " " + join(list, ", ");
  };
  std::vector<std::string> parts;
  if (!scenarios.empty()) parts.push_back(few(scenarios, "scenario"));
  if (!runs.empty()) parts.push_back(few(runs, "run"));
  if (!first.empty()) parts.push_back(span_of(first, last));
  if (!versions.empty())
    parts.push_back("plumbline " + *std::max_element(versions.begin(), versions.end()));
  return join(parts, "; ");
}

void write_head(const Page& page, const std::string& question, HtmlWriter& html) {
  const auto head = html.in("head");
  html.empty("meta", {{"charset", "utf-8"}});
  html.empty("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", content_policy()}});
  html.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.empty("meta", {{"name", "generator"}, {"content", "plumbline"}});
  html.empty("link", {{"rel", "icon"}, {"href", "data:,"}});
  html.element("title", answer_of(page).word + ": " + question);
  html.newline();
  html.own_style();
  html.newline();
}

void write_navigation(const Page& page, HtmlWriter& html) {
  const auto nav = html.in("nav", {{"aria-label", "Sections"}});
  const auto list = html.in("ul");
  for (const PageSection& section : page_sections()) {
    if (!section.there(page)) continue;
    const auto item = html.in("li");
    html.element("a", section.title, {{"href", std::string("#") + section.id}});
  }
}

void write_sections(Page& page, HtmlWriter& html) {
  const auto main = html.in("main", {{"id", "main"}});
  for (const PageSection& section : page_sections()) {
    if (!section.there(page)) continue;
    const std::string heading = std::string(section.id) + "-title";
    html.newline();
    const auto element = html.in("section", {{"id", section.id}, {"aria-labelledby", heading}});
    html.element("h2", section.title, {{"id", heading}});
    section.write(page, html);
  }
}

void write_footer(const Page& page, HtmlWriter& html) {
  const auto footer = html.in("footer");
  if (page.left_out > 0) {
    html.element("p", fmt::format("{} more plots were left out to keep this page small: plumbline "
                                  "report plots DIR draws them.",
                                  page.left_out));
  }
  html.element("p",
               "Made by plumbline from records alone; this file needs no network. The same "
               "records give the same page: plumbline report html DIR.");
}

void write_header(const Page& page, const std::string& question, HtmlWriter& html) {
  const auto header = html.in("header");
  {
    const auto brand = html.in("p", {{"class", "brand"}});
    html.element("b", "plumbline");
    const std::string origin = origin_text(*page.view);
    if (!origin.empty()) html.text(" \xC2\xB7 " + origin);
  }
  html.element("h1", question);
}

void write_body(Page& page, const std::string& question, HtmlWriter& html) {
  const auto body = html.in("body");
  html.element("a", "Skip to the verdict", {{"class", "skip"}, {"href", "#main"}});
  html.own_shapes();
  write_header(page, question, html);
  write_navigation(page, html);
  write_sections(page, html);
  write_footer(page, html);
  nlohmann::json values = nlohmann::json::object();
  for (const auto& [section, figure] : page.figures) {
    if (figure.svg) values[figure.id] = values_of(figure);
  }
  html.data("values", values);
  html.newline();
  html.own_script();
  html.newline();
}

std::string written(Page& page) {
  HtmlWriter html(page.limits.text_bytes);
  const std::string question = question_of(page);
  html.empty("!DOCTYPE html");
  html.newline();
  {
    const auto root = html.in("html", {{"lang", "en"}});
    write_head(page, question, html);
    write_body(page, question, html);
  }
  html.newline();
  return html.take();
}

// Plans and draws what the limits allow.
void add_figures(Page& page) {
  std::vector<std::string> sections;
  std::vector<Chart> charts;
  page.left_out = 0;
  page.no_pictures.clear();
  page.figures.clear();
  const std::vector<Picture> lines = plan_pictures(*page.view);
  for (const SectionCharts& row : kCharts) {
    std::vector<Chart> planned = row.plan({*page.view, lines}, row.planned);
    for (size_t i = 0; i < planned.size(); ++i) {
      if (i >= row.most || charts.size() >= page.limits.pictures) {
        ++page.left_out;
        continue;
      }
      sections.emplace_back(row.section);
      charts.push_back(std::move(planned[i]));
    }
  }
  std::vector<Figure> figures = draw_figures(std::move(charts), page.no_pictures);
  for (size_t i = 0; i < figures.size(); ++i) {
    page.figures.emplace_back(sections[i], std::move(figures[i]));
  }
}

Expected<std::vector<std::string>> write_page(const ReportInput& input,
                                              const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the html report needs an output stream");
  const View view = make_view(input.records);
  Page page;
  page.input = &input;
  page.view = &view;
  page.worlds = link_worlds(view);
  page.ranks = rank_worlds(view);
  page.directory = target.directory;
  *target.out << page_text(page);
  return std::vector<std::string>{};
}

}  // namespace

std::string page_text(Page& page) {
  std::string text;
  for (const PageLimits& limits : kLimits) {
    const bool fewer = page.figures.empty() || page.figures.size() > limits.pictures;
    page.limits = limits;
    page.rows = limits.rows;
    if (fewer) add_figures(page);
    text = written(page);
    if (text.size() <= kMostPageBytes) break;
  }
  return text;
}

ReportRow html_report() {
  return {
      {"html", "one page with everything: verdict, plots, tables, environment; needs no network"},
      "report.html",
      write_page};
}

}  // namespace plumbline
