#pragma once
// The files of app/report/page and the chart library, which the build embeds (cmake/Embed.cmake).

#include <string_view>

namespace shoal::app {

extern const std::string_view kPageTemplate;  // with {{style}}, {{charts}}, {{data}}, {{script}}
extern const std::string_view kPageStyle;
extern const std::string_view kPageCharts;  // dygraphs
extern const std::string_view kPageScript;
extern const std::string_view kPageLicense;  // of dygraphs

}  // namespace shoal::app
