// Hosts and what joins them, drawn: as Graphviz DOT, and as an SVG of our own that needs no
// program. The middle of a star stands in the middle, everybody else on a circle. Several lines
// between two hosts lie beside each other. Pure functions, thread-safe.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

struct DrawnEdge {
  int a = 0, b = 0;  // indices of names
  std::string label;
  bool dashed = false;  // they are not joined directly
  bool bad = false;
  std::string at_a = {}, at_b = {};  // beside the ends: the interfaces; empty = nothing
};

struct NetworkDrawing {
  std::string title, shape;  // "run 3", "mesh"
  std::string labels;        // what the labels of the edges are
  std::vector<std::string> names;
  std::vector<DrawnEdge> edges;
};

std::string network_dot(const NetworkDrawing& drawing);
std::string network_svg(const NetworkDrawing& drawing);

}  // namespace plumbline
