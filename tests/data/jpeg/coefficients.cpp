#include "tests/data/jpeg/coefficients.h"

#include <jpeglib.h>

#include <algorithm>
#include <cstdio>  // jpeglib.h needs it
#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace shoal::data {

int largest_coefficient(const Bytes& file) {
  jpeg_error_mgr errors{};
  jpeg_decompress_struct info{};
  info.err = jpeg_std_error(&errors);
  errors.error_exit = [](j_common_ptr) {
    throw std::runtime_error("libjpeg-turbo: no coefficients");
  };
  errors.output_message = [](j_common_ptr) {};
  jpeg_create_decompress(&info);
  const std::unique_ptr<jpeg_decompress_struct, void (*)(jpeg_decompress_struct*)> owner(
      &info, [](jpeg_decompress_struct* info) { jpeg_destroy_decompress(info); });
  jpeg_mem_src(&info, file.data(), file.size());
  jpeg_read_header(&info, TRUE);
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&info);
  int largest = 0;
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info& component = info.comp_info[c];
    for (JDIMENSION y = 0; y < component.height_in_blocks; ++y) {
      const JBLOCKARRAY row = info.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&info),
                                                           arrays[c], y, 1, FALSE);
      for (JDIMENSION x = 0; x < component.width_in_blocks; ++x)
        for (int i = 0; i < DCTSIZE2; ++i)
          largest = std::max(largest, std::abs(row[0][x][i] * component.quant_table->quantval[i]));
    }
  }
  return largest;
}

}  // namespace shoal::data
