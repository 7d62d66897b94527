#include "reports/kind_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reports/html/page.h"

namespace plumbline {
namespace {

TEST(KindView, EveryKindThatCanBeAskedForIsShownOnce) {
  for (const CellKindRow& kind : cell_kind_table()) {
    const auto views = kind_view_table();
    const auto shown = std::count_if(views.begin(), views.end(),
                                     [&](const KindView& view) { return view.kind == kind.kind; });
    EXPECT_EQ(shown, kind.asked_for ? 1 : 0) << kind.name;
  }
}

// Kinds with a headline have plots, which stand in a section that is called as they are.
TEST(KindView, EveryKindWithAHeadlineHasItsSectionOfThePage) {
  for (const CellKindRow& kind : cell_kind_table()) {
    if (kind.headline == Headline::kNone) continue;
    const auto sections = page_sections();
    EXPECT_TRUE(std::any_of(sections.begin(), sections.end(), [&](const PageSection& section) {
      return section.id == std::string(kind.name);
    })) << kind.name;
  }
}

}  // namespace
}  // namespace plumbline
