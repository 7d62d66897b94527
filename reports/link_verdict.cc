// What stands out of the matrices of one world, in words. See link_view.h.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/units.h"
#include "reports/link_thresholds.h"
#include "reports/link_view.h"
#include "reports/text.h"

namespace plumbline {
namespace {

class Verdicts {
 public:
  explicit Verdicts(const LinkWorld& world) : world_(world) {}

  LinkVerdicts all() {
    judge_rates();
    judge_latency();
    judge_loss();
    judge_speed();
    return std::move(out_);
  }

 private:
  const std::string& name(int rank) const { return world_.names[static_cast<size_t>(rank)]; }
  std::string arrow(int from, int to) const { return name(from) + " > " + name(to); }

  // Outliers of one grid, as sentences: `word` is "slow" or "late".
  void add(const LinkOutliers& found, const std::string& word, const LinkGrid& grid,
           const std::string& relation) {
    const auto text = [&](double value) {
      return grid.unit == LinkUnit::kRate ? both_rates(value) : grid_text(grid.unit, value);
    };
    const auto sentence = [&](const std::string& what, const LinkOutlier& outlier) {
      return fmt::format("{}: {}, {:.3g} times {} the median {} of \"{}\"", what,
                         text(outlier.value), outlier.factor, relation, text(found.median),
                         grid.title);
    };
    for (const LinkOutlier& line : found.senders) {
      out_.list.push_back(
          {word + " sender", line.from, -1,
           sentence(word + " sender " + name(line.from) + " to most others", line)});
    }
    for (const LinkOutlier& line : found.receivers) {
      out_.list.push_back(
          {word + " receiver", -1, line.to,
           sentence(word + " receiver " + name(line.to) + " from most others", line)});
    }
    for (const LinkOutlier& pair : found.pairs) {
      out_.list.push_back({word + " link", pair.from, pair.to,
                           sentence(word + " link " + arrow(pair.from, pair.to), pair)});
    }
    if (found.factor_only && found.values > 0) {
      out_.notes.push_back(
          fmt::format("{}: only {} values, too few for a spread; what is {:g} times {} their "
                      "median counts as an outlier",
                      grid.title, found.values,
                      grid.unit == LinkUnit::kRate ? threshold(LinkThreshold::kRateFactor)
                                                   : threshold(LinkThreshold::kLatencyFactor),
                      relation));
    }
  }

  void judge_rates() {
    const LinkGrid* grid = rate_grid(world_);
    if (grid == nullptr) return;
    LinkValues values = grid->values;
    LinkRule rule{true, threshold(LinkThreshold::kRateFactor), 0,
                  threshold(LinkThreshold::kAsymmetry)};
    if (world_.shared_cores) consider_cores(values, rule);
    add(find_outliers(values, world_.ranks, rule), "slow", *grid, "below");
    for (const LinkAsymmetry& pair : find_asymmetries(values, world_.ranks, rule)) {
      out_.uneven.push_back(
          {"uneven pair", pair.from, pair.to,
           fmt::format("{} {}, the other direction {}: {:.3g} times", arrow(pair.from, pair.to),
                       both_rates(pair.value), both_rates(pair.other), pair.factor)});
    }
  }

  // What the cores that all hosts share can copy is not the links': faster streams are taken for
  // equal, and where most are faster only what no lack of a core explains is an outlier.
  void consider_cores(LinkValues& values, LinkRule& rule) {
    const double cap = threshold(LinkThreshold::kSharedCoresBps) / 8;
    size_t known = 0, capped = 0;
    for (auto& value : values) {
      if (!value) continue;
      ++known;
      if (*value <= cap) continue;
      value = cap;
      ++capped;
    }
    if (capped == 0) return;
    std::string note = fmt::format(
        "hosts share one machine's cores: rates above {} are taken for equal", both_rates(cap));
    if (2 * capped >= known) {
      rule.factor = rule.asymmetry = threshold(LinkThreshold::kSharedCoresFactor);
      note += fmt::format(", and only links {:g} times slower are named", rule.factor);
    }
    out_.notes.push_back(note);
  }

  // A round trip goes both ways: each pair is named once, by the worse of its two values.
  void judge_latency() {
    const LinkGrid* grid = latency_grid(world_);
    if (grid == nullptr) return;
    const LinkRule rule{false, threshold(LinkThreshold::kLatencyFactor),
                        threshold(LinkThreshold::kLatencyNs)};
    LinkOutliers found = find_outliers(grid->values, world_.ranks, rule);
    std::set<std::pair<int, int>> seen;
    std::erase_if(found.pairs, [&seen](const LinkOutlier& pair) {
      return !seen.insert(std::minmax(pair.from, pair.to)).second;
    });
    // The same host as sender and as receiver is one host.
    std::erase_if(found.receivers, [&found](const LinkOutlier& receiver) {
      return std::any_of(found.senders.begin(), found.senders.end(),
                         [&](const LinkOutlier& sender) { return sender.from == receiver.to; });
    });
    add(found, "late", *grid, "above");
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
    const auto share = [&udp](uint64_t count) {
      return static_cast<double>(count) / static_cast<double>(udp.sent);
    };
    const bool lossy = share(udp.lost()) >= threshold(LinkThreshold::kLoss) &&
                       static_cast<double>(udp.lost()) >= threshold(LinkThreshold::kLostDatagrams);
    const double arrived = udp.sent_Bps * share(udp.received);
    const double carries = best_rate(link.from, link.to);
    if (lossy && udp.sent_Bps > carries && carries > 0 &&
        arrived <= carries * threshold(LinkThreshold::kFullLink)) {
      out_.notes.push_back(fmt::format(
          "{}: {} % of the datagrams lost, but they came at {} and the link carries {}: too many, "
          "not lossy",
          arrow(link.from, link.to), percent_text(share(udp.lost())), both_rates(udp.sent_Bps),
          both_rates(carries)));
    } else if (lossy) {
      out_.list.push_back(
          {"lossy link", link.from, link.to,
           fmt::format("lossy link {}: {} % of {} datagrams lost on the way",
                       arrow(link.from, link.to), percent_text(share(udp.lost())), udp.sent)});
    }
    const uint64_t dropped = udp.dropped.value_or(0);
    if (share(dropped) >= threshold(LinkThreshold::kLoss)) {
      out_.notes.push_back(fmt::format(
          "{}: {} % of the datagrams arrived but found the receiving socket's buffer full; that is "
          "the host, not the link",
          arrow(link.from, link.to), percent_text(share(dropped))));
    }
  }

  // The most that any measure of streams brought over this link alone; 0 = none was measured.
  double best_rate(int from, int to) const {
    double best = 0;
    for (const LinkGrid& grid : world_.grids) {
      const bool alone = grid.measure == "stream" || grid.measure == "parallel";
      const auto& value = grid.values[pair_index(world_.ranks, from, to)];
      if (alone && value) best = std::max(best, *value);
    }
    return best;
  }

  void judge_speed() {
    const LinkGrid* grid = rate_grid(world_);
    if (grid == nullptr) return;
    size_t unknown = 0, known = 0;
    std::set<std::pair<int, int>> seen;
    for (const Record* record : world_.records) {
      if (record->cell.measure != grid->measure) continue;
      for (const LinkResult& link : record->measurement.links) {
        if (!link.measured() || !link.rate_Bps || !seen.insert({link.from, link.to}).second)
          continue;
        if (!link.speed_bps || *link.speed_bps <= 0) {
          ++unknown;
          continue;
        }
        ++known;
        const double share = *link.rate_Bps * 8 / *link.speed_bps;
        if (share >= threshold(LinkThreshold::kSpeedShare)) continue;
        out_.below.push_back({"below speed", link.from, link.to,
                              fmt::format("{} {}: {} % of the link's {}", arrow(link.from, link.to),
                                          both_rates(*link.rate_Bps), percent_text(share),
                                          grid_text(LinkUnit::kRate, *link.speed_bps / 8))});
      }
    }
    if (known + unknown == 0) return;
    out_.notes.push_back(
        unknown == 0
            ? fmt::format("speed of all {} links known; below {:.0f} % is named", known,
                          100 * threshold(LinkThreshold::kSpeedShare))
            : fmt::format(
                  "speed of {} of {} links unknown (virtual interfaces have none): state it "
                  "as \"speed\" in the host file",
                  unknown, known + unknown));
  }

  const LinkWorld& world_;
  LinkVerdicts out_;
};

}  // namespace

LinkVerdicts judge_world(const LinkWorld& world) { return Verdicts(world).all(); }

}  // namespace plumbline
