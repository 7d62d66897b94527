// The rest of the page: soaks, checks, what noise means, the machines, and how to repeat the run.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/diagnosis/finding.h"
#include "core/shell_words.h"
#include "core/text.h"
#include "core/units.h"
#include "reports/content.h"
#include "reports/html/page.h"
#include "reports/soak/soak_verdict.h"
#include "reports/text.h"

namespace plumbline {
namespace {

// What a cause of noise means for who reads the numbers.
struct NoiseWord {
  const char* cause;
  const char* meaning;
};
constexpr NoiseWord kNoise[] = {
    {"oversubscribed",
     "more busy threads than usable cores: ranks wait for the scheduler. Compare these rows only "
     "with one another, on the same machine."},
    {"load", "other programs wanted the cores too. Stop them, or measure at another time."},
    {"cv",
     "a few slow operations stand apart from the rest; see their tails. Trust medians, not "
     "means."},
    {"steal", "the hypervisor gave the cores to somebody else meanwhile."},
    {"short interval", "the time is so short that reading the clock is more than 1 % of it."},
    {"involuntary switches",
     "operations lost their core in the middle: p95 and above show the scheduler, not the "
     "network."},
    {"warm-up not converged",
     "medians still moved when warming up ended; a longer run would settle."},
    {"clock error", "the ranks' clocks are known no better than the given bound."},
    {"late samples", "some rank was not ready at the common start."},
};

std::string meaning_of(const std::string& cause) {
  for (const NoiseWord& word : kNoise) {
    if (cause == word.cause) return word.meaning;
  }
  return {};
}

Table noise_table(const View& view) {
  std::map<std::string, size_t> counts;
  size_t judged = 0;
  for (const Item& item : view.items) {
    if (!item.valid()) continue;
    ++judged;
    for (const std::string& cause : item.record->noise.causes) ++counts[clean(cause)];
  }
  Table table;
  table.columns = {{"", "cause", "", true, 0, false},
                   {"", "records", "", false, 0, false},
                   {"", "of", "", false, 0, false},
                   {"", "what it means", "", true, 0, true}};
  for (const auto& [cause, count] : counts) {
    table.rows.push_back(
        {{cause, std::to_string(count), std::to_string(judged), meaning_of(cause)}});
  }
  return without_empty_columns(table);
}

Table host_table(const View& view, size_t most, size_t& left_out) {
  Table table;
  table.columns = {
      {"", "machine", "", true, 0, false},       {"", "processor", "", true, 0, true},
      {"", "cores usable", "", false, 0, false}, {"", "memory", "", true, 0, true},
      {"", "system", "", true, 0, true},         {"", "kernel", "", true, 0, true},
      {"", "virtualised", "", true, 0, true},    {"", "governor", "", true, 0, true},
      {"", "clock", "", true, 0, true},          {"", "TCP by default", "", true, 0, true},
      {"", "load at start", "", false, 0, true}};
  std::set<std::string> seen;
  for (const Item& item : view.items) {
    for (const HostFacts& host : item.record->environment.hosts) {
      if (!seen.insert(host.hostname + "\n" + host.boot_id).second) continue;
      if (table.rows.size() >= most) {
        ++left_out;
        continue;
      }
      const std::string name = host.hostname.empty() ? "(no name)" : host.hostname;
      table.rows.push_back(
          {{name, host.cpu_model, fmt::format("{} of {}", host.cores_usable, host.cores_online),
            host.memory_bytes > 0 ? format_bytes(host.memory_bytes) : "", host.os, host.kernel,
            host.virtualisation.value_or(""), host.governor.value_or(""),
            host.clock_source.value_or(""), host.congestion_control.value_or(""),
            host.load1 ? fmt::format("{:.2f}", *host.load1) : ""}});
    }
  }
  return without_empty_columns(table);
}

// Interfaces that were up and carried addresses.
Table nic_table(const View& view, size_t most) {
  Table table;
  table.columns = {{"", "machine", "", true, 0, false}, {"", "interface", "", true, 0, false},
                   {"", "kind", "", true, 0, true},     {"", "speed", "", false, 0, true},
                   {"", "MTU", "B", false, 0, false},   {"", "addresses", "", true, 0, false}};
  std::set<std::string> seen;
  for (const Item& item : view.items) {
    for (const HostFacts& host : item.record->environment.hosts) {
      for (const Nic& nic : host.nics) {
        if (!nic.up || nic.addresses.empty() || table.rows.size() >= most) continue;
        std::vector<std::string> addresses;
        for (const NicAddress& a : nic.addresses) {
          addresses.push_back(fmt::format("{}/{}", a.ip, a.prefix));
        }
        const std::string list = join(addresses, ", ");
        if (!seen.insert(host.hostname + "\n" + nic.name + "\n" + list).second) continue;
        const std::string speed =
            nic.speed_bps ? fmt::format("{:g} Gb/s", static_cast<double>(*nic.speed_bps) / 1e9)
                          : "";
        table.rows.push_back(
            {{host.hostname, nic.name, nic.kind, speed, std::to_string(nic.mtu), list}});
      }
    }
  }
  return without_empty_columns(table);
}

// Options that somebody set; where records differ, each value.
Table option_table(const View& view) {
  Table table;
  table.columns = {{"", "option", "", true}, {"", "value", "", true}, {"", "set by", "", true}};
  std::set<std::vector<std::string>> seen;
  for (const Item& item : view.items) {
    for (const auto& [name, option] : item.record->environment.options) {
      if (option.origin == "default") continue;
      const std::vector<std::string> row = {name, option.value, option.origin};
      if (seen.insert(row).second) table.rows.push_back({row, Tone::kPlain});
    }
  }
  return table;
}

Table version_table(const View& view) {
  Table table;
  table.columns = {{"", "what", "", true}, {"", "version", "", true}};
  std::set<std::pair<std::string, std::string>> seen;
  for (const Item& item : view.items) {
    if (seen.insert({"plumbline (records)", item.record->suite_version}).second) {
      table.rows.push_back({{"plumbline (records)", item.record->suite_version}});
    }
    for (const HostFacts& host : item.record->environment.hosts) {
      for (const auto& [name, version] : host.libraries) {
        if (seen.insert({name, version}).second) table.rows.push_back({{name, version}});
      }
    }
  }
  return table;
}

void fold(const std::string& title, const Table& table, Page& page, HtmlWriter& html) {
  if (table.rows.empty()) return;
  const auto details = html.in("details");
  write_summary(title, table.rows.size(), html);
  write_table(table, title, page.rows, html);
}

std::vector<std::string> commands_of(const View& view) {
  std::vector<std::string> commands;
  std::set<std::vector<std::string>> seen;
  for (const Item& item : view.items) {
    const std::vector<std::string>& command = item.record->environment.command;
    if (command.empty() || !seen.insert(command).second) continue;
    commands.push_back(escaped(shell_line(command)));  // one line each
  }
  return commands;
}

// What lies beside the page, by names of our own.
constexpr std::pair<const char*, const char*> kBeside[] = {
    {"records.jsonl", "all records, one JSON object a line, with their samples"},
    {"records.csv", "the same as a table"},
    {"report.md", "this report as Markdown"},
    {"plots", "the plots as SVG and PNG, with data and gnuplot scripts"},
    {"links", "link matrices: heat maps, topology"},
    {"soak", "the soak with its pictures"},
    {"doctor.json", "findings and checks of the probes"},
    {"evidence.json", "what they were decided from"},
    {"traces", "packet captures"},
};

// Whether the records that the page tells of lie in the same folder: only then are the other files
// there of the same run, and not somebody else's of the same name.
bool is_folder_of_run(const Page& page) {
  if (page.directory.empty()) return false;
  const std::filesystem::path path = std::filesystem::path(page.directory) / "records.jsonl";
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  std::ifstream file(path, std::ios::binary);
  constexpr size_t kStart = 256 << 10;
  std::string start(kStart, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  std::set<std::string> runs;
  for (const Item& item : page.view->items) {
    const std::string& run = item.record->run_id;
    if (run.empty() || !runs.insert(run).second) continue;
    if (start.find("\"run_id\":\"" + run + "\"") != std::string::npos) return true;
  }
  return false;
}

void write_beside(const Page& page, HtmlWriter& html) {
  if (!is_folder_of_run(page)) return;
  std::vector<std::pair<const char*, const char*>> there;
  for (const auto& row : kBeside) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::path(page.directory) / row.first, error)) {
      there.emplace_back(row);
    }
  }
  if (there.empty()) return;
  html.element("h3", "Beside this file");
  const auto list = html.in("ul");
  for (const auto& [name, what] : there) {
    const auto item = html.in("li");
    html.element("a", name, {{"href", name}});
    html.text(std::string(": ") + what);
  }
}

}  // namespace

bool has_soaks(const Page& page) { return !page.input->soaks.empty(); }
void write_soaks(Page& page, HtmlWriter& html) {
  Document document;
  add_soaks(page.input->soaks, document);
  write_document(document, page.rows, html);
}

bool has_checks(const Page& page) {
  const auto open = [](const Check& check) { return check.outcome != CheckOutcome::kPass; };
  return !check_table(*page.view).rows.empty() ||
         std::any_of(page.input->checks.begin(), page.input->checks.end(), open);
}

void write_checks(Page& page, HtmlWriter& html) {
  if (const Table table = check_table(*page.view); !table.rows.empty()) {
    write_table(table, "Correctness of every element", page.rows, html);
    Document failures;
    failures.list(check_failures(*page.view));
    write_document(failures, page.rows, html);
  }
  Table open;
  open.columns = {
      {"", "check", "", true}, {"", "what was seen", "", true}, {"", "outcome", "", true}};
  const Standings standings(page.input->findings);
  for (const Standing standing : {Standing::kFail, Standing::kWarn, Standing::kNote,
                                  Standing::kUnknown, Standing::kSkipped}) {
    for (const Check& check : page.input->checks) {
      if (standings.of(check) != standing) continue;
      const Tone tone = standing == Standing::kFail   ? Tone::kBad
                        : standing == Standing::kWarn ? Tone::kWarn
                                                      : Tone::kPlain;
      open.rows.push_back({{check.key, check.reason, to_string(standing)}, tone});
    }
  }
  if (open.rows.empty()) return;
  const size_t all = open.rows.size();
  if (all > page.limits.rows.one_table) open.rows.resize(page.limits.rows.one_table);
  fold(fmt::format("Checks of the probes that did not pass, {} of {}", all,
                   page.input->checks.size()),
       open, page, html);
  if (all > open.rows.size()) {
    write_note(fmt::format("{} more in doctor.json", all - open.rows.size()), html);
  }
}

bool has_noise(const Page& page) { return !noise_table(*page.view).rows.empty(); }
void write_noise(Page& page, HtmlWriter& html) {
  write_note(
      "A noisy number is not wrong, but something other than the network influenced it. What was "
      "seen, and what it means:",
      html);
  write_table(noise_table(*page.view), "Causes of noise", page.rows, html);
  const std::string cost = cost_text(page.input->records);
  if (!cost.empty()) write_note(cost + ".", html);
}

bool has_environment(const Page& page) { return !page.view->items.empty(); }
void write_environment(Page& page, HtmlWriter& html) {
  size_t left_out = 0;
  const Table hosts = host_table(*page.view, page.limits.listed, left_out);
  write_table(hosts, "Machines", page.rows, html);
  if (left_out > 0) write_note(fmt::format("{} more machines in records.jsonl", left_out), html);
  const std::string data = verification_text(*page.view);
  if (!data.empty()) write_note(data + ".", html);
  const std::string congestion = congestion_text(*page.view);
  if (!congestion.empty()) write_note(congestion + ".", html);
  write_table(option_table(*page.view), "Options that were set", page.rows, html);
  fold("Network interfaces", nic_table(*page.view, page.limits.listed), page, html);
  fold("Versions", version_table(*page.view), page, html);
}

bool has_reproduction(const Page& page) {
  return !page.view->items.empty() || !page.input->scenario_text.empty();
}

void write_reproduction(Page& page, HtmlWriter& html) {
  const std::vector<std::string> commands = commands_of(*page.view);
  constexpr size_t kMostCommands = 10;
  {
    const auto box = html.in("div", {{"class", "commands"}});
    for (size_t i = 0; i < std::min(kMostCommands, commands.size()); ++i) {
      html.preformatted(commands[i], page.limits.text_bytes);
    }
  }
  if (commands.size() > kMostCommands) {
    write_note(fmt::format("{} more commands in records.jsonl", commands.size() - kMostCommands),
               html);
  }
  if (const Record* planned = planned_record(*page.view)) {
    write_note(fmt::format("The same cells in the same order: add --seed {}. Plan {}.",
                           planned->seed, planned->plan_hash.substr(0, 16)),
               html);
  }
  if (!page.input->scenario_text.empty()) {
    const auto details = html.in("details");
    html.element("summary", "The scenario, as it was read (scenario.json)");
    html.preformatted(page.input->scenario_text, page.limits.scenario_bytes);
  }
  write_beside(page, html);
}

}  // namespace plumbline
