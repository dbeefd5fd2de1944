// Rows of the option table for the section Packing.
#include "app/options/option_row.h"
#include "app/options/table/groups.h"

namespace shoal::app {

void add_packing(std::vector<Option>& table) {
  add(table, "Packing",
      {choice<PrepareAs>("as", kPrepare | kCommon,
                         "Format of DEST: one folder per class, one tar per class, or packed files "
                         "(train.pack and val.pack)",
                         {{"folders", PrepareAs::folders},
                          {"tars", PrepareAs::tars},
                          {"packs", PrepareAs::packs}},
                         FIELD(prepare_as)),
       row("max-side", kPack | kPrepare | kCommon, "PIXELS",
           "Shrink and re-encode images whose longer side exceeds PIXELS; 0: off",
           FIELD(pack.max_side))
           .within(0, data::kMaxJpegSide),
       row("quality", kPack | kPrepare | kCommon, "N",
           "Re-encode images as JPEG with this quality if that saves at least 10 %; 0: re-encode "
           "only images that --max-side shrinks, with quality 90",
           FIELD(pack.quality))
           .within(0, 100),
       row("raw-share", kPack | kPrepare, "FRACTION",
           "Fraction of the images to store as raw pixels, selected by a hash of each image's "
           "index",
           FIELD(pack.raw_share))
           .within(0, 1),
       row("index", kPack | kPrepare, "",
           "Store an index with each baseline JPEG, so that training decodes little more than the "
           "crop; adds up to 4 % to the file",
           FIELD(pack.index)),
       memory_row("shard-size", kPack | kPrepare | kCommon,
                  "Split each packed set into files of about BYTES, such as 1G, in the folder DEST "
                  "(prepare --as packs: in DEST/train and DEST/val); 0: one file",
                  FIELD(pack.shard_bytes)),
       row("overwrite", kPack | kCommon, "", "Replace DEST if it exists and is a packed set",
           FIELD(pack.overwrite)),
       row("compare", kPack | kCommon, "PATH",
           "Report images of SOURCE that are also in PATH, such as the other split; compares "
           "decoded pixels",
           FIELD(compare))
           .unset_is("none"),
       row("info", kPack | kCommon, "", "Describe the packed set SOURCE and write nothing",
           FIELD(info)),
       row("verify", kPack | kCommon, "",
           "Read the whole packed set SOURCE, report any damage and write nothing",
           FIELD(verify))});
}

}  // namespace shoal::app
