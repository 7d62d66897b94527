// A matrix of links as a picture: one field per ordered pair, senders down, receivers across, the
// value written into it (where there is room), colour from bad (orange) to good (blue). Written as
// a gnuplot script and its data file, like picture.h; names from records are quoted as literal
// strings. Pure.
#pragma once

#include <optional>
#include <string>

#include "reports/links/link_view.h"

namespace plumbline {

// Of NAME.dat and NAME.gp, with NAME = "links_" + grid.name, or another one for a second world.
std::string heat_map_data(const LinkWorld& world, const LinkGrid& grid);
std::string heat_map_script(const LinkWorld& world, const LinkGrid& grid, const std::string& name);

// Where the field of an ordered pair stands between bad (0) and good (1) on the map's scale;
// nothing where it has no value.
std::optional<double> heat_of(const LinkGrid& grid, size_t pair);

}  // namespace plumbline
