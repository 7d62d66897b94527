#include "cli/hosts_show.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/json.h"
#include "reports/text.h"
#include "scenarios/placement.h"

namespace plumbline {
namespace {

constexpr size_t kMostPairsShown = 12;

std::string how_reached(const ScenarioHost& host) {
  if (host.local) return "here";
  if (!host.netns.empty()) return "netns " + host.netns;
  if (host.ssh.empty()) return "not said";
  std::string out = "ssh " + host.ssh;
  if (host.port != 0) out += fmt::format(" port {}", host.port);
  if (!host.user.empty()) out += " as " + host.user;
  return out;
}

std::string data_in_words(const ScenarioHost& host) {
  if (!host.data.empty()) return join(host.data, " ");
  if (host.data_interfaces.empty()) return "all it has";
  return "those of " + join(host.data_interfaces, " ");
}

std::string matrix_in_words(const ScenarioHost& host) {
  std::vector<std::string> cells;
  for (const auto& cell : host.rdma) cells.push_back(cell.empty() ? "-" : join(cell, "+"));
  return join(cells, " ");
}

using TextTable = std::vector<std::vector<std::string>>;

// The number of the host's first rank; nothing where a host before it has one per core, which only
// that host can count.
std::optional<int> first_rank(const HostFile& file, size_t i) {
  int rank = 0;
  for (size_t before = 0; before < i; ++before) {
    if (file.hosts[before].ranks_of_cores) return std::nullopt;
    rank += file.hosts[before].ranks;
  }
  return rank;
}

std::string ranks_in_words(const ScenarioHost& host, std::optional<int> first) {
  if (host.ranks_of_cores) return "one per core";
  if (!first) return fmt::format("{} more", host.ranks);
  const int last = *first + host.ranks - 1;
  return last == *first ? std::to_string(last) : fmt::format("{}-{}", *first, last);
}

TextTable table_of(const HostFile& file) {
  TextTable rows = {{"rank", "name", "reached by", "data addresses", "rdma", "group"}};
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    const ScenarioHost& host = file.hosts[i];
    rows.push_back({ranks_in_words(host, first_rank(file, i)), host.name, how_reached(host),
                    data_in_words(host), matrix_in_words(host), join(host.group, " ")});
  }
  return rows;
}

// Columns that nobody has anything in are left out.
void print_columns(const TextTable& rows, std::ostream& out) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (size_t column = 0; column < widths.size(); ++column) {
    const bool used = std::any_of(rows.begin() + 1, rows.end(),
                                  [column](const auto& row) { return !row[column].empty(); });
    for (const auto& row : rows) {
      if (used) widths[column] = std::max(widths[column], display_width(clean(row[column])));
    }
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t column = 0; column < widths.size(); ++column) {
      if (widths[column] > 0) line += fit(clean(row[column]), widths[column], true) + "  ";
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

struct ApartPair {
  size_t a, b;
  std::string why;
};

std::vector<ApartPair> pairs_apart(const std::vector<ScenarioHost>& hosts) {
  std::vector<ApartPair> out;
  for (size_t i = 0; i < hosts.size(); ++i) {
    for (size_t j = i + 1; j < hosts.size(); ++j) {
      std::string why = talk_reason(hosts, i, j);
      if (!why.empty()) out.push_back({i, j, std::move(why)});
    }
  }
  return out;
}

std::vector<std::string> names_at(const std::vector<ScenarioHost>& hosts,
                                  const std::vector<size_t>& places) {
  std::vector<std::string> out;
  for (const size_t place : places) out.push_back(hosts[place].name);
  return out;
}

void print_talk(const HostFile& file, std::ostream& out) {
  const std::vector<ApartPair> apart = pairs_apart(file.hosts);
  if (apart.empty()) return;
  out << fmt::format("\n{} not supposed to talk:\n",
                     apart.size() == 1 ? "One pair is" : fmt::format("{} pairs are", apart.size()));
  for (size_t i = 0; i < std::min(apart.size(), kMostPairsShown); ++i) {
    out << "  " << clean(apart[i].why) << "\n";
  }
  if (apart.size() > kMostPairsShown) {
    out << fmt::format("  and {} more\n", apart.size() - kMostPairsShown);
  }
  out << "Hosts that all reach one another:\n";
  for (const auto& group : reachable_groups(file.hosts)) {
    out << "  " << clean(join(names_at(file.hosts, group), ", ")) << "\n";
  }
}

nlohmann::json number_or_null(std::optional<int> number) {
  return number ? nlohmann::json(*number) : nlohmann::json();
}

nlohmann::json host_json(const HostFile& file, size_t i) {
  const ScenarioHost& host = file.hosts[i];
  nlohmann::json cells = nlohmann::json::array();
  for (const auto& cell : host.rdma) {
    cells.push_back(cell.empty() ? nlohmann::json() : nlohmann::json(cell));
  }
  return {
      {"name", host.name},
      {"first_rank", number_or_null(first_rank(file, i))},
      {"ranks", host.ranks_of_cores ? nlohmann::json(kRanksOfCores) : nlohmann::json(host.ranks)},
      {"reached_by", how_reached(host)},
      {"data", host.data},
      {"data_interfaces", host.data_interfaces},
      {"ips", i < file.ips.size() ? file.ips[i] : std::vector<std::string>{}},
      {"rdma", std::move(cells)},
      {"group", host.group}};
}

nlohmann::json file_json(const HostFile& file) {
  nlohmann::json hosts = nlohmann::json::array(), apart = nlohmann::json::array();
  nlohmann::json groups = nlohmann::json::array(), variables = nlohmann::json::array();
  for (size_t i = 0; i < file.hosts.size(); ++i) hosts.push_back(host_json(file, i));
  for (const ApartPair& pair : pairs_apart(file.hosts)) {
    apart.push_back(
        {{"hosts", {file.hosts[pair.a].name, file.hosts[pair.b].name}}, {"reason", pair.why}});
  }
  for (const auto& group : reachable_groups(file.hosts)) {
    groups.push_back(names_at(file.hosts, group));
  }
  for (const auto& env : file.envs) variables.push_back(env.first);
  return {{"file", file.file},
          {"format", file.row->name},
          {"backend", file.backend},
          {"variables", variables},
          {"ranks", number_or_null(first_rank(file, file.hosts.size()))},
          {"hosts", std::move(hosts)},
          {"apart", std::move(apart)},
          {"groups", std::move(groups)}};
}

}  // namespace

std::string host_file_summary(const HostFile& file) {
  std::string out = fmt::format("{}: {}, {} host{}", file.file, file.row->name, file.hosts.size(),
                                file.hosts.size() == 1 ? "" : "s");
  if (!file.backend.empty()) out += ", backend " + file.backend;
  // Values may be secrets.
  std::vector<std::string> variables;
  for (const auto& env : file.envs) variables.push_back(env.first);
  if (!variables.empty()) out += ", environment " + join(variables, " ");
  return out;
}

int show_host_file(const HostFile& file, bool as_json, Context& context) {
  if (as_json) {
    *context.out << json_text(file_json(file));
    return 0;
  }
  *context.out << clean(host_file_summary(file)) << "\n";
  print_columns(table_of(file), *context.out);
  print_talk(file, *context.out);
  return 0;
}

}  // namespace plumbline
