#include "reports/import/gbench_name.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/op.h"
#include "reports/import/foreign.h"

namespace plumbline {
namespace {

// "%2F" back to "/".
std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) {
      const size_t found = std::string_view("0123456789ABCDEF").find(text[at]);
      return found == std::string_view::npos ? -1 : static_cast<int>(found);
    };
    if (text[i] == '%' && i + 2 < text.size() && digit(i + 1) >= 0 && digit(i + 2) >= 0) {
      out += static_cast<char>(digit(i + 1) * 16 + digit(i + 2));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

int small_number(const std::string& value, int otherwise) {
  const std::optional<uint64_t> number = table_count(value);
  return number && *number <= (1 << 20) ? static_cast<int>(*number) : otherwise;
}

// One part NAME:VALUE of a benchmark's name; false when it is none that we know.
bool take_part(const std::string& name, const std::string& value, Record& record) {
  Cell& cell = record.cell;
  const std::map<std::string, std::string*> texts = {{"algorithm", &cell.algorithm},
                                                     {"transport", &cell.transport},
                                                     {"type", &cell.dtype},
                                                     {"redop", &cell.redop},
                                                     {"place", &cell.placement},
                                                     {"sync", &cell.sync},
                                                     {"cache", &cell.cache},
                                                     {"hosts", &cell.hosts},
                                                     {"distribution", &cell.distribution}};
  if (const auto found = texts.find(name); found != texts.end()) {
    *found->second = value;
  } else if (const auto kind = cell_kind_from(value);
             name == "kind" && kind && plumbline::row(*kind).has_times()) {
    cell.kind = *kind;
  } else if (name == "bytes" && table_count(value)) {
    cell.bytes = *table_count(value);
  } else if (name == "ranks" || name == "threads") {
    cell.ranks = small_number(value, cell.ranks);
  } else if (name == "root") {
    cell.root = small_number(value, cell.root);
  } else if (name == "outstanding") {
    cell.outstanding = std::max(1, small_number(value, 1));
  } else if (name == "set" && value.find('=') != std::string::npos) {
    cell.params[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
  } else {
    return false;
  }
  return true;
}

// Parts that say how long or by which clock it was measured, not what.
bool is_setting(const std::string& part) {
  constexpr std::string_view kSettings[] = {"real_time",       "process_time", "manual_time",
                                            "min_time:",       "iterations:",  "repeats:",
                                            "min_warmup_time:"};
  return std::any_of(std::begin(kSettings), std::end(kSettings),
                     [&](std::string_view start) { return part.rfind(start, 0) == 0; });
}

}  // namespace

void take_benchmark_name(const std::string& full, Record& record) {
  Cell& cell = record.cell;
  cell.kind = CellKind::kLatency;
  cell.transport = "none";
  cell.ranks = 1;
  std::string arguments;
  bool first = true;
  // Names of template instances hold "/" only between arguments.
  for (size_t begin = 0; begin <= full.size();) {
    const size_t end = std::min(full.find('/', begin), full.size());
    const std::string part = full.substr(begin, end - begin);
    begin = end + 1;
    if (std::exchange(first, false)) {
      cell.op = percent_decoded(part);
      continue;
    }
    const size_t colon = part.find(':');
    const bool known =
        colon != std::string::npos && take_part(percent_decoded(part.substr(0, colon)),
                                                unescaped(part.substr(colon + 1)), record);
    if (known || is_setting(part)) continue;
    arguments += (arguments.empty() ? "" : "/") + part;
  }
  if (!arguments.empty()) cell.params["arguments"] = arguments;
  if (cell.op.empty()) cell.op = "unnamed";
  // Without quotes and brackets it may be an operation of ours.
  if (const std::optional<Op> op = op_from(cell.op)) {
    if (const std::optional<DType> type = dtype_from(cell.dtype)) {
      cell.count = shape_of(*op, *type, cell.ranks, cell.bytes).count;
    }
  }
}

}  // namespace plumbline
