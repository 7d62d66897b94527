#include "scenarios/text_places.h"

#include <fmt/format.h>

#include <utility>

namespace plumbline {

TextPlaces::TextPlaces(const std::string& file, const std::string& text) {
  merged_ = add(file, text);
}

const JsonPlaces& TextPlaces::add(const std::string& file, const std::string& text) {
  JsonPlaces places;
  places.add_all(scan_json(text).places, files_.size());
  files_.push_back(file);
  own_.push_back(std::move(places));
  return own_.back();
}

std::string TextPlaces::located(const std::string& where) const {
  if (where.rfind('$', 0) == 0 && !files_.empty()) {
    const JsonSpot spot = merged_.find(where);
    return fmt::format("{}:{}: {}", files_[spot.file], spot_text(spot), where);
  }
  for (size_t i = 0; i < files_.size(); ++i) {
    if (where == files_[i]) return fmt::format("{}:{}", where, spot_text({}));
    const std::string prefix = files_[i] + ": ";
    if (where.rfind(prefix + "$", 0) != 0) continue;
    const std::string path = where.substr(prefix.size());
    return fmt::format("{}:{}: {}", files_[i], spot_text(own_[i].find(path)), path);
  }
  return where;
}

std::vector<ScenarioProblem> TextPlaces::located(std::vector<ScenarioProblem> problems) const {
  for (ScenarioProblem& problem : problems) problem.where = located(problem.where);
  return problems;
}

}  // namespace plumbline
