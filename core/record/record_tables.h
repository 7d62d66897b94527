// Which structs of a record have a table of their fields (core/field.h), and one that is only
// a line of a file. Whoever walks a table includes this. Light.
#pragma once

#include <span>
#include <string>

#include "core/field.h"
#include "core/host/host_fields.h"
#include "core/record/cell.h"
#include "core/record/event.h"
#include "core/record/link.h"
#include "core/record/record.h"

namespace plumbline {

// The line that says where and how the records below it were measured.
struct EnvironmentLine {
  int schema = kRecordSchema;
  std::string hash;  // environment_hash()
  Environment environment;
};

#define PLUMBLINE_FIELDS(Type)                  \
  template <>                                   \
  struct FieldsOf<Type> {                       \
    using Owner = Type;                         \
    static std::span<const Field<Owner>> all(); \
  }
#define PLUMBLINE_CHECKED_FIELDS(Type)          \
  template <>                                   \
  struct FieldsOf<Type> {                       \
    using Owner = Type;                         \
    static std::span<const Field<Owner>> all(); \
    static void check(const Owner& value);      \
  }

PLUMBLINE_FIELDS(Cell);       // core/record/cell.cc
PLUMBLINE_FIELDS(SoakEvent);  // core/record/event.cc
PLUMBLINE_FIELDS(LinkRtt);    // core/record/link.cc, as the three below
PLUMBLINE_FIELDS(LinkStream);
PLUMBLINE_CHECKED_FIELDS(LinkUdp);
PLUMBLINE_CHECKED_FIELDS(LinkResult);
PLUMBLINE_FIELDS(Resolved);  // core/record/measurement_fields.cc, as the next two
PLUMBLINE_FIELDS(PerRank);
PLUMBLINE_CHECKED_FIELDS(Reported);
PLUMBLINE_FIELDS(Measurement);  // those that stand in the record itself
PLUMBLINE_FIELDS(TimeSummary);  // core/record/record_fields.cc, as all below
PLUMBLINE_FIELDS(Noise);
PLUMBLINE_FIELDS(OptionValue);
PLUMBLINE_FIELDS(Environment);
PLUMBLINE_FIELDS(EnvironmentLine);
PLUMBLINE_CHECKED_FIELDS(SoakMark);
PLUMBLINE_CHECKED_FIELDS(LaunchMark);
PLUMBLINE_FIELDS(Record);  // without its measurement

#undef PLUMBLINE_FIELDS
#undef PLUMBLINE_CHECKED_FIELDS

}  // namespace plumbline
