#include "scenarios/key_table.h"

#include <algorithm>
#include <set>

#include "core/op.h"
#include "core/record/cell.h"
#include "core/record/link.h"
#include "scenarios/block_kinds.h"
#include "scenarios/json_text.h"

namespace plumbline {
namespace {

constexpr bool kRequired = true, kOptional = false;
constexpr double kMaxRanks = 1024;
constexpr double kMaxBytes = 1024.0 * 1024 * 1024 * 1024;  // 1 TiB
constexpr double kMaxExact = 9007199254740991.0;  // 2^53 - 1: the same number in every JSON reader

// path, single, list, required, words, default, min, max
constexpr KeyRow kTable[] = {
    {"plumbline", kInt, 0, kRequired, nullptr, "", 1, 1},
    {"question", kText, 0, kOptional, nullptr, "\"\""},
    {"include", kText, kText, kOptional, nullptr, "none"},

    {"hosts", kObject, kObject, kOptional, nullptr, "{\"local\": 2}"},
    {"hosts.local", kInt, 0, kOptional, nullptr, "none", 1, kMaxRanks},
    {"hosts.hostfile", kText, 0, kOptional, nullptr, "none"},
    {"hosts[].name", kText, 0, kRequired, nullptr, ""},
    {"hosts[].local", kBool, 0, kOptional, nullptr, "false"},
    {"hosts[].netns", kText, 0, kOptional, nullptr, "none"},
    {"hosts[].ssh", kText, 0, kOptional, nullptr, "none"},
    {"hosts[].port", kInt, 0, kOptional, nullptr, "as ssh's configuration says", 1, 65535},
    {"hosts[].key", kText, 0, kOptional, nullptr, "as ssh's configuration says"},
    {"hosts[].user", kText, 0, kOptional, nullptr, "as plumbline itself"},
    {"hosts[].binary", kText, 0, kOptional, nullptr, "this program"},
    {"hosts[].data", kText, kText, kOptional, nullptr, "all addresses of the host"},
    {"hosts[].interface", kText, 0, kOptional, nullptr, "any"},
    {"hosts[].speed", kText, 0, kOptional, nullptr, "as the system says"},
    {"hosts[].group", kText, kText, kOptional, nullptr, "talks to all"},
    {"hosts[].rdma", 0, kText | kNull | kTexts, kOptional, nullptr, "none"},
    {"hosts[].ranks", kInt | kText, 0, kOptional, kRanksOfCores, "launch.ranks_per_host", 1,
     kMaxRanks},

    {"launch", kObject, 0, kOptional, nullptr, "{}"},
    {"launch.ranks_per_host", kInt, 0, kOptional, nullptr, "1", 1, kMaxRanks},
    {"launch.port_base", kInt | kText, 0, kOptional, "auto", "29600", 1, 65535},
    {"launch.master_port", kInt, 0, kOptional, nullptr, "29500", 1, 65535},

    {"config", kObject, 0, kOptional, nullptr, "{}"},
    {"config.*", kScalar, 0, kOptional, nullptr, ""},

    {"probes", 0, kText | kObject, kOptional, "@probe", "[]"},
    {"probes[].probe", kText, 0, kRequired, "@probe", ""},
    {"probes[].*", kScalar, kScalar, kOptional, nullptr, ""},

    {"matrix", 0, kObject, kOptional, nullptr, "[]"},
    {"matrix[].kind", kText, 0, kOptional, "@kind", "\"latency\""},
    {"matrix[].op", kText, kText, kRequired, "@op", ""},
    {"matrix[].bytes", kSize | kObject, kSize, kOptional, nullptr, "none", 0, kMaxBytes},
    {"matrix[].bytes.from", kSize, 0, kRequired, nullptr, "", 0, kMaxBytes},
    {"matrix[].bytes.to", kSize, 0, kRequired, nullptr, "", 0, kMaxBytes},
    {"matrix[].bytes.factor", kReal, 0, kOptional, nullptr, "2", 1.01, 1e6},
    {"matrix[].bytes.step", kSize, 0, kOptional, nullptr, "none", 1, kMaxBytes},
    {"matrix[].dtype", kText, kText, kOptional, "@dtype", "\"f32\""},
    {"matrix[].redop", kText, kText, kOptional, "@redop", "\"sum\""},
    {"matrix[].algorithm", kText, kText, kOptional, "@algorithm", "\"auto\""},
    {"matrix[].transport", kText, kText, kOptional, "@transport", "\"auto\""},
    {"matrix[].engine", kText, kText, kOptional, "@engine", "\"native\""},
    {"matrix[].ranks", kInt | kObject, kInt, kOptional, nullptr, "all places", 1, kMaxRanks},
    {"matrix[].oversubscribe", kBool, 0, kOptional, nullptr, "true"},
    {"matrix[].ranks.from", kInt, 0, kRequired, nullptr, "", 1, kMaxRanks},
    {"matrix[].ranks.to", kInt, 0, kRequired, nullptr, "", 1, kMaxRanks},
    {"matrix[].hosts", kInt | kText | kObject, kInt | kText | kTexts, kOptional, "all|pairs|groups",
     "\"all\"", 1, kMaxRanks},
    {"matrix[].hosts.from", kInt, 0, kRequired, nullptr, "", 1, kMaxRanks},
    {"matrix[].hosts.to", kInt, 0, kOptional, nullptr, "all hosts", 1, kMaxRanks},
    {"matrix[].distribution", kText, kText, kOptional, "block|cyclic", "\"block\""},
    {"matrix[].root", kInt | kText, kInt, kOptional, "all", "0", 0, kMaxRanks - 1},
    {"matrix[].placement", kText, kText, kOptional, "out|in|both", "\"out\""},
    {"matrix[].sync", kText, kText, kOptional, "barrier|none|window", "\"barrier\""},
    {"matrix[].outstanding", kInt, kInt, kOptional, nullptr, "1", 1, 1024},
    {"matrix[].repeat", kInt, 0, kOptional, nullptr, "1", 1, 1000},
    {"matrix[].stop", kObject, 0, kOptional, nullptr, "{}"},
    {"matrix[].stop.ci", kReal, 0, kOptional, nullptr, "0.05", 0, 10},
    {"matrix[].stop.min_n", kInt, 0, kOptional, nullptr, "30", 1, 1e9},
    {"matrix[].stop.max_n", kInt, 0, kOptional, nullptr, "100000", 1, 1e9},
    {"matrix[].stop.max_time", kDuration, 0, kOptional, nullptr, "\"2s\""},
    {"matrix[].time", kDuration, 0, kOptional, nullptr, "\"500ms\""},
    {"matrix[].measure", kText, kText, kOptional, "@measure", "all of them"},
    {"matrix[].streams", kInt, kInt, kOptional, nullptr, "4", 1, 128},
    {"matrix[].rate", kText, kText, kOptional, nullptr, "\"50Mbit\""},
    {"matrix[].datagram", kSize, 0, kOptional, nullptr, "1200", 24, 65507},
    {"matrix[].config", kObject, 0, kOptional, nullptr, "{}"},
    {"matrix[].config.*", kScalar, 0, kOptional, nullptr, ""},

    {"trace", kObject, 0, kOptional, nullptr, "{}"},
    {"trace.keep", kText, 0, kOptional, "always|failures|never", "\"never\""},

    {"report", kText, kText, kOptional, "@report", "[\"console\"]"},
    {"checklist", 0, kObject, kOptional, nullptr, "[]"},
    {"checklist[].item", kText, 0, kRequired, nullptr, ""},
    {"checklist[].probes", kText, kText, kOptional, "@probe", "none"},
    {"checklist[].cells", kText, kText, kOptional, nullptr, "none"},
    {"expect", 0, kObject, kOptional, nullptr, "[]"},
    {"expect[].where", kObject, 0, kOptional, nullptr, "{}"},
    {"expect[].where.config", kObject, 0, kOptional, nullptr, "{}"},
    {"expect[].where.config.*", kScalar, kScalar, kOptional, nullptr, ""},
    {"expect[].where.*", kScalar, kScalar, kOptional, nullptr, ""},
    {"expect[].*", kScalar, kScalar, kOptional, nullptr, ""},
    {"expect[].name", kText, 0, kOptional, nullptr, "none"},
    {"expect[].message", kText, 0, kOptional, nullptr, "none"},
    {"expect[].baseline", kText, 0, kOptional, nullptr, "that of `--baseline`"},
    {"expect[].optional", kBool, 0, kOptional, nullptr, "false"},
    {"expect[].from", kText, 0, kOptional, nullptr, "this file and place"},
    {"seed", kInt, 0, kOptional, nullptr, "a new one each run, recorded", 0, kMaxExact},
    {"roofs", kBool, 0, kOptional, nullptr, "true"},
};

constexpr RefusedKeyRow kRefused[] = {
    {"hosts[].ips",
     "is a key of MLX's host files, whose entries have neither `name` nor `data`: write the "
     "addresses under test into `data`, or keep the file as it is and give it as `hostfile`"},
};

std::vector<std::string> with_first(std::vector<std::string> first,
                                    const std::vector<Descriptor>& rows) {
  if (rows.empty()) return {};
  std::set<std::string> seen(first.begin(), first.end());
  for (const Descriptor& row : rows) {
    if (seen.insert(row.name).second) first.push_back(row.name);
  }
  return first;
}

std::vector<std::string> parted_words(std::string_view words) {
  std::vector<std::string> out;
  while (!words.empty()) {
    const size_t bar = std::min(words.find('|'), words.size());
    out.emplace_back(words.substr(0, bar));
    words.remove_prefix(std::min(bar + 1, words.size()));
  }
  return out;
}

}  // namespace

std::span<const KeyRow> key_table() { return kTable; }
std::span<const RefusedKeyRow> refused_key_table() { return kRefused; }

const KeyRow* find_key(const std::string& path) {
  const size_t dot = path.rfind('.');
  const std::string any = dot == std::string::npos ? "*" : path.substr(0, dot + 1) + "*";
  const KeyRow* wildcard = nullptr;
  for (const KeyRow& row : kTable) {
    if (path == row.path) return &row;
    if (any == row.path) wildcard = &row;
  }
  return wildcard;
}

std::vector<const KeyRow*> keys_within(const std::string& prefix) {
  std::vector<const KeyRow*> rows;
  for (const KeyRow& row : kTable) {
    const std::string_view path = row.path;
    if (path.substr(0, prefix.size()) != prefix) continue;
    if (path.substr(prefix.size()).find('.') == std::string_view::npos) rows.push_back(&row);
  }
  return rows;
}

std::vector<std::string> accepted_words(const KeyRow& row, const Vocabulary& vocabulary) {
  if (row.words == nullptr) return {};
  const std::string_view words = row.words;
  if (words == "@op") {
    std::vector<std::string> names = row_names(op_table());
    for (const BlockKindRow& block : block_kind_table()) {
      if (block.own_op != nullptr) names.emplace_back(block.own_op);
    }
    return names;
  }
  if (words == "@kind") return asked_kinds();
  if (words == "@measure") return row_names(link_measure_table());
  if (words == "@dtype") return row_names(dtype_table());
  if (words == "@redop") return row_names(redop_table());
  if (words == "@algorithm") return with_first({"auto", "all"}, vocabulary.algorithms);
  if (words == "@transport") return with_first({"auto"}, vocabulary.transports);
  if (words == "@engine") return with_first({}, vocabulary.engines);
  if (words == "@probe") return with_first({}, vocabulary.probes);
  if (words == "@report") return with_first({}, vocabulary.reports);
  return parted_words(words);
}

}  // namespace plumbline
