// The reference page of the docs, made from the tables: every command with its flags, every probe,
// transport, operation, algorithm, report and option. Pure.
#pragma once

#include <string>

namespace plumbline {

std::string reference_markdown();

}  // namespace plumbline
