#pragma once
// The files of app/report/page and the chart library, which the build embeds (cmake/Embed.cmake).

#include <string_view>

namespace shoal::app {

extern const std::string_view kPageTemplate;  // with placeholders such as {{style}} and {{data}}
extern const std::string_view kPageStyle;
extern const std::string_view kPageCharts;  // the chart library dygraphs
extern const std::string_view kPageScript;
extern const std::string_view kPageLicense;  // the license of dygraphs

}  // namespace shoal::app
