#include "core/record/record_fields.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "core/json.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr FieldRow kFields[] = {
    {"schema", "integer", false, "", "version of this format: 1"},
    {"suite_version", "string", false, "", "version of the program that wrote the record"},
    {"run_id", "string", false, "", "random name of the run, same in all its records"},
    {"cell_id", "string", false, "",
     "first 16 hex digits of SHA-256 over `cell` (keys sorted, no spaces)"},
    {"time", "string", false, "", "end of the cell, RFC 3339 UTC"},
    {"scenario", "string", false, "", "name of the scenario; `coll` for that command"},
    {"question", "string", false, "", "the scenario's question, may be empty"},
    {"plan_hash", "string", false, "",
     "SHA-256 over all that decides what is measured; `--resume` compares it"},
    {"seed", "integer", false, "", "seed of the shuffled order"},
    {"cell", "object", false, "", "the independent variables, as asked for (`auto` stays `auto`)"},
    {"cell.kind", "string", false, "",
     "`latency`, `bandwidth`, `throughput`, `check`, `link` or `roof`"},
    {"cell.op", "string", false, "",
     "operation; for a roof `raw_pingpong`, `raw_exchange`, `raw_stream`, `raw_duplex`, `memcpy`"},
    {"cell.engine", "string", false, "",
     "whose implementation ran: `native`, or the tool that a result was imported from"},
    {"cell.transport", "string", false, "", "transport asked for"},
    {"cell.algorithm", "string", false, "", "algorithm asked for"},
    {"cell.dtype", "string", false, "", "element type"},
    {"cell.redop", "string", false, "",
     "reduction operator, `none` where the operation does not reduce"},
    {"cell.root", "integer", false, "rank", "root, -1 where the operation has none"},
    {"cell.ranks", "integer", false, "ranks", "world size"},
    {"cell.bytes", "integer", false, "bytes",
     "S of the bandwidth formulas, rounded down to whole elements per rank"},
    {"cell.count", "integer", false, "elements", "elements of one rank's argument"},
    {"cell.placement", "string", false, "", "`in` or `out` of place"},
    {"cell.sync", "string", false, "",
     "how ranks start together: `barrier` before each operation, `window` (at a common moment), or "
     "`none` (back to back)"},
    {"cell.cache", "string", false, "",
     "`cold`: buffers take turns over at least 64 MiB; `hot`: always the same"},
    {"cell.outstanding", "integer", false, "operations", "operations in flight at once"},
    {"cell.repeat", "integer", false, "", "index of the repetition"},
    {"cell.params", "object", false, "", "options set for this cell only"},
    {"cell.params.*", "string", false, "", "value"},
    {"cell.measure", "string", false, "",
     "cells of kind `link` only: `latency`, `stream`, `duplex`, `parallel`, `loaded_rtt`, "
     "`incast`, `udp`, `all_pairs`",
     true},
    {"cell.rate_bps", "integer", false, "bits/s",
     "cells of kind `link` only: rate of the datagrams' payload", true},
    {"cell.hosts", "string", false, "",
     "hosts that take part, joined by `+`; absent = all of the scenario", true},
    {"cell.distribution", "string", false, "",
     "how ranks are dealt to the hosts: `block` or `cyclic`; absent = block, or as a launcher did",
     true},
    {"resolved", "object", false, "", "what `auto` became and what the connection really is"},
    {"resolved.transport", "string", false, "", "transport that ran"},
    {"resolved.algorithm", "string", false, "", "algorithm that ran"},
    {"resolved.congestion_control", "string", false, "", "of the data connections"},
    {"resolved.kernel", "string", false, "", "SIMD target that ran"},
    {"resolved.chunk_bytes", "integer", false, "bytes", "largest payload of one frame"},
    {"resolved.streams", "integer", false, "", "connections per pair"},
    {"resolved.address_pairs", "array", false, "", "addresses really used, one text a pair"},
    {"resolved.address_pairs[]", "string", false, "", "`0-1 LOCAL:PORT>REMOTE:PORT`"},
    {"outcome", "string", false, "", "`passed`, `failed` (wrong data), `skipped`, `error`"},
    {"reason", "string", false, "", "why it was skipped, failed or ended in error"},
    {"cause", "string", false, "", "cause id, such as `rank.dead`; may be empty"},
    {"verified", "boolean", false, "",
     "all operations were verified, and all right; how many of how many is in `extra`"},
    {"wrong", "integer", true, "elements",
     "wrong elements over all ranks; null when nothing was checked"},
    {"time_ns", "object", false, "", "slowest rank per operation; derived from the samples"},
    {"time_ns.n", "integer", false, "samples", "samples"},
    {"time_ns.min", "number", true, "ns", "fastest"},
    {"time_ns.p50", "number", true, "ns", "median"},
    {"time_ns.p50_ci95", "array", true, "ns",
     "nonparametric 95 % confidence interval of the median"},
    {"time_ns.p50_ci95[]", "number", false, "ns", "low, high"},
    {"time_ns.p90", "number", true, "ns", "null below 100 samples"},
    {"time_ns.p95", "number", true, "ns", "null below 200 samples"},
    {"time_ns.p99", "number", true, "ns", "null below 1000 samples"},
    {"time_ns.p999", "number", true, "ns", "null below 10000 samples"},
    {"time_ns.max", "number", true, "ns", "slowest"},
    {"time_ns.mad", "number", true, "ns", "median absolute deviation from the median"},
    {"time_ns.cv", "number", true, "", "standard deviation over mean"},
    {"time_ns.stop_reason", "string", false, "", "`ci`, `time`, `count` or empty"},
    {"stop_reason", "string", false, "", "why sampling ended, as measured"},
    {"algbw_Bps", "number", true, "bytes/s", "S over the median time; derived"},
    {"busbw_Bps", "number", true, "bytes/s", "algbw times the operation's factor; derived"},
    {"wire_bytes", "integer", false, "bytes", "payload sent per operation, summed over ranks"},
    {"ideal_wire_bytes", "integer", false, "bytes",
     "the least that any algorithm must send; derived"},
    {"noise", "object", false, "", "how far the numbers may be trusted"},
    {"noise.verdict", "string", false, "",
     "`clean`, `noisy` or `invalid`; `unknown` in imported records"},
    {"noise.causes", "array", false, "", "why"},
    {"noise.causes[]", "string", false, "", "cause"},
    {"hist", "object", false, "", "histogram of all samples (see below)"},
    {"hist.n", "integer", false, "samples", "samples"},
    {"hist.min", "integer", false, "ns", "exact"},
    {"hist.max", "integer", false, "ns", "exact"},
    {"hist.sum", "integer", false, "ns", "exact"},
    {"hist.buckets", "array", false, "", "non-empty buckets, ascending"},
    {"hist.buckets[]", "array", false, "", "one bucket"},
    {"hist.buckets[][]", "integer", false, "", "bucket index, number of samples"},
    {"samples_ns", "array", false, "ns", "the first 10000 samples in time order"},
    {"samples_ns[]", "integer", false, "ns", "slowest rank of one operation"},
    {"iterations", "integer", false, "operations", "timed operations"},
    {"first_op_ns", "integer", false, "ns",
     "the first operation after connecting, not among the samples"},
    {"elapsed_ns", "integer", false, "ns", "the whole timed part"},
    {"ops_per_s", "number", true, "1/s", "sustained rate of a throughput cell"},
    {"bytes_per_s", "number", true, "bytes/s", "S times ops_per_s"},
    {"warmup_iterations", "integer", false, "operations", "untimed operations before the samples"},
    {"warmup_converged", "boolean", false, "", "medians had settled when sampling began"},
    {"per_rank", "array", false, "", "one entry a rank, of its own durations"},
    {"per_rank[]", "object", false, "", "one rank"},
    {"per_rank[].rank", "integer", false, "", "rank"},
    {"per_rank[].host", "string", false, "", "name of its host"},
    {"per_rank[].p50", "number", true, "ns", "median"},
    {"per_rank[].p99", "number", true, "ns", "99th percentile, null below 1000 samples"},
    {"per_rank[].mean", "number", true, "ns", "mean"},
    {"per_rank[].wire_bytes", "integer", false, "bytes",
     "sent in the timed part, headers included"},
    {"per_rank[].cpu_ns", "integer", false, "ns",
     "user and system time of the timed part, without what verification took; untimed operations "
     "and "
     "the meetings between operations are in it"},
    {"per_rank[].context_switches", "integer", false, "",
     "voluntary and involuntary, over the same"},
    {"per_rank[].retransmits", "integer", false, "segments", "TCP retransmissions"},
    {"per_rank[].cpu", "integer", false, "", "CPU that plumbline bound it to, -1 = none"},
    {"per_rank[].affinity", "string", false, "",
     "CPUs that it might really use, by whomever it was bound: `3`, `0-7,16-23`; empty = not known",
     true},
    {"per_rank[].numa_node", "integer", false, "",
     "NUMA node of these CPUs, -1 = several, or not known", true},
    {"per_rank[].memory_bytes", "integer", false, "bytes",
     "resident memory of its process when the cell ended, where the system tells", true},
    {"per_rank[].clock_offset_ns", "number", true, "ns",
     "rank 0's monotonic clock minus this rank's at the end; null without window timing"},
    {"per_rank[].clock_error_ns", "number", true, "ns",
     "the true offset is within this of it; null without window timing"},
    {"extra", "object", false, "",
     "further counters, unit in the key; `verified_operations_count` of `operations_count` that "
     "ran "
     "(the first one, those of the warm-up and those that are not timed included; absent = count "
     "unknown), `verify_seed` of the random choice among them; `measured_operations_count` of the "
     "timed part, those that are not timed included (the operations that `cpu_ns` and context "
     "switches went to); `floor_one_way_bytes`, "
     "`floor_both_ways_bytes` or `floor_round_trip_bytes` (the bare transfer that bounds a "
     "latency); `link_bps` (speed of the slowest link between its ranks, "
     "where known); of window timing `clock_error_ns` (largest bound of a "
     "rank's clock at any sample), `late_samples_count`, `window_ns`, `clock_drift_ppm`, "
     "`clock_drift_error_ppm`, `clock_breaks_count` (jumps); after idle time `cold_meeting_ns`, "
     "`warm_meeting_ns` (a barrier), `cold_op_1_ns` ... (the first operations)"},
    {"extra.*", "number", false, "", "value"},
    {"links", "array", false, "", "cells of kind `link` only: one entry an ordered pair of ranks",
     true},
    {"links[]", "object", false, "", "one direction of one pair"},
    {"links[].from", "integer", false, "rank", "who sent, or began the round trips"},
    {"links[].to", "integer", false, "rank", "who received"},
    {"links[].from_host", "string", false, "", "host of `from`"},
    {"links[].to_host", "string", false, "", "host of `to`"},
    {"links[].local", "string", false, "", "address of `from` that was used"},
    {"links[].remote", "string", false, "", "address of `to` that was used"},
    {"links[].direct", "boolean", false, "", "both addresses lie in one subnet"},
    {"links[].skipped", "string", false, "", "why this pair was not to be measured, or empty"},
    {"links[].error", "string", false, "", "why it could not be measured, or empty"},
    {"links[].cause", "string", false, "", "cause id of the error, may be empty"},
    {"links[].rtt_ns", "object", true, "", "round trips of small messages without other load"},
    {"links[].rtt_ns.n", "integer", false, "samples", "round trips"},
    {"links[].rtt_ns.min", "number", true, "ns", "fastest"},
    {"links[].rtt_ns.p50", "number", true, "ns", "median"},
    {"links[].rtt_ns.p99", "number", true, "ns", "null below 1000 samples"},
    {"links[].rtt_ns.max", "number", true, "ns", "slowest"},
    {"links[].loaded_rtt_ns", "object", true, "", "the same while a stream ran from -> to"},
    {"links[].loaded_rtt_ns.n", "integer", false, "samples", "round trips"},
    {"links[].loaded_rtt_ns.min", "number", true, "ns", "fastest"},
    {"links[].loaded_rtt_ns.p50", "number", true, "ns", "median"},
    {"links[].loaded_rtt_ns.p99", "number", true, "ns", "null below 1000 samples"},
    {"links[].loaded_rtt_ns.max", "number", true, "ns", "slowest"},
    {"links[].Bps", "number", true, "bytes/s", "payload from -> to, counted by the receiver"},
    {"links[].elapsed_ns", "integer", false, "ns",
     "that Bps is taken over, from the first byte on"},
    {"links[].interval_ns", "integer", false, "ns", "length of an interval of the series"},
    {"links[].streams", "array", false, "", "one entry a connection"},
    {"links[].streams[]", "object", false, "", "one connection"},
    {"links[].streams[].bytes", "integer", false, "bytes", "that arrived in the measured time"},
    {"links[].streams[].retransmits", "integer", true, "segments",
     "TCP retransmissions of the connection; null where the system does not tell"},
    {"links[].streams[].series", "array", false, "bytes", "one number an interval"},
    {"links[].streams[].series[]", "integer", false, "bytes", "that arrived in the interval"},
    {"links[].udp", "object", true, "", "datagrams at `cell.rate_bps`"},
    {"links[].udp.sent", "integer", false, "datagrams", "sent"},
    {"links[].udp.received", "integer", false, "datagrams", "that arrived, each once"},
    {"links[].udp.lost", "integer", false, "datagrams",
     "sent, neither received nor dropped by the receiving socket"},
    {"links[].udp.duplicates", "integer", false, "datagrams", "that arrived again"},
    {"links[].udp.reordered", "integer", false, "datagrams",
     "that arrived after a later one (RFC 4737)"},
    {"links[].udp.dropped", "integer", true, "datagrams",
     "that the receiving socket's own buffer had no room for; null where the system does not tell"},
    {"links[].udp.jitter_ns", "number", true, "ns", "interarrival jitter (RFC 3550, 6.4.1)"},
    {"links[].udp.sent_Bps", "number", false, "bytes/s", "payload as really sent"},
    {"links[].speed_bps", "number", true, "bits/s",
     "speed of the slower end's link: the host file's, or what the system says; else null"},
    {"reported", "object", false, "",
     "imported records only: what another tool printed where we would have samples", true},
    {"reported.tool", "string", false, "", "`iperf3`, `nccl-tests`, `osu` ..."},
    {"reported.version", "string", false, "", "its version, empty where its output does not say"},
    {"reported.statistic", "string", false, "",
     "what `reported.time_ns` is, or without a time the bandwidth, as that tool defines it: "
     "`mean`, "
     "`median` ...; may be empty"},
    {"reported.time_ns", "number", true, "ns", "of one operation, as `cell.op` counts it"},
    {"reported.algbw_Bps", "number", true, "bytes/s",
     "as printed; null = it follows from the time"},
    {"reported.busbw_Bps", "number", true, "bytes/s",
     "as printed; null = it follows from the time"},
    {"reported.note", "string", false, "", "what was converted on import, in words; may be empty"},
    {"environment", "object", false, "", "where and how it was measured"},
    {"environment.hosts", "array", false, "", "facts of every host that took part"},
    {"environment.hosts[]", "object", false, "",
     "hostname, os, kernel, CPU, cores, memory, NICs, limits, libraries; unknown = null"},
    {"environment.options", "object", false, "", "every option with its origin"},
    {"environment.options.*", "object", false, "", "one option"},
    {"environment.options.*.value", "string", false, "", "value"},
    {"environment.options.*.origin", "string", false, "",
     "where it came from: flag, scenario, variable, profile or default"},
    {"environment.command", "array", false, "", "command line of the coordinator"},
    {"environment.command[]", "string", false, "", "argument"},
    {"environment.control", "string", false, "",
     "what control messages used: `pipes`, or `data-network` under a launcher"},
    {"environment.auth", "string", false, "",
     "how ranks proved who they are: `token`, or `rendezvous` (a secret that was agreed there)"},
    {"soak", "object", false, "", "only in records of `run --for`: where it stands in the soak",
     true},
    {"soak.round", "integer", false, "", "the round, from 1 on"},
    {"soak.at_ns", "integer", false, "ns", "end of the cell, since the start of the soak"},
    {"soak.idle_ns", "integer", false, "ns",
     "nothing was measured for so long before the cell; 0 = it belongs to a round"},
    {"soak.memory_bytes", "integer", true, "bytes", "resident memory of the coordinator"},
    {"launch", "object", false, "",
     "only in records of `run --repeat`: which launch of processes measured it", true},
    {"launch.number", "integer", false, "", "the launch, from 1 on"},
    {"launch.series", "integer", false, "",
     "1; 2 = measured again because the first series looked suspicious"},
    {"launch.side", "string", false, "", "`a` or `b` of `run --interleave`; else empty"},
};

constexpr FieldRow kEventFields[] = {
    {"schema", "integer", false, "", "version of this format: 1"},
    {"run_id", "string", false, "", "of the run, as in its records"},
    {"time", "string", false, "", "when it was seen, RFC 3339 UTC"},
    {"at_ns", "integer", false, "ns", "the same since the start of the soak, or of the run"},
    {"round", "integer", false, "",
     "the round that ran, or had run last; 0 = before the first, or no soak"},
    {"host", "string", false, "", "where; empty = the coordinator"},
    {"kind", "string", false, "",
     "`link`, `address`, `route`, `counter`, `temperature`, `cpu`, `host` (cannot be observed), "
     "`round` (late, no idle time left), `cell` (ended in error), `ranks` (started again)"},
    {"subject", "string", false, "", "what changed: interface, peer, counter, sensor, cell"},
    {"text", "string", false, "", "the change in words, without the host"},
};

// The row's own type, with null where it may be.
json type_of(const FieldRow& row) {
  if (row.nullable) return {row.type, "null"};
  return row.type;
}

// Schema of everything directly below `prefix` ("" = the record itself).
json object_below(std::span<const FieldRow> rows, const std::string& prefix);

json schema_of(std::span<const FieldRow> rows, const FieldRow& row) {
  const std::string path = row.path;
  json schema = {{"type", type_of(row)}, {"description", row.help}};
  schema.update(json::parse(row.limits));
  for (const FieldRow& other : rows) {
    if (other.path == path + "[]") schema["items"] = schema_of(rows, other);
  }
  if (std::string_view(row.type) == "object") schema.update(object_below(rows, path + "."));
  return schema;
}

json object_below(std::span<const FieldRow> rows, const std::string& prefix) {
  json properties = json::object();
  json required = json::array();
  json schema = json::object();
  for (const FieldRow& row : rows) {
    const std::string path = row.path;
    if (path.rfind(prefix, 0) != 0) continue;
    const std::string name = path.substr(prefix.size());
    if (name.find_first_of(".[") != std::string::npos) continue;
    if (name == "*") {
      schema["additionalProperties"] = schema_of(rows, row);
      return schema;
    }
    properties[name] = schema_of(rows, row);
    if (!row.optional) required.push_back(name);
  }
  if (properties.empty()) return schema;  // described in words only
  return {{"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace

std::span<const FieldRow> record_fields() { return kFields; }

std::span<const FieldRow> event_fields() { return kEventFields; }

std::string schema_json(std::span<const FieldRow> rows, const std::string& title) {
  json schema = {
      {"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", title}, {"type", "object"}};
  schema.update(object_below(rows, ""));
  return json_text(schema);
}

std::string record_schema_json() {
  return schema_json(kFields, "plumbline record, schema 1: one line of records.jsonl");
}

std::string event_schema_json() {
  return schema_json(kEventFields, "plumbline event, schema 1: one line of events.jsonl");
}

std::string fields_markdown(std::span<const FieldRow> rows) {
  std::string text = "| field | type | unit | meaning |\n|---|---|---|---|\n";
  for (const FieldRow& row : rows) {
    text += fmt::format("| `{}` | {}{} | {} | {} |\n", row.path, row.type,
                        row.nullable ? " or null" : "", row.unit, row.help);
  }
  return text;
}

std::string record_reference_markdown() { return fields_markdown(kFields); }

std::string event_reference_markdown() { return fields_markdown(kEventFields); }

}  // namespace plumbline
