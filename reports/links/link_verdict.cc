// What stands out of the matrices of one world, in words. See link_view.h.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/record/record.h"
#include "core/units.h"
#include "reports/links/link_view.h"
#include "reports/text.h"
#include "reports/thresholds.h"

namespace plumbline {
namespace {

constexpr double kBitsPerByte = 8;

// The user's own word in the host file, and not what an interface says of itself. Where the record
// does not say that of all its links, it is known only where the interfaces of both ends are.
bool is_stated(const Record& record, const LinkResult& link) {
  const auto stated = record.measurement.extra.find(kStatedSpeeds);
  if (stated != record.measurement.extra.end() &&
      stated->second >= static_cast<double>(record.measurement.links.size())) {
    return link.speed_bps.has_value();
  }
  std::optional<double> told;
  size_t known = 0;
  for (const std::string& address : {link.local, link.remote}) {
    const std::string plain = address.substr(0, address.find('%'));
    for (const HostFacts& host : record.environment.hosts) {
      for (const Nic& nic : host.nics) {
        const bool here =
            std::any_of(nic.addresses.begin(), nic.addresses.end(),
                        [&plain](const NicAddress& each) { return each.ip == plain; });
        if (!here) continue;
        ++known;
        if (!nic.speed_bps) continue;
        const auto speed = static_cast<double>(*nic.speed_bps);
        told = std::min(told.value_or(speed), speed);
      }
    }
  }
  return link.speed_bps && known >= 2 && told != link.speed_bps;
}

class Verdicts {
 public:
  explicit Verdicts(const LinkWorld& world) : world_(world) {}

  LinkVerdicts all() {
    const LinkOutliers rates = judge_rates();
    judge_latency();
    judge_loss();
    say_what_was_compared(rates);
    return std::move(out_);
  }

 private:
  const std::string& name(int rank) const { return world_.names[static_cast<size_t>(rank)]; }
  std::string arrow(int from, int to) const { return name(from) + " > " + name(to); }

  // Outliers of one grid, as sentences: `word` is "slow" or "late".
  void add(const LinkOutliers& found, const std::string& word, LinkUnit unit,
           const std::string& relation) {
    const auto text = [unit](double value) {
      return unit == LinkUnit::kRate ? both_rates(value) : grid_text(unit, value);
    };
    const auto put = [&](const char* what, const std::string& whom, const LinkOutlier& outlier) {
      const std::string measure =
          outlier.promised
              ? fmt::format("{} % of the link's {}", percent_text(outlier.value / outlier.expected),
                            grid_text(unit, outlier.expected))
              : fmt::format("{:.3g} times {} the best links of its kind, which have {}",
                            outlier.factor, relation, text(outlier.expected));
      out_.list.push_back(
          {word + " " + what, outlier.from, outlier.to,
           fmt::format("{} {} {}: {}, {}", word, what, whom, text(outlier.value), measure),
           outlier.fails});
    };
    if (found.everywhere) {
      put("everywhere", "every link, of all hosts or of what joins them", *found.everywhere);
    }
    for (const LinkOutlier& host : found.hosts) {
      put("host", name(host.from) + " to and from all others", host);
    }
    for (const LinkOutlier& line : found.senders) {
      put("sender", name(line.from) + " to all others", line);
    }
    for (const LinkOutlier& line : found.receivers) {
      put("receiver", name(line.to) + " from all others", line);
    }
    for (const LinkOutlier& pair : found.pairs) put("link", arrow(pair.from, pair.to), pair);
  }

  // The most that any measure of streams brought over each link alone. A hiccup hardly hits both.
  LinkValues best_rates() const {
    LinkValues best(static_cast<size_t>(world_.ranks) * static_cast<size_t>(world_.ranks));
    for (const LinkGrid& grid : world_.grids) {
      if (!grid.fills) continue;
      for (size_t link = 0; link < best.size(); ++link) {
        const auto& value = grid.values[link];
        if (value && (!best[link] || *value > *best[link])) best[link] = value;
      }
    }
    return best;
  }
  // The speeds of the links, whose they are, and which links are alike.
  void add_knowledge(LinkMatrix& matrix) const {
    const size_t fields = matrix.values.size();
    matrix.promised.resize(fields);
    matrix.stated.resize(fields);
    matrix.kinds.resize(fields);
    for (const Record* record : world_.records) {
      for (const LinkResult& link : record->measurement.links) {
        if (!link.measured() || std::max(link.from, link.to) >= world_.ranks) continue;
        const size_t index = pair_index(world_.ranks, link.from, link.to);
        matrix.kinds[index] = link.direct ? 0 : 1;
        if (!link.speed_bps || *link.speed_bps <= 0) continue;
        matrix.promised[index] = *link.speed_bps / kBitsPerByte;
        matrix.stated[index] = is_stated(*record, link);
      }
    }
  }

  LinkOutliers judge_rates() {
    const LinkGrid* grid = rate_grid(world_);
    if (grid == nullptr) return {};
    LinkMatrix matrix{world_.ranks, best_rates(), {}, {}, {}};
    const bool alone = grid->fills;
    if (!alone) matrix.values = grid->values;
    LinkRule rule;
    rule.factor = threshold(LinkThreshold::kRateFactor);
    rule.asymmetry = threshold(LinkThreshold::kAsymmetry);
    rule.share = threshold(LinkThreshold::kSpeedShare);
    rule.fail_share = threshold(LinkThreshold::kSpeedFail);
    // Both directions at once say nothing of the speed of one.
    if (alone) add_knowledge(matrix);
    if (world_.shared_cores) consider_cores(matrix, rule);
    const LinkOutliers found = find_outliers(matrix, rule);
    add(found, "slow", LinkUnit::kRate, "below");
    for (const LinkAsymmetry& pair : find_asymmetries(matrix.values, world_.ranks, rule)) {
      out_.uneven.push_back(
          {"uneven pair", pair.from, pair.to,
           fmt::format("{} {}, the other direction {}: {:.3g} times", arrow(pair.from, pair.to),
                       both_rates(pair.value), both_rates(pair.other), pair.factor),
           false});
    }
    return found;
  }

  void say_what_was_compared(const LinkOutliers& found) {
    const size_t unknown = found.values - found.promised;
    if (found.unknowable) {
      out_.unknown.push_back(fmt::format(
          "whether the link between {} hosts is slow: both directions are alike, there is no other "
          "link to compare with, and its speed is not known; state it as \"speed\" in the host "
          "file",
          world_.ranks));
    }
    if (found.scattered) {
      out_.unknown.push_back(
          "which links are slow: the rates scatter, and no group of them stands apart");
    }
    if (found.values == 0 || found.unknowable) return;
    if (unknown == 0) {
      out_.notes.push_back(fmt::format("speed of all {} links known; below {:.0f} % is named",
                                       found.promised,
                                       100 * threshold(LinkThreshold::kSpeedShare)));
      return;
    }
    out_.notes.push_back(fmt::format(
        "speed of {} of {} links unknown (virtual interfaces have none): they are compared with "
        "each other, and when all are slow alike that is not seen; state it as \"speed\" in the "
        "host "
        "file",
        unknown, found.values));
  }

  // What the cores that all hosts share can copy is not the links': faster streams are taken for
  // equal, and where most are faster only what no lack of a core explains is an outlier.
  void consider_cores(LinkMatrix& matrix, LinkRule& rule) {
    const double cap = threshold(LinkThreshold::kSharedCoresBps) / kBitsPerByte;
    size_t known = 0, capped = 0;
    for (size_t link = 0; link < matrix.values.size(); ++link) {
      auto& value = matrix.values[link];
      if (!value) continue;
      ++known;
      if (*value <= cap) continue;
      value = cap;
      ++capped;
      // As fast as can be told.
      auto* promise = link < matrix.promised.size() ? &matrix.promised[link] : nullptr;
      if (promise != nullptr && *promise) *promise = std::min(**promise, cap);
    }
    if (capped == 0) return;
    std::string note = fmt::format(
        "hosts share one machine's cores: rates above {} are taken for equal", both_rates(cap));
    if (2 * capped >= known) {
      const auto measures = std::count_if(world_.grids.begin(), world_.grids.end(),
                                          [](const LinkGrid& grid) { return grid.fills; });
      rule.factor = rule.asymmetry = threshold(measures >= 2 ? LinkThreshold::kSharedCoresTwice
                                                             : LinkThreshold::kSharedCoresFactor);
      note += fmt::format(", and only links {:g} times slower are named", rule.factor);
    }
    out_.notes.push_back(note);
  }

  // A round trip takes both ways whoever begins it, so each pair is judged, and named once, by the
  // better of its two values: what only one of them shows were the hosts at that moment.
  LinkValues symmetric(LinkValues values) const {
    for (int a = 0; a < world_.ranks; ++a) {
      for (int b = a + 1; b < world_.ranks; ++b) {
        auto& there = values[pair_index(world_.ranks, a, b)];
        auto& back = values[pair_index(world_.ranks, b, a)];
        if (there && back) there = back = std::min(*there, *back);
      }
    }
    return values;
  }

  void judge_latency() {
    const LinkGrid* grid = latency_grid(world_);
    if (grid == nullptr) return;
    const LinkRule rule{false, threshold(LinkThreshold::kLatencyFactor),
                        threshold(LinkThreshold::kLatencyNs)};
    LinkOutliers found = find_outliers(symmetric(grid->values), world_.ranks, rule);
    std::set<std::pair<int, int>> seen;
    std::erase_if(found.pairs, [&seen](const LinkOutlier& pair) {
      return !seen.insert(std::minmax(pair.from, pair.to)).second;
    });
    add(found, "late", grid->unit, "above");
  }

  void judge_loss() {
    for (const Record* record : world_.records) {
      if (record->cell.measure != "udp") continue;
      for (const LinkResult& link : record->measurement.links) {
        if (!link.measured() || !link.udp || link.udp->sent == 0) continue;
        judge_datagrams(link, *link.udp);
      }
    }
  }

  void judge_datagrams(const LinkResult& link, const LinkUdp& udp) {
    const bool lossy = udp.share(udp.lost()) >= threshold(LinkThreshold::kLoss) &&
                       static_cast<double>(udp.lost()) >= threshold(LinkThreshold::kLostDatagrams);
    const double arrived = udp.sent_Bps * udp.share(udp.received);
    const LinkValues best = best_rates();
    const double carries = best[pair_index(world_.ranks, link.from, link.to)].value_or(0);
    if (lossy && udp.sent_Bps > carries && carries > 0 &&
        arrived <= carries * threshold(LinkThreshold::kFullLink)) {
      out_.notes.push_back(fmt::format(
          "{}: {} % of the datagrams lost, but they came at {} and the link carries {}: too many, "
          "not lossy",
          arrow(link.from, link.to), percent_text(udp.share(udp.lost())), both_rates(udp.sent_Bps),
          both_rates(carries)));
    } else if (lossy) {
      out_.list.push_back(
          {"lossy link", link.from, link.to,
           fmt::format("lossy link {}: {} % of {} datagrams lost on the way",
                       arrow(link.from, link.to), percent_text(udp.share(udp.lost())), udp.sent),
           false});
    }
    const uint64_t dropped = udp.dropped.value_or(0);
    if (udp.share(dropped) >= threshold(LinkThreshold::kLoss)) {
      out_.notes.push_back(fmt::format(
          "{}: {} % of the datagrams arrived but found the receiving socket's buffer full; that is "
          "the host, not the link",
          arrow(link.from, link.to), percent_text(udp.share(dropped))));
    }
  }

  const LinkWorld& world_;
  LinkVerdicts out_;
};

}  // namespace

bool LinkVerdicts::fails() const {
  return std::any_of(list.begin(), list.end(),
                     [](const LinkVerdict& verdict) { return verdict.fails; });
}

LinkVerdicts judge_world(const LinkWorld& world) { return Verdicts(world).all(); }

bool links_fail(const std::vector<LinkWorld>& worlds) {
  return std::any_of(worlds.begin(), worlds.end(),
                     [](const LinkWorld& world) { return judge_world(world).fails(); });
}

}  // namespace plumbline
