#include "core/record/link.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>
#include <set>

#include "core/field_json.h"
#include "core/ranges.h"
#include "core/record/record.h"

namespace plumbline {
namespace {

using nlohmann::json;

constexpr auto kOneWay = LinkRounds::kOneWay, kBothWays = LinkRounds::kBothWays;
constexpr LinkMeasureRow kMeasures[] = {
    {"latency", kOneWay, "round trips of small messages", false, true},
    {"stream", kOneWay, "one stream in one direction"},
    {"duplex", kBothWays, "one stream in each direction at once"},
    {"parallel", kOneWay, "several streams in one direction"},
    {"loaded_rtt", kOneWay, "round trips beside a stream on the same pair, and without it", false,
     true},
    {"incast", LinkRounds::kIncast, "streams of all others to one receiver"},
    {"udp", kOneWay, "datagrams at a given rate: loss, jitter, reordering"},
    {"all_pairs", LinkRounds::kAllPairs, "streams of all pairs at once"},
    {"send_lat", kOneWay, "RDMA: SENDs there and back, over the verbs alone (ib_send_lat)", true,
     true},
    {"write_lat", kOneWay, "RDMA: WRITEs there and back (ib_write_lat)", true, true},
    {"read_lat", kOneWay, "RDMA: READs, one after the other (ib_read_lat)", true, true},
    {"send_bw", kOneWay, "RDMA: as many SENDs as fit under way (ib_send_bw)", true, true},
    {"write_bw", kOneWay, "RDMA: as many WRITEs (ib_write_bw)", true, true},
    {"read_bw", kOneWay, "RDMA: as many READs (ib_read_bw)", true, true},
    {"send_bibw", kBothWays, "RDMA: SENDs in both directions at once (ib_send_bw -b)", true, true},
    {"write_bibw", kBothWays, "RDMA: WRITEs in both directions at once (ib_write_bw -b)", true,
     true},
};

constexpr int kMostRanks = 1 << 20;

// Counts are whole numbers that a double can hold.
void require_count(uint64_t count, const char* what) {
  if (count > (uint64_t{1} << 53) - 1) refuse_field(std::string(what) + " is too large");
}

void require_amounts(std::initializer_list<std::optional<double>> values) {
  for (const std::optional<double>& value : values) {
    if (value && !(std::isfinite(*value) && *value >= 0))
      refuse_field("a link's number is negative");
  }
}

void require_rtt(const std::optional<LinkRtt>& rtt) {
  if (!rtt) return;
  require_count(rtt->n, "n");
  require_amounts({rtt->min, rtt->p50, rtt->p99, rtt->max});
}

constexpr Field<LinkRtt> kRttFields[] = {
    field<&LinkRtt::n>({"n", "samples", "round trips"}),
    field<&LinkRtt::min>({"min", "ns", "fastest"}),
    field<&LinkRtt::p50>({"p50", "ns", "median"}),
    sparse_field<&LinkRtt::p99>({"p99", "ns", "null below 1000 samples"}),
    field<&LinkRtt::max>({"max", "ns", "slowest"}),
};

uint64_t total(const std::vector<uint64_t>& series) {
  return std::accumulate(series.begin(), series.end(), uint64_t{0});
}

// Mostly 0, and then left out; null where nobody knows.
constexpr Field<LinkStream> retransmits_field() {
  Field<LinkStream> row = sparse_field<&LinkStream::retransmits>(
      {"retransmits", "segments",
       "TCP retransmissions of the connection; null where the system does not tell"});
  row.nullable = true;
  row.is_set = [](const LinkStream& stream) { return stream.retransmits != uint64_t{0}; };
  row.clear = [](LinkStream& stream) { stream.retransmits = 0; };
  row.absent = [] { return std::string("0"); };
  return row;
}

// Behind the series: what is left out follows from it.
constexpr Field<LinkStream> bytes_field() {
  Field<LinkStream> row = sparse_field<&LinkStream::bytes>(
      {"bytes", "bytes",
       "that arrived in the measured time; left out where it is the sum of the series"});
  row.is_set = [](const LinkStream& stream) { return stream.bytes != total(stream.series); };
  row.clear = [](LinkStream& stream) { stream.bytes = total(stream.series); };
  row.absent = [] { return std::string(); };
  return row;
}

constexpr Field<LinkStream> kStreamFields[] = {
    retransmits_field(),
    sparse_field<&LinkStream::series>(
        {"series", "bytes", "one number an interval", "that arrived in the interval"}),
    bytes_field(),
};

// Sent, neither received nor dropped by the receiving socket.
constexpr Field<LinkUdp> lost_field() {
  Field<LinkUdp> row = field<&LinkUdp::sent>({"lost", "datagrams",
                                              "sent, neither received nor dropped by the receiving "
                                              "socket"});
  row.write = [](const LinkUdp& udp, json& out) { out = udp.lost(); };
  return row.derived();
}

constexpr Field<LinkUdp> kUdpFields[] = {
    field<&LinkUdp::sent>({"sent", "datagrams", "sent"}),
    field<&LinkUdp::received>({"received", "datagrams", "that arrived, each once"}),
    lost_field(),
    field<&LinkUdp::duplicates>({"duplicates", "datagrams", "that arrived again"}),
    field<&LinkUdp::reordered>(
        {"reordered", "datagrams", "that arrived after a later one (RFC 4737)"}),
    sparse_field<&LinkUdp::dropped>({"dropped", "datagrams",
                                     "that the receiving socket's own buffer had no room for; null "
                                     "where the system does not tell"}),
    sparse_field<&LinkUdp::jitter_ns>({"jitter_ns", "ns", "interarrival jitter (RFC 3550, 6.4.1)"}),
    field<&LinkUdp::sent_Bps>({"sent_Bps", "bytes/s", "payload as really sent"}),
};

constexpr Field<LinkResult> kLinkFields[] = {
    field<&LinkResult::from>({"from", "rank", "who sent, or began the round trips"}),
    field<&LinkResult::to>({"to", "rank", "who received"}),
    field<&LinkResult::from_host>({"from_host", "", "host of `from`"}),
    field<&LinkResult::to_host>({"to_host", "", "host of `to`"}),
    sparse_field<&LinkResult::local>({"local", "", "address of `from` that was used"}),
    sparse_field<&LinkResult::remote>({"remote", "", "address of `to` that was used"}),
    sparse_field<&LinkResult::direct>({"direct", "", "both addresses lie in one subnet"}),
    sparse_field<&LinkResult::skipped>(
        {"skipped", "", "why this pair was not to be measured, or empty"}),
    sparse_field<&LinkResult::error>({"error", "", "why it could not be measured, or empty"}),
    sparse_field<&LinkResult::cause>({"cause", "", "cause id of the error, may be empty"}),
    sparse_field<&LinkResult::rtt>(
        {"rtt_ns", "", "round trips of small messages without other load"}),
    sparse_field<&LinkResult::loaded_rtt>(
        {"loaded_rtt_ns", "", "the same while a stream ran from -> to"}),
    sparse_field<&LinkResult::rate_Bps>(
        {"Bps", "bytes/s", "payload from -> to, counted by the receiver"}),
    sparse_field<&LinkResult::elapsed_ns>(
        {"elapsed_ns", "ns", "that Bps is taken over, from the first byte on"}),
    sparse_field<&LinkResult::interval_ns>(
        {"interval_ns", "ns", "length of an interval of the series"}),
    sparse_field<&LinkResult::streams>({"streams", "", "one entry a connection", "one connection"}),
    sparse_field<&LinkResult::udp>({"udp", "", "datagrams at `cell.rate_bps`"}),
    sparse_field<&LinkResult::messages_per_s>(
        {"messages_per_s", "1/s", "of bare verbs, in each second of elapsed_ns"}),
    sparse_field<&LinkResult::queue_pair>(
        {"queue_pair", "", "of bare verbs: the type of the queue pair and the device of `from`"}),
    sparse_field<&LinkResult::speed_bps>(
        {"speed_bps", "bits/s",
         "speed of the slower end's link: the host file's, or what the system says; else null"}),
};

}  // namespace

std::span<const LinkMeasureRow> link_measure_table() { return kMeasures; }

std::vector<std::string> usual_link_measures() {
  std::vector<std::string> names;
  for (const LinkMeasureRow& row : kMeasures) {
    if (!row.verbs) names.emplace_back(row.name);
  }
  return names;
}

const LinkMeasureRow* find_link_measure(const std::string& name) {
  return find_where(kMeasures, [&](const LinkMeasureRow& row) { return name == row.name; });
}

uint64_t LinkUdp::lost() const {
  const uint64_t missing = sent - std::min(sent, received);
  return missing - std::min(missing, dropped.value_or(0));
}

std::span<const Field<LinkRtt>> FieldsOf<LinkRtt>::all() { return kRttFields; }
std::span<const Field<LinkStream>> FieldsOf<LinkStream>::all() { return kStreamFields; }
std::span<const Field<LinkUdp>> FieldsOf<LinkUdp>::all() { return kUdpFields; }
std::span<const Field<LinkResult>> FieldsOf<LinkResult>::all() { return kLinkFields; }

void FieldsOf<LinkUdp>::check(const LinkUdp& udp) {
  require_count(udp.sent, "udp.sent");
  require_count(udp.duplicates, "udp.duplicates");
  require_count(udp.dropped.value_or(0), "udp.dropped");
  require_amounts({udp.jitter_ns, udp.sent_Bps});
  if (udp.received > udp.sent) refuse_field("udp.received is above udp.sent");
  if (udp.reordered > udp.received) refuse_field("udp.reordered is above udp.received");
}

void FieldsOf<LinkResult>::check(const LinkResult& link) {
  if (std::min(link.from, link.to) < 0 || std::max(link.from, link.to) >= kMostRanks) {
    refuse_field("from or to is no rank");
  }
  if (link.from == link.to) refuse_field("from and to are the same rank");
  if (link.elapsed_ns < 0 || link.interval_ns < 0) refuse_field("a link's time is negative");
  require_rtt(link.rtt);
  require_rtt(link.loaded_rtt);
  require_amounts({link.rate_Bps, link.messages_per_s, link.speed_bps});
  for (const LinkStream& stream : link.streams) {
    require_count(stream.bytes, "bytes");
    require_count(stream.retransmits.value_or(0), "retransmits");
    for (const uint64_t bytes : stream.series) require_count(bytes, "series");
  }
}

std::string classify_topology(const std::vector<bool>& direct, int ranks) {
  std::vector<int> degree(static_cast<size_t>(ranks), 0);
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      if (a != b && direct[pair_index(ranks, a, b)]) ++degree[static_cast<size_t>(a)];
    }
  }
  const auto with = [&](int wanted) {
    return static_cast<int>(std::count(degree.begin(), degree.end(), wanted));
  };
  if (ranks >= 2 && with(ranks - 1) == ranks) return "mesh";
  if (ranks >= 3 && with(ranks - 1) == 1 && with(1) == ranks - 1) return "star";
  if (ranks < 4 || with(2) != ranks) return "other";
  // Two neighbours each: one ring, or several that do not touch.
  std::set<int> reached = {0};
  for (int at = 0, before = -1;;) {
    int next = -1;
    for (int b = 0; b < ranks; ++b) {
      if (b != before && b != at && direct[pair_index(ranks, at, b)]) next = b;
    }
    before = at;
    at = next;
    if (at < 0 || !reached.insert(at).second) break;
  }
  return static_cast<int>(reached.size()) == ranks ? "ring" : "other";
}

}  // namespace plumbline
