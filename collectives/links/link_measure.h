// Link cells: every ordered pair of ranks measured on the addresses that the ranks use, in rounds
// of pairs that run at the same time, over sockets of their own (link_session.h),
// so that a broken pair is an entry of the matrix and not the end of the group. Run by every rank
// of the group on the same cell at the same time, like measure(). The links of a pair are in the
// Measurement of its `from` rank; the coordinator puts them together and calls judge_links().
#pragma once

#include <functional>
#include <vector>

#include "collectives/measure.h"
#include "core/record/link.h"

namespace plumbline {

// An Error means that the group is broken (a rank has died): it names the rank.
Expected<Measurement> measure_links(const Cell& cell, const MeasureSettings& settings,
                                    const MeasureContext& context);

// Sorts the links of all ranks and derives the outcome of the cell from them: failed when one could
// not be measured, skipped when none was to be.
void judge_links(Measurement& measurement);

// The longest that such a cell may take with all its deadlines, in ms.
int64_t link_cell_limit_ms(const Cell& cell, const MeasureSettings& settings);

struct LinkPair {
  int from = 0, to = 0;
  bool operator==(const LinkPair&) const = default;
};
using LinkRound = std::vector<LinkPair>;

// Every ordered pair of `ranks` for which wanted(from, to) holds, once; rounds that become empty
// are left out.
std::vector<LinkRound> link_rounds(LinkRounds kind, int ranks,
                                   const std::function<bool(int, int)>& wanted);

}  // namespace plumbline
