#include "reports/doctor_writer.h"

#include "reports/text.h"

namespace plumbline {

DoctorStyle style_of(Standing standing) {
  switch (standing) {
    case Standing::kPass:
      return {"pass", "\x1b[32m"};
    case Standing::kNote:
      return {"note", "\x1b[36m"};
    case Standing::kWarn:
      return {"warn", "\x1b[33m"};
    case Standing::kFail:
      return {"FAIL", "\x1b[31m"};
    case Standing::kSkipped:
      return {"skip", "\x1b[2m"};
    case Standing::kUnknown:
      break;
  }
  return {"unknown", "\x1b[35m"};
}

DoctorStyle style_of(Severity severity) {
  switch (severity) {
    case Severity::kFail:
      return style_of(Standing::kFail);
    case Severity::kWarn:
      return style_of(Standing::kWarn);
    case Severity::kNote:
      break;
  }
  return style_of(Standing::kNote);
}

std::string DoctorWriter::coloured(const DoctorStyle& style, const std::string& text) const {
  constexpr const char* kReset = "\x1b[0m";
  return colour_ ? style.colour + text + kReset : text;
}

void DoctorWriter::headline(const DoctorStyle& style, const std::string& label,
                            const std::string& text, const std::string& before) {
  const std::string word = style.word;
  const std::string first = before + word + "  " + label;
  const bool narrow = width_ != 0 && 2 * display_width(first) > width_ + kIndent;
  std::vector<std::string> lines =
      wrap(clean(text), width_, narrow ? std::string(before.size() + kIndent, ' ') : first);
  if (narrow) lines.insert(lines.begin(), first.substr(0, first.find_last_not_of(' ') + 1));
  lines.front().replace(before.size(), word.size(), coloured(style, word));
  for (const std::string& line : lines) out_ += line + "\n";
}

void DoctorWriter::row(const std::string& label, const DoctorStyle& style,
                       const std::string& marked, const std::string& rest) {
  out_ += clean(label) + coloured(style, clean(marked)) + clean(rest) + "\n";
}

void DoctorWriter::line(const std::string& label, const std::string& text) {
  for (const std::string& line : wrap(clean(text), width_, label)) out_ += line + "\n";
}

void DoctorWriter::advice(const std::string& label, const std::string& text) {
  constexpr std::string_view kComment = "# ";
  if (text.rfind(kComment, 0) != 0) return line(label, text);
  const std::string rest = text.substr(kComment.size());
  std::string first = label + std::string(kComment);
  for (std::string& each : wrap(clean(rest), width_, first)) {
    each.replace(label.size(), kComment.size(), kComment);
    out_ += each + "\n";
  }
}

void DoctorWriter::whole_line(const std::string& label, const std::string& text) {
  out_ += label + clean(text) + "\n";
}

}  // namespace plumbline
