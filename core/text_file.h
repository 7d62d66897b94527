// Whole text files, written with their errors seen. Thread-safe.
#pragma once

#include <string>

#include "core/error.h"

namespace plumbline {

// What was there before is lost, also where writing fails.
Status write_text_file(const std::string& path, const std::string& text);
// The file is the old one or the new one, never half of one: written beside it, then renamed.
// `hint` goes into the Error.
Status replace_text_file(const std::string& path, const std::string& text, std::string hint = {});

}  // namespace plumbline
