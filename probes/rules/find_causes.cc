#include <algorithm>
#include <map>

#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/rules/pair_remedy.h"
#include "probes/rules/rules.h"

namespace plumbline {
namespace {

using Ranked = RankedCandidate;

class Selection {
 public:
  Selection(const EvidenceSet& evidence, const std::vector<Check>& checks,
            std::vector<Ranked> proposals)
      : evidence_(evidence), checks_(checks), all_(std::move(proposals)) {
    std::stable_sort(all_.begin(), all_.end(), [](const Ranked& a, const Ranked& b) {
      return std::pair(a.rung, a.row) < std::pair(b.rung, b.row);
    });
  }

  std::vector<Finding> run() {
    drop_flapping();
    drop_superseded();
    drop_explained_on_host();
    std::vector<Severity> places;  // what is kept is moved away
    for (const Ranked& ranked : all_) places.push_back(place_of(ranked));
    for (const Severity severity : {Severity::kFail, Severity::kWarn, Severity::kNote}) {
      for (size_t i = 0; i < all_.size(); ++i) {
        if (places[i] != severity) continue;
        severity == Severity::kFail ? keep_failure(all_[i]) : keep_warning(all_[i]);
      }
    }
    join();
    return finish();
  }

 private:
  static OrderedPair reversed(const OrderedPair& pair) { return {pair.second, pair.first}; }

  // Where a link's signal comes and goes, the pairs over it show now this, now that fault.
  void drop_flapping() {
    OrderedPairs flapping;
    const auto flaps = [](const Ranked& ranked) {
      return ranked.candidate.finding.cause == "link.flapping" && !ranked.candidate.breaks.empty();
    };
    for (const Ranked& ranked : all_) {
      if (!flaps(ranked)) continue;
      for (const OrderedPair& pair : ranked.candidate.breaks) {
        flapping.insert(pair);
        flapping.insert(reversed(pair));
      }
    }
    const auto falls = [&](const Ranked& ranked) {
      const Candidate& candidate = ranked.candidate;
      const bool proven = candidate.proven && !candidate.by_captures_only;
      const OrderedPairs about = about_of(candidate);
      return !about.empty() && follows_from_flapping(candidate.finding.cause, proven) &&
             std::includes(flapping.begin(), flapping.end(), about.begin(), about.end());
    };
    std::vector<Ranked> left;
    for (Ranked& ranked : all_) {
      if (!falls(ranked)) left.push_back(ranked);
    }
    for (const Ranked& dropped : all_) {
      if (!falls(dropped)) continue;
      for (Ranked& ranked : left) {
        if (!flaps(ranked)) continue;
        const auto& keys = dropped.candidate.finding.explains;
        auto& list = ranked.candidate.finding.explains;
        list.insert(list.end(), keys.begin(), keys.end());
        break;
      }
    }
    all_ = std::move(left);
  }

  // A link that is far too slow fails, and breaks nothing: like a warning it may be the symptom of
  // another one.
  static Severity place_of(const Ranked& ranked) {
    const Severity outcome = ranked.candidate.finding.outcome;
    const bool slow = ranked.rung == kRungQuality && ranked.candidate.breaks.empty();
    return outcome == Severity::kFail && slow ? Severity::kWarn : outcome;
  }

  // A cause that is only the symptom of a proven one falls, on the pairs that this one breaks.
  void drop_superseded() {
    std::map<std::string, OrderedPairs> fallen;
    for (const Ranked& ranked : all_) {
      if (!ranked.candidate.proven) continue;
      for (const std::string& cause : ranked.candidate.supersedes) {
        for (const OrderedPair& pair : ranked.candidate.breaks) {
          fallen[cause].insert(pair);
          fallen[cause].insert(reversed(pair));
        }
      }
    }
    const auto falls = [&](const Ranked& ranked) {
      const auto found = fallen.find(ranked.candidate.finding.cause);
      if (found == fallen.end()) return false;
      const OrderedPairs about = about_of(ranked.candidate);
      return !about.empty() &&
             std::includes(found->second.begin(), found->second.end(), about.begin(), about.end());
    };
    all_.erase(std::remove_if(all_.begin(), all_.end(), falls), all_.end());
  }

  void drop_explained_on_host() {
    const auto falls = [&](const Ranked& ranked) {
      const Finding& finding = ranked.candidate.finding;
      return any_of(all_, [&](const Ranked& other) {
        const Finding& cause = other.candidate.finding;
        if (cause.outcome == Severity::kNote) return false;
        const bool same = cause.host == finding.host || cause.peer == finding.host;
        return same && follows_on_host(finding.cause, cause.cause);
      });
    };
    std::vector<Ranked> left;
    for (Ranked& ranked : all_) {
      if (!falls(ranked)) left.push_back(ranked);
    }
    for (Ranked& ranked : left) {
      for (const Ranked& dropped : all_) {
        const Finding& finding = dropped.candidate.finding;
        const bool explains = falls(dropped) && ranked.candidate.finding.host == finding.host;
        if (!explains) continue;
        auto& keys = ranked.candidate.finding.explains;
        keys.insert(keys.end(), finding.explains.begin(), finding.explains.end());
      }
    }
    all_ = std::move(left);
  }

  // The pairs that a finding is about, whether it breaks them or not.
  OrderedPairs about_of(const Candidate& candidate) const {
    if (!candidate.breaks.empty()) return candidate.breaks;
    const Finding& finding = candidate.finding;
    if (finding.host.empty()) return {};
    if (finding.peer.empty()) return pairs_of(evidence_, finding.host);
    return both_ways(finding.host, finding.peer);
  }

  bool same_fault(const Ranked& a, const Ranked& b) const {
    return a.candidate.finding.cause == b.candidate.finding.cause &&
           a.candidate.finding.host == b.candidate.finding.host;
  }

  void keep_failure(Ranked& ranked) {
    const Candidate& candidate = ranked.candidate;
    const bool explained =
        !candidate.breaks.empty() && all_of(candidate.breaks, [&](const OrderedPair& key) {
          return claims_.count(key) != 0 ||
                 (candidate.needs_way_back && claimed_below(reversed(key), ranked.rung));
        });
    const bool joins = any_of(kept_, [&](const Ranked& kept) { return same_fault(kept, ranked); });
    const bool stands = candidate.proven && !(candidate.by_captures_only && astray(candidate)) &&
                        !(unmet(candidate) && !met_elsewhere(ranked));
    if (explained && !stands && !joins) {
      explain_away(ranked);
      return;
    }
    for (const OrderedPair& key : candidate.breaks) claims_[key].push_back(ranked.rung);
    kept_.push_back(std::move(ranked));
  }

  // Something on the link or the route breaks each of these pairs, one way or the other.
  bool astray(const Candidate& candidate) const {
    const auto broken = [&](const OrderedPair& key) {
      return claimed_below(key, kRungRoute + 1) || claimed_below(reversed(key), kRungRoute + 1);
    };
    return all_of(candidate.breaks, broken);
  }

  // Nothing that these hosts send reaches the rule that the candidate rests on: one of the two is
  // cut off from the link altogether.
  bool unmet(const Candidate& candidate) const {
    if (!candidate.by_rules_only || candidate.breaks.empty()) return false;
    return all_of(candidate.breaks, [&](const OrderedPair& key) {
      return any_of(kept_, [&](const Ranked& kept) {
        const Finding& finding = kept.candidate.finding;
        const auto& broken = kept.candidate.breaks;
        return finding.cause == "neighbour.unresolved" && finding.peer.empty() &&
               (broken.count(key) != 0 || broken.count(reversed(key)) != 0);
      });
    });
  }
  // The same fault of the same host also stops what does come so far.
  bool met_elsewhere(const Ranked& ranked) const {
    return any_of(all_, [&](const Ranked& other) {
      return &other != &ranked && same_fault(other, ranked) && !unmet(other.candidate);
    });
  }

  bool claimed_below(const OrderedPair& key, int rung) const {
    const auto found = claims_.find(key);
    return found != claims_.end() && found->second.front() < rung;
  }

  void keep_warning(Ranked& ranked) {
    if (!explained_by_failure(ranked) && !explained_by_warning(ranked)) {
      kept_.push_back(std::move(ranked));
    } else {
      explain_away(ranked);
    }
  }

  bool explained_by_failure(const Ranked& ranked) const {
    const OrderedPairs about = about_of(ranked.candidate);
    if (about.empty()) return false;
    const std::string& cause = ranked.candidate.finding.cause;
    return all_of(about, [&](const OrderedPair& key) {
      const auto claim = claims_.find(key);
      if (claim == claims_.end()) return false;
      return any_of(claim->second, [&](int rung) { return follows_from_failure(cause, rung); });
    });
  }

  bool explained_by_warning(const Ranked& ranked) const {
    const Finding& finding = ranked.candidate.finding;
    for (const Ranked& other : kept_) {
      const Finding& cause = other.candidate.finding;
      if (!follows_from_warning(finding.cause, cause.cause)) continue;
      // A rate that was proven was measured against that very load.
      if (ranked.candidate.proven && cause.cause == "host.overloaded") continue;
      // A cause of one pair explains that pair; one of a host whatever touches the host.
      const bool host = cause.host == finding.host || cause.host == finding.peer;
      const bool peer =
          cause.peer.empty() || cause.peer == finding.host || cause.peer == finding.peer;
      if (host && peer) return true;
    }
    return false;
  }

  // What a dropped candidate would have explained is explained by who claimed its pairs.
  void explain_away(const Ranked& dropped) {
    const OrderedPairs about = about_of(dropped.candidate);
    for (Ranked& kept : kept_) {
      const bool meets = any_of(about, [&](const OrderedPair& key) {
        return kept.candidate.breaks.count(key) != 0 ||
               kept.candidate.breaks.count(reversed(key)) != 0;
      });
      if (!meets) continue;
      const auto& keys = dropped.candidate.finding.explains;
      auto& list = kept.candidate.finding.explains;
      list.insert(list.end(), keys.begin(), keys.end());
      return;
    }
  }

  static void join_into(Ranked& kept, Ranked& more) {
    Finding& finding = kept.candidate.finding;
    Finding& other = more.candidate.finding;
    if (finding.peer != other.peer) finding.peer.clear();
    finding.outcome = std::max(finding.outcome, other.outcome);
    finding.confidence = std::max(finding.confidence, other.confidence);
    finding.ports.insert(finding.ports.end(), other.ports.begin(), other.ports.end());
    sort_unique(finding.ports);
    if (finding.port != other.port) finding.port.reset();
    if (finding.ports.size() == 1) finding.port = finding.ports[0];
    for (Evidence& entry : other.evidence) {
      const bool known = any_of(finding.evidence, [&](const Evidence& e) {
        return e.host == entry.host && e.text == entry.text;
      });
      if (!known) finding.evidence.push_back(std::move(entry));
    }
    finding.remedy.then(other.remedy);
    finding.explains.insert(finding.explains.end(), other.explains.begin(), other.explains.end());
    kept.candidate.breaks.merge(more.candidate.breaks);
  }

  void join() {
    std::vector<Ranked> joined;
    for (Ranked& ranked : kept_) {
      const auto known = std::find_if(joined.begin(), joined.end(), [&](const Ranked& other) {
        return same_fault(other, ranked);
      });
      if (known == joined.end()) {
        joined.push_back(std::move(ranked));
      } else {
        join_into(*known, ranked);
      }
    }
    kept_ = std::move(joined);
  }

  size_t file_order(const std::string& host) const {
    const auto& hosts = evidence_.job.hosts;
    return static_cast<size_t>(
        std::find_if(hosts.begin(), hosts.end(), [&](const JobHost& h) { return h.name == host; }) -
        hosts.begin());
  }

  // Failed checks of the pairs that a failure breaks follow from it; the first cause takes them.
  void explain_checks() {
    for (const Check& check : checks_) {
      const bool wrong = check.outcome == CheckOutcome::kFail ||
                         check.outcome == CheckOutcome::kWarn ||
                         check.outcome == CheckOutcome::kUnknown;
      if (!wrong || check.peer.empty()) continue;
      const OrderedPair key(check.host, check.peer);
      for (Ranked& kept : kept_) {
        if (kept.candidate.breaks.count(key) == 0) continue;
        kept.candidate.finding.explains.push_back(check.key);
        break;
      }
    }
  }

  std::vector<Finding> finish() {
    std::stable_sort(kept_.begin(), kept_.end(), [&](const Ranked& a, const Ranked& b) {
      const auto rank = [&](const Ranked& r) {
        const int mildness = -static_cast<int>(r.candidate.finding.outcome);
        return std::tuple(mildness, r.rung, r.row, file_order(r.candidate.finding.host));
      };
      return rank(a) < rank(b);
    });
    explain_checks();
    std::vector<Finding> out;
    for (Ranked& kept : kept_) {
      auto& explains = kept.candidate.finding.explains;
      sort_unique(explains);
      out.push_back(std::move(kept.candidate.finding));
    }
    return out;
  }

  const EvidenceSet& evidence_;
  const std::vector<Check>& checks_;
  std::vector<Ranked> all_, kept_;
  std::map<OrderedPair, std::vector<int>> claims_;  // pair -> rungs of the causes that break it
};

}  // namespace

std::vector<Finding> select_causes(const EvidenceSet& evidence, const std::vector<Check>& checks,
                                   std::vector<RankedCandidate> proposals) {
  return Selection(evidence, checks, std::move(proposals)).run();
}

std::vector<Ranked> proposals(const std::vector<RuleRow>& rules, const EvidenceSet& evidence,
                              const std::vector<Check>& checks) {
  struct Family {
    size_t rows = 0;
    std::vector<Candidate> candidates;
  };
  std::map<decltype(RuleRow::propose), Family> families;
  for (const RuleRow& rule : rules) {
    Family& family = families[rule.propose];
    if (family.rows++ == 0) family.candidates = rule.propose(evidence, checks);
  }
  std::vector<Ranked> out;
  for (size_t row = 0; row < rules.size(); ++row) {
    const Family& family = families[rules[row].propose];
    for (const Candidate& candidate : family.candidates) {
      if (family.rows > 1 && candidate.finding.cause != rules[row].name) continue;
      out.push_back({candidate, rules[row].rung, row});
    }
  }
  return out;
}

std::vector<Finding> find_causes(const EvidenceSet& evidence, const std::vector<Check>& checks) {
  std::vector<RuleRow> rules = host_rules();
  rules.insert(rules.end(), pair_rules().begin(), pair_rules().end());
  return select_causes(evidence, checks,
                       in_job_scope(evidence, rules, proposals(rules, evidence, checks)));
}

OrderedPairs pairs_of(const EvidenceSet& evidence, const std::string& host) {
  OrderedPairs out;
  for (const PairEvidence& pair : evidence.pairs) {
    if (pair.from == host || pair.to == host) out.insert({pair.from, pair.to});
  }
  return out;
}

}  // namespace plumbline
