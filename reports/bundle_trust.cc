// May the rows be believed? The same judgement as at measuring time (core/noise.h), made again from
// what the bundle holds; and whether the stated link can be as fast as a row says.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/noise.h"
#include "core/op.h"
#include "core/record.h"
#include "reports/bundle_derive.h"
#include "reports/bundle_verify.h"
#include "reports/link_kinds.h"
#include "reports/text.h"
#include "reports/wide.h"

namespace plumbline {
namespace {

using nlohmann::json;

// As much of a record as the judgement asks for.
Record record_of(const json& content, const json& row, const BundleRow& typed) {
  Record record;
  record.cell = typed.cell;
  Measurement& m = record.measurement;
  m.hist = typed.hist;
  m.iterations = typed.hist.n();
  m.wrong = row["wrong"].get<uint64_t>();
  m.verified = row["verified"].get<bool>();
  m.warmup_converged = row["noise"]["warmup_converged"].get<bool>();
  m.extra[kInvoluntarySwitches] = row["noise"]["involuntary_switches"].get<double>();
  const std::set<std::string> hosts(typed.rank_hosts.begin(), typed.rank_hosts.end());
  for (const json& host : content["environment"]["hosts"]) {
    if (hosts.count(host["name"]) == 0) continue;
    HostFacts facts;
    facts.hostname = host["name"];
    facts.boot_id = host["machine"];
    facts.cores_usable = host["cores_usable"].is_null() ? 0 : host["cores_usable"].get<int>();
    if (!host["load1_percent"].is_null()) facts.load1 = host["load1_percent"].get<double>() / 100;
    record.environment.hosts.push_back(std::move(facts));
  }
  recompute(record);
  return record;
}

// Ranks beyond the usable cores of any one machine, in words.
std::string crowded(const BundleReport& report, const BundleRow& typed) {
  const json& content = (*report.document)["content"];
  std::map<std::string, int> ranks, cores;
  for (const std::string& host : typed.rank_hosts) ++ranks[report.machines.at(host)];
  for (const json& host : content["environment"]["hosts"]) {
    int& most = cores[host["machine"]];
    if (!host["cores_usable"].is_null()) most = std::max(most, host["cores_usable"].get<int>());
  }
  for (const auto& [machine, count] : ranks) {
    if (count > cores[machine]) {
      return fmt::format("{} ranks ran on {}, which has {} usable cores", count, machine,
                         cores[machine]);
    }
  }
  return "";
}

// ---- the stated link ----

struct Link {
  std::string name;
  uint64_t rate_bps = 0;  // of one host in one direction, all its cables; 0 = not known
  uint64_t one_way_ns = 0;
};

// Bytes that the busiest host must take in over the link, at least, as numerator over ranks: what
// crosses a machine's own memory is not counted.
uint64_t crossing_numerator(const Cell& cell, const std::map<std::string, uint64_t>& ranks_on) {
  const auto n = static_cast<uint64_t>(cell.ranks);
  const std::optional<Op> op = op_from(cell.op);
  if (!op || ranks_on.size() < 2) return bus_numerator(cell);
  if (ranks_on.size() == n) return bus_numerator(cell);
  uint64_t fewest = n;
  for (const auto& [host, count] : ranks_on) fewest = std::min(fewest, count);
  // Of what spans all ranks, the host with the fewest of them lacks the most. An allreduce needs as
  // much as one over the hosts alone.
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

void check_rate(const BundleRow& typed, const Link& link, uint64_t numerator,
                std::vector<BundleIssue>& issues) {
  if (link.rate_bps == 0 || typed.cell.bytes == 0 || typed.cell.ranks < 1) return;
  // bits on the wire / rate, in ns; twice, as the median.
  const Wide twice = typed.cell.op == "pingpong" ? 4 : 2;
  const Wide bits =
      twice * typed.cell.bytes * 8 * numerator / static_cast<unsigned>(typed.cell.ranks);
  const auto least = static_cast<uint64_t>(bits * 1'000'000'000 / link.rate_bps);
  const uint64_t took = twice_p50(typed.hist);
  if (took + 2 * skew_of(typed.cell) >= least) return;
  issues.push_back(
      {"impossible", typed.path + ".derived.busbw_Bps",
       fmt::format("the median is {} us, but {} at {} Gbit/s cannot move these bytes in "
                   "less than {} us",
                   us_text(static_cast<double>(took) / 2), link.name,
                   decimal_text(link.rate_bps, 1'000'000'000, 3),
                   us_text(static_cast<double>(least) / 2))});
}

void check_latency(const BundleRow& typed, const Link& link, std::vector<BundleIssue>& issues) {
  const auto least =
      static_cast<uint64_t>(crossings_of(typed.cell.op, typed.cell.sync)) * link.one_way_ns;
  const auto fastest = static_cast<uint64_t>(typed.hist.min());
  if (fastest >= least) return;
  issues.push_back({"impossible", typed.path + ".hist.min",
                    fmt::format("is {} ns, but {} takes {} ns at the very least for {}", fastest,
                                link.name, least, typed.cell.op)});
}

}  // namespace

uint64_t stated_rate_bps(const json& statement) {
  const LinkKindRow* kind = find_link_kind(statement["link_kind"]);
  const uint64_t own = kind == nullptr ? 0 : kind->rate_bps;
  const json& stated = statement["link_speed_bps"];
  const uint64_t one = stated.is_null() ? own : stated.get<uint64_t>();
  return one * statement["links_per_host"].get<uint64_t>();
}

void check_trust(BundleReport& report) {
  const json& content = (*report.document)["content"];
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const json& row = content["rows"][i];
    const BundleRow& typed = report.rows[i];
    const auto add = [&](const char* kind, const char* field, std::string text) {
      report.problems.push_back({kind, typed.path + field, std::move(text)});
    };
    if (!row["verified"].get<bool>())
      add("invalid", ".verified", "is false: nobody checked the data");
    if (row["wrong"] != 0)
      add("invalid", ".wrong", fmt::format("is {}, must be 0", row["wrong"].dump()));
    const std::string verdict = row["noise"]["verdict"];
    if (verdict != "clean") {
      add(verdict == "invalid" ? "invalid" : "noisy", ".noise.verdict",
          "is " + verdict + ", only clean rows are taken");
    }
    const std::string crowd = crowded(report, typed);
    if (!crowd.empty()) add("oversubscribed", ".rank_hosts", crowd);
    for (const std::string& cause : judge_noise(record_of(content, row, typed), 0).causes) {
      if (cause == "oversubscribed" || cause == "wrong data") continue;  // said above
      const bool warm = cause == "warm-up not converged";
      add("noisy",
          warm              ? ".noise.warmup_converged"
          : cause == "load" ? ""
                            : ".noise",
          "too noisy by its own numbers: " + cause);
    }
  }
}

void check_possible(BundleReport& report) {
  const json& content = (*report.document)["content"];
  const json& statement = content["statement"];
  const LinkKindRow* kind = find_link_kind(statement["link_kind"]);
  if (kind == nullptr) return;
  const json& speed = statement["link_speed_bps"];
  if (kind->rate_bps == 0 && speed.is_null()) {
    report.problems.push_back(
        {"schema", "content.statement.link_speed_bps",
         fmt::format("link kind {} needs the speed of the link", kind->name)});
  }
  if (!speed.is_null() && kind->rate_bps > 0 && speed.get<uint64_t>() > kind->rate_bps) {
    report.problems.push_back(
        {"impossible", "content.statement.link_speed_bps",
         fmt::format("is {}, {} has at most {}", speed.dump(), kind->name, kind->rate_bps)});
  }
  const size_t hardware = statement["hardware"].size(),
               hosts = content["environment"]["hosts"].size();
  if (hardware != 1 && hardware != hosts) {
    report.problems.push_back(
        {"schema", "content.statement.hardware",
         fmt::format("names {} machines, there are {} hosts; name one for all, or each", hardware,
                     hosts)});
  }
  const Link stated{kind->name, stated_rate_bps(statement), kind->min_one_way_ns};
  const LinkKindRow& memory = link_kind_table().front();
  const Link inside{"memory of one machine", memory.rate_bps, memory.min_one_way_ns};
  for (const BundleRow& typed : report.rows) {
    std::map<std::string, uint64_t> ranks_on;
    std::set<std::string> machines;
    for (const std::string& host : typed.rank_hosts) {
      ++ranks_on[host];
      machines.insert(report.machines.at(host));
    }
    if (kind->network && machines.size() < 2) {
      report.problems.push_back({"impossible", typed.path + ".rank_hosts",
                                 fmt::format("all ranks ran on {}, so nothing went over {}",
                                             *machines.begin(), kind->name)});
      continue;
    }
    if (!kind->network && machines.size() > 1) {
      report.problems.push_back({"impossible", typed.path + ".rank_hosts",
                                 fmt::format("ranks ran on {} machines, which {} cannot join",
                                             machines.size(), kind->name)});
      continue;
    }
    // Rank 0 and 1 of a point-to-point operation may share a host: then only memory bounds it.
    const std::optional<Op> op = op_from(typed.cell.op);
    const bool inner =
        op && row(*op).point_to_point && *op != Op::kSendrecv &&
        report.machines.at(typed.rank_hosts[0]) == report.machines.at(typed.rank_hosts[1]);
    const bool spread = kind->network && !inner;
    const Link& link = spread ? stated : inside;
    check_rate(typed, link,
               spread ? crossing_numerator(typed.cell, ranks_on) : bus_numerator(typed.cell),
               report.problems);
    check_latency(typed, link, report.problems);
  }
}

}  // namespace plumbline
