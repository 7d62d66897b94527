#include "probes/traces/analyse.h"

#include <filesystem>
#include <utility>

#include "probes/traces/analysis.h"
#include "probes/traces/trace_file.h"

namespace plumbline {

Expected<AnalysedFile> read_trace(const TraceSource& source, const TraceLimits& limits,
                                  Analysis::Observer observer, Analysis::TimeObserver times) {
  Expected<ByteReader> reader =
      source.bytes != nullptr ? ByteReader::over(*source.bytes) : ByteReader::open(source.path);
  if (!reader) return fail(reader.error());
  Expected<std::unique_ptr<TraceFile>> file = open_trace_file(std::move(*reader), source.path);
  if (!file) return fail(file.error());
  AnalysedFile result{std::move(*file), std::make_unique<Analysis>(limits)};
  if (observer) result.analysis->observe(std::move(observer));
  if (times) result.analysis->observe_times(std::move(times));
  result.analysis->read(*result.file);
  return result;
}

Expected<TraceSummary> analyse_trace_file(const std::string& path, const TraceLimits& limits) {
  const Expected<AnalysedFile> read = read_trace({path, nullptr}, limits);
  if (!read) return fail(read.error());
  return read->analysis->summary(*read->file, std::filesystem::path(path).filename().string());
}

Expected<TraceSummary> analyse_trace(const std::string& bytes, const std::string& name,
                                     const TraceLimits& limits) {
  const Expected<AnalysedFile> read = read_trace({name, &bytes}, limits);
  if (!read) return fail(read.error());
  return read->analysis->summary(*read->file, name);
}

}  // namespace plumbline
