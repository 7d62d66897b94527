// Google Benchmark's JSON. Every entry of run_type iteration is a record: its time is the mean over
// the iterations of that repetition. A name like copy/bytes:4096/ranks:2 says size and ranks; other
// parts become parameters, so that different arguments stay different cells.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.h"
#include "reports/import/foreign.h"
#include "reports/utc.h"

namespace plumbline {
namespace {

using nlohmann::json;

bool recognise(std::string_view start) {
  const auto has = [&](const char* part) { return start.find(part) != std::string_view::npos; };
  return start.find('{') != std::string_view::npos && has("\"context\"") &&
         (has("\"benchmarks\"") || has("\"library_build_type\"") || has("\"caches\""));
}

// "%2F" back to "/".
std::string unescaped(std::string_view text) {
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
  } else if (name == "kind" && (value == "latency" || value == "bandwidth" ||
                                value == "throughput" || value == "roof")) {
    cell.kind = value;
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

void take_name(const std::string& full, Record& record) {
  Cell& cell = record.cell;
  cell.kind = "latency";
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
      cell.op = unescaped(part);
      continue;
    }
    const size_t colon = part.find(':');
    const bool known =
        colon != std::string::npos &&
        take_part(unescaped(part.substr(0, colon)), unescaped(part.substr(colon + 1)), record);
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

double unit_ns(const std::string& unit) {
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  return unit == "s" ? 1e9 : 1;
}

std::string utc_of(const std::string& date) {
  const std::optional<int64_t> ms = epoch_ms(date);
  return ms && *ms >= 0 ? utc_text(*ms / 1000) : std::string();
}

Status take_entry(const ImportFile& file, const json& context, const json& entry,
                  ImportResult& out) {
  const std::string type = foreign_text(entry, "run_type");
  if (!type.empty() && type != "iteration") return {};  // an aggregate of others
  std::string name = foreign_text(entry, "run_name");
  if (name.empty()) name = foreign_text(entry, "name");
  Record record = imported_record("google-benchmark", foreign_text(context, "library_version"));
  take_name(name, record);
  record.time = utc_of(foreign_text(context, "date"));
  const std::string program = foreign_text(context, "executable");
  if (!program.empty()) record.environment.command = {program};
  Measurement& m = record.measurement;
  m.iterations = foreign_count(entry, "iterations").value_or(0);
  Reported& told = *m.reported;
  const json* failed = foreign_field(entry, "error_occurred");
  if (failed == nullptr) failed = foreign_field(entry, "skipped");
  if (failed != nullptr && (!failed->is_boolean() || failed->get<bool>())) {
    m.outcome = Outcome::kError;
    m.reason = foreign_text(entry, "error_message") + foreign_text(entry, "skip_message");
    return add_record(file, std::move(record), out);
  }
  const std::optional<double> time = foreign_number(entry, "real_time");
  if (!time || *time < 0 || *time > 1e18) {
    m.outcome = Outcome::kError;
    m.reason = "no real_time that is a number";
    return add_record(file, std::move(record), out);
  }
  const double unit = unit_ns(foreign_text(entry, "time_unit"));
  told.time_ns = *time * unit;
  told.statistic = foreign_text(entry, "plumbline_time");  // of our own export: a median, mostly
  if (told.statistic.empty()) told.statistic = "mean";
  const auto rate = foreign_number(entry, "bytes_per_second");
  if (rate && *rate >= 0) told.algbw_Bps = rate;
  const auto bus = foreign_number(entry, "busbw_bytes_per_second");
  if (bus && *bus >= 0) told.busbw_Bps = bus;
  if (const auto items = foreign_number(entry, "items_per_second")) m.extra["items_per_s"] = *items;
  if (const auto cpu = foreign_number(entry, "cpu_time")) m.extra["cpu_time_ns"] = *cpu * unit;
  return add_record(file, std::move(record), out);
}

Status read(const ImportFile& file, ImportResult& out) {
  return each_json(file, out, [&](const json& root, size_t line) -> Status {
    const json* entries = foreign_field(root, "benchmarks");
    if (entries == nullptr || !entries->is_array()) {
      out.notes.push_back(at_line(file, line) + "no list `benchmarks`");
      return {};
    }
    const json* context = foreign_field(root, "context");
    const json none;
    for (const json& entry : *entries) {
      if (const Status taken = take_entry(file, context ? *context : none, entry, out); !taken) {
        return taken;
      }
    }
    return {};
  });
}

}  // namespace

ImportRow gbench_import() {
  return {{"google-benchmark", "Google Benchmark's JSON", {}, {}, ""}, recognise, read};
}

}  // namespace plumbline
