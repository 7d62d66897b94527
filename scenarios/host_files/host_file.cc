// From a file to its hosts, whatever its format, and back to text.
#include "scenarios/host_files/host_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/host/ip.h"
#include "core/json.h"
#include "scenarios/host_files/formats.h"
#include "scenarios/host_words.h"
#include "scenarios/json_text.h"
#include "scenarios/placement.h"

namespace plumbline {
namespace {

// JSON begins with a bracket, or with a comment before it; an MPI list with the name of a host or
// with #.
bool looks_like_json(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos &&
         std::string_view("{[/\"").find(text[first]) != std::string_view::npos;
}

// What some editors put in front of a text, in words; nullptr: nothing. Neither JSON nor the names
// of hosts may begin with it.
const char* byte_order_mark(const std::string& text) {
  if (text.rfind("\xef\xbb\xbf", 0) == 0) return "UTF-8";
  if (text.rfind("\xff\xfe", 0) == 0 || text.rfind("\xfe\xff", 0) == 0) return "UTF-16";
  return nullptr;
}

bool is_blank_text(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

bool is_scenario(const Json* root) {
  return root != nullptr && root->is_object() && root->contains("plumbline");
}

HostFile file_of_scenario(const std::string& text, const std::string& path, Problems& problems) {
  HostFile out;
  out.row = find_host_file_format("ours");
  out.file = path;
  out.of_scenario = true;
  out.lines = std::make_shared<TextPlaces>(path, text);
  auto scenario = parse_scenario(text, path, {});
  if (!scenario) {
    problems.add_all(std::move(scenario.error()), [](const std::string& where) { return where; });
    return out;
  }
  out.hosts = std::move(scenario->hosts);
  for (size_t i = 0; i < out.hosts.size(); ++i) out.places.push_back(json_path("$.hosts", i));
  return out;
}

enum class Scenarios { kTaken, kRefused };

HostFile read_file(const std::string& path, const std::string& where, int ranks,
                   Scenarios scenarios, Problems& problems) {
  const auto text = read_scenario_text(path, where, problems);
  if (!text) return {};
  if (const char* mark = byte_order_mark(*text); mark != nullptr) {
    problems.add(path + ":1:1", fmt::format("the file begins with a byte order mark ({})", mark),
                 "save it as UTF-8 without one (BOM)");
    return {};
  }
  if (is_blank_text(*text)) {
    problems.add(path + ":1:1", "the file is empty",
                 "a host file begins as {\"hosts\": [{\"name\": ...; docs/host_files.md shows all");
    return {};
  }
  std::optional<Json> root;
  if (looks_like_json(*text)) {
    root = parse_json_text(*text, path, problems);
    if (!root || !problems.empty()) return {};
  }
  Json* json = root ? &*root : nullptr;
  if (!is_scenario(json)) {
    Problems own;
    const auto lines = json != nullptr ? std::make_shared<TextPlaces>(path, *text) : nullptr;
    HostFile out = read_host_text({*text, path, json, ranks}, own);
    out.lines = lines;
    problems.add_all(own.take(), [&out](const std::string& at) { return located(out, at); });
    return out;
  }
  if (scenarios == Scenarios::kTaken) return file_of_scenario(*text, path, problems);
  problems.add(where, fmt::format("{} is a scenario, not a host file", in_quotes(path)),
               "use `include` to build on another scenario");
  return {};
}

// Whatever a format makes names of (destinations of ssh, hosts of MPI), they keep to the grammar.
void check_names(const HostFile& file, Problems& problems) {
  for (size_t i = 0; i < file.hosts.size(); ++i) {
    const std::string where = i < file.places.size() ? file.places[i] : file.file;
    const std::string wrong = host_name_problem(file.hosts[i].name);
    if (!wrong.empty() && !problems.has(where)) problems.add(where, wrong, kHostNameHint);
  }
}

}  // namespace

std::string located(const HostFile& file, const std::string& where) {
  return file.lines == nullptr ? where : file.lines->located(where);
}

HostFile read_host_text(const HostText& in, Problems& problems) {
  for (const HostFileFormat& row : host_file_formats()) {
    if (!row.recognise(in)) continue;
    HostFile out = row.read(in, problems);
    out.row = &row;
    out.file = in.file;
    check_names(out, problems);
    return out;
  }
  problems.add(in.file, "is neither a host file nor a scenario",
               fmt::format("known are {}; docs/host_files.md shows them",
                           fmt::join(row_names(host_file_formats()), ", ")));
  return {};
}

OrProblems<HostFile> load_host_file(const std::string& path) {
  Problems problems;
  HostFile out = read_file(path, path, 0, Scenarios::kTaken, problems);
  if (!problems.empty()) return tl::unexpected(problems.take());
  return out;
}

std::string why_not_runnable(const HostFile& file) {
  if (file.row->names_machines) return {};
  return fmt::format(
      "a {} file names no machines: it says who is wired to whom, not how to reach them",
      file.row->name);
}

OrProblems<std::vector<ScenarioHost>> load_hosts(const std::string& path) {
  auto file = load_host_file(path);
  if (!file) return tl::unexpected(std::move(file.error()));
  const std::string why = why_not_runnable(*file);
  if (why.empty()) return std::move(file->hosts);
  return tl::unexpected(
      std::vector<ScenarioProblem>{{path, why, "give the host file from which it was made"}});
}

HostFile hosts_of_file(const std::string& path, int ranks, Problems& problems) {
  const std::string where = "$.hosts.hostfile";
  Problems own;
  HostFile file = read_file(path, where, ranks, Scenarios::kRefused, own);
  if (own.empty() && !file.row->names_machines) {
    own.add(where, why_not_runnable(file), "give the host file from which it was made");
  }
  problems.add_all(own.take(), [&](const std::string& at) {
    return at == where || at.rfind(path, 0) == 0 ? at : path + ": " + at;
  });
  return file;
}

Expected<WrittenHostFile> write_host_file(const HostFile& file, const HostFileFormat& as,
                                          int port) {
  const bool unreachable = !file.row->names_machines && (as.keeps & kFactReach) != 0;
  if (unreachable) {
    return fail(ErrorCode::kConfig,
                fmt::format("write {} as {}: {}", file.file, as.name, why_not_runnable(file)),
                "start from the host file from which it was made");
  }
  Expected<std::string> text = as.write(file, port);
  if (!text) return fail(text.error());
  WrittenHostFile out{std::move(*text), {}};
  if (file.row != &as) out.lost = lost_facts(file, as.keeps);
  return out;
}

bool is_ring(const HostFile& file) {
  return !file.hosts.empty() && std::all_of(file.hosts.begin(), file.hosts.end(),
                                            [](const ScenarioHost& host) { return host.ring; });
}

Expected<std::vector<std::string>> ring_addresses(const HostFile& file, size_t i) {
  const ScenarioHost& host = file.hosts[i];
  std::vector<std::string> out;
  if (i < file.ips.size()) out = file.ips[i];
  if (!out.empty()) return out;
  const ScenarioHost& before = file.hosts[(i + file.hosts.size() - 1) % file.hosts.size()];
  for (const std::string& own : host.data) {
    if (faces(own, before)) out.push_back(parse_cidr(own).ip);
  }
  // One address alone faces everybody.
  if (out.empty() && host.data.size() == 1) out.push_back(parse_cidr(host.data[0]).ip);
  if (!out.empty()) return out;
  return fail(ErrorCode::kConfig,
              host.data.empty()
                  ? fmt::format("no address is known of {}", host.name)
                  : fmt::format("no data address of {} shares a subnet with {}, the host before it",
                                host.name, before.name),
              host.data.empty() ? "write it into `ips` (MLX) or `data` (our own form)"
                                : "order the hosts along the cables, or correct the addresses");
}

std::string machine_of(const ScenarioHost& host) {
  if (host.local) return "local";
  if (!host.netns.empty()) return "netns " + host.netns;
  return host.ssh.empty() ? "" : fmt::format("ssh {}:{}", without_user(host.ssh), host.port);
}

Expected<std::string> coordinator_address(const HostFile& file) {
  if (!file.coordinator.empty()) return file.coordinator;
  if (!file.ips.empty() && !file.ips[0].empty()) return file.ips[0][0];
  if (file.ips.empty() && !file.hosts.empty() && !file.hosts[0].data.empty()) {
    return parse_cidr(file.hosts[0].data[0]).ip;
  }
  return fail(ErrorCode::kConfig, "no address of rank 0 is known, under which it could coordinate",
              "write one that all others reach into `ips` (MLX) or `data` (our own form) of the "
              "first host");
}

std::string named_coordinator(const HostFile& file) {
  const bool named = !file.coordinator.empty() || (!is_ring(file) && !file.ips.empty());
  return named ? coordinator_address(file).value_or("") : "";
}

ScenarioHost unnamed_host(size_t rank, int ranks) {
  ScenarioHost host;
  host.name = fmt::format("rank{}", rank);
  host.ranks = ranks;
  return host;
}

ScenarioHost host_behind(const std::string& destination, const std::vector<ScenarioHost>& others,
                         int ranks) {
  ScenarioHost host;
  host.ranks = ranks;
  host.local = names_this_machine(destination);
  if (!host.local) host.ssh = destination;
  const std::string plain =
      host.local ? fmt::format("local{}", others.size()) : without_user(destination);
  const auto count = [&others](auto test) {
    return std::count_if(others.begin(), others.end(), test);
  };
  auto number = 1 + count([&plain](const ScenarioHost& other) {
                  return !other.ssh.empty() && without_user(other.ssh) == plain;
                });
  do {
    host.name = number == 1 ? plain : fmt::format("{}-{}", plain, number);
    ++number;
  } while (count([&host](const ScenarioHost& other) { return other.name == host.name; }) > 0);
  return host;
}

Json* list_of_hosts(Json& root) {
  if (root.is_array()) return &root;
  if (!root.is_object() || !root.contains("hosts")) return nullptr;
  return root["hosts"].is_array() ? &root["hosts"] : nullptr;
}

std::string lines_of(const Json& list, const std::string& indent) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    out += (i == 0 ? "\n" : ",\n") + indent + "  " + list[i].dump();
  }
  return out + "\n" + indent + "]";
}

Json cells_json(const ScenarioHost& host) {
  Json row = Json::array();
  for (const std::vector<std::string>& cell : host.rdma) {
    if (cell.empty()) {
      row.push_back(nullptr);
    } else if (cell.size() == 1) {
      row.push_back(cell[0]);
    } else {
      row.push_back(cell);
    }
  }
  return row;
}

}  // namespace plumbline
