// SVG text of gnuplot's or our own, made fit to stand in a page: only known elements and attributes
// pass (no script, no style, no link but to the shapes of points), text is escaped anew, colours
// become the page's (so that they follow light and dark), and what belongs to one series is marked
// so. Anything that cannot be read as such SVG is refused as a whole. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

class SafeSvg {
 public:
  const std::string& text() const { return text_; }

 private:
  friend Expected<SafeSvg> make_safe_svg(std::string_view, std::string_view,
                                         const std::vector<size_t>&, std::string_view,
                                         std::string_view);
  std::string text_;
};

// `id` is a word of our own, unique in the page; title and description are for those who cannot see
// the picture. `series` says to which series gnuplot's drawn blocks belong, in their order; empty =
// no series (the topology).
Expected<SafeSvg> make_safe_svg(std::string_view svg, std::string_view id,
                                const std::vector<size_t>& series, std::string_view title,
                                std::string_view description);

}  // namespace plumbline
