// From the place of a problem within the value ("$.matrix[0].op", "inc.json: $.hosts") to the line
// of the file in which a person wrote it: "smoke.json:12:5: $.matrix[0].op". Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json_scan.h"
#include "scenarios/problems.h"

namespace plumbline {

class TextPlaces {
 public:
  TextPlaces() = default;
  TextPlaces(const std::string& file, const std::string& text);

  // A text beside those that are there. Returns where its values stand.
  const JsonPlaces& add(const std::string& file, const std::string& text);
  // Where the values stand that all files together make: a place without a file's name is looked up
  // here, one with a name in that file.
  void set_merged(JsonPlaces merged) { merged_ = std::move(merged); }

  // As it is when no file of these is meant, or the place is told already.
  std::string located(const std::string& where) const;
  std::vector<ScenarioProblem> located(std::vector<ScenarioProblem> problems) const;

 private:
  std::vector<std::string> files_;
  std::vector<JsonPlaces> own_;
  JsonPlaces merged_;
};

}  // namespace plumbline
