
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "core/number.h"
#include "reports/charts/chart.h"
#include "reports/html/writer.h"

namespace plumbline {
namespace {

constexpr size_t kMostBytes = 4 << 20;
constexpr size_t kDeepest = 64;

// All others go, with everything in them.
constexpr const char* kElements[] = {"g",    "path", "polygon", "polyline", "circle", "ellipse",
                                     "rect", "line", "text",    "tspan",    "use"};
constexpr const char* kAttributes[] = {
    "x",         "y",           "x1",          "y1",           "x2",           "y2",
    "cx",        "cy",          "r",           "rx",           "ry",           "width",
    "height",    "d",           "points",      "transform",    "stroke-width", "stroke-dasharray",
    "font-size", "font-weight", "text-anchor", "fill-opacity", "opacity",      "stroke-linejoin"};
constexpr const char* kColours[] = {"fill", "stroke", "color"};

template <size_t N>
bool among(const char* const (&list)[N], std::string_view word) {
  return std::any_of(std::begin(list), std::end(list),
                     [&](const char* each) { return word == each; });
}

struct Rgb {
  int r = 0, g = 0, b = 0;
  bool operator==(const Rgb&) const = default;
};

std::optional<Rgb> rgb_of(const std::string& text) {
  Rgb c;
  if (text == "black") return c;
  if (text == "white") return Rgb{255, 255, 255};
  if (text.size() == 7 && text[0] == '#') {
    const auto packed = parse_hex(std::string_view(text).substr(1));
    if (!packed) return std::nullopt;
    return Rgb{static_cast<int>(*packed >> 16U), static_cast<int>((*packed >> 8U) & 255U),
               static_cast<int>(*packed & 255U)};
  }
  if (std::sscanf(text.c_str(), "rgb(%d,%d,%d)", &c.r, &c.g, &c.b) == 3) return c;
  return std::nullopt;
}

// A colour of a picture as one of the page's.
std::string page_colour(const std::string& text) {
  if (text == "none" || text == "currentColor") return text;
  const std::optional<Rgb> rgb = rgb_of(text);
  if (!rgb) return "currentColor";
  // The colours of the other pictures of ours first: black is text there, and a series in none.
  static constexpr std::pair<const char*, const char*> kOthers[] = {{"#FFFFFF", "var(--card)"},
                                                                    {"#F4F4F4", "var(--soft)"},
                                                                    {"#333333", "var(--ink)"},
                                                                    {kGuideColour, "var(--guide)"},
                                                                    {kGridColour, "var(--grid)"}};
  for (const auto& [ours, theirs] : kOthers) {
    if (rgb == rgb_of(ours)) return theirs;
  }
  if (*rgb == Rgb{}) return "var(--ink)";
  for (size_t i = 0; i < chart_colours().size(); ++i) {
    if (rgb == rgb_of(chart_colours()[i])) return fmt::format("var(--s{})", i);
  }
  return "currentColor";
}

// Numbers, path letters and transforms; nothing that could name another resource.
bool harmless(std::string_view value) {
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view(" \n\t.,+-()%").find(c) != std::string_view::npos;
  });
  return plain && value.find("url") == std::string_view::npos;
}

std::string unescaped(std::string_view text) {
  static constexpr std::pair<std::string_view, char> kReferences[] = {
      {"&lt;", '<'},    {"&gt;", '>'},   {"&quot;", '"'},
      {"&apos;", '\''}, {"&#39;", '\''}, {"&amp;", '&'}};
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t used = 0;
    for (const auto& [reference, c] : kReferences) {
      if (text.substr(i, reference.size()) != reference) continue;
      out += c;
      used = reference.size();
      break;
    }
    if (used == 0) out += text[i];
    i += std::max<size_t>(used, 1);
  }
  return out;
}

using Attributes = std::vector<std::pair<std::string, std::string>>;

// Reads elements, attributes and text one after the other; anything else of XML is skipped or
// refused.
class Filter {
 public:
  Filter(std::string_view in, const std::vector<size_t>& series) : in_(in), series_(series) {}

  // Everything inside of <svg>; false when it is not what it should be.
  bool run() {
    while (at_ < in_.size()) {
      const size_t open = std::min(in_.find('<', at_), in_.size());
      take_text(in_.substr(at_, open - at_));
      at_ = open;
      if (at_ < in_.size() && !take_tag()) return false;
    }
    return saw_svg_ && stack_.empty();
  }
  std::string& out() { return out_; }
  const std::string& view_box() const { return view_box_; }

 private:
  struct Open {
    std::string tag;
    bool written;
    size_t from;     // where it begins in `out_`
    size_t content;  // where its content begins
  };

  bool dropping() const { return dropped_ > 0; }

  void take_text(std::string_view text) {
    const bool inside_text =
        !stack_.empty() && (stack_.back().tag == "text" || stack_.back().tag == "tspan");
    if (inside_text && !dropping()) out_ += html_escape(unescaped(text));
  }

  bool take_tag() {
    if (in_.substr(at_, 2) == "<?") return overread("?>");
    if (in_.substr(at_, 4) == "<!--") return overread("-->");
    if (in_.substr(at_, 2) == "<!") return false;  // no document types, no CDATA
    const bool closing = in_.substr(at_, 2) == "</";
    at_ += closing ? 2 : 1;
    const std::string tag = word();
    if (tag.empty()) return false;
    Attributes attributes;
    while (!closing && attribute(attributes)) {
    }
    space();
    const bool alone = in_.substr(at_, 2) == "/>";
    if (!alone && in_.substr(at_, 1) != ">") return false;
    at_ += alone ? 2 : 1;
    if (closing) return close(tag);
    return open(tag, attributes) && (!alone || close(tag));
  }

  bool overread(std::string_view end) {
    const size_t found = in_.find(end, at_);
    if (found == std::string_view::npos) return false;
    at_ = found + end.size();
    return true;
  }
  void space() {
    while (at_ < in_.size() && std::string_view(" \t\r\n").find(in_[at_]) != std::string_view::npos)
      ++at_;
  }
  std::string word() {
    const size_t from = at_;
    while (at_ < in_.size() &&
           std::string_view(" \t\r\n=/><'\"").find(in_[at_]) == std::string_view::npos) {
      ++at_;
    }
    return std::string(in_.substr(from, at_ - from));
  }
  // One attribute with a quoted value; false at the end of the tag or at anything else.
  bool attribute(Attributes& attributes) {
    space();
    const std::string name = word();
    if (name.empty()) return false;
    space();
    if (in_.substr(at_, 1) != "=") return false;
    ++at_;
    space();
    const char quote = at_ < in_.size() ? in_[at_] : ' ';
    if (quote != '"' && quote != '\'') return false;
    const size_t end = in_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return false;
    attributes.emplace_back(name, unescaped(in_.substr(at_ + 1, end - at_ - 1)));
    at_ = end + 1;
    return true;
  }

  bool open(const std::string& tag, const Attributes& attributes) {
    if (stack_.size() >= kDeepest || out_.size() > kMostBytes) return false;
    if (stack_.empty() && (tag != "svg" || std::exchange(saw_svg_, true))) return false;
    if (tag == "svg") {
      if (!stack_.empty()) return false;
      for (const auto& [name, value] : attributes) {
        if (name == "viewBox" && harmless(value)) view_box_ = value;
      }
      stack_.push_back({tag, false, out_.size(), out_.size()});
      return true;
    }
    const bool known = among(kElements, tag);
    if (!known) ++dropped_;
    const bool written = known && !dropping();
    stack_.push_back({tag, written, out_.size(), 0});
    if (written) write(tag, attributes);
    stack_.back().content = out_.size();
    return true;
  }

  void write(const std::string& tag, const Attributes& attributes) {
    out_ += "<" + tag;
    for (const auto& [name, value] : attributes) {
      if (among(kColours, name)) {
        // gnuplot's groups say "black" for everything; the page's own colour is meant.
        if (tag == "g" && name == "color") continue;
        out_ += " " + name + "=\"" + page_colour(value) + "\"";
      } else if (among(kAttributes, name) && harmless(value)) {
        out_ += " " + name + "=\"" + html_escape(value) + "\"";
      } else if (name == "xlink:href" && tag == "use" && value.starts_with("#gpPt") &&
                 harmless(std::string_view(value).substr(1))) {
        out_ += " href=\"" + html_escape(value) + "\"";
      } else if (name == "id" && tag == "g") {
        mark_series(value);
      }
    }
    out_ += ">";
  }

  // gnuplot_plot_3 -> the series that its third block belongs to.
  void mark_series(std::string_view id) {
    constexpr std::string_view kStart = "gnuplot_plot_";
    if (!id.starts_with(kStart)) return;
    const size_t number = leading_whole<size_t>(id.substr(kStart.size())).value_or(0);
    if (number < 1 || number > series_.size()) return;
    out_ += fmt::format(" data-series=\"{}\"", series_[number - 1]);
  }

  bool close(const std::string& tag) {
    if (stack_.empty() || stack_.back().tag != tag) return false;
    const Open open = stack_.back();
    stack_.pop_back();
    if (tag == "svg") return true;
    if (!among(kElements, tag)) {
      --dropped_;
      return true;
    }
    if (!open.written) return true;
    if (out_.size() == open.content && (tag == "g" || tag == "text")) {
      out_.resize(open.from);  // gnuplot writes many empty groups
    } else if (out_.size() == open.content) {
      out_.back() = '/';
      out_ += '>';
    } else {
      out_ += "</" + tag + ">";
    }
    return true;
  }

  std::string_view in_;
  const std::vector<size_t>& series_;
  size_t at_ = 0, dropped_ = 0;
  bool saw_svg_ = false;
  std::vector<Open> stack_;
  std::string out_, view_box_;
};

}  // namespace

Expected<SafeSvg> make_safe_svg(std::string_view svg, std::string_view id,
                                const std::vector<size_t>& series, std::string_view title,
                                std::string_view description) {
  Filter filter(svg, series);
  if (svg.size() > kMostBytes || !filter.run() || filter.view_box().empty()) {
    return fail(ErrorCode::kConfig, "read the SVG of the picture \"" + std::string(title) + "\"",
                "it is not as gnuplot writes it");
  }
  SafeSvg safe;
  const std::string name = html_escape(id);
  safe.text_ = fmt::format(
      "<svg viewBox=\"{0}\" role=\"img\" aria-labelledby=\"{1}-t {1}-d\"><title "
      "id=\"{1}-t\">{2}</title><desc id=\"{1}-d\">{3}</desc>{4}</svg>",
      html_escape(filter.view_box()), name, html_escape(title), html_escape(description),
      filter.out());
  return safe;
}

}  // namespace plumbline
