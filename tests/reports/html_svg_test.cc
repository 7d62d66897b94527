// What of an SVG may stand in a page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/html/writer.h"
#include "tests/reports/html_scan.h"

namespace plumbline {
namespace {

using testing::HasSubstr;

std::string safe(const std::string& content, const std::vector<size_t>& series = {}) {
  const auto svg = make_safe_svg(
      "<?xml version=\"1.0\"?>\n<svg width=\"5\" viewBox=\"0 0 10 20\">" + content + "</svg>\n",
      "f1", series, "A <title>", "what & why");
  return svg ? svg->text() : "refused: " + svg.error().message();
}

constexpr const char* kHead =
    "<svg viewBox=\"0 0 10 20\" role=\"img\" aria-labelledby=\"f1-t f1-d\"><title id=\"f1-t\">A "
    "&lt;title&gt;</title><desc id=\"f1-d\">what &amp; why</desc>";

TEST(SafeSvg, ShapesPassAndGetThePagesColours) {
  EXPECT_EQ(safe("<path d='M1,2 L3,4' stroke='rgb(  0, 114, 178)' fill=\"#DDDDDD\"/>"),
            std::string(kHead) +
                "<path d=\"M1,2 L3,4\" stroke=\"var(--s0)\" fill=\"var(--grid)\"/></svg>");
  EXPECT_EQ(safe("<g fill=\"none\" color=\"black\"><text fill=\"black\"> 8</text></g>"),
            std::string(kHead) + "<g fill=\"none\"><text fill=\"var(--ink)\"> 8</text></g></svg>");
}

TEST(SafeSvg, WhatCouldActIsDropped) {
  const std::string text = safe(
      "<script>alert(1)</script><style>*{}</style><title>t</title><defs><path d='x'/></defs>"
      "<foreignObject><p>x</p></foreignObject><image xlink:href=\"http://x\"/>"
      "<a xlink:href=\"javascript:x\"><text>in a link</text></a>"
      "<path onclick='x' style='y' class='z' id='q' d='M1,1' fill='url(#x)'/>"
      "<use xlink:href='#gpPt6' transform='scale(2)'/><use xlink:href='http://x/#gpPt6'/>");
  EXPECT_EQ(text, std::string(kHead) +
                      "<path d=\"M1,1\" fill=\"currentColor\"/><use href=\"#gpPt6\" "
                      "transform=\"scale(2)\"/><use/></svg>");
}

TEST(SafeSvg, TextIsEscapedAnew) {
  EXPECT_THAT(safe("<text>a&lt;b&gt;&amp;&quot;</text>"),
              HasSubstr("<text>a&lt;b&gt;&amp;&quot;</text>"));
  EXPECT_THAT(safe("<text>&amp;lt;script></text>"), HasSubstr("<text>&amp;lt;script&gt;</text>"));
  EXPECT_THAT(safe("<text x='&quot;onload=&quot;'>1</text>"), HasSubstr("<text>1</text>"));
}

TEST(SafeSvg, BlocksBelongToSeries) {
  EXPECT_THAT(safe("<g id=\"gnuplot_plot_2\" ><title>x</title><path d=\"M1,1\"/></g>", {0, 1, 1}),
              HasSubstr("<g data-series=\"1\"><path"));
  EXPECT_THAT(safe("<g id=\"gnuplot_plot_9\"><path d=\"M1,1\"/></g>", {0}), HasSubstr("<g><path"));
}

TEST(SafeSvg, EmptyGroupsVanish) {
  EXPECT_EQ(safe("<g fill=\"none\">\n</g><g>\n<g></g></g>"), std::string(kHead) + "</svg>");
}

TEST(SafeSvg, AnythingElseIsRefused) {
  for (const char* bad :
       {"<g>", "</g>", "<g></path>", "<g fill=none></g>", "<g fill='x></g>", "<svg></svg>",
        "<!DOCTYPE x [<!ENTITY a \"b\">]>", "<![CDATA[x]]>", "<!-- never ends", "< g></g>"}) {
    EXPECT_THAT(safe(bad), testing::StartsWith("refused")) << bad;
  }
  EXPECT_FALSE(make_safe_svg("", "a", {}, "", ""));
  EXPECT_FALSE(make_safe_svg("<html></html>", "a", {}, "", ""));
  EXPECT_FALSE(
      make_safe_svg("<svg viewBox=\"0 0 1 1\"/><svg viewBox=\"0 0 1 1\"/>", "a", {}, "", ""));
  EXPECT_FALSE(make_safe_svg("<svg viewBox=\"url(x)\"/>", "a", {}, "", ""));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<g>";
  EXPECT_THAT(safe(deep), testing::StartsWith("refused"));
}

TEST(SafeSvg, CutAnywhereItIsRefusedOrWellFormed) {
  const std::string whole =
      "<svg viewBox=\"0 0 1 1\"><g id='gnuplot_plot_1' fill=\"none\"><text>a&lt;b</text></g></svg>";
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto svg = make_safe_svg(whole.substr(0, n), "a", {0}, "t", "d");
    EXPECT_FALSE(svg) << n;
  }
  const auto svg = make_safe_svg(whole, "a", {0}, "t", "d");
  ASSERT_TRUE(svg);
  EXPECT_EQ(samples::scan_html(svg->text()).error, "");
}

}  // namespace
}  // namespace plumbline
