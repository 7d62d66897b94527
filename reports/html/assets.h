// What the page brings along beside its content, embedded at build time from files of the same
// names in this folder (reports/CMakeLists.txt): style sheet, script, and the shapes of points.
#pragma once

#include <string_view>

namespace plumbline {

std::string_view page_css();     // page.css
std::string_view page_js();      // page.js
std::string_view page_shapes();  // shapes.svg

}  // namespace plumbline
