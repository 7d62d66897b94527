#include "reports/charts/network_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include "core/record/link.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr double kNodeWidth = 110, kNodeHeight = 34, kMargin = 90;  // pixels
constexpr double kLeastRadius = 130, kRadiusPerHost = 26, kBetweenLines = 16;
constexpr const char* kGood = "#0072B2";
constexpr const char* kBad = "#D55E00";

struct Place {
  double x = 0, y = 0;
};

std::string dot_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : clean(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// The host that all direct edges of a star end at; -1 where there is none.
int middle_of(const NetworkDrawing& drawing) {
  if (drawing.shape != "star") return -1;
  std::map<int, int> ends;
  for (const DrawnEdge& edge : drawing.edges) {
    if (edge.dashed) continue;
    ++ends[edge.a];
    ++ends[edge.b];
  }
  const auto most = std::max_element(
      ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == ends.end() ? -1 : most->first;
}

// The centre of a star in the middle, everybody else on a circle.
std::vector<Place> seats_of(const NetworkDrawing& drawing, double radius, double centre) {
  const int hosts = static_cast<int>(drawing.names.size()), middle = middle_of(drawing);
  const int around = hosts - (middle >= 0 ? 1 : 0);
  std::vector<Place> places;
  int seat = 0;
  for (int host = 0; host < hosts; ++host) {
    if (host == middle) {
      places.push_back({centre, centre});
      continue;
    }
    const double angle = 2 * std::numbers::pi * seat++ / std::max(1, around) - std::numbers::pi / 2;
    places.push_back({centre + radius * std::cos(angle), centre + radius * std::sin(angle)});
  }
  return places;
}

std::string svg_text(double x, double y, const std::string& text, const char* colour, int size) {
  // Twice: a white outline first keeps the text readable over lines.
  const std::string written = escape_markup(text);
  const auto element = [&](const std::string& look) {
    return fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-family=\"DejaVu Sans, "
        "sans-serif\" font-size=\"{}\" {}>{}</text>\n",
        x, y + size * 0.35, size, look, written);
  };
  return element("fill=\"#FFFFFF\" stroke=\"#FFFFFF\" stroke-width=\"4\"") +
         element(fmt::format("fill=\"{}\"", colour));
}

// How far line `number` of `count` between two places is beside the straight one.
Place beside(const Place& a, const Place& b, int number, int count) {
  const double length = std::max(1.0, std::hypot(b.x - a.x, b.y - a.y));
  const double shift = (number - (count - 1) / 2.0) * kBetweenLines;
  return {-(b.y - a.y) / length * shift, (b.x - a.x) / length * shift};
}

}  // namespace

std::string network_dot(const NetworkDrawing& drawing) {
  std::string out = fmt::format("// {}: {}\ngraph links {{\n  layout=circo;\n",
                                clean(drawing.title), drawing.shape);
  out += "  node [shape=box, style=rounded, fontname=\"DejaVu Sans\"];\n";
  out += "  edge [fontname=\"DejaVu Sans\", fontsize=10];\n";
  for (size_t host = 0; host < drawing.names.size(); ++host) {
    out += fmt::format("  r{} [label={}];\n", host, dot_quoted(drawing.names[host]));
  }
  for (const DrawnEdge& edge : drawing.edges) {
    const auto end = [](const char* name, const std::string& text) {
      return text.empty() ? std::string() : fmt::format(", {}={}", name, dot_quoted(text));
    };
    out += fmt::format("  r{} -- r{} [label={}, color=\"{}\"{}{}{}];\n", edge.a, edge.b,
                       dot_quoted(edge.label), edge.bad ? kBad : kGood,
                       edge.dashed ? ", style=dashed" : "", end("taillabel", edge.at_a),
                       end("headlabel", edge.at_b));
  }
  return out + "}\n";
}

std::string network_svg(const NetworkDrawing& drawing) {
  const auto hosts = static_cast<double>(drawing.names.size());
  const double radius = std::max(kLeastRadius, kRadiusPerHost * hosts);
  const double centre = radius + kMargin, side = 2 * centre;
  const std::vector<Place> places = seats_of(drawing, radius, centre);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n",
      side, side + 40);
  out +=
      svg_text(centre, 24, fmt::format("{}: {}; {}", drawing.shape, drawing.title, drawing.labels),
               "#000000", 14);
  out += "<g transform=\"translate(0,30)\">\n";
  std::map<std::pair<int, int>, int> lines, drawn;
  for (const DrawnEdge& edge : drawing.edges) ++lines[{edge.a, edge.b}];
  std::string labels;
  for (const DrawnEdge& edge : drawing.edges) {
    const Place& a = places[static_cast<size_t>(edge.a)];
    const Place& b = places[static_cast<size_t>(edge.b)];
    const std::pair<int, int> ends{edge.a, edge.b};
    const Place off = beside(a, b, drawn[ends]++, lines[ends]);
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{}\"{}/>\n",
        a.x + off.x, a.y + off.y, b.x + off.x, b.y + off.y, edge.bad ? kBad : kGood,
        edge.bad ? 4 : 2, edge.dashed ? " stroke-dasharray=\"6 4\"" : "");
    // So far from the first end towards the other one.
    const auto write = [&](double share, const std::string& text) {
      if (text.empty()) return;
      labels += svg_text(a.x + (b.x - a.x) * share + off.x, a.y + (b.y - a.y) * share + off.y, text,
                         edge.bad ? kBad : "#333333", 11);
    };
    const bool ends_named = !edge.at_a.empty() || !edge.at_b.empty();
    constexpr double kOffMiddle = 0.38, kBesideEnd = 0.24;  // diagonals cross in the middle
    write(ends_named ? 0.42 : kOffMiddle, edge.label);
    write(kBesideEnd, edge.at_a);
    write(1 - kBesideEnd, edge.at_b);
  }
  out += labels;
  for (size_t host = 0; host < places.size(); ++host) {
    const Place& at = places[host];
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"#F4F4F4\" "
        "stroke=\"#333333\"/>\n",
        at.x - kNodeWidth / 2, at.y - kNodeHeight / 2, kNodeWidth, kNodeHeight);
    out += svg_text(at.x, at.y, cut(drawing.names[host], 14), "#000000", 13);
  }
  return out + "</g>\n</svg>\n";
}

}  // namespace plumbline
