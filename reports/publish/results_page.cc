#include "reports/publish/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "core/json.h"
#include "core/text.h"
#include "reports/links/link_kinds.h"
#include "reports/publish/bundle_words.h"
#include "reports/tables.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

// Texts of others inside a table: Markdown and HTML taken out, and nothing that turns into a link.
std::string safe(const std::string& text) {
  std::string out = markdown_escape(text);
  for (const std::string_view trigger : {"@", "://", "www."}) {
    const auto same = [](char a, char b) { return lower_case(a) == lower_case(b); };
    for (size_t at = 0;; ++at) {
      const auto found = std::search(out.begin() + static_cast<std::ptrdiff_t>(at), out.end(),
                                     trigger.begin(), trigger.end(), same);
      if (found == out.end()) break;
      at = static_cast<size_t>(found - out.begin());
      out.insert(at + 1, "&#8203;");
    }
  }
  std::string plain;
  for (const char c : out)
    plain += c == '>' ? std::string("&gt;") : c == '!' ? "&#33;" : std::string(1, c);
  return plain;
}

// How it was measured, beside what the columns say.
std::string way_text(const ResultRow& e) {
  const Cell& cell = e.row->cell;
  const json& resolved = (*e.data)["resolved"];
  std::string out = cell.engine == kNativeEngine ? "" : "engine " + cell.engine + " ";
  out += resolved["transport"].get<std::string>();
  if (cell.algorithm != "auto") out += " " + cell.algorithm;
  if (cell.dtype != "f32") out += " " + cell.dtype;
  if (cell.redop != "none" && cell.redop != "sum") out += " " + cell.redop;
  if (cell.placement != "out") out += " in place";
  if (cell.sync != "barrier") out += " sync " + cell.sync;
  if (cell.cache != "cold") out += " cache hot";
  const std::string options = options_text(e);
  return options.empty() ? out : out + " " + options;
}

// Nanoseconds as microseconds with three digits.
std::string us(const json& ns) {
  if (ns.is_null()) return "n/a";
  return decimal_text(ns.get<uint64_t>(), 1000, 3);
}
std::string gbps(const json& bytes_per_second) {
  if (bytes_per_second.is_null()) return "n/a";
  return decimal_text(bytes_per_second.get<uint64_t>(), 1'000'000'000, 4);
}

std::string of_link(const ResultRow& e) {
  const LinkKindRow* kind = find_link_kind((*e.statement)["link_kind"]);
  const uint64_t rate = stated_rate_bps(*e.statement);
  const json& busbw = (*e.data)["derived"]["busbw_Bps"];
  if (kind == nullptr || !kind->network || rate == 0 || busbw.is_null()) return "n/a";
  return decimal_text(static_cast<Wide>(busbw.get<uint64_t>()) * 800, rate, 1);
}

std::string bundle_link(const BundleReport& bundle, const PageOptions& options) {
  return fmt::format("[{0}]({1}/{0}.json)", bundle.id, options.folder);
}

std::string signature_text(const BundleReport& bundle, const PageOptions& options) {
  const auto it = options.signatures.find(bundle.id);
  return it == options.signatures.end() ? "unsigned" : it->second;
}

std::string marks_text(const ResultRow& e, const PageOptions& options) {
  std::vector<std::string> out = e.row->marks;
  out.insert(out.begin(), signature_text(*e.bundle, options));
  return safe(join(out, ", "));
}

std::string hardware_text(const json& statement) {
  constexpr size_t kShown = 2;
  auto names = statement["hardware"].get<std::vector<std::string>>();
  if (std::adjacent_find(names.begin(), names.end(), std::not_equal_to<>()) == names.end()) {
    names.resize(1);
  }
  const size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return join(names, "; ") + (more > 0 ? fmt::format("; {} more", more) : "");
}

std::string row_text(const ResultRow& e, const PageOptions& options) {
  const json& d = (*e.data)["derived"];
  const Cell& cell = e.row->cell;
  const bool latency = e.latency();
  const json& ci = d["p50_ci95_ns"];
  const std::string interval = ci.is_null() ? "n/a" : us(ci[0]) + " .. " + us(ci[1]);
  std::string out =
      fmt::format("| {} | {} | {} | {} | {} | {} | {} |", safe(cell.op), size_text(e), cell.ranks,
                  hosts_text(e), safe(way_text(e)), decimal_text(e.twice_p50, 2000, 3), interval);
  out += latency ? fmt::format(" {} |", us(d["p99_ns"]))
                 : fmt::format(" {} | {} |", gbps(d["busbw_Bps"]), of_link(e));
  return out + fmt::format(" {} | {} | {} | {} | {} | {} |\n", d["n"].get<uint64_t>(),
                           e.percentile.empty() ? "n/a" : e.percentile,
                           safe(hardware_text(*e.statement)), e.date, marks_text(e, options),
                           bundle_link(*e.bundle, options));
}

std::string header_of(bool latency) {
  return latency
             ? "| operation | size | ranks | hosts | measured with | p50 (us) | 95 % CI (us) | p99 "
               "(us) | samples | percentile (%) | hardware (stated) | date | marks | bundle |\n"
               "|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---|---|---|---|\n"
             : "| operation | size | ranks | hosts | measured with | p50 (us) | 95 % CI (us) | "
               "busbw (GB/s) | of link (%) | samples | percentile (%) | hardware (stated) | date | "
               "marks | bundle |\n"
               "|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---|---|---|---|\n";
}

std::string machine_text(const json& content) {
  std::set<std::string> kinds;
  for (const json& host : content["environment"]["hosts"]) {
    std::string text =
        host["cpu_model"].is_null() ? "unknown CPU" : host["cpu_model"].get<std::string>();
    if (!host["cores_usable"].is_null())
      text += fmt::format(", {} cores", host["cores_usable"].dump());
    if (!host["virtualisation"].is_null()) text += ", " + host["virtualisation"].get<std::string>();
    if (!host["os"].is_null()) text += ", " + host["os"].get<std::string>();
    kinds.insert(text);
  }
  return join(std::vector<std::string>(kinds.begin(), kinds.end()), "; ");
}

std::string bundle_row(const BundleReport& bundle, const PageOptions& options) {
  const json& content = content_of(bundle);
  const json& s = content["statement"];
  std::string notes = s["notes"];
  const json& left = content["scenario"]["left_out"];
  if (left["noisy"] != 0) {
    notes +=
        fmt::format("{}{} noisy rows left out", notes.empty() ? "" : "; ", left["noisy"].dump());
  }
  return fmt::format(
      "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", bundle_link(bundle, options),
      content["date"].get<std::string>(), safe(s["submitter"]),
      safe(join(s["hardware"].get<std::vector<std::string>>(), "; ")), safe(machine_text(content)),
      safe(link_text(s)), safe(s["cable"]), safe(signature_text(bundle, options)), safe(notes));
}

// What the page answers, and the one line for whoever wants to be on it.
std::string opening() {
  return "# Results\n\n"
         "<!-- Made by `plumbline results update`; never edited, never merged by hand. -->\n\n"
         "**What this page answers:** how long a small message takes over a kind of link, how fast "
         "collective operations run on it, how much of the\n"
         "link's speed that is, and which machines did it. Every time and rate follows from a "
         "published histogram of all samples, and `plumbline verify` recomputes it.\n\n"
         "**Add a row:** `plumbline run submit --hosts hosts.json --out mine && plumbline submit "
         "mine`, then a pull request with the one file that it writes\n"
         "([docs/submitting.md](docs/submitting.md)).\n\n";
}

std::string best_row_text(const BestRow& best, const PageOptions& options) {
  const ResultRow& e = *best.best;
  const std::string value =
      e.latency() ? decimal_text(e.twice_p50, 2000, 3) + " us" : gbps(e.busbw_Bps) + " GB/s";
  return fmt::format("| {} | {} {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                     safe(link_text(*e.statement)), safe(e.row->cell.op),
                     to_string(e.row->cell.kind), value, e.latency() ? "n/a" : of_link(e),
                     size_text(e), e.row->cell.ranks, hosts_text(e), best.bundles,
                     safe(hardware_text(*e.statement)), e.date, marks_text(e, options),
                     bundle_link(*e.bundle, options));
}

std::string best_text(const std::vector<ResultRow>& rows, const PageOptions& options) {
  std::string out = fmt::format(
      "## The best of each link\n\n"
      "![The best row of each link, as the table below has it]({})\n\n"
      "Latency: the least median time; bandwidth: the most bus bandwidth; of rows with no flag. "
      "\"bundles\" is how many have such rows.\n\n"
      "| link | what | best | of link (%) | size | ranks | hosts | bundles | hardware (stated) | "
      "date | marks | bundle |\n|---|---|---:|---:|---:|---:|---:|---:|---|---|---|---|\n",
      options.chart);
  for (const BestRow& best : best_rows(rows)) out += best_row_text(best, options);
  return out + "\n";
}

std::string definitions() {
  return fmt::format(
      "p50 is the median time of the slowest rank, with its 95 % confidence interval; "
      "busbw = S / p50 times the operation's factor, GB/s = 10^9 bytes per second "
      "(docs/measuring.md).\n"
      "\"of link\" compares it with the stated speed of the link. The percentile of a row is the "
      "share of the other rows\n"
      "of its class that are slower; it is shown from {} rows of a class on. A class is the same "
      "link, operation, size, ranks,\n"
      "hosts and way of measuring. What is stated (link, cable, hardware, submitter, notes) is the "
      "submitter's word.\n",
      kClassRows);
}

}  // namespace

std::string results_page(const std::vector<BundleReport>& bundles, const PageOptions& options) {
  std::string out = opening();
  if (bundles.empty()) return out + "There are no rows yet.\n";
  const std::vector<ResultRow> rows = result_rows(bundles, options);
  out += best_text(rows, options) + definitions();
  std::string group;
  for (const ResultRow& e : rows) {
    if (e.group != group) {
      group = e.group;
      const bool latency = e.latency();
      out += fmt::format("\n## {}, {}\n\n", safe(link_text(*e.statement)),
                         to_string(e.row->cell.kind));
      out += header_of(latency);
    }
    out += row_text(e, options);
  }
  out +=
      "\n## Bundles\n\n| bundle | date | submitter | hardware (stated) | machine (measured) | link "
      "(stated) | cable (stated) | signature | notes |\n|---|---|---|---|---|---|---|---|---|\n";
  std::vector<std::pair<std::string, const BundleReport*>> sorted;
  for (const BundleReport& bundle : bundles) {
    sorted.emplace_back(content_of(bundle)["date"].get<std::string>() + bundle.id, &bundle);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [key, bundle] : sorted) out += bundle_row(*bundle, options);
  return out;
}

}  // namespace plumbline
