// How reports show cells that ask a server of language models. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/kind_view.h"

namespace plumbline {

void add_endpoint_tables(const View& view, const KindView& shown, Document& document);

// Of results that differ by the number of requests at a time alone, ascending: "knee: 4 at once,
// ..."; empty where there are too few.
std::string knee_text(const std::vector<const Item*>& sweep);

}  // namespace plumbline
