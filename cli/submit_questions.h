// What the machine cannot know, asked on a terminal or taken from flags: one table of questions.
#pragma once

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "cli/args.h"
#include "core/error.h"
#include "reports/publish/bundle_build.h"
#include "reports/publish/redact.h"

namespace plumbline {

// Flags of `submit` that answer questions, for the table of commands.
std::vector<FlagRow> question_flags();

// Names that only this machine knows as such.
struct OwnNames {
  Redactor names;    // hosts and users
  std::string home;  // a folder; "" = none
};

// Answers from the flags, and from `in` for what they leave open; `in` null = no terminal to ask
// on, then what is missing is one usage error that names every flag. Asks again (on `out`) after an
// answer that cannot be, three times at most, and after one that holds an own name, unless that is
// meant as a word (--keep-names, or y): published, it would name the machine, and replaced it would
// say something else than was typed. Without a terminal, and with --yes, such a name is a usage
// error.
Expected<BundleStatement> ask_statement(const Args& args, const OwnNames& own, std::istream* in,
                                        std::ostream& out);

// y or yes; anything else, and the end of the input, is no.
bool confirm(std::istream& in, std::ostream& out, const std::string& question);

}  // namespace plumbline
