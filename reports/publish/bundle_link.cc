// Can the stated link be as fast as a row says? Bytes against its rate, the fastest sample against
// what its two ends need; link_kinds.h has both.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.h"
#include "core/op.h"
#include "reports/links/link_kinds.h"
#include "reports/publish/bundle_derive.h"
#include "reports/publish/bundle_verify.h"
#include "reports/publish/bundle_words.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

struct Link {
  std::string name;
  uint64_t rate_bps = 0;  // of one host in one direction, all its cables; 0 = not known
  uint64_t one_way_ns = 0;
};

// Bytes that the busiest machine must take in over the link, at least, as numerator over ranks:
// what stays in a machine's own memory is not counted.
uint64_t crossing_numerator(const Cell& cell, const std::map<std::string, uint64_t>& ranks_on) {
  const auto n = static_cast<uint64_t>(cell.ranks);
  const std::optional<Op> op = op_from(cell.op);
  if (!op || ranks_on.size() < 2) return bus_numerator(cell);
  if (ranks_on.size() == n) return bus_numerator(cell);
  uint64_t fewest = n;
  for (const auto& [machine, count] : ranks_on) fewest = std::min(fewest, count);
  // Of what spans all ranks, the machine with the fewest of them lacks the most. An allreduce needs
  // as much as one over the machines alone.
  if (*op == Op::kAllreduce) return 2 * (ranks_on.size() - 1) * n / ranks_on.size();
  if (row(*op).per_rank_share) return row(*op).rooted ? 0 : n - fewest;
  return n;  // S itself
}

// How much of a transfer may hide in ranks that start apart.
uint64_t skew_of(const Cell& cell) {
  const std::optional<Op> op = op_from(cell.op);
  const bool answered = op && (*op == Op::kPingpong || *op == Op::kStream);
  const bool mutual = op && !row(*op).rooted && cell.ranks == 2;
  return answered || mutual || cell.sync == "window" ? 0 : kStartSkewNs;
}

// bits on the wire / rate, in ns; twice, as the median.
uint64_t twice_least_ns(const Cell& cell, const Link& link, uint64_t numerator) {
  if (link.rate_bps == 0 || cell.bytes == 0 || cell.ranks < 1) return 0;
  const Wide twice = cell.op == "pingpong" ? 4 : 2;
  const Wide bits = twice * cell.bytes * 8 * numerator / static_cast<unsigned>(cell.ranks);
  return static_cast<uint64_t>(bits * 1'000'000'000 / link.rate_bps);
}

void check_rate(const BundleRow& typed, const Link& link, uint64_t numerator, uint64_t skew_ns,
                std::vector<BundleIssue>& issues) {
  const uint64_t least = twice_least_ns(typed.cell, link, numerator);
  const uint64_t took = twice_p50(typed.hist);
  if (took + 2 * skew_ns >= least) return;
  issues.push_back(
      {"impossible", typed.path + ".derived.busbw_Bps",
       fmt::format("the median is {} us, but {} at {} Gbit/s cannot move these bytes in "
                   "less than {} us",
                   us_text(static_cast<double>(took) / 2), link.name,
                   decimal_text(link.rate_bps, 1'000'000'000, 3),
                   us_text(static_cast<double>(least) / 2))});
}

// What the link alone could not do, but ranks that start apart may show: a flag.
void flag_fast(BundleReport& report, BundleRow& typed, const Link& link, uint64_t numerator) {
  const uint64_t bytes = twice_least_ns(typed.cell, link, numerator);
  const uint64_t took = twice_p50(typed.hist), least = std::max(bytes, 2 * link.one_way_ns);
  if (took >= least) return;
  typed.marks.emplace_back("fast");
  report.flags.push_back(
      {"fast", typed.path + ".derived.p50_ns",
       fmt::format("is {} us, less than the {} us that {} needs; only ranks that start apart "
                   "explain it",
                   us_text(static_cast<double>(took) / 2), us_text(static_cast<double>(least) / 2),
                   link.name)});
}

void check_latency(const BundleRow& typed, const Link& link, int crossings,
                   std::vector<BundleIssue>& issues) {
  const auto least = static_cast<uint64_t>(crossings) * link.one_way_ns;
  const auto fastest = static_cast<uint64_t>(typed.hist.min());
  if (fastest >= least) return;
  issues.push_back({"impossible", typed.path + ".hist.min",
                    fmt::format("is {} ns, but {} takes {} ns at the very least for {}", fastest,
                                link.name, least, typed.cell.op)});
}

// What is wrong with the statement itself.
void check_statement(const json& content, const LinkKindRow& kind,
                     std::vector<BundleIssue>& issues) {
  const json& statement = content["statement"];
  const json& speed = statement["link_speed_bps"];
  if (kind.rate_bps == 0 && speed.is_null()) {
    issues.push_back({"schema", "content.statement.link_speed_bps",
                      fmt::format("link kind {} needs the speed of the link", kind.name)});
  }
  if (!speed.is_null() && kind.rate_bps > 0 && speed.get<uint64_t>() > kind.rate_bps) {
    issues.push_back(
        {"impossible", "content.statement.link_speed_bps",
         fmt::format("is {}, {} has at most {}", speed.dump(), kind.name, kind.rate_bps)});
  }
  const size_t hardware = statement["hardware"].size(),
               hosts = content["environment"]["hosts"].size();
  if (hardware != 1 && hardware != hosts) {
    issues.push_back(
        {"schema", "content.statement.hardware",
         fmt::format("names {} machines, there are {} hosts; name one for all, or each", hardware,
                     hosts)});
  }
}

// Why these machines cannot have used such a link; empty when they can.
std::string misplaced(const std::map<std::string, uint64_t>& ranks_on, const LinkKindRow& kind) {
  if (kind.network && ranks_on.size() < 2) {
    return fmt::format("all ranks ran on {}, so nothing went over {}", ranks_on.begin()->first,
                       kind.name);
  }
  if (!kind.network && ranks_on.size() > 1) {
    return fmt::format("ranks ran on {} machines, which {} cannot join", ranks_on.size(),
                       kind.name);
  }
  return "";
}

// Rank 0 and 1 of a point-to-point operation may share a machine: then only memory bounds it.
bool stays_inside(const BundleReport& report, const BundleRow& typed) {
  const std::optional<Op> op = op_from(typed.cell.op);
  return op && row(*op).point_to_point && *op != Op::kSendrecv &&
         report.machines.at(typed.rank_hosts[0]) == report.machines.at(typed.rank_hosts[1]);
}

}  // namespace

uint64_t stated_rate_bps(const json& statement) {
  const LinkKindRow* kind = find_link_kind(statement["link_kind"]);
  const uint64_t own = kind == nullptr ? 0 : kind->rate_bps;
  const json& stated = statement["link_speed_bps"];
  const uint64_t one = stated.is_null() ? own : stated.get<uint64_t>();
  return one * statement["links_per_host"].get<uint64_t>();
}

void check_possible(BundleReport& report) {
  const json& content = content_of(report);
  const json& statement = content["statement"];
  const LinkKindRow* kind = find_link_kind(statement["link_kind"]);
  if (kind == nullptr) return;
  check_statement(content, *kind, report.problems);
  const Link stated{kind->name, stated_rate_bps(statement), kind->min_one_way_ns};
  const LinkKindRow& memory = link_kind_table().front();
  const Link inside{"memory of one machine", memory.rate_bps, memory.min_one_way_ns};
  for (BundleRow& typed : report.rows) {
    std::map<std::string, uint64_t> ranks_on;  // by machine
    for (const std::string& host : typed.rank_hosts) ++ranks_on[report.machines.at(host)];
    const std::string why = misplaced(ranks_on, *kind);
    if (!why.empty()) {
      report.problems.push_back({"impossible", typed.path + ".rank_hosts", why});
      continue;
    }
    // Every rank reads or writes its bytes itself and looks at a clock twice, whoever is late.
    const size_t found = report.problems.size();
    const int crossings = crossings_of(typed.cell.op, typed.cell.sync);
    check_rate(typed, inside, bus_numerator(typed.cell), 0, report.problems);
    check_latency(typed, inside, std::max(1, crossings), report.problems);
    if (!kind->network || stays_inside(report, typed) || report.problems.size() > found) continue;
    const uint64_t numerator = crossing_numerator(typed.cell, ranks_on);
    check_rate(typed, stated, numerator, skew_of(typed.cell), report.problems);
    check_latency(typed, stated, crossings, report.problems);
    if (report.problems.size() == found) flag_fast(report, typed, stated, numerator);
  }
}

}  // namespace plumbline
