#pragma once
// Reports: one HTML page about one run or several, with all numbers, images and scripts in it. Does
// not use LibTorch.

#include <filesystem>
#include <string>
#include <vector>

namespace shoal::app {

inline constexpr const char* kReportFile = "report.html";

// Returns the numbers of a report as JSON text. `runs`: --output folders of runs. `live`: the page
// asks its server for newer numbers. Throws UserError that names a folder without a history.
std::string report_data(const std::vector<std::string>& runs, bool live);

// Returns the page that shows `data`, a JSON text. `live`: as for report_policy().
std::string report_page(const std::string& data, bool live);

// Returns the value of the HTTP header Content-Security-Policy for the page: its own scripts and
// styles, images in data URLs, and with `live` requests to its own server. Nothing else.
std::string report_policy(bool live);

// Writes the report of `runs` to a file. Throws like report_data(), or std::system_error.
void write_report(const std::vector<std::string>& runs, const std::filesystem::path& file);

// Returns a fingerprint of the files that the report of `runs` is made from: sizes and times.
std::string report_stamp(const std::vector<std::string>& runs);

}  // namespace shoal::app
