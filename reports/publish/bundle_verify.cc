#include "reports/publish/bundle_verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.h"
#include "core/op.h"
#include "reports/publish/bundle.h"
#include "reports/publish/bundle_derive.h"
#include "reports/publish/bundle_words.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

void append(std::vector<BundleIssue>& to, std::vector<BundleIssue> from) {
  for (BundleIssue& issue : from) to.push_back(std::move(issue));
}

// "reports/community/0123456789abcdef.json" -> "0123456789abcdef"
std::string stem_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  const size_t dot = name.rfind(".json");
  return dot != std::string::npos && dot + 5 == name.size() ? name.substr(0, dot) : name;
}

// OpenSSH's armour in the one form that ssh-keygen writes: lines of 70, no spare bits in the last
// character, nothing before or after.
bool is_armour(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN SSH SIGNATURE-----\n",
                             kEnd = "-----END SSH SIGNATURE-----\n";
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr size_t kLine = 70;
  if (text.size() <= kBegin.size() + kEnd.size() || text.substr(0, kBegin.size()) != kBegin ||
      text.substr(text.size() - kEnd.size()) != kEnd) {
    return false;
  }
  const std::string_view body =
      text.substr(kBegin.size(), text.size() - kBegin.size() - kEnd.size());
  std::string digits;
  for (size_t i = 0; i < body.size(); ++i) {
    const bool ends = i % (kLine + 1) == kLine || i + 1 == body.size();
    if (ends != (body[i] == '\n')) return false;
    if (!ends) digits += body[i];
  }
  const size_t padding = digits.size() - (digits.find_last_not_of('=') + 1);
  const std::string_view data = std::string_view(digits).substr(0, digits.size() - padding);
  if (digits.size() % 4 != 0 || padding > 2 || data.empty() ||
      data.find_first_not_of(kDigits) != std::string_view::npos) {
    return false;
  }
  const size_t spare = padding == 2 ? 16 : padding == 1 ? 4 : 1;
  return kDigits.find(data.back()) % spare == 0;
}

void check_form(std::string_view text, const json& document, std::vector<BundleIssue>& issues) {
  const json& signature = document["signature"];
  if (signature.is_string() && !is_armour(signature.get_ref<const std::string&>())) {
    issues.push_back({"form", "signature",
                      "is not the armour that ssh-keygen writes; null says that there is none"});
  }
  const std::string right = bundle_text(document);
  if (text == right) return;
  const auto at = std::mismatch(text.begin(), text.end(), right.begin(), right.end());
  const auto line = 1 + std::count(text.begin(), at.first, '\n');
  issues.push_back({"form", "",
                    fmt::format("line {} is not written as plumbline writes it, though the content "
                                "is the same; submit it anew",
                                line)});
}

BundleRow row_from(const json& row, std::string path) {
  BundleRow out;
  out.path = std::move(path);
  out.cell = row["cell"].get<Cell>();
  out.rank_hosts = row["rank_hosts"].get<std::vector<std::string>>();
  return out;
}

void check_shape(const BundleRow& typed, std::vector<BundleIssue>& issues) {
  const Cell& cell = typed.cell;
  const auto impossible = [&](const char* field, std::string text) {
    issues.push_back({"impossible", typed.path + field, std::move(text)});
  };
  const std::optional<Op> op = op_from(cell.op);
  const std::optional<DType> dtype = dtype_from(cell.dtype);
  if (!op || !dtype) return;  // the schema has said so
  const Shape shape = shape_of(*op, *dtype, cell.ranks, cell.bytes);
  if (shape.bytes != cell.bytes) {
    impossible(".cell.bytes",
               fmt::format("is {}, which {} of {} on {} ranks rounds to {}", cell.bytes, cell.op,
                           cell.dtype, cell.ranks, shape.bytes));
  }
  if (shape.count != cell.count) {
    impossible(".cell.count",
               fmt::format("is {}, {} bytes give {}", cell.count, cell.bytes, shape.count));
  }
  const bool rooted = plumbline::row(*op).rooted, reduces = plumbline::row(*op).reduces;
  if (rooted != (cell.root >= 0) || cell.root >= cell.ranks) {
    impossible(".cell.root",
               fmt::format("is {} for {} on {} ranks", cell.root, cell.op, cell.ranks));
  }
  if (reduces != (cell.redop != "none")) {
    impossible(".cell.redop", fmt::format("is {} for {}", cell.redop, cell.op));
  }
  if (typed.rank_hosts.size() != static_cast<size_t>(cell.ranks)) {
    impossible(".cell.ranks", fmt::format("is {}, but {} ranks have a host in rank_hosts",
                                          cell.ranks, typed.rank_hosts.size()));
  }
}

// Each derived value by its name, so that the message says which one does not fit.
void check_derived(const json& row, const BundleRow& typed, std::vector<BundleIssue>& issues) {
  const json derived = derive_row(typed.cell, typed.hist);
  for (const auto& [name, value] : derived.items()) {
    const json& stated = row["derived"][name];
    if (stated == value) continue;
    std::string path = typed.path + ".derived." + name;
    if (stated.is_array() && value.is_array()) path += stated[0] == value[0] ? "[1]" : "[0]";
    issues.push_back({"derived", std::move(path),
                      fmt::format("is {}, the histogram gives {}", stated.dump(), value.dump())});
  }
}

// Every host named in the rows is among the hosts, and no host stands there twice.
void check_hosts(BundleReport& report) {
  const json& hosts = content_of(report)["environment"]["hosts"];
  for (size_t i = 0; i < hosts.size(); ++i) {
    const auto name = hosts[i]["name"].get<std::string>();
    if (name != fmt::format("host{}", i + 1)) {
      report.problems.push_back({"schema", fmt::format("content.environment.hosts[{}].name", i),
                                 fmt::format("is {}, must be host{}", name, i + 1)});
    }
    report.machines[name] = hosts[i]["machine"];
    const json &usable = hosts[i]["cores_usable"], &online = hosts[i]["cores_online"];
    if (!usable.is_null() && !online.is_null() && usable > online) {
      report.problems.push_back({"impossible",
                                 fmt::format("content.environment.hosts[{}].cores_usable", i),
                                 fmt::format("is {} of {} cores", usable.dump(), online.dump())});
    }
  }
  for (const BundleRow& row : report.rows) {
    for (size_t rank = 0; rank < row.rank_hosts.size(); ++rank) {
      if (report.machines.count(row.rank_hosts[rank]) > 0) continue;
      report.problems.push_back(
          {"schema", fmt::format("{}.rank_hosts[{}]", row.path, rank),
           fmt::format("is {}, of which the environment says nothing", row.rank_hosts[rank])});
    }
  }
}

}  // namespace

const json& content_of(const BundleReport& report) { return (*report.document)["content"]; }

void check_rows(BundleReport& report) {
  const std::string date = content_of(report)["date"];
  if (!day_number(date)) {
    report.problems.push_back(
        {"schema", "content.date", "is " + date + ", which is no day of the calendar"});
  }
  const json& rows = content_of(report)["rows"];
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string path = fmt::format("content.rows[{}]", i);
    if (rows[i]["cell"]["kind"] == "workload" || rows[i].contains("workload")) {
      report.problems.push_back(
          {"schema", path + ".cell.kind", "workloads are not accepted by this version"});
      continue;
    }
    BundleRow typed = row_from(rows[i], path);
    check_shape(typed, report.problems);
    std::vector<BundleIssue> hist = histogram_issues(rows[i]["hist"], typed.path + ".hist");
    if (hist.empty()) {
      typed.hist = histogram_from(rows[i]["hist"]);
      check_derived(rows[i], typed, report.problems);
    }
    append(report.problems, std::move(hist));
    report.rows.push_back(std::move(typed));
  }
  check_hosts(report);
}

BundleReport verify_bundle(std::string_view text, const std::string& file) {
  BundleReport report;
  report.file = file;
  Expected<json> document = parse_bundle(text);
  if (!document) {
    report.problems.push_back({"unreadable", "", document.error().what});
    return report;
  }
  const auto id = document->find("id");
  if (id != document->end() && id->is_string())
    report.id = clean(id->get<std::string>()).substr(0, 64);
  report.problems = schema_issues(*document);
  const bool shaped = report.problems.empty();
  append(report.problems, seal_issues(*document));
  report.document = std::make_shared<const json>(std::move(*document));
  if (!file.empty() && stem_of(file) != report.id) {
    report.problems.push_back(
        {"altered", "id",
         fmt::format("is {}, but the file is called {}", report.id, clean(stem_of(file)))});
  }
  if (!shaped) return report;
  check_form(text, *report.document, report.problems);
  check_rows(report);
  if (!report.sound()) return report;
  check_private(report);
  check_trust(report);
  check_possible(report);
  check_regularity(report);
  return report;
}

}  // namespace plumbline
