// Words for a POSIX shell, as text from which nothing can break out to become a command of its own.
// Pure functions, thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// In single quotes, also what needs none: a host may be called "esac".
std::string shell_quoted(std::string_view text);
// In single quotes where it needs them.
std::string shell_word(std::string_view text);
// Words as one line that a shell reads back as the same words.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace plumbline
