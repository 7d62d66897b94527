// From blocked ports to firewall causes: joins what was located for every pair (pair_locate.h) into
// groups with one culprit each, settles what one pair alone cannot tell by looking at all of them,
// and names the cause. Pure functions, thread-safe.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "probes/rules/pair_locate.h"
#include "probes/rules/rules.h"

namespace plumbline {

// Blocked ports of one pair with one culprit and one kind of blocking.
struct BlockGroup {
  const PairView* view = nullptr;
  std::string cause;
  std::string culprit, peer;
  bool request = true;
  StopPlace place = StopPlace::kReceiver;
  How how = How::kDrop;
  std::vector<const Block*> blocks;  // ascending ports
  std::vector<int> ports() const;
};

// The analysis of all pairs; views and blocks live as long as it does.
class BlockAnalysis {
 public:
  explicit BlockAnalysis(const EvidenceSet& evidence);
  BlockAnalysis(const BlockAnalysis&) = delete;
  BlockAnalysis& operator=(const BlockAnalysis&) = delete;
  const std::vector<BlockGroup>& groups() const { return groups_; }

 private:
  void locate();
  void settle_places();
  void settle_all_silent();
  void fold_refusals();
  void make_groups();
  void join_parts();
  void fold_partial();
  void join_paths();
  std::string culprit_of(const Block& block) const;
  std::vector<std::string> peers_of(const std::string& host) const;
  bool covers(const std::string& host, StopPlace side, const Block& like) const;
  StopPlace settle(const Block& block) const;
  bool is_partial(const std::vector<const Block*>& members) const;
  bool passes(const std::vector<const Block*>& members, int port) const;

  const EvidenceSet& evidence_;
  std::vector<PairView> views_;
  std::deque<Block> blocks_;
  std::vector<BlockGroup> groups_;
};

// chance_loss() and what the filters' rules drop by chance.
ChanceLoss chance_loss_with_rules(const PairView& view, int port);
// Would loss by chance explain that these blocks got no answer?
bool explained_by_chance(const PairView& view, const std::vector<Block>& blocks);
// Or that a connection that stood stayed silent: the last packet of the handshake and all requests
// behind it may be lost on their way to a listener that then never knows of it.
bool silent_by_chance(const PairView& view, int port);

}  // namespace plumbline
