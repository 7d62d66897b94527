#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/json.h"
#include "core/op.h"
#include "core/units.h"
#include "reports/links/link_kinds.h"
#include "reports/publish/bundle_derive.h"
#include "reports/publish/bundle_words.h"
#include "reports/publish/results_page.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

size_t link_order(const std::string& name) {
  size_t order = 0;
  for (const LinkKindRow& row : link_kind_table()) {
    if (name == row.name) break;
    ++order;
  }
  return order;
}

std::string speed_text(const json& statement) {
  const json& stated = statement["link_speed_bps"];
  const LinkKindRow* kind = find_link_kind(statement["link_kind"]);
  const bool own = kind != nullptr && (!kind->network || stated == kind->rate_bps);
  if (stated.is_null() || own) return "";
  return decimal_text(stated.get<uint64_t>(), 1'000'000'000, 3) + " Gbit/s";
}

size_t hosts_of(const BundleRow& row) {
  return std::set<std::string>(row.rank_hosts.begin(), row.rank_hosts.end()).size();
}
size_t machines_of(const BundleReport& bundle, const BundleRow& row) {
  std::set<std::string> machines;
  for (const std::string& host : row.rank_hosts) machines.insert(bundle.machines.at(host));
  return machines.size();
}

auto order_of(const ResultRow& e) {
  const Cell& cell = e.row->cell;
  const std::optional<Op> op = op_from(cell.op);
  return std::make_tuple(link_order((*e.statement)["link_kind"]), e.group,
                         op ? static_cast<int>(*op) : 99, cell.bytes, cell.ranks, e.class_key,
                         e.twice_p50, e.bundle->id, e.row->path.size(), e.row->path);
}

// One row for each class and owner: the newest; of several repetitions the first.
std::vector<ResultRow> without_older(std::vector<ResultRow> rows) {
  std::map<std::string, ResultRow> newest;
  const auto rank = [](const ResultRow& e) {
    return std::make_tuple(e.date, e.bundle->id, -e.row->cell.repeat);
  };
  for (ResultRow& row : rows) {
    const std::string key = row.class_key + "\n" + row.owner;
    const auto it = newest.find(key);
    if (it == newest.end()) {
      newest.emplace(key, std::move(row));
    } else if (rank(it->second) < rank(row)) {
      it->second = std::move(row);
    }
  }
  std::vector<ResultRow> out;
  for (auto& [key, row] : newest) out.push_back(std::move(row));
  return out;
}

void add_percentiles(std::vector<ResultRow>& rows) {
  std::map<std::string, std::vector<uint64_t>> times;
  for (const ResultRow& e : rows) times[e.class_key].push_back(e.twice_p50);
  for (ResultRow& e : rows) {
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

std::string options_text(const json& content, const json& row) {
  std::vector<std::string> out;
  for (const json& options : {content["environment"]["options"], row["cell"]["params"]}) {
    for (const auto& [name, value] : options.items())
      out.push_back(name + "=" + value.get<std::string>());
  }
  return join(out, " ");
}

bool comes_before(const ResultRow& a, const ResultRow& b) {
  return a.latency() ? a.twice_p50 < b.twice_p50 : a.busbw_Bps > b.busbw_Bps;
}

}  // namespace

std::string link_text(const json& statement) {
  std::string out = statement["link_kind"];
  if (!speed_text(statement).empty()) out += ", " + speed_text(statement);
  const auto links = statement["links_per_host"].get<int>();
  return links > 1 ? out + fmt::format(", {} links per host", links) : out;
}

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

std::string hosts_text(const ResultRow& row) {
  const size_t hosts = hosts_of(*row.row), machines = machines_of(*row.bundle, *row.row);
  if (machines == hosts) return std::to_string(hosts);
  return fmt::format("{} on {} machine{}", hosts, machines, machines == 1 ? "" : "s");
}

std::string size_text(const ResultRow& row) {
  return row.row->cell.op == "barrier" ? "" : format_bytes(row.row->cell.bytes);
}

std::string options_text(const ResultRow& row) {
  return options_text(content_of(*row.bundle), *row.data);
}

std::vector<ResultRow> result_rows(const std::vector<BundleReport>& bundles,
                                   const PageOptions& options) {
  std::vector<ResultRow> rows;
  for (const BundleReport& bundle : bundles) {
    const json& content = content_of(bundle);
    const json& statement = content["statement"];
    const std::string owner = owner_of(bundle, options);
    for (size_t i = 0; i < bundle.rows.size(); ++i) {
      ResultRow e;
      e.bundle = &bundle;
      e.row = &bundle.rows[i];
      e.data = &content["rows"][i];
      e.statement = &statement;
      e.group = link_text(statement) + "\n" + (e.latency() ? "0" : "1");
      e.class_key = class_of(bundle, *e.row);
      e.owner = owner;
      e.date = content["date"];
      e.twice_p50 = twice_p50(e.row->hist);
      const json& busbw = (*e.data)["derived"]["busbw_Bps"];
      if (!busbw.is_null()) e.busbw_Bps = busbw.get<uint64_t>();
      rows.push_back(std::move(e));
    }
  }
  rows = without_older(std::move(rows));
  add_percentiles(rows);
  std::sort(rows.begin(), rows.end(),
            [](const ResultRow& a, const ResultRow& b) { return order_of(a) < order_of(b); });
  return rows;
}

std::vector<BestRow> best_rows(const std::vector<ResultRow>& rows) {
  std::vector<BestRow> out;
  std::map<std::string, size_t> places;  // in `out`
  std::map<size_t, std::set<std::string>> bundles;
  for (const ResultRow& row : rows) {
    if (!row.row->marks.empty() || (!row.latency() && row.busbw_Bps == 0)) continue;
    const auto [it, is_new] = places.emplace(row.group + "\n" + row.row->cell.op, out.size());
    if (is_new) out.emplace_back();
    BestRow& best = out[it->second];
    bundles[it->second].insert(row.bundle->id);
    if (best.best == nullptr || comes_before(row, *best.best)) best.best = &row;
    best.bundles = bundles[it->second].size();
  }
  return out;
}

}  // namespace plumbline
