// In which order the pairs of a link matrix are measured: rounds of ordered pairs that run at the
// same time. Pure functions.
#pragma once

#include <functional>
#include <vector>

#include "core/record/link.h"

namespace plumbline {

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
