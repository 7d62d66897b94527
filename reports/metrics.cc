#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "reports/rules.h"
#include "reports/view.h"

namespace plumbline {
namespace {

bool of_times(const CellKindRow& kind) { return kind.has_times(); }
bool of_transfers(const CellKindRow& kind) {
  return kind.has_times() && kind.timing != CellTiming::kRequests;
}
bool of_timed_operations(const CellKindRow& kind) { return kind.times_operations(); }
bool of_collectives(const CellKindRow& kind) { return kind.collective; }
bool of_latencies(const CellKindRow& kind) { return kind.headline == Headline::kTime; }
template <CellTiming Timing>
bool of_timing(const CellKindRow& kind) {
  return kind.timing == Timing;
}
constexpr const char* kStreams = "stream duplex parallel loaded_rtt incast all_pairs";

MetricValue number_or(const std::optional<double>& value, const char* missing) {
  return value ? MetricValue{value, "", ""} : MetricValue{std::nullopt, "", missing};
}

// A quantile is absent when the samples cannot carry it.
template <std::optional<double> TimeSummary::*Field>
MetricValue quantile(const View&, const Item& item) {
  if (item.time.*Field) return {item.time.*Field, "", ""};
  return {std::nullopt, "", fmt::format("{} samples are too few for it", item.time.n)};
}

MetricValue first_op(const View&, const Item& item) {
  const int64_t ns = item.record->measurement.first_op_ns;
  return ns > 0 ? MetricValue{static_cast<double>(ns), "", ""}
                : MetricValue{std::nullopt, "", "the first operation was not timed apart"};
}

template <std::optional<double> Item::*Field>
MetricValue bandwidth(const View&, const Item& item) {
  return number_or(item.*Field, "no bandwidth was measured");
}
template <std::optional<double> Measurement::*Field>
MetricValue sustained(const View&, const Item& item) {
  return number_or(item.record->measurement.*Field, "no rate was measured");
}

MetricValue wrong(const View&, const Item& item) {
  const std::optional<uint64_t>& count = item.record->measurement.wrong;
  if (!count) return {std::nullopt, "", "the data were not checked"};
  return {static_cast<double>(*count), "", ""};
}

MetricValue max_error(const View&, const Item& item) {
  const auto& extra = item.record->measurement.extra;
  const auto error = extra.find(kMaxErrorRel);
  if (error != extra.end()) return {error->second, "", ""};
  return {std::nullopt, "", "nothing was compressed, or the data were not checked"};
}

MetricValue samples(const View&, const Item& item) {
  return {static_cast<double>(item.time.n), "", ""};
}

MetricValue retransmits(const View&, const Item& item) {
  uint64_t all = 0;
  for (const PerRank& rank : item.record->measurement.per_rank) all += rank.retransmits;
  return {static_cast<double>(all), "", ""};
}

MetricValue wire_of_ideal(const View&, const Item& item) {
  Record derived;
  derived.cell = item.record->cell;
  recompute(derived);
  const uint64_t wire = item.record->measurement.wire_bytes;
  if (derived.ideal_wire_bytes == 0 || wire == 0) {
    return {std::nullopt, "", "no bytes on the wire are known"};
  }
  return {static_cast<double>(wire) / static_cast<double>(derived.ideal_wire_bytes), "", ""};
}

template <double TimeSplit::*Part>
MetricValue part_of_time(const View&, const Item& item) {
  const std::optional<TimeSplit> split = mean_split(item.record->measurement);
  if (!split) return {std::nullopt, "", "no operation was taken apart"};
  return {*split.*Part, "", ""};
}

constexpr const char* kNotCounted = "its ranks did not count that";

MetricValue received(const View&, const Item& item) {
  const auto counted = sum_counters(item.record->measurement);
  if (!counted) return {std::nullopt, "", kNotCounted};
  return {static_cast<double>(counted->received_bytes), "", ""};
}

MetricValue sent(const View&, const Item& item) {
  double all = 0;
  for (const PerRank& rank : item.record->measurement.per_rank) {
    all += static_cast<double>(rank.wire_bytes);
  }
  return all > 0 ? MetricValue{all, "", ""} : MetricValue{std::nullopt, "", kNotCounted};
}

MetricValue calls(const View&, const Item& item) {
  const Measurement& m = item.record->measurement;
  const auto counted = sum_counters(m);
  const uint64_t operations = measured_operations(m);
  if (!counted || operations == 0) return {std::nullopt, "", kNotCounted};
  return {static_cast<double>(counted->system_calls()) / static_cast<double>(operations), "", ""};
}

MetricValue in_place(const View&, const Item& item) {
  const auto counted = sum_counters(item.record->measurement);
  if (!counted || counted->received_bytes == 0) return {std::nullopt, "", kNotCounted};
  return {
      static_cast<double>(counted->in_place_bytes) / static_cast<double>(counted->received_bytes),
      "", ""};
}

MetricValue cpu_per_byte(const View&, const Item& item) {
  return number_or(cpu_ns_per_byte(item.record->measurement), kNotCounted);
}

MetricValue errors(const View&, const Item& item) {
  return {static_cast<double>(errors_of(item.record->measurement)), "", ""};
}

MetricValue mean(const View&, const Item& item) {
  return number_or(mean_ns(item), "no times were kept");
}

MetricValue peak(const View&, const Item& item) {
  return number_or(peak_Bps(item), "no bandwidth was measured");
}

MetricValue of_predicted(const View&, const Item& item) {
  if (!item.predicted_ns) {
    return {std::nullopt, "", "the roofs and costs for a prediction were not measured"};
  }
  return number_or(
      item.time.p50 ? std::optional(*item.time.p50 / *item.predicted_ns) : std::nullopt,
      "no times were kept");
}

MetricValue memory(const View&, const Item& item) {
  std::optional<double> largest;
  for (const PerRank& rank : item.record->measurement.per_rank) {
    if (rank.memory_bytes) {
      largest = std::max(largest.value_or(0), static_cast<double>(*rank.memory_bytes));
    }
  }
  return number_or(largest, "no rank told its memory");
}

MetricValue noise(const View&, const Item& item) {
  return {std::nullopt, to_string(item.verdict), ""};
}

// A share of a roof that is too low says nothing, however large it is.
MetricValue share_or(const RoofShare& of, const std::string& reached) {
  if (of.no_roof.empty()) return {of.share, "", ""};
  return {std::nullopt, "", fmt::format("reached {}, but {}", reached, of.no_roof)};
}

MetricValue latency_of_roof(const View& view, const Item& item) {
  const std::optional<RoofShare> of = latency_share(view, item);
  if (!of) return {std::nullopt, "", "no bare transfer of its messages was measured on its path"};
  return share_or(*of, format_duration(*item.time.p50));
}

MetricValue busbw_of_roof(const View& view, const Item& item) {
  if (!item.record->cell.compression.empty()) {
    return {std::nullopt, "", "a bare stream does not compress, so it bounds no compressed cell"};
  }
  if (bandwidth_roof(view, *item.record) == nullptr) {
    return {std::nullopt, "", "no bare stream was measured on its path"};
  }
  const std::optional<RoofShare> of = bandwidth_share(view, item);
  if (!of) return {std::nullopt, "", "no bandwidth was measured"};
  return share_or(*of, format_rate(*item.busbw_Bps));
}

constexpr const char* kUnknownSpeed =
    "the speed of its link is not known; state it in the host file: \"speed\": \"40Gbit\"";

MetricValue busbw_of_link(const View&, const Item& item) {
  const auto& extra = item.record->measurement.extra;
  const auto speed = extra.find(kLinkSpeed);
  if (speed == extra.end() || speed->second <= 0) return {std::nullopt, "", kUnknownSpeed};
  if (!item.busbw_Bps) return {std::nullopt, "", "no bandwidth was measured"};
  return {*item.busbw_Bps * 8 / speed->second, "", ""};
}

// The worst pair of a link matrix, by what `of` says of a pair that was measured.
template <typename Of>
MetricValue worst_pair(const Item& item, bool largest, const char* missing, Of of) {
  std::optional<double> worst;
  for (const LinkResult& link : item.record->measurement.links) {
    if (!link.skipped.empty()) continue;
    const std::optional<double> value = link.measured() ? of(link) : std::nullopt;
    if (!value)
      return {std::nullopt, "",
              fmt::format("rank {} to {}: {}", link.from, link.to,
                          link.error.empty() ? missing : link.error)};
    if (!worst || (largest ? *value > *worst : *value < *worst)) worst = value;
  }
  return number_or(worst, missing);
}

MetricValue link_rate(const View&, const Item& item) {
  return worst_pair(item, false, "no rate was measured",
                    [](const LinkResult& link) { return link.rate_Bps; });
}

MetricValue link_rate_of_link(const View&, const Item& item) {
  return worst_pair(item, false, kUnknownSpeed, [](const LinkResult& link) {
    const bool known = link.rate_Bps && link.speed_bps && *link.speed_bps > 0;
    return known ? std::optional<double>(*link.rate_Bps * 8 / *link.speed_bps) : std::nullopt;
  });
}

MetricValue link_rtt(const View&, const Item& item) {
  return worst_pair(item, true, "no round trips were measured", [](const LinkResult& link) {
    if (link.loaded_rtt) return link.loaded_rtt->p50;
    return link.rtt ? link.rtt->p50 : std::nullopt;
  });
}

MetricValue link_loss(const View&, const Item& item) {
  return worst_pair(item, true, "no datagrams were sent", [](const LinkResult& link) {
    const bool sent = link.udp && link.udp->sent > 0;
    return sent ? std::optional(link.udp->share(link.udp->lost())) : std::nullopt;
  });
}

// ---- of servers of language models ----

MetricValue told(const Item& item, const char* key) {
  return number_or(extra_of(item.record->measurement, key), "no answer came that tells it");
}
MetricValue token_rate(const View&, const Item& item) { return told(item, kEndpointTokenRate); }
MetricValue answer_rate(const View&, const Item& item) { return told(item, kEndpointAnswerRate); }
MetricValue answer_time(const View&, const Item& item) { return told(item, kEndpointAnswerTime); }
MetricValue gap_median(const View&, const Item& item) { return told(item, kEndpointGap50); }
MetricValue gap_p99(const View&, const Item& item) {
  return number_or(extra_of(item.record->measurement, kEndpointGap99),
                   "too few tokens came one by one");
}
double ended(const Item& item, const char* end) {
  return extra_of(item.record->measurement, endpoint_count_key(end).c_str()).value_or(0);
}
MetricValue turned_away(const View&, const Item& item) { return {ended(item, "busy"), "", ""}; }
MetricValue unanswered(const View&, const Item& item) {
  const auto all = extra_of(item.record->measurement, kEndpointRequests);
  if (!all) return {std::nullopt, "", "nothing was asked"};
  return {*all - ended(item, "answered") - ended(item, "busy"), "", ""};
}
MetricValue wrong_answers(const View&, const Item& item) {
  return {extra_of(item.record->measurement, kEndpointWrong).value_or(0), "", ""};
}

// "latency" in "latency bandwidth".
bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t space = std::min(words.find(' '), words.size());
    if (words.substr(0, space) == word) return true;
    words.remove_prefix(std::min(space + 1, words.size()));
  }
  return false;
}

// Relative to another run: only what has a size of its own there.
bool has_baseline(const MetricRow& row) {
  return row.unit == MetricUnit::kTime || row.unit == MetricUnit::kRate ||
         row.unit == MetricUnit::kPerSecond || row.unit == MetricUnit::kSize;
}

}  // namespace

const std::vector<MetricRow>& metric_table() {
  static const std::vector<MetricRow> kTable = {
      {"min", MetricUnit::kTime, of_times, "", Moves::kNothing, quantile<&TimeSummary::min>,
       "shortest time of an operation"},
      {"p50", MetricUnit::kTime, of_times, "", Moves::kNothing, quantile<&TimeSummary::p50>,
       "median time of the slowest rank"},
      {"p90", MetricUnit::kTime, of_times, "", Moves::kNothing, quantile<&TimeSummary::p90>,
       "its 90 % quantile"},
      {"p95", MetricUnit::kTime, of_times, "", Moves::kNothing, quantile<&TimeSummary::p95>,
       "its 95 % quantile"},
      {"p99", MetricUnit::kTime, of_times, "", Moves::kNothing, quantile<&TimeSummary::p99>,
       "its 99 % quantile; needs 1000 samples"},
      {"p999", MetricUnit::kTime, of_times, "", Moves::kNothing, quantile<&TimeSummary::p999>,
       "its 99.9 % quantile; needs 10000 samples"},
      {"max", MetricUnit::kTime, of_times, "", Moves::kNothing, quantile<&TimeSummary::max>,
       "longest time of an operation"},
      {"mean", MetricUnit::kTime, of_times, "", Moves::kNothing, mean, "mean of the times"},
      {"first_op", MetricUnit::kTime, of_timing<CellTiming::kEach>, "", Moves::kNothing, first_op,
       "the very first operation, setting up connections included"},
      {"cv", MetricUnit::kShare, of_times, "", Moves::kNothing, quantile<&TimeSummary::cv>,
       "standard deviation over mean of the times"},
      {"algbw", MetricUnit::kRate, of_transfers, "", Moves::kBytes, bandwidth<&Item::algbw_Bps>,
       "size over time"},
      {"busbw", MetricUnit::kRate, of_transfers, "", Moves::kBytes, bandwidth<&Item::busbw_Bps>,
       "the same times the operation's factor: comparable to the speed of the wire"},
      {"peak", MetricUnit::kRate, of_timed_operations, "", Moves::kBytes, peak,
       "algbw of the fastest operation"},
      {"rate", MetricUnit::kRate, of_timing<CellTiming::kSustained>, "", Moves::kBytes,
       sustained<&Measurement::bytes_per_s>, "bytes per second with several operations in flight"},
      {"ops_per_s", MetricUnit::kPerSecond, of_timing<CellTiming::kSustained>, "", Moves::kNothing,
       sustained<&Measurement::ops_per_s>, "operations per second with several in flight"},
      {"wrong", MetricUnit::kCount, of_collectives, "", Moves::kNothing, wrong, "wrong elements"},
      {"errors", MetricUnit::kCount, of_collectives, "", Moves::kNothing, errors,
       "verified operations whose result was wrong; 1 for a cell that an error ended"},
      {"max_error", MetricUnit::kShare, of_collectives, "", Moves::kBytes, max_error,
       "of a compressed result: the largest error, of the largest exact element"},
      {"samples", MetricUnit::kCount, of_times, "", Moves::kNothing, samples,
       "operations that were timed"},
      {"retransmits", MetricUnit::kCount, of_timed_operations, "", Moves::kNothing, retransmits,
       "TCP segments that all ranks sent again while timing"},
      {"wire_of_ideal", MetricUnit::kShare, of_collectives, "", Moves::kBytes, wire_of_ideal,
       "bytes on the wire over the fewest that are possible"},
      {"sent", MetricUnit::kSize, of_timed_operations, "", Moves::kNothing, sent,
       "bytes that all ranks sent while timing, headers included"},
      {"received", MetricUnit::kSize, of_timed_operations, "", Moves::kNothing, received,
       "bytes that all ranks received while timing, headers included"},
      {"in_place", MetricUnit::kShare, of_timed_operations, "", Moves::kBytes, in_place,
       "received bytes that were used where they lay, over all received ones"},
      {"cpu_per_byte", MetricUnit::kTime, of_timed_operations, "", Moves::kNothing, cpu_per_byte,
       "processor time of all ranks over the bytes that they sent and received"},
      {"calls", MetricUnit::kCount, of_timed_operations, "", Moves::kNothing, calls,
       "system calls of all ranks for one operation"},
      {"queue", MetricUnit::kTime, of_timed_operations, "", Moves::kNothing,
       part_of_time<&TimeSplit::queue>, "of an operation: older ones were in flight"},
      {"sync", MetricUnit::kTime, of_timed_operations, "", Moves::kNothing,
       part_of_time<&TimeSplit::sync>,
       "of an operation: waiting for a message of which nothing had come"},
      {"network", MetricUnit::kTime, of_timed_operations, "", Moves::kNothing,
       part_of_time<&TimeSplit::network>,
       "of an operation: moving bytes, or waiting in the middle of a message"},
      {"reduce", MetricUnit::kTime, of_timed_operations, "", Moves::kNothing,
       part_of_time<&TimeSplit::reduce>, "of an operation: arithmetic, and copies inside the rank"},
      {"memory", MetricUnit::kSize, of_collectives, "", Moves::kNothing, memory,
       "resident memory of the largest rank"},
      {"noise", MetricUnit::kWord, of_times, "", Moves::kNothing, noise, "`clean` or `noisy`"},
      {"latency_of_roof", MetricUnit::kShare, of_latencies, "", Moves::kMessages, latency_of_roof,
       "what a bare socket takes for the same messages, over the median time"},
      {"busbw_of_roof", MetricUnit::kShare, of_timing<CellTiming::kEach>, "", Moves::kBytes,
       busbw_of_roof, "busbw over the rate of a bare socket on the same path"},
      {"of_predicted", MetricUnit::kShare, of_timing<CellTiming::kEach>, "", Moves::kMessages,
       of_predicted, "median time over what its schedule should take by the roofs of the same run"},
      {"busbw_of_link", MetricUnit::kShare, of_timed_operations, "", Moves::kBytes, busbw_of_link,
       "busbw over the speed of the slowest link between its ranks: the host file's `speed`, else "
       "the interface's"},
      {"link_rate", MetricUnit::kRate, of_timing<CellTiming::kPairs>, kStreams, Moves::kNothing,
       link_rate,
       "rate of the slowest pair; `measure` in `where` says whether one stream, several, or all "
       "pairs at once"},
      {"link_rate_of_link", MetricUnit::kShare, of_timing<CellTiming::kPairs>, kStreams,
       Moves::kNothing, link_rate_of_link,
       "the same over the speed of that pair's link, of the pair where it is least"},
      {"link_rtt", MetricUnit::kTime, of_timing<CellTiming::kPairs>, "latency loaded_rtt",
       Moves::kNothing, link_rtt, "median round trip of the slowest pair"},
      {"link_loss", MetricUnit::kShare, of_timing<CellTiming::kPairs>, "udp", Moves::kNothing,
       link_loss, "datagrams lost, of the pair that lost most"},
      {"tokens_per_s", MetricUnit::kPerSecond, of_timing<CellTiming::kRequests>, "",
       Moves::kNothing, token_rate, "tokens of all answers together, per second"},
      {"answer_tokens_per_s", MetricUnit::kPerSecond, of_timing<CellTiming::kRequests>, "",
       Moves::kNothing, answer_rate, "of one streamed answer, behind its first token; median"},
      {"answer", MetricUnit::kTime, of_timing<CellTiming::kRequests>, "", Moves::kNothing,
       answer_time, "median time of a whole answer; `p50` is that of the first token"},
      {"gap_p50", MetricUnit::kTime, of_timing<CellTiming::kRequests>, "", Moves::kNothing,
       gap_median, "between two tokens of a streamed answer, median"},
      {"gap_p99", MetricUnit::kTime, of_timing<CellTiming::kRequests>, "", Moves::kNothing, gap_p99,
       "its 99 % quantile"},
      {"busy", MetricUnit::kCount, of_timing<CellTiming::kRequests>, "", Moves::kNothing,
       turned_away, "requests that were turned away (429, 503)"},
      {"unanswered", MetricUnit::kCount, of_timing<CellTiming::kRequests>, "", Moves::kNothing,
       unanswered, "requests that failed: no connection, silence, 504, broken off, nonsense"},
      {"wrong_answers", MetricUnit::kCount, of_timing<CellTiming::kRequests>, "", Moves::kNothing,
       wrong_answers, "answers without the text that the block asks for"},
  };
  return kTable;
}

bool Metric::means_something_for(const Cell& cell) const {
  const bool measured = *row->measures == '\0' || has_word(row->measures, cell.measure);
  const bool moves = row->needs == Moves::kNothing || cell.bytes > 0 ||
                     (row->needs == Moves::kMessages && cell.op == "barrier");
  return row->of(plumbline::row(cell.kind)) && measured && moves;
}

std::optional<Metric> find_metric(const std::string& name) {
  const std::string ending = kOfBaseline;
  for (const MetricRow& row : metric_table()) {
    if (name == row.name) return Metric{&row, false};
    if (has_baseline(row) && name == row.name + ending) return Metric{&row, true};
  }
  return std::nullopt;
}

std::vector<Descriptor> metric_descriptors() {
  std::vector<Descriptor> rows;
  for (const MetricRow& row : metric_table()) {
    rows.push_back({row.name, row.help, {}, {}, to_string(row.unit)});
  }
  for (const MetricRow& row : metric_table()) {
    if (!has_baseline(row)) continue;
    rows.push_back({std::string(row.name) + kOfBaseline,
                    fmt::format("{} over that of the same cell of the baseline", row.name),
                    {},
                    {},
                    to_string(MetricUnit::kShare)});
  }
  return rows;
}

std::string metric_reference_markdown() {
  std::string text =
      "| metric | unit | of cells of kind (measure) | meaning |\n|---|---|---|---|\n";
  for (const MetricRow& row : metric_table()) {
    std::string kinds;
    for (const CellKindRow& kind : cell_kind_table()) {
      if (row.of(kind)) kinds += fmt::format("{}{}", kinds.empty() ? "" : " ", kind.name);
    }
    text += fmt::format("| `{}`{} | {} | {} | {} |\n", row.name,
                        has_baseline(row) ? fmt::format(", `{}{}`", row.name, kOfBaseline) : "",
                        to_string(row.unit),
                        *row.measures == '\0' ? kinds : fmt::format("{} ({})", kinds, row.measures),
                        row.help);
  }
  text += "\n| unit | written |\n|---|---|\n";
  for (const MetricUnitRow& row : metric_unit_table()) {
    text += fmt::format("| {} | `{}` |\n", row.name, row.example);
  }
  return text;
}

}  // namespace plumbline
