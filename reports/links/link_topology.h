// How the hosts of a link matrix hang together: which pairs share a subnet and so talk directly,
// the shape of that graph, and the graph as Graphviz DOT and as an SVG of our own. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/links/link_view.h"

namespace plumbline {

// "mesh": every pair is direct. "ring": every host has two direct neighbours and all hang together.
// "star": one host is direct to all others and these to it only. "other": anything else. `direct`
// is symmetric, [a * ranks + b]. Three hosts that are all direct are a mesh; two are a "mesh" too,
// or "other" when not direct.
std::string classify_topology(const std::vector<bool>& direct, int ranks);

// Undirected edges with the slower direction's rate; pairs that are outliers in red; pairs that
// were measured through others dashed.
std::string topology_dot(const LinkWorld& world, const LinkVerdicts& verdicts);
std::string topology_svg(const LinkWorld& world, const LinkVerdicts& verdicts);

}  // namespace plumbline
