// A report's content without its form: a list of headings, paragraphs, lists, tables, pictures and
// commands. Console and Markdown render the same document, so that they cannot tell different
// stories. Plain values.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "reports/tables.h"

namespace plumbline {

struct DocumentBlock {
  enum class Kind {
    kHeading,    // text, level
    kParagraph,  // text
    kList,       // items
    kTable,      // table
    kCommand,    // text, to be copied into a shell; never wrapped
    kPicture,    // text = title, target = path relative to the report; Markdown only
    kLink,       // text, target; Markdown only
  };
  Kind kind = Kind::kParagraph;
  std::string text = {};
  std::string target = {};
  std::vector<std::string> items = {};
  Table table = {};
  int level = 1;
  Tone tone = Tone::kPlain;
};

struct Document {
  std::vector<DocumentBlock> blocks;

  void heading(int level, std::string text);
  void paragraph(std::string text, Tone tone = Tone::kPlain);  // nothing when empty
  void list(std::vector<std::string> items);                   // nothing when empty
  void table(Table table);                                     // nothing when it has no rows
  void command(std::string_view text);  // one line: what would end it is shown as an escape
  void picture(std::string title, std::string path);
  void link(std::string text, std::string path);
};

// No line is wider than `width` (0 = unlimited) but commands.
void render_text(const Document& document, int width, bool colour, std::ostream& out);
void render_markdown(const Document& document, std::ostream& out);

}  // namespace plumbline
