// What may not stand in a public file, looked for once more in a bundle from elsewhere: submit
// would have replaced it.
#include <set>

#include "core/json.h"
#include "core/options/options.h"
#include "reports/publish/bundle_fields.h"
#include "reports/publish/bundle_verify.h"
#include "reports/publish/redact.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using nlohmann::json;

class Look {
 public:
  explicit Look(BundleReport& report) : report_(report) {}

  void at_text(const json& value, const std::string& path) {
    if (!value.is_string()) return;
    const auto& text = value.get_ref<const std::string&>();
    if (!seen_.insert(text).second || is_redacted(text)) return;
    report_.problems.push_back({"private", path, "holds an address, a MAC or a path"});
  }
  // Values as the table of options reads and writes them, so that they can be no names.
  void at_options(const json& options, const std::string& path) {
    for (const auto& [name, value] : options.items()) {
      const auto text = value.get<std::string>();
      const auto read = defaults_.with(name, text, "bundle");
      if (read && read->values().at(name).value == text) continue;
      report_.problems.push_back(
          {"schema", path + "." + name,
           "is '" + clean(text) + "', which is no value of that option as plumbline writes it"});
    }
  }

 private:
  BundleReport& report_;
  std::set<std::string> seen_;
  const OptionSet defaults_;
};

}  // namespace

void check_private(BundleReport& report) {
  const json& content = (*report.document)["content"];
  const json& statement = content["statement"];
  Look look(report);
  for (const char* name : {"cable", "notes"}) {
    look.at_text(statement[name], std::string("content.statement.") + name);
  }
  for (size_t i = 0; i < statement["hardware"].size(); ++i) {
    look.at_text(statement["hardware"][i], "content.statement.hardware[" + std::to_string(i) + "]");
  }
  const json& environment = content["environment"];
  look.at_options(environment["options"], "content.environment.options");
  for (size_t i = 0; i < environment["hosts"].size(); ++i) {
    for (const auto& [name, value] : environment["hosts"][i].items()) {
      look.at_text(value, "content.environment.hosts[" + std::to_string(i) + "]." + name);
    }
  }
  for (size_t i = 0; i < content["rows"].size(); ++i) {
    const std::string path = "content.rows[" + std::to_string(i) + "]";
    look.at_options(content["rows"][i]["cell"]["params"], path + ".cell.params");
    for (const auto& [name, value] : content["rows"][i]["resolved"].items()) {
      look.at_text(value, path + ".resolved." + name);
    }
  }
}

}  // namespace plumbline
