
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/codec.h"
#include "core/json.h"
#include "core/options/options.h"
#include "core/record/link.h"
#include "core/split.h"
#include "core/units.h"
#include "scenarios/block_kinds.h"
#include "scenarios/json_text.h"
#include "scenarios/read.h"

namespace plumbline {
namespace {

uint64_t size_of_value(const Json& value) {
  return value.is_string() ? *parse_bytes(value.get_ref<const std::string&>())
                           : whole_number(value);
}

// One value or a list, each through `read`.
template <typename T, typename Read>
std::vector<T> values_of(const Json& value, Read read) {
  std::vector<T> out;
  if (!value.is_array()) return {read(value)};
  for (const Json& element : value) out.push_back(read(element));
  return out;
}

int int_of(const Json& value) { return static_cast<int>(whole_number(value)); }

// from, from * factor or from + step ... up to and including `to`.
std::vector<uint64_t> expand_sizes(uint64_t from, uint64_t to, double factor, uint64_t step) {
  std::vector<uint64_t> out;
  for (uint64_t size = from; size <= to && out.size() <= kMaxRangeSizes;) {
    out.push_back(size);
    if (step > 0) {
      size += step;
    } else {
      // A factor near 1 must still move on.
      const double next = std::round(static_cast<double>(size) * factor);
      size = std::max(size + 1, static_cast<uint64_t>(next));
    }
  }
  return out;
}

std::vector<uint64_t> read_size_range(const Json& range, const std::string& where,
                                      Problems& problems) {
  if (!range.contains("from") || !range.contains("to")) return {};
  const uint64_t from = size_of_value(range["from"]), to = size_of_value(range["to"]);
  const bool by_factor = range.contains("factor"), by_step = range.contains("step");
  if (from > to) {
    problems.add(
        where, fmt::format("'from' ({}) is above 'to' ({})", format_bytes(from), format_bytes(to)),
        "exchange them");
    return {};
  }
  if (by_factor && by_step) {
    problems.add(where, "has both 'factor' and 'step'", "keep one of them");
    return {};
  }
  if (from == 0 && !by_step) {
    problems.add(where + ".from", "is 0, and 0 times a factor stays 0",
                 "begin at 1 or use 'step'; a list such as [0, 8, 64] can hold 0");
    return {};
  }
  const double factor = by_factor ? range["factor"].get<double>() : 2.0;
  const uint64_t step = by_step ? size_of_value(range["step"]) : 0;
  std::vector<uint64_t> sizes = expand_sizes(from, to, factor, step);
  if (sizes.size() > kMaxRangeSizes) {
    problems.add(where, fmt::format("is more than {} sizes", kMaxRangeSizes),
                 "use a larger 'factor' or 'step'");
    return {};
  }
  return sizes;
}

std::vector<int> read_ranks(const Json& value, const std::string& where, Problems& problems) {
  if (!value.is_object()) return values_of<int>(value, int_of);
  if (!value.contains("from") || !value.contains("to")) return {};
  const int from = int_of(value["from"]), to = int_of(value["to"]);
  if (from > to) {
    problems.add(where, fmt::format("'from' ({}) is above 'to' ({})", from, to), "exchange them");
    return {};
  }
  std::vector<int> ranks(static_cast<size_t>(to - from + 1));
  std::iota(ranks.begin(), ranks.end(), from);
  return ranks;
}

HostChoice read_host_choice(const Json& value) {
  HostChoice choice;
  if (value.is_string()) {
    choice.word = value.get<std::string>();
    return choice;
  }
  choice.word.clear();
  if (value.is_array()) {
    choice.names = texts(value);
  } else if (value.is_object()) {
    choice.first = static_cast<size_t>(whole_number(value["from"]));
    if (value.contains("to")) choice.last = static_cast<size_t>(whole_number(value["to"]));
  } else {
    choice.first = choice.last = static_cast<size_t>(whole_number(value));
  }
  return choice;
}

std::vector<HostChoice> read_hosts_axis(const Json& value, const std::string& where,
                                        Problems& problems) {
  if (value.is_object() && !value.contains("from")) return {{}};  // reported with the shapes
  const auto choices = values_of<HostChoice>(value, read_host_choice);
  for (const HostChoice& choice : choices) {
    if (choice.last == 0 || choice.first <= choice.last) continue;
    problems.add(where, fmt::format("'from' ({}) is above 'to' ({})", choice.first, choice.last),
                 "exchange them");
  }
  return choices;
}

StopRule read_stop(const Json& stop, const std::string& where, Problems& problems) {
  StopRule rule;
  if (stop.contains("ci")) rule.ci = stop["ci"].get<double>();
  if (stop.contains("min_n")) rule.min_n = whole_number(stop["min_n"]);
  if (stop.contains("max_n")) rule.max_n = whole_number(stop["max_n"]);
  if (stop.contains("max_time")) {
    rule.max_time_ns = *parse_duration(stop["max_time"].get_ref<const std::string&>());
  }
  if (rule.min_n > rule.max_n) {
    problems.add(where, fmt::format("'min_n' ({}) is above 'max_n' ({})", rule.min_n, rule.max_n),
                 "min_n is 30 and max_n 100000 where they are not given");
  }
  return rule;
}

void check_kind_keys(const Json& block, const CellKindRow& kind, const std::string& where,
                     Problems& problems) {
  constexpr size_t kFew = 2;  // more would be no help
  for (const std::string& key : keys_of_kinds()) {
    if (!block.contains(key) || kind.has(key)) continue;
    const std::vector<std::string> owners = kinds_with(key);
    problems.add(
        json_path(where, key), fmt::format("'{}' means nothing in a {} block", key, kind.name),
        owners.size() > kFew ? "leave it out"
                             : fmt::format("it belongs to {}", fmt::join(owners, " and ")));
  }
}

// A window is the start of one timed operation.
void check_sync(const MatrixBlock& block, const std::string& where, Problems& problems) {
  const bool timed_alone = row(block.kind).timing == CellTiming::kEach;
  if (timed_alone || !contains(block.sync, "window")) return;
  problems.add(
      where + ".sync", fmt::format("'window' means nothing in a {} block", to_string(block.kind)),
      fmt::format("it belongs to {}", fmt::join(kinds_that_time(CellTiming::kEach), " and ")));
}

std::vector<uint64_t> read_rates(const Json& value, const std::string& where, Problems& problems) {
  std::vector<uint64_t> rates;
  for (const std::string& text : texts(value)) {
    const Expected<double> rate = parse_bit_rate(text);
    if (rate && *rate >= 1000 && *rate <= 1e12) {
      rates.push_back(static_cast<uint64_t>(*rate));
      continue;
    }
    problems.add(where, fmt::format("{} is no rate", in_quotes(text)),
                 "write a number with Kbit, Mbit or Gbit, from 1Kbit to 1000Gbit, such as 50Mbit");
  }
  return rates;
}

// The operation alone says it too, where a kind has its own.
CellKind kind_of(const Json& block) {
  const std::vector<std::string> ops =
      block.contains("op") ? texts(block["op"]) : std::vector<std::string>{};
  for (const BlockKindRow& row : block_kind_table()) {
    const bool own = row.own_op != nullptr && ops == std::vector<std::string>{row.own_op};
    if (block.contains("kind") ? block["kind"] == to_string(row.kind) : own) return row.kind;
  }
  return MatrixBlock().kind;
}

// "both" -> out, in.
std::vector<std::string> read_placement(const Json& value) {
  std::vector<std::string> out;
  for (const std::string& word : texts(value)) {
    for (const char* each : {"out", "in"}) {
      const bool wanted = word == each || word == "both";
      if (wanted && !contains(out, each)) out.emplace_back(each);
    }
  }
  return out;
}

// "64k" -> "64Ki": the letter alone means the same (core/units.h).
std::string with_binary_unit(std::string text) {
  constexpr std::string_view kLetters = "KkMmGg";
  if (text.empty() || kLetters.find(text.back()) == std::string_view::npos) return text;
  text.back() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
  return text + "i";
}

}  // namespace

void read_link_keys(const Json& block, const std::string& where, Problems& problems,
                    MatrixBlock& out) {
  if (block.contains("measure")) {
    out.measure = texts(block["measure"]);
  } else {
    out.measure = usual_link_measures();
  }
  if (block.contains("streams")) out.streams = values_of<int>(block["streams"], int_of);
  if (block.contains("rate")) out.rate_bps = read_rates(block["rate"], where + ".rate", problems);
  if (block.contains("datagram")) out.datagram = size_of_value(block["datagram"]);
}

std::vector<std::string> texts(const Json& value) {
  return values_of<std::string>(value, [](const Json& v) { return v.get<std::string>(); });
}

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  // 1e6 is the whole number 1000000 to people, and to options.
  const double number = value.get<double>();
  const bool whole = value.is_number_float() && number == std::floor(number);
  return whole && std::abs(number) < 1e15 ? fmt::format("{:.0f}", number) : value.dump();
}

std::map<std::string, std::string> read_options(const Json& object) {
  std::map<std::string, std::string> out;
  for (auto it = object.begin(); it != object.end(); ++it) {
    std::string text = scalar_text(*it);
    const OptionRow* row = find_option(it.key());
    // A cell's identity holds its options as they were written: 64K is written 64Ki.
    if (row != nullptr && row->type == OptionType::kBytes) text = with_binary_unit(text);
    out[it.key()] = std::move(text);
  }
  return out;
}

MatrixBlock read_block(const Json& block, const std::string& where, Problems& problems) {
  MatrixBlock out;
  out.path = where;
  out.kind = kind_of(block);
  check_kind_keys(block, row(out.kind), where, problems);
  const auto read_texts = [&block](const char* key, std::vector<std::string>& to) {
    if (block.contains(key)) to = texts(block[key]);
  };
  read_texts("op", out.op);
  read_texts("dtype", out.dtype);
  read_texts("redop", out.redop);
  read_texts("algorithm", out.algorithm);
  read_texts("engine", out.engine);
  read_texts("compression", out.compression);
  std::replace(out.compression.begin(), out.compression.end(), std::string(kNoCodec),
               std::string());
  read_texts("split", out.split);
  std::replace(out.split.begin(), out.split.end(), std::string(kNoSplit), std::string());
  read_texts("transport", out.transport);
  read_texts("sync", out.sync);
  check_sync(out, where, problems);
  if (block.contains("placement")) out.placement = read_placement(block["placement"]);
  if (block.contains("bytes")) {
    const Json& bytes = block["bytes"];
    out.bytes = bytes.is_object() ? read_size_range(bytes, where + ".bytes", problems)
                                  : values_of<uint64_t>(bytes, size_of_value);
  }
  if (block.contains("ranks")) out.ranks = read_ranks(block["ranks"], where + ".ranks", problems);
  if (block.contains("hosts")) {
    out.hosts = read_hosts_axis(block["hosts"], where + ".hosts", problems);
  }
  read_texts("distribution", out.distribution);
  if (block.contains("root")) {
    out.root = values_of<int>(block["root"],
                              [](const Json& v) { return v.is_string() ? kEveryRoot : int_of(v); });
  }
  for (const NumberAxis& axis : kNumberAxes) {
    if (block.contains(axis.key)) out.*axis.values = values_of<int>(block[axis.key], int_of);
  }
  if (block.contains("oversubscribe")) out.oversubscribe = block["oversubscribe"].get<bool>();
  if (block.contains("repeat")) out.repeat = int_of(block["repeat"]);
  if (block.contains("stop")) out.stop = read_stop(block["stop"], where + ".stop", problems);
  if (block.contains("time")) {
    out.throughput_time_ns = *parse_duration(block["time"].get_ref<const std::string&>());
  }
  if (const auto read = block_kind_of(out.kind).read) read(block, where, problems, out);
  if (block.contains("config")) out.params = read_options(block["config"]);
  return out;
}

}  // namespace plumbline
