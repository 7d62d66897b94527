#include "reports/doctor_writer.h"

#include "reports/text.h"

namespace plumbline {

DoctorStyle style_of(Standing standing) {
  constexpr DoctorStyle kStyles[] = {{"pass", "\x1b[32m"}, {"note", "\x1b[36m"},
                                     {"warn", "\x1b[33m"}, {"FAIL", "\x1b[31m"},
                                     {"skip", "\x1b[2m"},  {"unknown", "\x1b[35m"}};
  return kStyles[static_cast<size_t>(standing)];
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
