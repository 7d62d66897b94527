#include "cli/closed_sets.h"

#include <algorithm>

#include "cli/launch_styles.h"
#include "cli/run_request.h"
#include "cli/vocabulary.h"
#include "collectives/schedule.h"
#include "core/op.h"
#include "core/options/options.h"
#include "core/split.h"
#include "lab/fault.h"
#include "launch/launcher_env.h"
#include "runs/tuning/tune_plan.h"
#include "scenarios/host_files/backends.h"
#include "transport/transports.h"

namespace plumbline {
namespace {

using Words = std::vector<std::string>;

template <typename Rows>
Words names_of(const Rows& rows, Words first = {}) {
  for (const auto& row : rows) {
    const bool fresh = std::find(first.begin(), first.end(), row.name) == first.end();
    if (fresh) first.emplace_back(row.name);
  }
  return first;
}

Words listed(const char* name) {
  for (const NamedTable& candidate : all_tables()) {
    if (candidate.name == name) return names_of(candidate.rows);
  }
  return {};
}

template <typename Rows>
Words nccl_names(const Rows& rows) {
  Words out = {"all"};
  for (const auto& row : rows) {
    if (*row.nccl_name != '\0') out.emplace_back(row.nccl_name);
  }
  return out;
}

Words switches() { return {"0", "1"}; }
Words up_to_three() { return {"0", "1", "2", "3"}; }
Words only_one() { return {"1"}; }
Words launchers() { return launcher_choices(); }
Words backends() { return names_of(backend_table()); }
Words faults() { return names_of(fault_table()); }
Words probes() { return listed("probes"); }
Words operations() { return names_of(op_table()); }

// A number, which depends on how many ranks there are, goes on behind "mod:".
Words ways_to_split() {
  Words out;
  for (const SplitRow& row : split_table()) {
    out.emplace_back(row.name);
    if (row.way != SplitWay::kNone) out.back() += kParameterMark;
  }
  return out;
}

// What a cell's fields are called where one of them may differ (--ignore).
Words fields() { return cell_fields(); }

// The first that names the command and the word counts.
constexpr ClosedSet kSets[] = {
    {"doctor", "--only", probes},
    {"doctor", "--stack", [] { return listed("stacks"); }},
    {"list", "", [] { return names_of(all_tables()); }},
    {"report", "", [] { return listed("reports"); }},
    {"compare", "--ignore", fields},
    {"run", "--ignore", fields},
    {"run", "--launcher", launchers},
    {"submit", "--link-kind", [] { return listed("link-kinds"); }},
    {"results", "",
     [] {
       return Words{"update", "check", "list", "show", "prune"};
     }},
    {"coll", "", operations},
    {"coll", "--average", up_to_three},
    {"coll", "--check", switches},
    {"coll", "--op", [] { return nccl_names(redop_table()); }},
    {"coll", "--datatype", [] { return nccl_names(dtype_table()); }},
    {"coll", "--blocking", up_to_three},
    {"coll", "--ngpus", only_one},
    {"coll", "--nthreads", only_one},
    {"coll", "--parallel_init", switches},
    {"coll", "--format",
     [] {
       return Words{"nccl", "table"};
     }},
    {"coll", "--cache",
     [] {
       return Words{"hot", "cold"};
     }},
    {"coll", "--sync",
     [] {
       return Words{"none", "barrier", "window"};
     }},
    {"coll", "--split", ways_to_split},
    {"coll", "--launcher", launchers},
    {"tune", "--op",
     [] {
       Words out;
       for (const Op op : tunable_ops()) out.emplace_back(to_string(op));
       return out;
     }},
    {"tune", "--launcher", launchers},
    {"hosts", "",
     [] {
       return Words{"show", "check", "convert", "write"};
     }},
    {"hosts", "--backend", backends},
    {"hosts", "--to", [] { return names_of(host_file_formats()); }},
    {"launch", "--as", [] { return names_of(launch_style_table()); }},
    {"launch", "--backend", backends},
    {"launch", "--stdin",
     [] {
       return Words{"0", "all", "none"};
     }},
    {"lab", "",
     [] { return Words{"up", "list", "exec", "faults", "inject", "heal", "down", "matrix"}; }},
    {"lab", "inject", faults},
    {"lab", "heal", faults},
    {"help", "", [] { return listed("commands"); }},
    {"completion", "",
     [] {
       return Words{"bash", "zsh", "fish"};
     }},
};

Words split(const std::string& text) {
  Words out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('|', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

std::span<const ClosedSet> closed_set_table() { return kSets; }

Words first_words(const std::string& command) {
  for (const ClosedSet& set : kSets) {
    if (command == set.command && *set.word == '\0') return set.values();
  }
  return {};
}

Words option_values(const OptionRow& option) {
  const std::string name = option.name;
  if (option.type == OptionType::kBool) return {"on", "off"};
  if (option.choices != nullptr) return split(option.choices);
  if (option.type == OptionType::kNamed) return transport_choices().at(name);
  if (name == "algorithm") return names_of(algorithm_table(), {"auto"});
  if (name == "compression") return names_of(codec_table());
  if (name == "kernel") {
    Words out = listed("kernels");
    out.insert(out.begin(), "auto");
    return out;
  }
  return {};
}

}  // namespace plumbline
