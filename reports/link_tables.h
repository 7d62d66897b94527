// The links of a run as tables and sentences, for console and Markdown. Pure.
#pragma once

#include "reports/document.h"
#include "reports/link_view.h"

namespace plumbline {

// Nothing when the view has no link cells.
void add_links(const View& view, Document& document);

}  // namespace plumbline
