#include "tests/cli/reference.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/vocabulary.h"
#include "collectives/schedule.h"
#include "core/diagnosis/cause.h"
#include "core/op.h"
#include "core/options/options.h"
#include "probes/probe.h"
#include "probes/thresholds.h"
#include "reports/report.h"
#include "reports/rules.h"
#include "reports/thresholds.h"
#include "scenarios/host_files/backends.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

// Table cells may not hold a bar.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) safe += c == '|' ? std::string("\\|") : std::string(1, c);
  return safe;
}

std::string commands() {
  std::string text;
  for (const CommandRow& row : command_table()) {
    if (row.hidden) continue;
    text += fmt::format("### plumbline {}\n\n{}.\n\n", row.name, row.help);
    text += "```\n";
    for (const ExampleRow& example : row.examples) {
      text += fmt::format("{}\n    {}\n", example.line, example.help);
    }
    text += "```\n\n";
    if (row.positionals.empty() && row.flags.empty()) continue;
    text += "| argument | meaning |\n|---|---|\n";
    for (const PositionalRow& positional : row.positionals) {
      text += fmt::format("| `{}`{} | {} |\n", positional.name,
                          positional.required ? "" : " (optional)", cell(positional.help));
    }
    for (const FlagRow& flag : row.flags) {
      text += fmt::format("| `{}{}{}` | {} |\n", flag.name, flag.value != nullptr ? " " : "",
                          flag.value != nullptr ? flag.value : "", cell(flag.help));
    }
    if (row.takes_options) text += "| `--OPTION VALUE` | every option of the table below |\n";
    text += "\n";
    if (*row.notes != '\0') text += std::string(row.notes) + "\n\n";
  }
  return text;
}

std::string options() {
  std::string text =
      "| option | default | unit | MCCL's variable | meaning |\n|---|---|---|---|---|\n";
  for (const OptionRow& row : option_table()) {
    const bool refused = row.refused != nullptr;
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name,
                        refused ? "refused" : cell(row.default_value), refused ? "" : row.unit,
                        row.mccl_alias != nullptr ? row.mccl_alias : "",
                        cell(refused ? row.refused : row.help));
  }
  return text;
}

std::string operations() {
  std::string text =
      "| operation | S spans all ranks | bus factor (2, 4 ranks) | meaning |\n|---|---|---|---|\n";
  for (const OpRow& row : op_table()) {
    text += fmt::format("| `{}` | {} | {:g}, {:g} | {} |\n", row.name,
                        row.per_rank_share ? "yes" : "no", row.bus_factor(2), row.bus_factor(4),
                        row.help);
  }
  return text;
}

std::string algorithms() {
  std::string text = "| operation | algorithm | meaning | source |\n|---|---|---|---|\n";
  std::string parameters;
  for (const AlgorithmRow& row : algorithm_table()) {
    const ParameterRow& parameter = row.parameter;
    const bool none = parameter.form == ParameterForm::kNone;
    text += fmt::format("| {} | `{}{}` | {} | {} |\n", to_string(row.op), row.name,
                        none ? "" : fmt::format("[:{}]", parameter.name), cell(row.help),
                        cell(row.source));
    if (none) continue;
    const std::string line = fmt::format("- `{}`: {}.\n", parameter.name, parameter.help);
    if (parameters.find(line) == std::string::npos) parameters += line;
  }
  return text + "\nBehind the colon stands a parameter; without it the usual one is taken:\n\n" +
         parameters +
         "\n`plumbline list algorithms` says what each costs in a world of 8 ranks, and whether "
         "all ranks get the same bits.\n";
}

std::string probes() {
  std::string text = "| probe | meaning | needs | parameters |\n|---|---|---|---|\n";
  for (const ProbeRow& row : probe_table()) {
    std::string params;
    for (const ParamRow& param : row.descriptor.params) {
      params += fmt::format("{}`{}`: {}", params.empty() ? "" : "; ", param.name, param.help);
    }
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.descriptor.name, cell(row.descriptor.help),
                        fmt::join(row.descriptor.requires_, ", "), cell(params));
  }
  return text;
}

std::string transports() {
  std::string text = "| transport | meaning |\n|---|---|\n";
  for (const TransportRow& row : transport_table())
    text += fmt::format("| `{}` | {} |\n", row.name, cell(row.help));
  return text;
}

std::string reports() {
  std::string text = "| report | file | meaning |\n|---|---|---|\n";
  for (const ReportRow& row : report_table()) {
    text +=
        fmt::format("| `{}` | {} | {} |\n", row.descriptor.name,
                    *row.file_name != '\0' ? fmt::format("`{}`", row.file_name) : "standard output",
                    cell(row.descriptor.help));
  }
  return text;
}

std::string host_files() {
  std::string text = "| format | meaning |\n|---|---|\n";
  for (const HostFileFormat& row : host_file_formats())
    text += fmt::format("| `{}` | {} |\n", row.name, cell(row.help));
  text += "\n| backend | meaning |\n|---|---|\n";
  for (const BackendRow& row : backend_table())
    text += fmt::format("| `{}` | {} |\n", row.name, cell(row.help));
  return text;
}

std::string causes() {
  std::string text = "| cause | meaning | seen by | outcome |\n|---|---|---|---|\n";
  for (const CauseRow& row : cause_table()) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.id, cell(row.meaning), cell(row.seen_by),
                        cell(row.outcome));
  }
  return text;
}

std::string link_profiles() {
  std::string text = "| link profile | option | value |\n|---|---|---|\n";
  for (const LinkProfileRow& row : link_profile_table()) {
    text += fmt::format("| `{}` | `{}` | {} |\n", row.profile, row.option, row.value);
  }
  return text;
}

std::string thresholds() {
  std::string text = "| threshold | value | unit | reason |\n|---|---|---|---|\n";
  const auto add = [&text](const auto& table) {
    for (const auto& row : table) {
      text += fmt::format("| `{}` | {:g} | {} | {} |\n", row.name, row.value, cell(row.unit),
                          cell(row.reason));
    }
  };
  add(threshold_table());
  add(link_threshold_table());
  add(soak_threshold_table());
  return text;
}

}  // namespace

std::string reference_markdown() {
  return "# Reference\n\nMade from the program's tables (`plumbline list` shows them too).\n\n## "
         "Commands\n\n" +
         commands() +
         "## Options\n\nEach is a flag (`--chunk-bytes`), a key of a scenario's `config`, and a "
         "variable " +
         "(`PLUMBLINE_CHUNK_BYTES`).\nFlag beats scenario beats `PLUMBLINE_*` beats `MCCL_*` beats "
         "the user's "
         "configuration file beats "
         "link profile beats " +
         "default.\n\n" + options() + "\nWhat `link_profile` sets:\n\n" + link_profiles() +
         "\n## Operations\n\n" + operations() + "\n## Algorithms\n\n" + algorithms() +
         "\n## Transports\n\n" + transports() + "\n## Probes\n\n" + probes() +
         "\n## Causes\n\nWhat `plumbline doctor` can name; [diagnosis.md](diagnosis.md) tells how, "
         "and "
         "how often it is right.\n\n" +
         causes() + "\n## Thresholds\n\nEvery number behind a warning.\n\n" + thresholds() +
         "\n## Host files\n\n[host_files.md](host_files.md) shows them.\n\n" + host_files() +
         "\n## Reports\n\n" + reports() +
         "\n## Metrics\n\nWhat rules can ask for; [rules.md](rules.md) shows how.\n\n" +
         metric_reference_markdown();
}

}  // namespace plumbline
