// How the text of one option's value is read: each type has one canonical spelling, so that equal
// settings compare and hash equal however they were written. Pure functions, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/options/options.h"

namespace plumbline {

// The value in its one spelling ("256Ki", "30000", "on"), or nothing when the row does not accept
// it.
std::optional<std::string> canonical_option(const OptionRow& row, const std::string& text,
                                            const OptionChoices& choices = {});
// What to give instead of `text`, for the message that refuses it.
std::string accepted_option(const OptionRow& row, const std::string& text,
                            const OptionChoices& choices = {});

bool is_whole_number(OptionType type);
// Numbers out of canonical spellings.
int64_t option_integer(const OptionRow& row, const std::string& value);
double option_real(const std::string& value);

}  // namespace plumbline
