// What the importers share: how formats are recognised, JSON that is read with distrust, lines and
// words of text tables, and records of other tools' results. Pure; nothing here throws.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/op.h"
#include "reports/import/importer.h"

namespace plumbline {

// Does the text begin as that of a tool whose output always has these words in it?
bool has_all(std::string_view text, std::initializer_list<std::string_view> words);
bool has_any(std::string_view text, std::initializer_list<std::string_view> words);

// Messages begin with "FILE:LINE: ".
std::string at_line(const ImportFile& file, size_t line);
// Adds a note about this line.
void add_note(const ImportFile& file, size_t line, const std::string& text, ImportResult& out);

// --- JSON -----------------------------------------------------------------------------------
// Hands every JSON object of the text to `take`, with the line that it begins in. Tools write more
// than JSON: bare NaN and Infinity are read as null, names without quotes as names, and text before
// or behind the objects is left out with a note. A broken first object is an error, a later one a
// note.
Status each_json(const ImportFile& file, ImportResult& out,
                 const std::function<Status(const nlohmann::json& object, size_t line)>& take);

// Fields of an object; absent when it is no object, has no such field, or one of another type.
const nlohmann::json* foreign_field(const nlohmann::json& object, const char* key);
std::optional<double> foreign_number(const nlohmann::json& object, const char* key);   // finite
std::optional<uint64_t> foreign_count(const nlohmann::json& object, const char* key);  // 0 to 2^53
std::string foreign_text(const nlohmann::json& object, const char* key);  // at most 1000 bytes
// Its list under this key; an empty one when there is none.
const nlohmann::json& foreign_list(const nlohmann::json& object, const char* key);

// --- text -----------------------------------------------------------------------------------
// Lines from 1 on, without CR and LF, up to the first that is an error.
Status each_line(std::string_view text,
                 const std::function<Status(size_t number, std::string_view line)>& take);
std::vector<std::string_view> table_words(std::string_view line);  // at blanks and tabs
std::optional<double> table_number(std::string_view word);         // all of the word, finite
std::optional<uint64_t> table_count(std::string_view word);        // 0 to 2^53
// Whether a row has a word for each of so many columns; notes it when it has not.
bool has_all_columns(const ImportFile& file, size_t line,
                     const std::vector<std::string_view>& words, size_t columns, ImportResult& out);
// What stands behind the first `key` in the line, without blanks around it; empty when not there.
std::string text_behind(std::string_view line, std::string_view key);

// --- records --------------------------------------------------------------------------------
// An empty result of this tool.
Record imported_record(const char* tool, const std::string& version);
// An operation by anybody's name of it: "AllReduce", "all_reduce_perf", "Bcast", "Alltoall".
std::optional<Op> op_by_any_name(std::string_view name);
// Sets operation, reduction and root as the table says; a name that the table does not know is kept
// in lower case with underscores.
void set_op(std::string_view name, Record& record);
// S of the bandwidth formulas where a tool counts the bytes of one rank: those times the ranks
// where S spans all ranks (but for reduce_scatter, whose size every tool counts whole).
uint64_t whole_bytes(const Cell& cell, uint64_t bytes_of_rank);
// "latency" below 64 KiB, "bandwidth" from there on: for tools that sweep over both.
CellKind kind_by_size(uint64_t bytes);
// S, and the elements of one rank's argument, by operation, type and ranks: these come first.
void set_bytes(uint64_t bytes, Record& record);
// Adds unless there are too many.
Status add_record(const ImportFile& file, Record record, ImportResult& out);

}  // namespace plumbline
