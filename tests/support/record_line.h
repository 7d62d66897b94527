// A record that goes alone, as one line with its environment in it, and back: as version 1 wrote
// them, and as this one still reads them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/field_json.h"
#include "core/record/record_parser.h"
#include "core/text.h"

namespace plumbline {

// Without the newline.
inline std::string to_line(const Record& record) {
  nlohmann::json object;
  write_fields(record, object);
  write_fields(record.measurement, object);
  FieldValue<Environment>::write(record.environment, object["environment"]);
  return printable_json(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

inline Expected<Record> record_from_line(std::string_view line,
                                         std::vector<std::string>* warnings = nullptr) {
  RecordParser parser;
  const Expected<const Record*> record = parser.parse(line, warnings);
  if (!record) return fail(record.error());
  if (*record == nullptr) {
    return fail(ErrorCode::kConfig, "not a record: it is the line of an environment");
  }
  return **record;
}

}  // namespace plumbline
