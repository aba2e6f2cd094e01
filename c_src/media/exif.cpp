// Reads the orientation from the Exif segment of a JPEG file: it scans the marker segments before
// the image data and then a TIFF directory of 12-byte entries. Offsets come from the file and are
// all bounds-checked.
#include <optional>

#include "media/picture.hpp"

namespace dala::media {
namespace {

constexpr uint32_t kOrientationTag = 0x0112;

class TiffReader {
 public:
  explicit TiffReader(File bytes) : bytes_(bytes) {}

  bool little_endian = false;

  std::optional<uint32_t> number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    uint32_t result = 0;
    for (size_t i = 0; i < size; ++i) {
      const size_t place = little_endian ? size - 1 - i : i;
      result = result << 8 | std::to_integer<uint32_t>(bytes_[at + place]);
    }
    return result;
  }

  TiffReader from(size_t at, size_t size) const { return TiffReader(bytes_.subspan(at, size)); }

 private:
  File bytes_;
};

int orientation_in_tiff(TiffReader tiff) {
  const auto order = tiff.number(0, 2);
  if (order != 0x4949U && order != 0x4d4dU) return 1;  // "II", "MM"
  tiff.little_endian = order == 0x4949U;
  const auto directory = tiff.number(4, 4);
  if (tiff.number(2, 2) != 42U || !directory) return 1;
  const uint32_t entries = tiff.number(*directory, 2).value_or(0);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = size_t{*directory} + 2 + i * 12;
    const auto tag = tiff.number(entry, 2);
    if (!tag) return 1;
    if (*tag != kOrientationTag) continue;
    const uint32_t value = tiff.number(entry + 8, 2).value_or(1);  // a SHORT, left-aligned
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int exif_orientation(File jpeg) {
  const TiffReader reader(jpeg);
  size_t at = 2;  // after the SOI marker
  for (;;) {
    const auto marker = reader.number(at, 2);
    const auto length = reader.number(at + 2, 2);
    if (!marker || !length || *marker < 0xff00 || *length < 2) return 1;
    if (*marker == 0xffff) {  // a fill byte
      ++at;
      continue;
    }
    if (*marker == 0xffda || *marker == 0xffd9) return 1;  // SOS, EOI
    const bool whole = reader.number(at + 2 + *length - 1, 1).has_value();
    // APP1 that begins with "Exif\0\0"
    if (*marker == 0xffe1 && whole && *length >= 8 && reader.number(at + 4, 4) == 0x45786966U) {
      return orientation_in_tiff(reader.from(at + 10, *length - 8));
    }
    at += 2 + size_t{*length};
  }
}

}  // namespace dala::media
