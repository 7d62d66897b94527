// Writes HTML that cannot be broken out of: text and attribute values get in through functions that
// escape them, pictures only as SafeSvg (svg.h), data for scripts only as JSON without a character
// that HTML could read. There is no way to put in markup as it is, so whatever a record holds stays
// text. Elements close themselves at the end of their C++ scope. Tag and attribute names are
// literals of our own code. Not thread-safe.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

class SafeSvg;

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

}  // namespace plumbline
