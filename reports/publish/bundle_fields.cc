#include <iterator>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "core/json.h"
#include "core/op.h"
#include "core/record/record.h"
#include "reports/links/link_kinds.h"
#include "reports/publish/bundle.h"

namespace plumbline {
namespace {

using nlohmann::json;

// Limits of texts and numbers, as JSON Schema.
constexpr const char* kCount = kPublishedCount;
constexpr const char* kSmall = kPublishedSmall;
constexpr const char* kTimeNs = R"({"minimum":0,"maximum":60000000000})";
constexpr const char* kSumNs = R"({"minimum":0,"maximum":600000000000000000})";
constexpr const char* kSamples = R"({"minimum":1,"maximum":10000000})";
constexpr const char* kRate = R"({"minimum":0,"maximum":1000000000000000})";
constexpr const char* kWord = kPublishedWord;
constexpr const char* kHost = R"({"pattern":"^host[1-9][0-9]{0,3}$"})";
constexpr const char* kMachine = R"({"pattern":"^machine[1-9][0-9]{0,3}$"})";
constexpr const char* kLine = kPublishedLine;
constexpr const char* kNotes =
    R"({"maxLength":400,"pattern":"^[^\\x00-\\x1f\\x7f<>\\[\\]|\\\\`{}@$^]*$"})";
constexpr const char* kDecimal = R"({"pattern":"^[0-9]{1,18}[.][0-9]{1,9}$"})";

// With what kPublished adds.
constexpr FieldRow kFields[] = {
    {"plumbline_bundle", "integer", false, "", "version of this format: 1", false,
     R"({"const":1})"},
    {"id", "string", false, "", "first 16 hex digits of sha256; the file is called so", false,
     R"({"pattern":"^[0-9a-f]{16}$"})"},
    {"sha256", "string", false, "", "SHA-256 of the content (keys sorted, no spaces)", false,
     R"({"pattern":"^[0-9a-f]{64}$"})"},
    {"signature", "string", true, "",
     "of the same text by ssh-keygen -Y sign -n plumbline-bundle; null = not signed", false,
     R"({"maxLength":16384})"},
    {"locator", "object", false, "", "names the value that was changed after sealing"},
    {"locator.values", "integer", false, "", "values in the content", false, kCount},
    {"locator.sums", "array", false, "", "sum h_i and sum i h_i modulo 2^61 - 1", false,
     R"({"minItems":2,"maxItems":2})"},
    {"locator.sums[]", "string", false, "", "hexadecimal", false,
     R"({"pattern":"^[0-9a-f]{16}$"})"},
    {"content", "object", false, "", "all that is published, hashed and signed"},
    {"content.suite_version", "string", false, "", "version of plumbline that measured", false,
     R"({"pattern":"^[0-9]{1,4}[.][0-9]{1,4}[.][0-9]{1,4}$"})"},
    {"content.date", "string", false, "", "day of the run, UTC", false,
     R"({"pattern":"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"})"},

    {"content.statement", "object", false, "",
     "what the machine cannot know: the submitter's word, which nothing can check"},
    {"content.statement.link_kind", "string", false, "", "row of the table of link kinds"},
    {"content.statement.link_speed_bps", "integer", true, "bits/s",
     "speed of one cable in one direction where it is not the kind's; null = the kind's", false,
     R"({"minimum":1,"maximum":1000000000000000})"},
    {"content.statement.links_per_host", "integer", false, "",
     "cables that a host could use at the same time", false, R"({"minimum":1,"maximum":64})"},
    {"content.statement.cable", "string", false, "", "cable and what is between the hosts", false,
     kLine},
    {"content.statement.hardware", "array", false, "",
     "the machines: one text, or one for each host", false, R"({"minItems":1,"maxItems":64})"},
    {"content.statement.hardware[]", "string", false, "", "such as \"Mac Studio, M2 Ultra, 64 GB\"",
     false, kLine},
    {"content.statement.submitter", "string", false, "", "who wants to be named; may be empty",
     false, kLine},
    {"content.statement.notes", "string", false, "", "anything else; may be empty", false, kNotes},

    {"content.scenario", "object", false, "", "which question was measured"},
    {"content.scenario.name", "string", false, "",
     "name of a scenario that ships with plumbline, else `own`", false, kWord},
    {"content.scenario.seed", "integer", false, "", "seed of the shuffled order", false,
     R"({"minimum":0})"},
    {"content.scenario.left_out", "object", false, "",
     "cells of the run that are not among the rows"},
    {"content.scenario.left_out.noisy", "integer", false, "", "noisy ones", false, kCount},
    {"content.scenario.left_out.skipped", "integer", false, "", "skipped or ended in error", false,
     kCount},
    {"content.scenario.left_out.other", "integer", false, "",
     "of other kinds than latency and bandwidth, or without samples", false, kCount},

    {"content.environment", "object", false, "", "where it was measured; nothing but these fields"},
    {"content.environment.control", "string", false, "", "as in a record", false, kWord},
    {"content.environment.auth", "string", false, "", "as in a record", false, kWord},
    {"content.environment.options", "object", false, "",
     "options that were set and hold no names, addresses or paths"},
    {"content.environment.options.*", "string", false, "", "value", false, kWord},
    {"content.environment.hosts", "array", false, "", "hosts that took part", false,
     R"({"minItems":1,"maxItems":4096})"},
    {"content.environment.hosts[]", "object", false, "", "one host"},
    {"content.environment.hosts[].name", "string", false, "", "ordinal of this bundle", false,
     kHost},
    {"content.environment.hosts[].machine", "string", false, "",
     "hosts of one machine share its cores", false, kMachine},
    {"content.environment.hosts[].load1_percent", "integer", true, "%",
     "1-minute load average, times 100, at the start", false, kSmall},
    {"content.environment.hosts[].nics", "array", false, "",
     "interfaces with a carrier, each kind once, without names and addresses", false,
     R"({"maxItems":64})"},
    {"content.environment.hosts[].nics[]", "object", false, "", "one kind of interface"},
    {"content.rows", "array", false, "", "one entry a measured cell", false,
     R"({"minItems":1,"maxItems":2000})"},
    {"content.rows[]", "object", false, "", "one cell"},
    {"content.rows[].cell", "object", false, "", "the independent variables, as in a record"},
    {"content.rows[].cell.params", "object", false, "", "options of this cell only"},
    {"content.rows[].cell.params.*", "string", false, "", "value", false, kWord},
    {"content.rows[].resolved", "object", false, "", "what `auto` became"},
    {"content.rows[].rank_hosts", "array", false, "", "host of rank 0, 1 ...", false,
     R"({"minItems":2,"maxItems":4096})"},
    {"content.rows[].rank_hosts[]", "string", false, "", "host", false, kHost},
    {"content.rows[].pinned", "boolean", false, "", "every rank was bound to a CPU"},
    {"content.rows[].verified", "boolean", false, "",
     "all operations were verified and right; without the counts below: some were"},
    {"content.rows[].verified_operations", "integer", false, "operations",
     "so many were verified, and all right; absent = count unknown", true, kCount},
    {"content.rows[].operations", "integer", false, "operations",
     "of so many that ran, the first one and those of the warm-up included", true, kCount},
    {"content.rows[].wrong", "integer", false, "elements", "wrong elements over all ranks", false,
     kCount},
    {"content.rows[].noise", "object", false, "", "how far the numbers may be trusted"},
    {"content.rows[].noise.verdict", "string", false, "", "`clean`; others are not taken", false,
     R"({"enum":["clean","noisy","invalid"]})"},
    {"content.rows[].noise.involuntary_switches", "integer", false, "",
     "of all ranks over the timed part", false, kCount},
    {"content.rows[].noise.warmup_converged", "boolean", false, "",
     "medians had settled when sampling began"},
    {"content.rows[].hist", "object", false, "", "all samples: the slowest rank of each operation"},
    {"content.rows[].hist.n", "integer", false, "samples", "samples", false, kSamples},
    {"content.rows[].hist.min", "integer", false, "ns", "exact", false, kTimeNs},
    {"content.rows[].hist.max", "integer", false, "ns", "exact", false, kTimeNs},
    {"content.rows[].hist.sum", "integer", false, "ns", "exact", false, kSumNs},
    {"content.rows[].hist.buckets", "array", false, "",
     "non-empty buckets, ascending, as in a record (docs/record_format.md)", false,
     R"({"minItems":1,"maxItems":20000})"},
    {"content.rows[].hist.buckets[]", "array", false, "", "one bucket", false,
     R"({"minItems":2,"maxItems":2})"},
    {"content.rows[].hist.buckets[][]", "integer", false, "", "bucket index, number of samples",
     false, kCount},
    {"content.rows[].derived", "object", false, "", "follows from hist and cell, exactly"},
    {"content.rows[].derived.n", "integer", false, "samples", "sum of the counts", false, kSamples},
    {"content.rows[].derived.min_ns", "integer", false, "ns", "hist.min", false, kTimeNs},
    {"content.rows[].derived.p50_ns", "string", false, "ns",
     "mean of the values at the ranks floor((n+1)/2) and floor(n/2)+1", false, kDecimal},
    {"content.rows[].derived.p50_ci95_ns", "array", true, "ns",
     "values at the ranks floor((n - 1.96 sqrt n)/2) and ceil(1 + (n + 1.96 sqrt n)/2); null "
     "below 6 samples",
     false, R"({"minItems":2,"maxItems":2})"},
    {"content.rows[].derived.p50_ci95_ns[]", "integer", false, "ns", "low, high", false, kTimeNs},
    {"content.rows[].derived.p90_ns", "integer", true, "ns", "null below 100 samples", false,
     kTimeNs},
    {"content.rows[].derived.p95_ns", "integer", true, "ns", "null below 200 samples", false,
     kTimeNs},
    {"content.rows[].derived.p99_ns", "integer", true, "ns", "null below 1000 samples", false,
     kTimeNs},
    {"content.rows[].derived.p999_ns", "integer", true, "ns", "null below 10000 samples", false,
     kTimeNs},
    {"content.rows[].derived.max_ns", "integer", false, "ns", "hist.max", false, kTimeNs},
    {"content.rows[].derived.mean_ns", "string", false, "ns", "hist.sum / n, cut after nine digits",
     false, kDecimal},
    {"content.rows[].derived.mad_ns", "string", false, "ns",
     "median of the distances from p50_ns (lower one of two)", false, kDecimal},
    {"content.rows[].derived.mid_sum_ns", "integer", false, "ns",
     "sum of count times middle over all buckets: fits only these buckets", false, kSumNs},
    {"content.rows[].derived.algbw_Bps", "integer", true, "bytes/s",
     "S / p50 (2 S for pingpong), rounded down; null without data", false, kRate},
    {"content.rows[].derived.busbw_Bps", "integer", true, "bytes/s",
     "algbw times the operation's factor, rounded down once", false, kRate},
    {"content.rows[].workload", "object", false, "",
     "only with kind `workload`, which this version neither writes nor accepts", true},
    {"content.rows[].workload.model", "string", false, "", "name of the model", false, kLine},
    {"content.rows[].workload.batch", "integer", false, "", "batch size of one rank", false,
     kCount},
    {"content.rows[].workload.bucket_bytes", "integer", false, "bytes", "gradient bucket", false,
     kCount},
    {"content.rows[].workload.ops_per_step_milli", "integer", false, "1/1000",
     "collective operations a step, times 1000", false, kCount},
    {"content.rows[].workload.network_ns", "integer", false, "ns", "of a step spent in the network",
     false, kTimeNs},
};

// A fact about a host whose text is not fit to be shown becomes null.
template <typename Owner>
void add_published(const std::string& path, FieldRows& rows) {
  for (const Field<Owner>& field : FieldsOf<Owner>::all()) {
    if (field.publish == nullptr) continue;
    const bool nullable = field.nullable || std::is_same_v<Owner, HostFacts>;
    rows.add(path + "." + field.words.name, "",
             {"", field.type, nullable, field.words.unit, field.words.help, false, field.publish});
  }
}

// What the tables of records say is published, and below what.
struct PublishedTable {
  const char* path;
  void (*add)(const std::string& path, FieldRows& rows);
};
constexpr PublishedTable kPublished[] = {
    {"content.environment.hosts[]", add_published<HostFacts>},
    {"content.environment.hosts[].nics[]", add_published<Nic>},
    {"content.rows[].cell", add_published<Cell>},
    {"content.rows[].resolved", add_published<Resolved>},
};

template <typename Rows>
json names_of(const Rows& rows) {
  json names = json::array();
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

}  // namespace

std::span<const FieldRow> bundle_fields() {
  static const FieldRows kAll = [] {
    FieldRows rows;
    for (const FieldRow& row : kFields) {
      rows.add(row.path, "", row);
      for (const PublishedTable& table : kPublished) {
        if (std::string_view(row.path) == table.path) table.add(table.path, rows);
      }
    }
    return rows;
  }();
  return kAll.all();
}

const std::vector<std::string>& published_options() {
  static const std::vector<std::string> kNames = [] {
    std::istringstream words(
        "transport mesh link_profile chunk_bytes transport_crc sock_bufsize tcp_lowat keepalive_s "
        "bind_to wait spin_us streams demux_park_bytes small_msg_threshold fast_math "
        "connect_timeout_ms watchdog_timeout_ms heartbeat_interval_ms rdma_qp rdma_gid_index "
        "rdma_frame_bytes");
    return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
  }();
  return kNames;
}

std::string bundle_schema_json() {
  json schema =
      json::parse(schema_json(bundle_fields(), "plumbline bundle, format 1: a community result"));
  json& content = schema["properties"]["content"]["properties"];
  content["statement"]["properties"]["link_kind"]["enum"] = names_of(link_kind_table());
  json& cell = content["rows"]["items"]["properties"]["cell"]["properties"];
  cell["op"]["enum"] = names_of(op_table());
  cell["dtype"]["enum"] = names_of(dtype_table());
  cell["redop"]["enum"] = names_of(redop_table());
  cell["redop"]["enum"].push_back("none");
  for (json* options : {&content["environment"]["properties"]["options"], &cell["params"]}) {
    (*options)["propertyNames"] = {{"enum", published_options()}};
  }
  return json_text(schema);
}

}  // namespace plumbline
