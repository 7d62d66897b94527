#include "cli/json_output.h"

#include "core/json.h"
#include "core/text.h"

namespace plumbline {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

template <typename T>
Json value_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json link_json(const LiveLink& link) {
  return {
      {"name", link.name},
      {"kind", link.kind},
      {"up", link.up},
      {"signal", link.carrier},
      {"signal_changes", value_or_null(link.signal_changes)},
      {"mtu", link.mtu},
      {"speed_bps", value_or_null(link.speed_bps)},
      {"rx_Bps", value_or_null(link.rx_Bps)},
      {"tx_Bps", value_or_null(link.tx_Bps)},
      {"rx_packets_per_s", value_or_null(link.rx_packets_per_s)},
      {"tx_packets_per_s", value_or_null(link.tx_packets_per_s)},
      {"rx_drops_per_s", value_or_null(link.rx_drops_per_s)},
      {"tx_drops_per_s", value_or_null(link.tx_drops_per_s)},
      {"errors_per_s", value_or_null(link.errors_per_s)},
  };
}

Json neighbours_json(const LiveHost& host) {
  if (!host.neighbours) return nullptr;
  Json list = Json::array();
  for (const WatchNeighbour& each : *host.neighbours) {
    list.push_back({{"ip", each.ip}, {"link", each.dev}, {"state", each.state}});
  }
  return list;
}

}  // namespace

std::string run_json(const RunOutcome& outcome) {
  nlohmann::json rules = nlohmann::json::array();
  for (const RuleVerdict& rule : outcome.rules) {
    rules.push_back({{"rule", rule.rule},
                     {"where", rule.where},
                     {"passed", rule.passed},
                     {"message", rule.message},
                     {"cells", rule.cells},
                     {"failed", rule.failed}});
  }
  const nlohmann::json object = {{"schema", 1},
                                 {"run_id", outcome.run_id},
                                 {"scenario", outcome.scenario},
                                 {"state", outcome.state.state},
                                 {"reason", outcome.state.reason},
                                 {"exit_code", outcome.exit_code},
                                 {"planned", outcome.state.planned},
                                 {"measured", outcome.state.measured},
                                 {"passed", outcome.counts.passed},
                                 {"failed", outcome.counts.failed},
                                 {"skipped", outcome.counts.skipped},
                                 {"errors", outcome.counts.errors},
                                 {"wrong", outcome.counts.wrong},
                                 {"rules", std::move(rules)},
                                 {"folder", outcome.folder},
                                 {"records", outcome.records},
                                 {"reports", outcome.reports}};
  return json_text(object);
}

std::string watch_json_line(const LiveHost& host, const std::string& time) {
  const bool lost = !host.lost.empty();
  Json line = {{"schema", kSchema},
               {"time", time},
               {"host", host.name},
               {"lost", lost ? Json(host.lost) : Json(nullptr)}};
  // A host that does not answer has no rates; what it showed last is not what it shows now.
  const LiveHost none;
  const LiveHost& seen = lost ? none : host;
  line["interval_s"] = value_or_null(seen.interval_s);
  line["links"] = Json::array();
  for (const LiveLink& link : seen.links) line["links"].push_back(link_json(link));
  line["segments_per_s"] = value_or_null(seen.segments_per_s);
  line["retransmitted_per_s"] = value_or_null(seen.retransmitted_per_s);
  line["timeouts_per_s"] = value_or_null(seen.timeouts_per_s);
  line["discards_per_s"] = value_or_null(seen.discards_per_s);
  line["neighbours"] = neighbours_json(seen);
  line["temperatures"] = Json::object();
  for (const auto& [sensor, degrees] : seen.temperatures) line["temperatures"][sensor] = degrees;
  line["changes"] = Json::array();
  for (const HostChange& change : host.changes) {
    line["changes"].push_back(
        {{"kind", change.kind}, {"subject", change.subject}, {"text", change.text}});
  }
  return printable_json(line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace plumbline
