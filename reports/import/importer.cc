#include "reports/import/importer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "core/encode.h"
#include "core/file.h"
#include "core/number.h"
#include "core/op.h"
#include "core/record/cell.h"
#include "reports/import/foreign.h"
#include "reports/text.h"

namespace plumbline {

ImportRow iperf3_import();         // iperf3.cc
ImportRow nccl_json_import();      // nccl_import.cc
ImportRow nccl_text_import();      // nccl_text_import.cc
ImportRow gbench_import();         // gbench_import.cc
ImportRow osu_import();            // osu.cc
ImportRow imb_import();            // imb.cc
ImportRow perftest_json_import();  // perftest.cc
ImportRow perftest_text_import();  // perftest.cc

const std::vector<ImportRow>& import_table() {
  static const std::vector<ImportRow> kTable = {
      iperf3_import(), nccl_json_import(),     nccl_text_import(),     gbench_import(),
      osu_import(),    perftest_json_import(), perftest_text_import(), imb_import(),
  };
  return kTable;
}

const ImportRow* recognise_import(std::string_view start) {
  start = start.substr(0, kImportStart);
  for (const ImportRow& row : import_table()) {
    if (row.recognise(start)) return &row;
  }
  return nullptr;
}

namespace {

struct AssumptionRow {
  const char* name;
  const char* help;
  bool (*take)(const std::string& value, Assumptions& out);  // false = no such value
};

bool take_ranks(const std::string& value, Assumptions& out) {
  const std::optional<int> number = parse_whole(value, 1, 1 << 20);
  if (number) out.ranks = *number;
  return number.has_value();
}

bool take_unit(const std::string& value, Assumptions& out) {
  if (value != "MiB/s" && value != "Gb/s") return false;
  out.unit = value;
  return true;
}

bool take_op(const std::string& value, Assumptions& out) {
  if (!op_from(value)) return false;
  out.op = value;
  return true;
}

constexpr AssumptionRow kAssumptions[] = {
    {"ranks", "how many ranks took part, 1 to 1048576 (OSU's tables do not say)", take_ranks},
    {"unit", "of bandwidths in perftest's JSON: MiB/s, or Gb/s after --report_gbits", take_unit},
    {"op", "operation of an nccl-tests table whose preamble does not name it", take_op},
};

// Reads at most `limit` bytes from where the file stands.
Expected<std::string> read_some(int fd, const std::string& path, size_t limit) {
  std::string text;
  constexpr size_t kStep = 1 << 20;
  while (text.size() < limit) {
    const size_t before = text.size();
    text.resize(before + std::min(kStep, limit - before));
    const ssize_t got = ::read(fd, text.data() + before, text.size() - before);
    if (got < 0 && errno == EINTR) {
      text.resize(before);
      continue;
    }
    if (got < 0) return fail_errno(ErrorCode::kConfig, "read " + path, errno);
    text.resize(before + static_cast<size_t>(got));
    if (got == 0) break;
  }
  return text;
}

// Lines of our own records, broken ones too, go to the reader of records, which says what is wrong
// with them.
bool may_be_records(std::string_view start) {
  const size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return true;
  return has_any(start, {"\"plan_hash\"", "\"suite_version\"", "\"samples_ns\"",
                         "\"environment\":{", "\"cell", "\"algbw_Bps\""});
}

std::string formats_text() {
  std::vector<std::string> names = {"records of plumbline"};
  for (const ImportRow& row : import_table()) names.push_back(row.descriptor.help);
  return join(names, "; ");
}

// The same cell again is a repetition of it.
void number_repetitions(std::vector<Record>& records) {
  std::map<std::string, int> seen;
  for (Record& record : records) {
    record.cell.repeat = 0;
    record.cell.repeat = seen[canonical_json(record.cell)]++;
  }
}

// A number that left the range of numbers when its unit was converted is none.
void drop_overflows(Measurement& m) {
  std::erase_if(m.extra, [](const auto& entry) { return !std::isfinite(entry.second); });
  for (auto* value : {&m.reported->time_ns, &m.reported->algbw_Bps, &m.reported->busbw_Bps}) {
    if (*value && !std::isfinite(**value)) value->reset();
  }
}

}  // namespace

Expected<Assumptions> parse_assumptions(const std::vector<std::string>& words) {
  Assumptions out;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto* row = std::find_if(std::begin(kAssumptions), std::end(kAssumptions),
                                   [&](const AssumptionRow& one) { return one.name == name; });
    if (row == std::end(kAssumptions)) {
      std::vector<std::string> names;
      for (const AssumptionRow& one : kAssumptions) names.emplace_back(one.name);
      return fail(ErrorCode::kUsage, "--assume " + word + ": no such thing to assume",
                  "KEY=VALUE with one of: " + join(names, ", "));
    }
    if (!row->take(value, out)) {
      return fail(ErrorCode::kUsage,
                  fmt::format("--assume {}: '{}' is no value for it", name, value), row->help);
    }
  }
  return out;
}

Expected<ImportResult> import_text(const ImportRow& row, ImportFile file) {
  ImportResult out;
  if (const Status read = row.read(file, out); !read) return fail(read.error());
  if (out.records.empty()) {
    return fail(ErrorCode::kConfig, fmt::format("{}: looks like {}, but there is no result in it{}",
                                                file.path, row.descriptor.name,
                                                out.notes.empty() ? "" : ": " + out.notes.front()));
  }
  const Digest digest = sha256(file.text);
  const std::string run = "import-" + to_hex(std::span(digest).first(6));
  number_repetitions(out.records);
  for (Record& record : out.records) {
    record.run_id = run;
    record.suite_version = PLUMBLINE_VERSION;
    record.scenario = "imported";
    record.noise.verdict = "unknown";
    drop_overflows(record.measurement);
    recompute(record);
  }
  return out;
}

Expected<std::optional<ImportResult>> import_from(int fd, const std::string& name,
                                                  const Assumptions& assume, std::string& start) {
  Expected<std::string> begin = read_some(fd, name, kImportStart);
  if (!begin) return fail(begin.error());
  start = std::move(*begin);
  const ImportRow* row = recognise_import(start);
  if (row == nullptr) {
    if (may_be_records(start)) return std::optional<ImportResult>();
    return fail(ErrorCode::kConfig, name + ": holds no results that plumbline can read",
                "it reads: " + formats_text());
  }
  Expected<std::string> rest = read_some(fd, name, kMaxImportBytes - start.size() + 1);
  if (!rest) return fail(rest.error());
  if (start.size() + rest->size() > kMaxImportBytes) {
    return fail(ErrorCode::kConfig,
                fmt::format("{}: more than {} MiB of {} output", name, kMaxImportBytes >> 20,
                            row->descriptor.name),
                "cut it into files of one run each");
  }
  Expected<ImportResult> out = import_text(*row, {name, start + *rest, assume});
  if (!out) return fail(out.error());
  return std::optional<ImportResult>(std::move(*out));
}

Expected<std::optional<ImportResult>> import_file(const std::string& path,
                                                  const Assumptions& assume) {
  const Expected<Fd> fd = open_input_file(path);
  if (!fd) return std::optional<ImportResult>();  // the reader of records says why
  std::string start;
  return import_from(fd->get(), path, assume, start);
}

}  // namespace plumbline
