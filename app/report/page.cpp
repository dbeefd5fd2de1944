#include "app/report/page_parts.h"
#include "app/report/report.h"
#include "base/net/base64.h"
#include "base/net/sha256.h"
#include "base/text.h"

namespace shoal::app {
namespace {

// Escapes JSON text for a <script> element, so that nothing in the text can end the element.
std::string inert(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&')
      text += strf("\\u%04x", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text;
}

// Returns the source expression of a Content-Security-Policy that allows exactly this script.
std::string allowed(std::string_view script) {
  return "'sha256-" + base64(sha256_of_bytes(script)) + "'";
}

}  // namespace

std::string report_policy(bool live) {
  return std::string("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src ") +
         allowed(kPageCharts) + " " + allowed(kPageScript) + "; connect-src " +
         (live ? "'self'" : "'none'") + "; base-uri 'none'; form-action 'none'";
}

std::string report_page(const std::string& data, bool live) {
  std::string page;
  std::string_view rest = kPageTemplate;
  for (size_t begin; (begin = rest.find("{{")) != rest.npos;) {
    const size_t end = rest.find("}}", begin);
    const std::string_view name = rest.substr(begin + 2, end - begin - 2);
    page += rest.substr(0, begin);
    if (name == "policy") page += report_policy(live);
    if (name == "style") page += kPageStyle;
    if (name == "license") page += kPageLicense;
    if (name == "charts") page += kPageCharts;
    if (name == "data") page += inert(data);
    if (name == "script") page += kPageScript;
    rest = rest.substr(end + 2);
  }
  return page.append(rest);
}

}  // namespace shoal::app
