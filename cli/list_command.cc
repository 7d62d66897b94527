// `plumbline list`: the tables of the program, as text or JSON.

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/vocabulary.h"
#include "core/json.h"
#include "core/op.h"
#include "core/text.h"

namespace plumbline {
namespace {

// With the operation in front of an algorithm, and behind it what it takes: "allreduce
// exchange[:RADICES]".
std::string listed_name(const Descriptor& row) {
  if (row.group.empty()) return row.name;
  const std::string parameter =
      row.params.empty() ? "" : fmt::format("[{}{}]", kParameterMark, row.params.front().name);
  return row.group + " " + row.name + parameter;
}

void print_table(const NamedTable& table, std::ostream& out) {
  out << table.title << "\n";
  size_t width = 0;
  for (const Descriptor& row : table.rows) width = std::max(width, listed_name(row).size());
  for (const Descriptor& row : table.rows) {
    const std::string name = listed_name(row);
    std::string help = row.help;
    for (const ParamRow& param : row.params) {
      if (param.name != "default") continue;
      help += fmt::format(" (default {}{}{})",
                          param.default_value.empty() ? "none" : param.default_value,
                          param.unit.empty() ? "" : " ", param.unit);
    }
    std::string needs;
    for (const std::string& feature : row.requires_) needs += (needs.empty() ? "" : ", ") + feature;
    if (!needs.empty()) help += " [needs " + needs + "]";
    out << fmt::format("  {:<{}}  {}\n", name, width, help);
  }
}

nlohmann::json table_json(const NamedTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Descriptor& row : table.rows) {
    nlohmann::json params = nlohmann::json::array();
    for (const ParamRow& param : row.params) {
      params.push_back({{"name", param.name},
                        {"type", param.type},
                        {"default", param.default_value},
                        {"unit", param.unit},
                        {"help", param.help}});
    }
    rows.push_back({{"name", row.name},
                    {"help", row.help},
                    {"group", row.group},
                    {"requires", row.requires_},
                    {"params", std::move(params)}});
  }
  return {{"name", table.name}, {"title", table.title}, {"rows", std::move(rows)}};
}

}  // namespace

int run_list(const Args& args, Context& context) {
  std::vector<NamedTable> tables = all_tables();
  const std::string wanted = args.get("table");
  if (!wanted.empty()) {
    std::vector<std::string> names;
    for (const NamedTable& table : tables) names.push_back(table.name);
    std::erase_if(tables, [&](const NamedTable& table) { return table.name != wanted; });
    if (tables.empty()) {
      return usage_failure(
          context,
          usage_error("no table '" + wanted + "'",
                      near_or(wanted, names, fmt::format("tables: {}", fmt::join(names, ", ")))));
    }
  }
  if (args.has("json")) {
    nlohmann::json all = nlohmann::json::array();
    for (const NamedTable& table : tables) all.push_back(table_json(table));
    *context.out << json_text(all);
    return 0;
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    if (i > 0) *context.out << "\n";
    print_table(tables[i], *context.out);
  }
  return 0;
}

}  // namespace plumbline
