// Measured roofs: what bare sockets did between ranks 0 and 1 before the cells of their world were
// measured, and which share of it a result attained. A roof is a measurement like any other and can
// be taken at a bad moment; results far above one show it. Then the roof is too low to count: the
// share is still a quotient, but nothing can be judged by it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/view.h"

namespace plumbline {

// Bytes per second in one direction that a roof record stands for.
std::optional<double> roof_rate_Bps(const Item& roof);
// True when every rank sends and receives at once, so that the two-way roof is its bound.
bool is_two_way(std::string_view op);
// What the bare path takes for the bytes that bound this operation from below, sent in the manner
// in which it must send them (core/stats/floor.h); nothing where just that was not measured.
std::optional<double> latency_floor_ns(const View& view, const Record& record);
// The streams on the record's path, two-way or one-way as the operation needs them, whatever their
// size; each has a rate.
std::vector<const Item*> bandwidth_roofs(const View& view, const Record& record);
// The roof that bounds an operation's bus bandwidth, or null: the fastest two-way or one-way stream
// on the record's path.
const Item* bandwidth_roof(const View& view, const Record& record);

// From here on a result is further above its roof than noise explains. Medians of a quiet machine
// differ by a few percent; nothing that was in order came above 107 % of one connection's rate.
// One message is timed less exactly: 113 % were seen over loopback (docs/rules.md).
inline constexpr double kMostOfRate = 1.1, kMostOfLatency = 1.25;

struct RoofShare {
  double share = 0;  // 1 = the roof
  // Why the roof does not count, in words, the same for all results above it; empty = it may be
  // one.
  std::string no_roof;
};
// Of the bus bandwidth; nothing without a roof or a bandwidth. The roof is of one connection: where
// a rank has several busy at once (direct algorithms of more than two ranks: a gather, links of a
// mesh), so many times the roof are possible, and only what is above that shows a bad one.
std::optional<RoofShare> bandwidth_share(const View& view, const Item& item);
// The floor over the median time, so that 1 is the least that the bare path takes; nothing without
// a floor of just this size and manner. Operations that follow one another without a common start
// (sync none) overlap: their times are no latencies, and show nothing about the roof.
std::optional<RoofShare> latency_share(const View& view, const Item& item);

// For lists of remarks: one line for each roof of the view that is none.
std::vector<std::string> no_roof_notes(const View& view);

}  // namespace plumbline
