// Commands as words and as one text: words for a POSIX shell, from which nothing can break out to
// become a command of its own, and back, for programs that run without a shell. Pure functions,
// thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

// In single quotes, also what needs none: a host may be called "esac".
std::string shell_quoted(std::string_view text);
// In single quotes where it needs them.
std::string shell_word(std::string_view text);
// Words as one line that a shell reads back as the same words.
std::string shell_line(const std::vector<std::string>& words);

// Blanks part words; single quotes take what is between them as it is; between double quotes a
// backslash stands before a double quote or a backslash only; elsewhere it takes away the meaning
// of what follows. What only a shell would understand (| & ; < > ( ) $ ` * ? and a newline, outside
// of quotes; $ and ` in double ones too) is refused, so that nothing means something else here than
// it does there. At least one word, else an Error.
Expected<std::vector<std::string>> split_words(std::string_view text);

// A name that an environment variable can have: letters, digits and '_', no digit first.
bool is_variable_name(std::string_view name);

}  // namespace plumbline
