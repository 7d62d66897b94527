// What the machine cannot know, asked on a terminal or taken from flags: one table of questions.
#pragma once

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "cli/args.h"
#include "core/error.h"
#include "reports/bundle_build.h"

namespace plumbline {

// Flags of `submit` that answer questions, for the table of commands.
std::vector<FlagRow> question_flags();

// Answers from the flags, and from `in` for what they leave open; `in` null = no terminal to ask
// on, then what is missing is one usage error that names every flag. Asks again (on `out`) after an
// answer that cannot be, three times at most.
Expected<BundleStatement> ask_statement(const Args& args, std::istream* in, std::ostream& out);

// y or yes; anything else, and the end of the input, is no.
bool confirm(std::istream& in, std::ostream& out, const std::string& question);

}  // namespace plumbline
