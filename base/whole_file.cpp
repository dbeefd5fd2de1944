#include "base/whole_file.h"

#include <stdexcept>
#include <system_error>

namespace shoal {

void write_whole(const std::filesystem::path& path, const std::string& advice,
                 const std::function<void(std::ofstream&)>& write) {
  const auto aside = path.parent_path() / ("." + path.filename().string() + ".part");
  std::ofstream out(aside, std::ios::binary | std::ios::trunc);
  write(out);
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(aside, path, error);
  if (!out || error) throw std::runtime_error("cannot write " + path.string() + "; " + advice);
}

}  // namespace shoal
