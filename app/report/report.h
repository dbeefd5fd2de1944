#pragma once
// Reports: an HTML page about one or several runs. The file contains everything that the page needs
// (numbers, thumbnails, scripts). Does not use LibTorch.

#include <filesystem>
#include <string>
#include <vector>

namespace shoal::app {

inline constexpr const char* kReportFile = "report.html";

// Returns the contents of a report as JSON text: numbers, settings, events, thumbnails. `runs`:
// --output folders of runs. `live`: the page asks its server for newer contents. Throws UserError
// with the folder's name if a folder does not exist or has no history.
std::string report_data(const std::vector<std::string>& runs, bool live);

// Returns the page that shows `data`, the result of report_data(). `live`: as for report_data().
std::string report_page(const std::string& data, bool live);

// Returns the value of the HTTP header Content-Security-Policy for the page. It allows only the
// page's own scripts, inline styles and images in data URLs. If `live` is set, it also allows
// requests to the page's own server.
std::string report_policy(bool live);

// Writes the report of `runs` to a file. Replaces only reports and empty files. Throws UserError if
// the file is something else, std::system_error if it cannot be written, and what report_data()
// throws.
void write_report(const std::vector<std::string>& runs, const std::filesystem::path& file);

// Returns a hash of the sizes and modification times of the report's input files, except the
// images. It changes when the report of `runs` changes.
std::string report_stamp(const std::vector<std::string>& runs);

}  // namespace shoal::app
