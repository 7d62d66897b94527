#include "reports/html/writer.h"

#include "core/json.h"
#include "reports/html/assets.h"
#include "reports/html/svg.h"
#include "reports/text.h"

namespace plumbline {
namespace {

constexpr const char* kCut = " ... (cut)";

}  // namespace

std::string html_escape(std::string_view text, bool lines) {
  if (!lines) return escape_markup(text);
  std::string out;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find_first_of("\n\t", from), text.size());
    out += escape_markup(text.substr(from, end - from));
    if (end < text.size()) out += text[end];
    from = end + 1;
  }
  return out;
}

std::string script_json(const nlohmann::json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

HtmlWriter::Element::~Element() {
  writer_.out_ += "</";
  writer_.out_ += tag_;
  writer_.out_ += '>';
}

std::string HtmlWriter::cut(std::string_view text, bool lines) const {
  if (text.size() <= longest_text_) return html_escape(text, lines);
  size_t end = longest_text_;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return html_escape(text.substr(0, end), lines) + kCut;
}

void HtmlWriter::open(const char* tag, HtmlAttributes attributes) {
  out_ += '<';
  out_ += tag;
  for (const HtmlAttribute& attribute : attributes) {
    out_ += ' ';
    out_ += attribute.name;
    out_ += "=\"" + cut(attribute.value, false) + '"';
  }
  out_ += '>';
}

HtmlWriter::Element HtmlWriter::in(const char* tag, HtmlAttributes attributes) {
  open(tag, attributes);
  return {*this, tag};
}

void HtmlWriter::text(std::string_view text) { out_ += cut(text, false); }

void HtmlWriter::element(const char* tag, std::string_view content, HtmlAttributes attributes) {
  const Element here = in(tag, attributes);
  text(content);
}

void HtmlWriter::empty(const char* tag, HtmlAttributes attributes) { open(tag, attributes); }

void HtmlWriter::preformatted(std::string_view text, size_t most_bytes) {
  const bool whole = text.size() <= most_bytes;
  // Cut at a line's end where there is one.
  size_t end = whole ? text.size() : text.rfind('\n', most_bytes);
  if (end == std::string_view::npos) end = most_bytes;
  // Focusable, because it may be wider than the page and is then scrolled by itself.
  const Element pre = in("pre", {{"tabindex", "0"}});
  // HTML drops a newline right behind <pre>; ours is dropped instead of the text's own.
  out_ += '\n';
  out_ += html_escape(text.substr(0, end), true);
  if (!whole) out_ += "\n... (cut)";
}

void HtmlWriter::svg(const SafeSvg& svg) { out_ += svg.text(); }

void HtmlWriter::data(const char* id, const nlohmann::json& json) {
  const Element script = in("script", {{"type", "application/json"}, {"id", id}});
  out_ += script_json(json);
}

void HtmlWriter::own_style() {
  const Element style = in("style");
  out_ += page_css();
}

void HtmlWriter::own_script() {
  const Element script = in("script");
  out_ += page_js();
}

void HtmlWriter::own_shapes() { out_ += page_shapes(); }

}  // namespace plumbline
