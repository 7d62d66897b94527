// Tables and documents (reports/tables.h, reports/document.h) as HTML: tables with caption and
// scopes, sortable, in a box of their own that scrolls when the page is narrower.
#pragma once

#include <string>

#include "reports/document.h"
#include "reports/html/writer.h"

namespace plumbline {

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
// A remark of one sentence or two below what it is about.
void write_note(const std::string& text, HtmlWriter& html);
// "1 rank", "4 ranks".
std::string plural(size_t count, const std::string& word);
// " 5 rows", beside the title of something folded away.
std::string rows_text(size_t rows);
// "tone-good" ...; "" for plain.
std::string tone_class(Tone tone);

}  // namespace plumbline
