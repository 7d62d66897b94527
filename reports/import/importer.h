// Results of other tools as records, so that they can stand in our tables and plots. A file is
// recognised by how it begins (never by its name) in one table of importers; each is one file here
// and one row of importer.cc. What a tool printed becomes Measurement::reported, under the name
// that the tool has for it; samples are taken over where the file has them. Foreign text is bounded
// in size and checked field by field: what cannot be read is an error or a note with file and line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/host/requirement.h"
#include "core/record/record.h"

namespace plumbline {

// What a file does not say and the user does: `report --assume ranks=8`.
struct Assumptions {
  std::optional<int> ranks;  // how many took part
  std::string unit;          // of bandwidths in perftest's JSON: "MiB/s" or "Gb/s"
  std::string op;            // the operation of an nccl-tests table
};
// From words KEY=VALUE; the error names the keys there are.
Expected<Assumptions> parse_assumptions(const std::vector<std::string>& words);

struct ImportFile {
  std::string path;  // for messages
  std::string text;  // all of it
  Assumptions assume;
};

struct ImportResult {
  std::vector<Record> records;
  std::vector<std::string> notes;  // what was not understood, with file and line
};

struct ImportRow {
  Descriptor descriptor;
  bool (*recognise)(std::string_view start);  // from the first kImportStart bytes
  Status (*read)(const ImportFile& file, ImportResult& out);
};

inline constexpr size_t kImportStart = 64 << 10;      // bytes that recognition looks at
inline constexpr size_t kMaxImportBytes = 64 << 20;   // larger files are refused
inline constexpr size_t kMaxImportRecords = 100'000;  // so are files with more results

const std::vector<ImportRow>& import_table();
// The row whose format text of this beginning has; nullptr = none.
const ImportRow* recognise_import(std::string_view start);
// Text of a known format as finished records (run id, repetitions and derived fields filled in). An
// error when there is no result in it.
Expected<ImportResult> import_text(const ImportRow& row, ImportFile file);

// What an open file (or pipe, or the standard input) holds as results of another tool, read to its
// end in at most kMaxImportBytes. No value = it is, or may be, a stream of our records: only its
// first bytes were read, they are in `start`. `name` is for messages.
Expected<std::optional<ImportResult>> import_from(int fd, const std::string& name,
                                                  const Assumptions& assume, std::string& start);
// The file as results of another tool; no value = it is (or may be) a file of our records. An error
// when it is neither: it lists the formats.
Expected<std::optional<ImportResult>> import_file(const std::string& path,
                                                  const Assumptions& assume);

}  // namespace plumbline
