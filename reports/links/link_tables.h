// The links of a run as tables and sentences, for console and Markdown. Pure.
#pragma once

#include "reports/document.h"
#include "reports/links/link_view.h"

namespace plumbline {

// What stands out of one world and by which rule; what is known of its pairs beside the matrices,
// and ring orders.
void add_link_verdicts(const LinkWorld& world, Document& document);
void add_link_details(const LinkWorld& world, Document& document);
// Link cells without a matrix, with the reason; nobody may overlook them.
std::vector<std::string> links_without_results(const View& view);
// All of it, with the matrices as numbers. Nothing when the view has no link cells.
void add_links(const View& view, Document& document);

}  // namespace plumbline
