#include "core/record/link.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/json.h"
#include "core/json_fields.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr std::array kMeasures = {
    LinkMeasureRow{"latency", LinkRounds::kOneWay, "round trips of small messages"},
    LinkMeasureRow{"stream", LinkRounds::kOneWay, "one stream in one direction"},
    LinkMeasureRow{"duplex", LinkRounds::kBothWays, "one stream in each direction at once"},
    LinkMeasureRow{"parallel", LinkRounds::kOneWay, "several streams in one direction"},
    LinkMeasureRow{"loaded_rtt", LinkRounds::kOneWay,
                   "round trips beside a stream on the same pair, and without it"},
    LinkMeasureRow{"incast", LinkRounds::kIncast, "streams of all others to one receiver"},
    LinkMeasureRow{"udp", LinkRounds::kOneWay,
                   "datagrams at a given rate: loss, jitter, reordering"},
    LinkMeasureRow{"all_pairs", LinkRounds::kAllPairs, "streams of all pairs at once"}};

constexpr double kMostRanks = 1 << 20;

[[noreturn]] void refuse(const std::string& what) {
  throw json::other_error::create(501, "link: " + what, nullptr);
}

// A whole number from 0 to 2^53 - 1; plain get<uint64_t>() would wrap negative ones around.
uint64_t count_of(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<int64_t>() < 0)) {
    refuse(std::string(key) + " is no count: " + value.dump());
  }
  const auto number = value.get<uint64_t>();
  if (number > (uint64_t{1} << 53) - 1) refuse(std::string(key) + " is too large");
  return number;
}

// A finite number that is not negative, or null.
std::optional<double> amount_of(const json& object, const char* key) {
  const json& value = object.at(key);
  if (value.is_null()) return std::nullopt;
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number < 0) refuse(std::string(key) + " is " + value.dump());
  return number;
}

std::optional<uint64_t> optional_count(const json& object, const char* key) {
  if (object.at(key).is_null()) return std::nullopt;
  return count_of(object, key);
}

// The elements of a list; iterating over anything else would take it for a list of its values.
const json& list_of(const json& object, const char* key) {
  const json& value = object.at(key);
  if (!value.is_array()) refuse(std::string(key) + " is no list");
  return value;
}

json rtt_json(const std::optional<LinkRtt>& rtt) {
  if (!rtt) return nullptr;
  return {
      {"n", rtt->n}, {"min", rtt->min}, {"p50", rtt->p50}, {"p99", rtt->p99}, {"max", rtt->max}};
}

std::optional<LinkRtt> rtt_from(const json& object) {
  if (object.is_null()) return std::nullopt;
  return LinkRtt{count_of(object, "n"), amount_of(object, "min"), amount_of(object, "p50"),
                 amount_of(object, "p99"), amount_of(object, "max")};
}

json udp_json(const std::optional<LinkUdp>& udp) {
  if (!udp) return nullptr;
  return {{"sent", udp->sent},           {"received", udp->received},
          {"lost", udp->lost()},         {"duplicates", udp->duplicates},
          {"reordered", udp->reordered}, {"dropped", udp->dropped},
          {"jitter_ns", udp->jitter_ns}, {"sent_Bps", udp->sent_Bps}};
}

std::optional<LinkUdp> udp_from(const json& object) {
  if (object.is_null()) return std::nullopt;
  LinkUdp udp;
  udp.sent = count_of(object, "sent");
  udp.received = count_of(object, "received");
  udp.duplicates = count_of(object, "duplicates");
  udp.reordered = count_of(object, "reordered");
  udp.dropped = optional_count(object, "dropped");
  udp.jitter_ns = amount_of(object, "jitter_ns");
  udp.sent_Bps = amount_of(object, "sent_Bps").value_or(0);
  if (udp.received > udp.sent) refuse("udp.received is above udp.sent");
  if (udp.reordered > udp.received) refuse("udp.reordered is above udp.received");
  return udp;
}

json stream_json(const LinkStream& stream) {
  return {{"bytes", stream.bytes}, {"retransmits", stream.retransmits}, {"series", stream.series}};
}

LinkStream stream_from(const json& object) {
  LinkStream stream;
  stream.bytes = count_of(object, "bytes");
  stream.retransmits = optional_count(object, "retransmits");
  for (const json& value : list_of(object, "series")) {
    stream.series.push_back(count_of(json{{"series", value}}, "series"));
  }
  return stream;
}

int rank_at(const json& object, const char* key) {
  const uint64_t rank = count_of(object, key);
  if (static_cast<double>(rank) >= kMostRanks) refuse(std::string(key) + " is no rank");
  return static_cast<int>(rank);
}

}  // namespace

std::span<const LinkMeasureRow> link_measure_table() { return kMeasures; }

const LinkMeasureRow* find_link_measure(const std::string& name) {
  const auto* found = std::find_if(kMeasures.begin(), kMeasures.end(),
                                   [&](const LinkMeasureRow& row) { return name == row.name; });
  return found == kMeasures.end() ? nullptr : found;
}

uint64_t LinkUdp::lost() const {
  const uint64_t missing = sent - std::min(sent, received);
  return missing - std::min(missing, dropped.value_or(0));
}

void to_json(json& object, const LinkResult& link) {
  json streams = json::array();
  for (const LinkStream& stream : link.streams) streams.push_back(stream_json(stream));
  object = {{"from", link.from},
            {"to", link.to},
            {"from_host", link.from_host},
            {"to_host", link.to_host},
            {"local", link.local},
            {"remote", link.remote},
            {"direct", link.direct},
            {"skipped", link.skipped},
            {"error", link.error},
            {"cause", link.cause},
            {"rtt_ns", rtt_json(link.rtt)},
            {"loaded_rtt_ns", rtt_json(link.loaded_rtt)},
            {"Bps", link.rate_Bps},
            {"elapsed_ns", link.elapsed_ns},
            {"interval_ns", link.interval_ns},
            {"streams", std::move(streams)},
            {"udp", udp_json(link.udp)},
            {"speed_bps", link.speed_bps}};
}

void from_json(const json& object, LinkResult& link) {
  link.from = rank_at(object, "from");
  link.to = rank_at(object, "to");
  if (link.from == link.to) refuse("from and to are the same rank");
  get_field(object, "from_host", link.from_host);
  get_field(object, "to_host", link.to_host);
  get_field(object, "local", link.local);
  get_field(object, "remote", link.remote);
  get_field(object, "direct", link.direct);
  get_field(object, "skipped", link.skipped);
  get_field(object, "error", link.error);
  get_field(object, "cause", link.cause);
  link.rtt = rtt_from(object.at("rtt_ns"));
  link.loaded_rtt = rtt_from(object.at("loaded_rtt_ns"));
  link.rate_Bps = amount_of(object, "Bps");
  link.elapsed_ns = static_cast<int64_t>(count_of(object, "elapsed_ns"));
  link.interval_ns = static_cast<int64_t>(count_of(object, "interval_ns"));
  link.streams.clear();
  for (const json& stream : list_of(object, "streams")) link.streams.push_back(stream_from(stream));
  link.udp = udp_from(object.at("udp"));
  link.speed_bps = amount_of(object, "speed_bps");
}

}  // namespace plumbline
