#include "reports/document.h"

#include <algorithm>
#include <utility>

#include "core/text.h"
#include "reports/text.h"

namespace plumbline {

using Kind = DocumentBlock::Kind;

namespace {

void write_lines(const std::vector<std::string>& lines, Tone tone, bool colour, std::ostream& out) {
  for (const std::string& line : lines) out << toned(line, tone, colour) << "\n";
}

// Said once for all tables.
void write_left_out(const std::vector<std::string>& columns, int width, std::ostream& out) {
  std::vector<std::string> names;
  for (const std::string& column : columns) {
    if (std::find(names.begin(), names.end(), column) == names.end()) names.push_back(column);
  }
  if (names.empty()) return;
  out << "\n";
  const std::string text = "Columns without room at " + std::to_string(width) +
                           " characters (COLUMNS=1000 shows them all): " + join(names, ", ");
  write_lines(wrap(text, static_cast<size_t>(width)), Tone::kPlain, false, out);
}

void write_text(const DocumentBlock& block, int width, bool colour, std::ostream& out,
                std::vector<std::string>& left_out) {
  const auto columns = static_cast<size_t>(std::max(width, 0));
  switch (block.kind) {
    case Kind::kHeading: {
      const std::string marks(static_cast<size_t>(std::max(block.level, 1)), '=');
      write_lines(wrap(clean(block.text), columns, marks + " "), Tone::kHeading, colour, out);
      break;
    }
    case Kind::kParagraph:
      write_lines(wrap(clean(block.text), columns), block.tone, colour, out);
      break;
    case Kind::kList:
      for (const std::string& item : block.items) {
        write_lines(wrap(clean(item), columns, "- "), block.tone, colour, out);
      }
      break;
    case Kind::kTable:
      for (const std::string& line : to_text(block.table, width, colour, &left_out)) {
        out << line << "\n";
      }
      break;
    case Kind::kCommand:
      out << "  " << clean(block.text) << "\n";
      break;
    case Kind::kPicture:
    case Kind::kLink:
      break;
  }
}

// A command keeps its lines: a newline between quotes is a part of it.
std::string clean_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back(clean(std::string_view(text).substr(from, end - from)));
    from = end + 1;
  }
  return join(lines, "\n");
}

// A code fence longer than any run of backticks inside.
std::string fence_for(const std::string& text) {
  size_t longest = 2;
  size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

void write_markdown(const DocumentBlock& block, std::ostream& out) {
  switch (block.kind) {
    case Kind::kHeading:
      out << std::string(static_cast<size_t>(std::max(block.level, 1)), '#') << " "
          << markdown_escape(block.text) << "\n\n";
      break;
    case Kind::kParagraph:
      out << (block.tone == Tone::kBad ? "**" + markdown_escape(block.text) + "**"
                                       : markdown_escape(block.text))
          << "\n\n";
      break;
    case Kind::kList:
      for (const std::string& item : block.items) out << "- " << markdown_escape(item) << "\n";
      out << "\n";
      break;
    case Kind::kTable:
      out << to_markdown(block.table) << "\n";
      break;
    case Kind::kCommand:
      out << fence_for(block.text) << "sh\n"
          << clean_lines(block.text) << "\n"
          << fence_for(block.text) << "\n\n";
      break;
    case Kind::kPicture:
      out << "![" << markdown_escape(block.text) << "](" << clean(block.target) << ")\n\n";
      break;
    case Kind::kLink:
      out << "[" << markdown_escape(block.text) << "](" << clean(block.target) << ")\n\n";
      break;
  }
}

}  // namespace

void Document::heading(int level, std::string text) {
  blocks.push_back({.kind = Kind::kHeading, .text = std::move(text), .level = level});
}

void Document::paragraph(std::string text, Tone tone) {
  if (!text.empty()) blocks.push_back({.text = std::move(text), .tone = tone});
}

void Document::list(std::vector<std::string> items) {
  if (!items.empty()) blocks.push_back({.kind = Kind::kList, .items = std::move(items)});
}

void Document::table(Table table) {
  if (!table.rows.empty()) blocks.push_back({.kind = Kind::kTable, .table = std::move(table)});
}

void Document::command(std::string_view text) {
  blocks.push_back({.kind = Kind::kCommand, .text = escaped(text)});
}

void Document::picture(std::string title, std::string path) {
  blocks.push_back({.kind = Kind::kPicture, .text = std::move(title), .target = std::move(path)});
}

void Document::link(std::string text, std::string path) {
  blocks.push_back({.kind = Kind::kLink, .text = std::move(text), .target = std::move(path)});
}

void render_text(const Document& document, int width, bool colour, std::ostream& out) {
  const std::vector<DocumentBlock>& blocks = document.blocks;
  const auto last_heading =
      std::find_if(blocks.rbegin(), blocks.rend(),
                   [](const DocumentBlock& block) { return block.kind == Kind::kHeading; });
  std::vector<std::string> left_out;
  for (const DocumentBlock& block : blocks) {
    // Before the last section, which has the counts and must stay the last thing one sees.
    if (last_heading != blocks.rend() && &block == &*last_heading) {
      write_left_out(std::exchange(left_out, {}), width, out);
    }
    if (block.kind == Kind::kHeading && &block != &blocks.front()) out << "\n";
    write_text(block, width, colour, out, left_out);
  }
  write_left_out(left_out, width, out);
}

void render_markdown(const Document& document, std::ostream& out) {
  for (const DocumentBlock& block : document.blocks) write_markdown(block, out);
}

}  // namespace plumbline
