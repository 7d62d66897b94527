// In which order a ring of all ranks should go by the rates of their links. Pure.
#pragma once

#include "collectives/topology.h"

namespace plumbline {

// Sets topology.ring: the order that core/stats/ring_orders.h suggests, if its slowest hop is
// faster by more than kLikeHops than that of the usual order, so that measuring it is worth the
// time. None where no rates are known, or for more ranks than predictions are made for.
void suggest_order(Topology& topology);

}  // namespace plumbline
