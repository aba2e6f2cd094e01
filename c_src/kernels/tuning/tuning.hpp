// GPU class: the tile parameters of the heavy kernels, per shape class. They are the defaults of
// the device's vendor family, or the winners of a search on the device, which are kept on disk.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/device/device.hpp"

namespace dala {

class DiskCache;

// Calls of one class share parameters.
enum class ShapeClass {
  matmul_few_rows,  // at most 16 rows
  matmul_small,     // fewer than 512 x 512 results
  matmul_large,
  conv_pointwise,  // windows of one pixel
  conv_window,
  reduce_rows,     // along the innermost axis
  reduce_columns,  // along another
};
inline constexpr std::array kShapeClasses{ShapeClass::matmul_few_rows, ShapeClass::matmul_small,
                                          ShapeClass::matmul_large,    ShapeClass::conv_pointwise,
                                          ShapeClass::conv_window,     ShapeClass::reduce_rows,
                                          ShapeClass::reduce_columns};
const char* to_string(ShapeClass shape_class);
bool is_reduction(ShapeClass shape_class);

// A wish: planning reduces it to what the device has room for.
struct TileChoice {
  int64_t side = 16;    // edge of a work-group of a matrix product, in items
  int64_t step = 16;    // products of k between two barriers
  int64_t edge = 8;     // of the largest register tile, 4 or 8
  int64_t items = 256;  // of a work-group of a reduction
  friend bool operator==(const TileChoice&, const TileChoice&) = default;
};
// The parameters that the class uses, such as "16 x 16 items, step 16, 8 x 8 sums".
std::string describe(ShapeClass shape_class, const TileChoice& choice);

// The name of the vendor family in the table of vendors.cpp, and its parameters.
std::string_view vendor_family(const DeviceInfo& device);
TileChoice vendor_choice(const DeviceInfo& device);

// The parameters for calls planned now: those of a trial on this thread, else the winner of a
// search, else the vendor's.
TileChoice tile_choice(const DeviceInfo& device, ShapeClass shape_class);

// While it lives, this thread plans with these parameters.
class TileTrial {
 public:
  explicit TileTrial(const TileChoice& choice);
  ~TileTrial();
  TileTrial(const TileTrial&) = delete;
  TileTrial& operator=(const TileTrial&) = delete;

 private:
  TileChoice choice_;
};

using Winners = std::map<ShapeClass, TileChoice>;

// The winners on a device with its driver, shared by all engines of the process.
Winners winners_of(const DeviceInfo& device);
void set_winner(const DeviceInfo& device, ShapeClass shape_class, const TileChoice& choice);

// On disk: a file per device and driver. A file that is damaged, or has parameters that no search
// tries, is ignored as a whole, and replaced by the next search.
void load_winners(const DeviceInfo& device, DiskCache& files);
bool save_winners(const DeviceInfo& device, DiskCache& files);
std::string winners_file(const DeviceInfo& device);

}  // namespace dala
