// A command that is written as one text, as the words that it consists of: for programs that run
// without a shell. Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

// Blanks part words; single quotes take what is between them as it is; between double quotes a
// backslash stands before a double quote or a backslash only; elsewhere it takes away the meaning
// of what follows. What only a shell would understand (| & ; < > ( ) $ ` * ? and a newline, outside
// of quotes; $ and ` in double ones too) is refused, so that nothing means something else here than
// it does there. At least one word, else an Error.
Expected<std::vector<std::string>> split_words(std::string_view text);

}  // namespace plumbline
