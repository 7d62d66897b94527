// The option table: every knob of the data path as one row (name, default, unit, help, environment
// variable, accepted MCCL alias), and the set of resolved values with the place each came from.
// Precedence: flag > scenario `config` > PLUMBLINE_* > MCCL_* > the user's file > link profile >
// default. MCCL's options without a meaning here stand in the table, refused by name with the
// reason. OptionSet is a value: resolve once, then read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

enum class OptionType {
  kBool,        // on|off, true|false, yes|no, 1|0
  kInt,         // whole number
  kBytes,       // "262144", "256Ki", "1e6"
  kDurationMs,  // "30000" (milliseconds) or "30s"
  kChoice,      // one of `choices`, case ignored
  kNamed,       // one of the names of a table above core (OptionChoices), case ignored
  kText,        // checked by whoever reads it
  kPort,        // 1..65535, or "auto", which integer() gives as 0
  kCount,       // whole number from 1 on, or "auto", which integer() gives as 0
  kAddress,     // numeric IPv4 or IPv6 address, or "auto"
};

struct OptionRow {
  const char* name;  // "chunk_bytes"; the flag is --chunk-bytes, the variable PLUMBLINE_CHUNK_BYTES
  OptionType type;
  const char* default_value;  // in the spelling that a user would write
  const char* unit;           // "bytes", "ms", "ranks", "" ...
  const char* help;           // one line
  const char* mccl_alias;     // "MCCL_CHUNK_BYTES" or nullptr
  const char* choices;        // "eager|lazy" for kChoice, else nullptr
  double min, max;            // for numbers; min > max = unchecked
  const char* refused;        // reason why it cannot be set here, or nullptr
  bool must_agree;            // part of the configuration that all ranks compare
};

std::span<const OptionRow> option_table();
const OptionRow* find_option(std::string_view name);
// "PLUMBLINE_CHUNK_BYTES" for "chunk_bytes".
std::string option_variable(std::string_view name);

// What a link profile sets where nothing of higher precedence does.
struct LinkProfileRow {
  const char *profile, *option, *value;
};
std::span<const LinkProfileRow> link_profile_table();

// By option of the type kNamed: what it may be, the default among it. Where nothing is handed down
// any word will do, for whoever reads it to check.
using OptionChoices = std::map<std::string, std::vector<std::string>, std::less<>>;

struct OptionValue {
  std::string value, origin;  // origin: "flag" | "scenario" | "env PLUMBLINE_X" | "default" ...
};

struct OptionSources {
  std::map<std::string, std::string> flags;     // name -> text
  std::map<std::string, std::string> scenario;  // name -> text
  // Environment as name -> value; pass only PLUMBLINE_* and MCCL_* (read_option_environment()).
  std::map<std::string, std::string> environment;
  OptionChoices choices = {};
};
std::map<std::string, std::string> read_option_environment();

class OptionSet {
 public:
  // Every problem at once: unknown names with the nearest valid one, refused names with the reason,
  // bad values with what is accepted. An unknown PLUMBLINE_* variable is a problem too; unknown
  // MCCL_* ones are ignored.
  static tl::expected<OptionSet, std::vector<Error>> resolve(const OptionSources& sources);
  // All defaults.
  OptionSet() : OptionSet(OptionChoices()) {}
  explicit OptionSet(OptionChoices choices);

  // Values are stored in one canonical spelling ("256Ki", "30000", "on"). Asking for a name that is
  // not in the table, or as the wrong type, is a programming error and ends the process.
  int64_t integer(
      std::string_view name) const;  // kInt, kBytes (bytes), kDurationMs (ms), kPort, kCount
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const { return at(name).value; }
  const std::string& origin(std::string_view name) const { return at(name).origin; }

  // Same set with one value replaced (a cell's own parameter).
  Expected<OptionSet> with(const std::string& name, const std::string& value,
                           const std::string& origin) const;
  // Every option with its origin, for records and `plumbline config`.
  std::map<std::string, OptionValue> values() const;
  // The must_agree options, which all ranks compare: "key=value\n" lines, sorted.
  std::string config_text() const;

 private:
  const OptionValue& at(std::string_view name) const;

  std::map<std::string, OptionValue, std::less<>> values_;
  OptionChoices choices_;
};

// ---- the text of one option's value: each type has one canonical spelling, so that equal settings
// compare and hash equal however they were written ----

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

}  // namespace plumbline
