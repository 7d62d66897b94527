// How the lines of `doctor` look: a coloured word for how something stands, labels, text wrapped
// beside them. Strings are cleaned on the way.
#pragma once

#include <string>

#include "core/diagnosis/finding.h"
#include "reports/doctor.h"

namespace plumbline {

struct DoctorStyle {
  const char* word;
  const char* colour;  // SGR sequence
};
DoctorStyle style_of(Standing standing);

class DoctorWriter {
 public:
  static constexpr size_t kIndent = 6;  // columns before what belongs to a headline

  // For a terminal of `width` columns; 0 = no wrapping.
  DoctorWriter(int width, bool colour)
      : width_(width > 0 ? static_cast<size_t>(width) : 0), colour_(colour) {}

  size_t width() const { return width_; }
  // `before`, the word, a label, and text wrapped beside the label, or below it where a narrow
  // terminal leaves too little room.
  void headline(const DoctorStyle& style, const std::string& label, const std::string& text,
                const std::string& before = "");
  // One line in three parts, never wrapped; the middle one in the colour of the style.
  void row(const std::string& label, const DoctorStyle& style, const std::string& marked,
           const std::string& rest);
  void line(const std::string& label, const std::string& text);
  // Advice that a shell would take for a comment is one on every line.
  void advice(const std::string& label, const std::string& text);
  // A command must stay in one piece, so that it can be copied: never wrapped.
  void whole_line(const std::string& label, const std::string& text);
  void blank() { out_ += "\n"; }
  std::string take() { return std::move(out_); }

 private:
  std::string coloured(const DoctorStyle& style, const std::string& text) const;

  size_t width_;
  bool colour_;
  std::string out_;
};

// The checks in the text of `doctor`: all of them, or a line per probe with its counts, below it
// each check that is not fine, and what was skipped in a sentence.

// One by one, in the order in which they were made.
void write_all_checks(DoctorWriter& writer, const DoctorReport& report);
// A line per probe.
void write_probes(DoctorWriter& writer, const DoctorReport& report);

}  // namespace plumbline
