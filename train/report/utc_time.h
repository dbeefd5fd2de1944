#pragma once
// Times in reports. Does not use LibTorch.

#include <optional>
#include <string>

namespace shoal::train {

// Returns the current time in seconds since 1970 (UTC).
double wall_time();

// Returns the current time in UTC as ISO 8601: "2026-11-23T08:30:00.123Z".
std::string utc_time();

// Converts a result of utc_time() to seconds since 1970. Returns nullopt for other texts.
std::optional<double> parse_utc_time(const std::string& text);

}  // namespace shoal::train
