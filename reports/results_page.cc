#include "reports/results_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "core/json.h"
#include "core/op.h"
#include "core/units.h"
#include "reports/bundle_derive.h"
#include "reports/link_kinds.h"
#include "reports/tables.h"
#include "reports/text.h"
#include "reports/wide.h"

namespace plumbline {
namespace {

using nlohmann::json;

struct Entry {
  const BundleReport* bundle = nullptr;
  const BundleRow* row = nullptr;
  const json* data = nullptr;       // the row
  const json* statement = nullptr;  // of its bundle
  std::string group, class_key, owner, date;
  uint64_t twice_p50 = 0;
  std::string percentile;  // filled in when the class is large enough
};

const json& content_of(const BundleReport& bundle) { return (*bundle.document)["content"]; }

size_t link_order(const std::string& name) {
  size_t order = 0;
  for (const LinkKindRow& row : link_kind_table()) {
    if (name == row.name) break;
    ++order;
  }
  return order;
}

// Texts of others inside a table: Markdown and HTML taken out, and nothing that turns into a link.
std::string safe(const std::string& text) {
  std::string out = markdown_escape(text);
  for (const std::string_view trigger : {"@", "://", "www."}) {
    const auto same = [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) ==
             std::tolower(static_cast<unsigned char>(b));
    };
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

std::string speed_text(const json& statement) {
  const json& stated = statement["link_speed_bps"];
  const LinkKindRow* kind = find_link_kind(statement["link_kind"]);
  const bool own = kind != nullptr && (!kind->network || stated == kind->rate_bps);
  if (stated.is_null() || own) return "";
  return decimal_text(stated.get<uint64_t>(), 1'000'000'000, 3) + " Gbit/s";
}

// "thunderbolt4", "other, 12.000 Gbit/s", "thunderbolt5, 2 links per host"
std::string link_text(const json& statement) {
  std::string out = statement["link_kind"];
  if (!speed_text(statement).empty()) out += ", " + speed_text(statement);
  const auto links = statement["links_per_host"].get<int>();
  return links > 1 ? out + fmt::format(", {} links per host", links) : out;
}

std::string options_text(const json& content, const json& row) {
  std::vector<std::string> out;
  for (const json& options : {content["environment"]["options"], row["cell"]["params"]}) {
    for (const auto& [name, value] : options.items())
      out.push_back(name + "=" + value.get<std::string>());
  }
  return join(out, " ");
}

size_t hosts_of(const BundleRow& row) {
  return std::set<std::string>(row.rank_hosts.begin(), row.rank_hosts.end()).size();
}
size_t machines_of(const BundleReport& bundle, const BundleRow& row) {
  std::set<std::string> machines;
  for (const std::string& host : row.rank_hosts) machines.insert(bundle.machines.at(host));
  return machines.size();
}

// How it was measured, beside what the columns say.
std::string way_text(const Entry& e) {
  const Cell& cell = e.row->cell;
  const json& resolved = (*e.data)["resolved"];
  std::string out = resolved["transport"].get<std::string>();
  if (cell.algorithm != "auto") out += " " + cell.algorithm;
  if (cell.dtype != "f32") out += " " + cell.dtype;
  if (cell.redop != "none" && cell.redop != "sum") out += " " + cell.redop;
  if (cell.placement != "out") out += " in place";
  if (cell.sync != "barrier") out += " sync " + cell.sync;
  if (cell.cache != "cold") out += " cache hot";
  const std::string options = options_text(content_of(*e.bundle), *e.data);
  return options.empty() ? out : out + " " + options;
}

auto order_of(const Entry& e) {
  const Cell& cell = e.row->cell;
  const std::optional<Op> op = op_from(cell.op);
  return std::make_tuple(link_order((*e.statement)["link_kind"]), e.group,
                         op ? static_cast<int>(*op) : 99, cell.bytes, cell.ranks, e.class_key,
                         e.twice_p50, e.bundle->id, e.row->path.size(), e.row->path);
}

// One row for each class and owner: the newest; of several repetitions the first.
std::vector<Entry> without_older(std::vector<Entry> entries) {
  std::map<std::string, Entry> newest;
  const auto rank = [](const Entry& e) {
    return std::make_tuple(e.date, e.bundle->id, -e.row->cell.repeat);
  };
  for (Entry& entry : entries) {
    const std::string key = entry.class_key + "\n" + entry.owner;
    const auto it = newest.find(key);
    if (it == newest.end()) {
      newest.emplace(key, std::move(entry));
    } else if (rank(it->second) < rank(entry)) {
      it->second = std::move(entry);
    }
  }
  std::vector<Entry> out;
  for (auto& [key, entry] : newest) out.push_back(std::move(entry));
  return out;
}

void add_percentiles(std::vector<Entry>& entries) {
  std::map<std::string, std::vector<uint64_t>> times;
  for (const Entry& e : entries) times[e.class_key].push_back(e.twice_p50);
  for (Entry& e : entries) {
    const std::vector<uint64_t>& all = times[e.class_key];
    if (all.size() < kClassRows) continue;
    const auto slower = static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [&](uint64_t t) { return t > e.twice_p50; }));
    e.percentile = std::to_string(100 * slower / (all.size() - 1));
  }
}

// Who may replace a row: whoever signs with the same key; without a signature whoever types the
// same name, and nobody where there is none. So an unsigned row never replaces a signed one.
std::string owner_of(const BundleReport& bundle, const PageOptions& options) {
  const json& statement = content_of(bundle)["statement"];
  const auto it = options.signers.find(bundle.id);
  const std::string signer = it == options.signers.end() ? "" : it->second;
  const auto submitter = statement["submitter"].get<std::string>();
  const bool nobody = signer.empty() && submitter.empty();
  return json({nobody ? bundle.id : "", signer, statement["hardware"], statement["cable"],
               submitter})
      .dump();
}

std::vector<Entry> entries_of(const std::vector<BundleReport>& bundles,
                              const PageOptions& options) {
  std::vector<Entry> entries;
  for (const BundleReport& bundle : bundles) {
    const json& content = content_of(bundle);
    const json& statement = content["statement"];
    const std::string owner = owner_of(bundle, options);
    for (size_t i = 0; i < bundle.rows.size(); ++i) {
      Entry e;
      e.bundle = &bundle;
      e.row = &bundle.rows[i];
      e.data = &content["rows"][i];
      e.statement = &statement;
      e.group = link_text(statement) + "\n" + (e.row->cell.kind == "latency" ? "0" : "1");
      e.class_key = class_of(bundle, *e.row);
      e.owner = owner;
      e.date = content["date"];
      e.twice_p50 = twice_p50(e.row->hist);
      entries.push_back(std::move(e));
    }
  }
  entries = without_older(std::move(entries));
  add_percentiles(entries);
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return order_of(a) < order_of(b); });
  return entries;
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

std::string of_link(const Entry& e) {
  const LinkKindRow* kind = find_link_kind((*e.statement)["link_kind"]);
  const uint64_t rate = stated_rate_bps(*e.statement);
  const json& busbw = (*e.data)["derived"]["busbw_Bps"];
  if (kind == nullptr || !kind->network || rate == 0 || busbw.is_null()) return "n/a";
  return decimal_text(static_cast<Wide>(busbw.get<uint64_t>()) * 800, rate, 1);
}

std::string bundle_link(const BundleReport& bundle, const PageOptions& options) {
  return fmt::format("[{0}]({1}/{0}.json)", bundle.id, options.folder);
}

std::string marks_text(const Entry& e, const PageOptions& options) {
  std::vector<std::string> out = e.row->marks;
  const auto it = options.signatures.find(e.bundle->id);
  out.insert(out.begin(), it == options.signatures.end() ? "unsigned" : it->second);
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

std::string row_text(const Entry& e, const PageOptions& options) {
  const json& d = (*e.data)["derived"];
  const Cell& cell = e.row->cell;
  const bool latency = cell.kind == "latency";
  const json& ci = d["p50_ci95_ns"];
  const std::string interval = ci.is_null() ? "n/a" : us(ci[0]) + " .. " + us(ci[1]);
  const size_t hosts = hosts_of(*e.row), machines = machines_of(*e.bundle, *e.row);
  std::string where = machines == hosts ? std::to_string(hosts)
                                        : fmt::format("{} on {} machine{}", hosts, machines,
                                                      machines == 1 ? "" : "s");
  std::string out =
      fmt::format("| {} | {} | {} | {} | {} | {} | {} |", safe(cell.op),
                  cell.op == "barrier" ? "" : format_bytes(cell.bytes), cell.ranks, where,
                  safe(way_text(e)), decimal_text(e.twice_p50, 2000, 3), interval);
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
  const auto it = options.signatures.find(bundle.id);
  std::string notes = s["notes"];
  const json& left = content["scenario"]["left_out"];
  if (left["noisy"] != 0) {
    notes +=
        fmt::format("{}{} noisy rows left out", notes.empty() ? "" : "; ", left["noisy"].dump());
  }
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                     bundle_link(bundle, options), content["date"].get<std::string>(),
                     safe(s["submitter"]),
                     safe(join(s["hardware"].get<std::vector<std::string>>(), "; ")),
                     safe(machine_text(content)), safe(link_text(s)), safe(s["cable"]),
                     safe(it == options.signatures.end() ? "unsigned" : it->second), safe(notes));
}

std::string definitions() {
  return fmt::format(
      "p50 is the median time of the slowest rank, with its 95 % confidence interval; "
      "busbw = S / p50 times the operation's factor, GB/s = 10^9 bytes per second "
      "(docs/measuring.md).\n"
      "\"of link\" compares it with the stated speed of the link. The percentile of a row is the "
      "share "
      "of the other rows\nof its class that are slower; it is shown from {} rows of a class on. A "
      "class "
      "is the same link, operation, size, ranks,\nhosts and way of measuring. What is stated "
      "(link, "
      "cable, hardware, submitter, notes) is the submitter's word.\n",
      kClassRows);
}

}  // namespace

std::string class_of(const BundleReport& bundle, const BundleRow& row) {
  const json& content = content_of(bundle);
  size_t index = 0;
  while (index < bundle.rows.size() && &bundle.rows[index] != &row) ++index;
  const json& data = content["rows"][index];
  Cell cell = row.cell;
  cell.repeat = 0;
  cell.transport = data["resolved"]["transport"];
  return json({link_text(content["statement"]), canonical_json(cell), hosts_of(row),
               machines_of(bundle, row), options_text(content, data)})
      .dump();
}

std::string results_page(const std::vector<BundleReport>& bundles, const PageOptions& options) {
  std::string out =
      "# Results\n\n<!-- Made by `plumbline results update`; never edited, never merged by hand. "
      "-->\n\n"
      "How to add yours: [docs/submitting.md](docs/submitting.md).\n\n";
  if (bundles.empty()) return out + "There are no rows yet.\n";
  out += definitions();
  std::string group;
  for (const Entry& e : entries_of(bundles, options)) {
    if (e.group != group) {
      group = e.group;
      const bool latency = e.row->cell.kind == "latency";
      out += fmt::format("\n## {}, {}\n\n", safe(link_text(*e.statement)), e.row->cell.kind);
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
