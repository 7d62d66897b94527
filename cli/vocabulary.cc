#include "cli/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cli/commands.h"
#include "cli/named_inputs.h"
#include "collectives/engine.h"
#include "collectives/schedule.h"
#include "core/codec.h"
#include "core/diagnosis/cause.h"
#include "core/host/requirement.h"
#include "core/op.h"
#include "core/options/options.h"
#include "core/record/cell.h"
#include "core/split.h"
#include "kernels/kernels.h"
#include "probes/probe.h"
#include "probes/stacks/stack.h"
#include "probes/thresholds.h"
#include "reports/import/importer.h"
#include "reports/links/link_kinds.h"
#include "reports/report.h"
#include "reports/rules.h"
#include "reports/thresholds.h"
#include "scenarios/host_files/backends.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

Descriptor describe(std::string name, std::string help, std::string group = "") {
  Descriptor descriptor;
  descriptor.name = std::move(name);
  descriptor.help = std::move(help);
  descriptor.group = std::move(group);
  return descriptor;
}

std::string algorithm_unsupported(const std::string& op, const std::string& algorithm, int ranks,
                                  uint64_t count) {
  const SplitName name = split_algorithm(algorithm);
  for (const AlgorithmRow& row : algorithm_table()) {
    if (op != plumbline::row(row.op).name || name.base != row.name) continue;
    const Expected<AlgorithmParameter> parameter = read_parameter(row.parameter, name);
    if (!parameter) return parameter.error().what + ": " + parameter.error().hint;
    ScheduleRequest request;
    request.op = row.op;
    request.size = ranks;
    request.count = count;
    request.parameter = *parameter;
    return row.unsupported(request);
  }
  return "no such algorithm for " + op;
}

template <bool RanksInProcess>
std::string transport_unsupported(const std::string& name) {
  for (const TransportRow& row : transport_table()) {
    if (name == row.name) return row.unavailable(RanksInProcess);
  }
  return {};
}

template <bool RanksInProcess>
std::string cell_unsupported(const Cell& cell) {
  return engine_unsupported(cell, RanksInProcess);
}

std::vector<Descriptor> transports() {
  std::vector<Descriptor> rows;
  for (const TransportRow& row : transport_table()) {
    const std::string reason = row.unavailable(false);
    rows.push_back(
        describe(row.name, row.help + (reason.empty() ? "" : " [not usable: " + reason + "]")));
  }
  return rows;
}

std::vector<Descriptor> algorithms() {
  std::vector<Descriptor> rows;
  for (const AlgorithmRow& row : algorithm_table()) {
    rows.push_back(describe(row.name, row.help, plumbline::row(row.op).name));
    const ParameterRow& parameter = row.parameter;
    if (parameter.form == ParameterForm::kNone) continue;
    const bool number = parameter.form == ParameterForm::kNumber;
    const char* numbers = parameter.takes_order ? "rings" : "number";
    rows.back().params.push_back({parameter.name, number ? numbers : "radices",
                                  number ? std::to_string(parameter.usual) : "prime factors", "",
                                  parameter.help});
  }
  return rows;
}

// What it costs in a world of a few ranks, from the schedules themselves, and what it promises.
std::string costs_of(const AlgorithmRow& algorithm) {
  constexpr uint64_t kCount = 840 * 1024;  // parts that every small number divides
  ScheduleRequest request;
  request.op = algorithm.op;
  request.count = kCount;
  request.segment_bytes = std::numeric_limits<uint64_t>::max();
  const OpRow& op = plumbline::row(algorithm.op);
  request.size = 8;
  if (!algorithm.unsupported(request).empty()) request.size = 2;
  ScheduleCost most;
  for (request.rank = 0; request.rank < request.size; ++request.rank) {
    const ScheduleCost cost = cost_of(algorithm, request);
    most.depth = std::max(most.depth, cost.depth);
    most.send_bytes = std::max(most.send_bytes, cost.send_bytes);
  }
  const uint64_t parts = op.per_rank_share ? static_cast<uint64_t>(request.size) : 1;
  const double arrays = static_cast<double>(most.send_bytes) /
                        static_cast<double>(kCount * request.elem_size * parts);
  std::string text =
      fmt::format("{} ranks: {} step{}", request.size, most.depth, most.depth == 1 ? "" : "s");
  if (algorithm.op != Op::kBarrier) text += fmt::format(", a rank sends up to {:.3g} S", arrays);
  const bool all_get_it = op.reduces && !op.rooted && !op.per_rank_share;
  if (all_get_it)
    text += algorithm.same_bits ? ", same bits on all ranks" : ", bits may differ between ranks";
  return text;
}

// For people: with costs and source.
std::vector<Descriptor> algorithms_in_full() {
  std::vector<Descriptor> rows = algorithms();
  for (size_t i = 0; i < rows.size(); ++i) {
    const AlgorithmRow& row = algorithm_table()[i];
    rows[i].help += fmt::format("; {} ({})", costs_of(row), row.source);
  }
  return rows;
}

std::vector<Descriptor> splits() {
  std::vector<Descriptor> rows;
  for (const SplitRow& row : split_table()) rows.push_back(describe(row.name, row.help));
  return rows;
}

std::vector<Descriptor> codecs() {
  std::vector<Descriptor> rows;
  for (const CodecRow& row : codec_table()) rows.push_back(describe(row.name, row.help));
  return rows;
}

std::vector<Descriptor> engines() {
  std::vector<Descriptor> rows;
  for (const EngineRow& row : engine_table()) {
    const std::string reason = row.unavailable();
    rows.push_back(
        describe(row.name, row.help + (reason.empty() ? "" : " [not usable: " + reason + "]")));
  }
  return rows;
}

std::vector<Descriptor> stacks() {
  std::vector<Descriptor> rows;
  for (const StackRow& row : stack_table()) {
    Descriptor& out = rows.emplace_back(describe(row.name, row.help));
    for (const StackVariable& variable : row.variables) {
      out.params.push_back({variable.name, "text", "", "", variable.effect});
    }
  }
  return rows;
}

std::vector<Descriptor> probes() {
  std::vector<Descriptor> rows;
  for (const ProbeRow& row : probe_table()) rows.push_back(row.descriptor);
  return rows;
}

std::vector<Descriptor> reports() {
  std::vector<Descriptor> rows;
  for (const ReportRow& row : report_table()) rows.push_back(row.descriptor);
  return rows;
}

std::vector<Descriptor> options() {
  std::vector<Descriptor> rows;
  for (const OptionRow& row : option_table()) {
    std::string help = row.refused != nullptr ? std::string("refused: ") + row.refused : row.help;
    if (row.mccl_alias != nullptr) help += std::string(" [") + row.mccl_alias + "]";
    Descriptor descriptor = describe(row.name, std::move(help));
    if (row.refused == nullptr) {
      descriptor.params.push_back({"default", "", row.default_value, row.unit, ""});
    }
    rows.push_back(std::move(descriptor));
  }
  return rows;
}

}  // namespace

Vocabulary make_vocabulary(bool ranks_in_process) {
  return {probes(),
          transports(),
          algorithms(),
          reports(),
          algorithm_unsupported,
          metric_descriptors(),
          ranks_in_process ? transport_unsupported<true> : transport_unsupported<false>,
          engines(),
          ranks_in_process ? cell_unsupported<true> : cell_unsupported<false>,
          algorithm_malformed};
}

std::vector<NamedTable> all_tables() {
  NamedTable commands{"commands", "Commands (plumbline COMMAND --help)", {}};
  for (const CommandRow& row : command_table()) {
    if (!row.hidden) commands.rows.push_back(describe(row.name, row.help));
  }
  NamedTable ops{"operations", "Operations that can be measured", {}};
  for (const OpRow& row : op_table()) ops.rows.push_back(describe(row.name, row.help));
  NamedTable kinds{"kinds", "Kinds of cells (scenario key `kind`)", {}};
  for (const CellKindRow& row : cell_kind_table())
    kinds.rows.push_back(describe(row.name, row.help));
  NamedTable dtypes{"dtypes", "Element types (nccl-tests' name behind)", {}};
  for (const DTypeRow& row : dtype_table())
    dtypes.rows.push_back(describe(row.name, row.nccl_name));
  NamedTable redops{"redops", "Reduction operators", {}};
  for (const RedOpRow& row : redop_table())
    redops.rows.push_back(describe(row.name, row.nccl_name));
  NamedTable kernels{"kernels", "SIMD targets of this CPU, best first", {}};
  for (const KernelSet* set : kernel_sets()) kernels.rows.push_back(describe(set->target, ""));
  NamedTable features{"features", "What a row may require of the machine", {}};
  for (const FeatureRow& row : feature_table()) {
    const std::string missing = row.missing();
    features.rows.push_back(describe(
        row.name, row.help + std::string(missing.empty() ? " [present]" : " [" + missing + "]")));
  }
  NamedTable causes{"causes", "Root causes that plumbline doctor can name", {}};
  for (const CauseRow& row : cause_table()) causes.rows.push_back(describe(row.id, row.meaning));
  NamedTable host_files{"host-files", "Formats of host files (plumbline hosts)", {}};
  for (const HostFileFormat& row : host_file_formats()) {
    host_files.rows.push_back(describe(row.name, row.help));
  }
  NamedTable backends{"backends", "What host files are for (plumbline hosts check --backend)", {}};
  for (const BackendRow& row : backend_table()) {
    backends.rows.push_back(describe(row.name, row.help));
  }
  NamedTable link_kinds{"link-kinds", "Kinds of links (plumbline submit --link-kind)", {}};
  for (const LinkKindRow& row : link_kind_table()) {
    link_kinds.rows.push_back(describe(row.name, row.help));
  }
  NamedTable importers{"importers", "Output of other tools that report reads", {}};
  for (const ImportRow& row : import_table()) importers.rows.push_back(row.descriptor);
  NamedTable scenarios{"scenarios", "Scenarios that ship with plumbline (plumbline run NAME)", {}};
  for (const NamedScenario& row : named_scenarios()) {
    scenarios.rows.push_back(describe(row.name, row.question));
  }
  NamedTable thresholds{"thresholds", "Numbers behind warnings", {}};
  const auto add = [&thresholds](const auto& table) {
    for (const auto& row : table) {
      thresholds.rows.push_back(
          describe(row.name, fmt::format("{:g} {}: {}", row.value, row.unit, row.reason)));
    }
  };
  add(threshold_table());
  add(link_threshold_table());
  add(soak_threshold_table());
  return {commands,
          {"probes", "Probes (plumbline doctor, scenario key `probes`)", probes()},
          {"stacks", "Libraries of a job of one's own (plumbline doctor --stack)", stacks()},
          {"transports", "Transports", transports()},
          {"engines", "Engines (scenario key `engine`)", engines()},
          {"codecs", "Compression (scenario key `compression`, coll --compression)", codecs()},
          {"splits", "Groups by colour (scenario key `split`, coll --split)", splits()},
          kinds,
          ops,
          {"algorithms", "Algorithms, by operation; S: the array, or all ranks' parts of it",
           algorithms_in_full()},
          dtypes,
          redops,
          kernels,
          {"reports", "Reports (plumbline report NAME FILE)", reports()},
          importers,
          {"metrics", "Metrics of rules, by unit (scenario key `expect`, rule files)",
           metric_descriptors()},
          {"options", "Options: --NAME, scenario `config`, PLUMBLINE_NAME", options()},
          scenarios,
          host_files,
          backends,
          link_kinds,
          causes,
          thresholds,
          features};
}

}  // namespace plumbline
