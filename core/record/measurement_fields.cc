// The fields of what was measured: those of core/record/record.h from PerRank to Measurement.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/encode.h"
#include "core/field_json.h"
#include "core/record/record.h"

namespace plumbline {

namespace {

// In the order of their enum.
constexpr std::array kOutcomes = {"passed", "failed", "skipped", "error"};

}  // namespace

const char* to_string(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }

template <>
struct FieldValue<Outcome> {
  static constexpr const char* kType = "string";
  static constexpr bool kNullable = false;
  static void write(const Outcome& outcome, nlohmann::json& out) { out = to_string(outcome); }
  static void read(const nlohmann::json& in, Outcome& outcome) {
    const auto& word = in.get_ref<const std::string&>();
    const auto* const found = std::find(kOutcomes.begin(), kOutcomes.end(), word);
    if (found == kOutcomes.end()) refuse_field("unknown outcome");
    outcome = static_cast<Outcome>(found - kOutcomes.begin());
  }
  static void rows(const std::string&, const FieldWords&, FieldRows&) {}
};

// Buckets lie close together, so a record has them as one list of steps and counts; version 1 and
// submitted results have a pair for each.
template <>
struct FieldValue<Histogram> {
  static constexpr const char* kType = "object";
  static constexpr bool kNullable = false;
  static void write(const Histogram& histogram, nlohmann::json& out) {
    nlohmann::json buckets = nlohmann::json::array();
    uint32_t before = 0;
    for (const auto& [bucket, count] : histogram.sparse()) {
      buckets.push_back(bucket - before);
      buckets.push_back(count);
      before = bucket;
    }
    out = {{"n", histogram.n()},
           {"min", histogram.min()},
           {"max", histogram.max()},
           {"sum", histogram.sum()},
           {"buckets", std::move(buckets)}};
  }
  static void read(const nlohmann::json& in, Histogram& histogram) {
    const nlohmann::json& list = in.at("buckets");
    if (!list.is_array() || list.empty() || !list.front().is_number()) {
      in.get_to(histogram);
      return;
    }
    Histogram::Buckets buckets;
    buckets.reserve(list.size() / 2);
    uint64_t bucket = 0;
    for (size_t i = 0; i + 1 < list.size(); i += 2) {
      bucket += list[i].get<uint32_t>();
      buckets.emplace_back(static_cast<uint32_t>(std::min<uint64_t>(bucket, UINT32_MAX)),
                           list[i + 1].get<uint64_t>());
    }
    histogram = Histogram::read(in, buckets);
    if (list.size() % 2 != 0) refuse_field(Histogram::kImpossible);
  }
  static void rows(const std::string& path, const FieldWords&, FieldRows& rows) {
    const FieldRow all[] = {
        {".n", "integer", false, "samples", "samples"},
        {".min", "integer", false, "ns", "exact"},
        {".max", "integer", false, "ns", "exact"},
        {".sum", "integer", false, "ns", "exact"},
        {".buckets", "array", false, "", "non-empty buckets, ascending"},
        {".buckets[]", "integer", false, "",
         "in turns: buckets from the one before on (first its index), number of samples"}};
    for (const FieldRow& row : all) rows.add(path + row.path, "", row);
  }
};

namespace {

constexpr Field<Resolved> kResolvedFields[] = {
    field<&Resolved::transport>(
        {"transport", "", "transport that ran; `shm+tcp` where pairs of ranks differ"})
        .in_csv("transport_used")
        .published(kPublishedTransport),
    field<&Resolved::algorithm>({"algorithm", "", "algorithm that ran"})
        .in_csv("algorithm_used")
        .published(kPublishedAlgorithm),
    sparse_field<&Resolved::congestion_control>(
        {"congestion_control", "", "of the data connections"})
        .in_csv("congestion_control")
        .published(kPublishedWord),
    sparse_field<&Resolved::kernel>({"kernel", "", "SIMD target that ran"})
        .in_csv("kernel")
        .published(kPublishedWord),
    sparse_field<&Resolved::chunk_bytes>(
        {"chunk_bytes", "bytes", "largest payload of one frame of a message that is cut"})
        .published(kPublishedCount),
    sparse_field<&Resolved::streams>({"streams", "", "connections per pair"})
        .published(kPublishedCount),
    sparse_field<&Resolved::progress_thread>({"progress_thread", "",
                                              "large messages go over connections of their own, "
                                              "written by a second thread of each rank"}),
    sparse_field<&Resolved::address_pairs>({"address_pairs", "",
                                            "addresses really used, one text a connection",
                                            "`0-1 LOCAL:PORT>REMOTE:PORT`"}),
    sparse_field<&Resolved::connections>(
        {"connections", "", "what the system granted to the data connections", "alike ones"}),
    sparse_field<&Resolved::library>(
        {"library", "", "library of an engine that is not plumbline's own, with its version"})
        .in_csv("library"),
    sparse_field<&Resolved::fell_back>(
        {"fell_back", "",
         "pairs of ranks on one machine that could not share memory and used TCP, each reason "
         "once",
         "one reason"}),
    sparse_field<&Resolved::group_ranks>(
        {"group_ranks", "ranks",
         "ranks of each group by colour, whose factor the bus bandwidth has; absent: all ranks are "
         "one group"})
        .in_csv("group_ranks"),
};

constexpr Field<FellBack> kFellBackFields[] = {
    field<&FellBack::pair>({"pair", "", "the first of these pairs, `0-1`"}),
    field<&FellBack::pairs>({"pairs", "", "so many have this reason"}),
    field<&FellBack::reason>({"reason", "", "what the system answered"}),
};

constexpr Field<ConnectionSettings> kConnectionFields[] = {
    field<&ConnectionSettings::ends>({"ends", "", "ends of connections that have these"}),
    sparse_field<&ConnectionSettings::congestion_control>({"congestion_control", "", "in effect"}),
    sparse_field<&ConnectionSettings::mss>({"mss", "bytes", "largest payload of one segment"}),
    sparse_field<&ConnectionSettings::send_buffer>(
        {"send_buffer", "bytes", "send buffer when the cell ended, the smallest among them"}),
    sparse_field<&ConnectionSettings::recv_buffer>(
        {"recv_buffer", "bytes", "receive buffer, likewise"}),
};

constexpr Field<RankCounters> kCounterFields[] = {
    sparse_field<&RankCounters::received_bytes>(
        {"received_bytes", "bytes", "received in the timed part, headers included"}),
    sparse_field<&RankCounters::write_calls>(
        {"write_calls", "calls", "system calls that wrote to its connections"}),
    sparse_field<&RankCounters::read_calls>(
        {"read_calls", "calls", "system calls that read from them, the empty ones included"}),
    sparse_field<&RankCounters::poll_calls>(
        {"poll_calls", "calls", "system calls in which it slept until something could move"}),
    sparse_field<&RankCounters::yield_calls>(
        {"yield_calls", "calls", "system calls in which it gave its core away"}),
    sparse_field<&RankCounters::in_place_bytes>(
        {"in_place_bytes", "bytes", "received payload that was used where it lay"}),
    sparse_field<&RankCounters::copied_bytes>(
        {"copied_bytes", "bytes",
         "received payload that it copied once more itself; the system put what is left of it "
         "straight into its place"}),
    sparse_field<&RankCounters::peer_late_stalls>(
        {"peer_late_stalls", "", "times it waited, and nothing of the message had come"}),
    sparse_field<&RankCounters::receiving_stalls>(
        {"receiving_stalls", "", "times it waited in the middle of a message"}),
    sparse_field<&RankCounters::send_full_stalls>(
        {"send_full_stalls", "", "times the send buffer was full"}),
    sparse_field<&RankCounters::park_full_stalls>(
        {"park_full_stalls", "",
         "times a message that was not expected yet stood before the awaited one and `park_bytes` "
         "were full"}),
};

constexpr Field<TimeSplit> kSplitFields[] = {
    field<&TimeSplit::operations>({"operations", "operations", "so many were taken apart"}),
    field<&TimeSplit::total>({"total", "ns", "from start to end, the clock readings included"}),
    field<&TimeSplit::queue>({"queue", "ns", "older operations of this rank were in flight"}),
    field<&TimeSplit::sync>(
        {"sync", "ns", "it waited, and nothing of the message that it waited for had come"}),
    field<&TimeSplit::network>(
        {"network", "ns", "bytes moved, or it waited in the middle of a message"}),
    field<&TimeSplit::reduce>({"reduce", "ns", "arithmetic, and copies inside the rank"}),
};

constexpr Field<PerRank> kRankFields[] = {
    field<&PerRank::rank>({"rank", "", "rank"}),
    field<&PerRank::host>({"host", "", "name of its host"}),
    sparse_field<&PerRank::p50>({"p50", "ns", "median"}),
    sparse_field<&PerRank::p99>({"p99", "ns", "99th percentile, null below 1000 samples"}),
    sparse_field<&PerRank::mean>({"mean", "ns", "mean"}),
    sparse_field<&PerRank::wire_bytes>(
        {"wire_bytes", "bytes", "sent in the timed part, headers included"}),
    sparse_field<&PerRank::cpu_ns>(
        {"cpu_ns", "ns",
         "user and system time of the timed part, without what verification took; untimed "
         "operations and the meetings between operations are in it"}),
    sparse_field<&PerRank::context_switches>(
        {"context_switches", "", "voluntary and involuntary, over the same"}),
    sparse_field<&PerRank::retransmits>({"retransmits", "segments", "TCP retransmissions"}),
    sparse_field<&PerRank::cpu>({"cpu", "", "CPU that plumbline bound it to, -1 = none"}),
    sparse_field<&PerRank::affinity>(
        {"affinity", "",
         "CPUs that it might really use, by whomever it was bound: `3`, `0-7,16-23`; empty = not "
         "known"}),
    sparse_field<&PerRank::numa_node>(
        {"numa_node", "", "NUMA node of these CPUs, -1 = several, or not known"}),
    sparse_field<&PerRank::memory_bytes>(
        {"memory_bytes", "bytes",
         "resident memory of its process when the cell ended, where the system tells"}),
    sparse_field<&PerRank::send_buffer_bytes>(
        {"send_buffer_bytes", "bytes",
         "send buffer as the system granted it (of shared memory: the ring), the smallest of its "
         "connections"}),
    sparse_field<&PerRank::recv_buffer_bytes>(
        {"recv_buffer_bytes", "bytes", "receive buffer, likewise"}),
    sparse_field<&PerRank::counters>(
        {"counters", "", "what moved its bytes, over the timed part; without a key: 0"}),
    sparse_field<&PerRank::split>(
        {"split", "",
         "where the time of an operation went, mean of those that were taken apart after the timed "
         "part; the four parts add up to the total"}),
    sparse_field<&PerRank::clock_offset_ns>(
        {"clock_offset_ns", "ns",
         "rank 0's monotonic clock minus this rank's at the end; null without window timing"}),
    sparse_field<&PerRank::clock_error_ns>(
        {"clock_error_ns", "ns",
         "the true offset is within this of it; null without window timing"}),
};

constexpr Field<Reported> kReportedFields[] = {
    field<&Reported::tool>({"tool", "", "`iperf3`, `nccl-tests`, `osu` ..."}),
    field<&Reported::version>({"version", "", "its version, empty where its output does not say"}),
    field<&Reported::statistic>(
        {"statistic", "",
         "what `reported.time_ns` is, or without a time the bandwidth, as that tool defines it: "
         "`mean`, `median` ...; may be empty"}),
    field<&Reported::time_ns>({"time_ns", "ns", "of one operation, as `cell.op` counts it"}),
    field<&Reported::algbw_Bps>(
        {"algbw_Bps", "bytes/s", "as printed; null = it follows from the time"}),
    field<&Reported::busbw_Bps>(
        {"busbw_Bps", "bytes/s", "as printed; null = it follows from the time"}),
    field<&Reported::note>({"note", "", "what was converted on import, in words; may be empty"}),
};

// Packed, as most of a line would be samples otherwise; version 1 had them as a list of numbers.
constexpr Field<Measurement> samples_field() {
  Field<Measurement> row = sparse_field<&Measurement::samples_ns>(
      {"samples_ns", "ns", "the first 10000 samples in time order, packed (see below)"});
  row.type = "string";
  row.rows_below = [](const std::string&, const FieldWords&, FieldRows&) {};
  row.absent = [] { return std::string("\"\""); };
  row.write = [](const Measurement& m, nlohmann::json& out) { out = pack_samples(m.samples_ns); };
  row.read = [](const nlohmann::json& in, Measurement& m) {
    if (!in.is_string()) {
      FieldValue<std::vector<int64_t>>::read(in, m.samples_ns);
    } else if (!unpack_samples(in.get_ref<const std::string&>(), m.samples_ns)) {
      refuse_field("no packed samples");
    }
  };
  return row;
}

constexpr Field<Measurement> kMeasurementFields[] = {
    field<&Measurement::resolved>(
        {"resolved", "", "what `auto` became and what the connection really is"}),
    field<&Measurement::outcome>(
        {"outcome", "", "`passed`, `failed` (wrong data), `skipped`, `error`"})
        .in_csv("outcome"),
    sparse_field<&Measurement::reason>(
        {"reason", "", "why it was skipped, failed or ended in error"})
        .in_csv("reason"),
    sparse_field<&Measurement::cause>({"cause", "", "cause id, such as `rank.dead`; may be empty"})
        .in_csv("cause"),
    field<&Measurement::verified>(
        {"verified", "",
         "all operations were verified, and all right; how many of how many is in `extra`"})
        .in_csv("verified"),
    sparse_field<&Measurement::wrong>(
        {"wrong", "elements", "wrong elements over all ranks; null when nothing was checked"})
        .in_csv("wrong_elements"),
    sparse_field<&Measurement::stop_reason>({"stop_reason", "", "why sampling ended, as measured"})
        .in_csv("stop_reason"),
    sparse_field<&Measurement::wire_bytes>(
        {"wire_bytes", "bytes", "payload sent per operation, summed over ranks"})
        .in_csv("wire_bytes"),
    field<&Measurement::hist>({"hist", "", "histogram of all samples (see below)"}),
    samples_field(),
    sparse_field<&Measurement::iterations>({"iterations", "operations", "timed operations"})
        .in_csv("iterations"),
    sparse_field<&Measurement::first_op_ns>(
        {"first_op_ns", "ns", "the first operation after connecting, not among the samples"})
        .in_csv("first_operation_ns"),
    sparse_field<&Measurement::elapsed_ns>({"elapsed_ns", "ns", "the whole timed part"})
        .in_csv("elapsed_ns"),
    sparse_field<&Measurement::ops_per_s>(
        {"ops_per_s", "1/s", "sustained rate of a throughput cell"})
        .in_csv("rate_operations_per_s"),
    sparse_field<&Measurement::bytes_per_s>({"bytes_per_s", "bytes/s", "S times ops_per_s"})
        .in_csv("data_bytes_per_s"),
    sparse_field<&Measurement::warmup_iterations>(
        {"warmup_iterations", "operations", "untimed operations before the samples"})
        .in_csv("warmup_iterations"),
    sparse_field<&Measurement::warmup_converged>(
        {"warmup_converged", "", "medians had settled when sampling began"}),
    sparse_field<&Measurement::per_rank>(
        {"per_rank", "", "one entry a rank, of its own durations", "one rank"}),
    sparse_field<&Measurement::extra>(
        {"extra", "",
         "further counters, unit in the key; `verified_operations_count` of `operations_count` "
         "that ran (the first one, those of the warm-up and those that are not timed included; "
         "absent = count unknown), `verify_seed` of the random choice among them; "
         "`max_error_abs` of an element of a compressed result, and `max_error_rel`, that as a "
         "share of the largest exact one; "
         "`measured_operations_count` of the timed part, those that are not timed included (the "
         "operations that `cpu_ns` and context switches went to); `floor_one_way_bytes`, "
         "`floor_both_ways_bytes` or `floor_round_trip_bytes` (the bare transfer that bounds a "
         "latency); `cost_depth_count`, `cost_wire_bytes`, `cost_reduce_bytes` and "
         "`cost_copy_bytes` of "
         "its schedule (messages one behind the other; bytes of the busiest rank); "
         "`wrong_operations_count` of those verified; `link_bps` (speed of the slowest link "
         "between its ranks, where known); of "
         "window timing `clock_error_ns` (largest bound of a rank's clock at any sample), "
         "`late_samples_count`, `window_ns`, `clock_drift_ppm`, `clock_drift_error_ppm`, "
         "`clock_breaks_count` (jumps); after idle time `cold_meeting_ns`, `warm_meeting_ns` (a "
         "barrier), `cold_op_1_ns` ... (the first operations)",
         "value"}),
    sparse_field<&Measurement::links>(
        {"links", "", "cells of kind `link` only: one entry an ordered pair of ranks",
         "one direction of one pair"}),
    sparse_field<&Measurement::reported>(
        {"reported", "",
         "imported records only: what another tool printed where we would have samples"}),
};

}  // namespace

std::span<const Field<Resolved>> FieldsOf<Resolved>::all() { return kResolvedFields; }
std::span<const Field<ConnectionSettings>> FieldsOf<ConnectionSettings>::all() {
  return kConnectionFields;
}
std::span<const Field<FellBack>> FieldsOf<FellBack>::all() { return kFellBackFields; }
std::span<const Field<PerRank>> FieldsOf<PerRank>::all() { return kRankFields; }
std::span<const Field<RankCounters>> FieldsOf<RankCounters>::all() { return kCounterFields; }
std::span<const Field<TimeSplit>> FieldsOf<TimeSplit>::all() { return kSplitFields; }
std::span<const Field<Reported>> FieldsOf<Reported>::all() { return kReportedFields; }
std::span<const Field<Measurement>> FieldsOf<Measurement>::all() { return kMeasurementFields; }

void FieldsOf<TimeSplit>::check(const TimeSplit& split) {
  for (const double part : {split.total, split.queue, split.sync, split.network, split.reduce}) {
    if (part < 0) refuse_field("a negative time");
  }
}

void FieldsOf<Reported>::check(const Reported& told) {
  for (const std::optional<double>& value : {told.time_ns, told.algbw_Bps, told.busbw_Bps}) {
    if (value && *value < 0) refuse_field("a negative time or rate");
  }
}

void to_json(nlohmann::json& object, const Measurement& measurement) {
  FieldValue<Measurement>::write(measurement, object);
}

void from_json(const nlohmann::json& object, Measurement& measurement) {
  read_fields(object, measurement);
}

}  // namespace plumbline
