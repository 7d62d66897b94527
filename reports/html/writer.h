// Writes HTML that cannot be broken out of: text and attribute values get in through functions that
// escape them, pictures only as SafeSvg, data for scripts only as JSON without a character
// that HTML could read. There is no way to put in markup as it is, so whatever a record holds stays
// text. Elements close themselves at the end of their C++ scope. Tag and attribute names are
// literals of our own code. Not thread-safe.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "reports/document.h"
#include "reports/tables.h"

namespace plumbline {

// SVG text of gnuplot's or our own, made fit to stand in a page: only known elements and attributes
// pass (no script, no style, no link but to the shapes of points), text is escaped anew, colours
// become the page's (so that they follow light and dark), and what belongs to one series is marked
// so. Anything that cannot be read as such SVG is refused as a whole.

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

// escape_markup() (reports/text.h); with `lines`, newlines and tabs stay.
std::string html_escape(std::string_view text, bool lines = false);
// JSON for a <script> element: ASCII, and < > & as \u escapes.
std::string script_json(const nlohmann::json& json);

struct HtmlAttribute {
  const char* name;
  std::string value;
};
using HtmlAttributes = std::initializer_list<HtmlAttribute>;

class HtmlWriter {
 public:
  class Element {
   public:
    ~Element();
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;

   private:
    friend class HtmlWriter;
    Element(HtmlWriter& writer, const char* tag) : writer_(writer), tag_(tag) {}
    HtmlWriter& writer_;
    const char* tag_;
  };

  // Text longer than this is cut, with a mark that says so.
  explicit HtmlWriter(size_t longest_text = 4000) : longest_text_(longest_text) {}

  [[nodiscard]] Element in(const char* tag, HtmlAttributes attributes = {});
  void text(std::string_view text);
  // An element with nothing but text in it.
  void element(const char* tag, std::string_view text, HtmlAttributes attributes = {});
  // An element without content: <br>, <meta ...>.
  void empty(const char* tag, HtmlAttributes attributes = {});
  // <pre> with lines and tabs as they are, at most `most_bytes` of them.
  void preformatted(std::string_view text, size_t most_bytes);
  void svg(const SafeSvg& svg);
  // <script type="application/json" id="..."> for the page's own script.
  void data(const char* id, const nlohmann::json& json);
  // The page's own style sheet and script (page.css, page.js), and the shapes of points.
  void own_style();
  void own_script();
  void own_shapes();
  void newline() { out_ += '\n'; }

  size_t size() const { return out_.size(); }
  std::string take() { return std::move(out_); }

 private:
  void open(const char* tag, HtmlAttributes attributes);
  std::string cut(std::string_view text, bool lines) const;

  size_t longest_text_;
  std::string out_;
};

// What the page brings along beside its content, embedded at build time from files of the same
// names in this folder (reports/CMakeLists.txt): style sheet, script, and the shapes of points.

std::string_view page_css();     // page.css
std::string_view page_js();      // page.js
std::string_view page_shapes();  // shapes.svg

// Tables and documents (reports/tables.h, reports/document.h) as HTML: tables with caption and
// scopes, sortable, in a box of their own that scrolls when the page is narrower.

// What a page may still spend on rows of tables. Counted down by write_table().
struct RowBudget {
  size_t one_table = 200;
  size_t all = 2000;
};

// `caption` names the table for those who cannot see where it stands. Rows beyond the budget are
// left out, with a sentence that says how many and where they are.
void write_table(const Table& table, const std::string& caption, RowBudget& budget,
                 HtmlWriter& html);
// Headings become <h3> (level 1) and <h4>. Pictures and links are left out.
void write_document(const Document& document, RowBudget& budget, HtmlWriter& html);
// At most so many items; `where` says where the others are.
void write_list(const std::vector<std::string>& items, size_t most, HtmlWriter& html,
                const std::string& where = "");
// A remark of one sentence or two below what it is about.
void write_note(const std::string& text, HtmlWriter& html);
// The title of something folded away, with how many rows it has.
void write_summary(const std::string& title, size_t rows, HtmlWriter& html);
// "tone-good" ...; "" for plain.
std::string tone_class(Tone tone);

// The table of a group of measurements as the page has it: what one looks for first, time, bus
// bandwidth and verdict, stands first, so that it is seen without scrolling, on a phone too; what
// is the same in all rows stands in the caption instead.

Table page_table(const Table& table, std::string& caption);

}  // namespace plumbline
