// The report as a Markdown file: the console's content, how to repeat it, and links to the pictures
// and records that lie beside it.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/shell_words.h"
#include "reports/charts/view_charts.h"
#include "reports/content.h"
#include "reports/report.h"
#include "reports/soak/soak_tables.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// Links the pictures that lie in the report's folder.
void add_pictures(const View& view, const std::string& directory, Document& document) {
  if (directory.empty()) return;
  bool first = true;
  for (const Chart& chart : plot_charts(view)) {
    const std::string path = "plots/" + chart.name + ".svg";
    std::error_code error;
    if (!std::filesystem::exists(directory + "/" + path, error)) continue;
    if (std::exchange(first, false)) document.heading(1, "Plots");
    document.picture(chart.title, path);
  }
  if (first) return;
  document.paragraph(
      "Beside each picture lie the same as PNG, its data (.dat) and its gnuplot script (.gp).");
}

void add_reproduction(const View& view, const std::string& directory, Document& document) {
  std::vector<std::string> commands;
  for (const Item& item : view.items) {
    const std::string command = shell_line(item.record->environment.command);
    if (!command.empty() && std::find(commands.begin(), commands.end(), command) == commands.end())
      commands.push_back(command);
  }
  std::error_code error;
  const bool records =
      !directory.empty() && std::filesystem::exists(directory + "/records.jsonl", error);
  if (commands.empty() && !records) return;
  document.heading(1, "How to reproduce");
  for (const std::string& command : commands) document.command(command);
  if (const Record* planned = planned_record(view)) {
    document.paragraph("Order of the cells: seed " + std::to_string(planned->seed) + ", plan " +
                       planned->plan_hash);
  }
  const bool links =
      !directory.empty() && std::filesystem::exists(directory + "/links/links.md", error);
  if (links) document.link("Link matrices with heat maps and topology", "links/links.md");
  const bool soak =
      !directory.empty() && std::filesystem::exists(directory + "/soak/soak.md", error);
  if (soak) document.link("The soak with its pictures", "soak/soak.md");
  if (records) document.link("All records, one JSON object a line", "records.jsonl");
}

Expected<std::vector<std::string>> write_markdown(const ReportInput& input,
                                                  const ReportTarget& target) {
  if (!target.out) return fail(ErrorCode::kUsage, "the markdown report needs an output stream");
  const View view = make_view(input.records);
  Document document;
  document.heading(1, "plumbline report");
  add_introduction(input, view, document);
  add_checklist(input, view, document);
  add_rules(input, document);
  add_tables(view, document);
  add_soaks(input.soaks, document);
  add_pictures(view, target.directory, document);
  add_reproduction(view, target.directory, document);
  add_summary(input, view, document);
  render_markdown(document, *target.out);
  return std::vector<std::string>{};
}

}  // namespace

ReportRow markdown_report() {
  return {{"markdown",
           "the same tables as a Markdown file, with plots and the command to repeat it",
           {},
           {},
           ""},
          "report.md",
          write_markdown};
}

}  // namespace plumbline
