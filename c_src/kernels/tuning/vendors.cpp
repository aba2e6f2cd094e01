// The parameters for the GPUs of a vendor until a search has found better ones. They are estimates
// from the registers and local memory of these devices; none was measured.
#include "kernels/tuning/tuning.hpp"

namespace dala {
namespace {

struct Family {
  const char* name;
  const char* vendor;  // a part of the vendor's name
  const char* device;  // a part of the device's name; empty for all others of the vendor
  TileChoice products;
  int64_t items;  // of reductions
};

// The first row that matches is used.
constexpr Family kFamilies[] = {
    {"NVIDIA", "NVIDIA", "", {16, 16, 8}, 256},
    // Wavefronts of 32 items.
    {"AMD RDNA", "Advanced Micro Devices", "gfx10", {16, 16, 8}, 256},
    {"AMD RDNA", "Advanced Micro Devices", "gfx11", {16, 16, 8}, 256},
    {"AMD RDNA", "Advanced Micro Devices", "gfx12", {16, 16, 8}, 256},
    {"AMD RDNA", "AMD", "gfx10", {16, 16, 8}, 256},
    {"AMD RDNA", "AMD", "gfx11", {16, 16, 8}, 256},
    {"AMD RDNA", "AMD", "gfx12", {16, 16, 8}, 256},
    // Wavefronts of 64 items.
    {"AMD GCN/CDNA", "Advanced Micro Devices", "", {16, 16, 8}, 256},
    {"AMD GCN/CDNA", "AMD", "", {16, 16, 8}, 256},
    // A thread has 4 KB of registers for 8 to 32 items: few products per item at once.
    {"Intel Xe", "Intel", "Graphics", {16, 16, 4}, 256},
    // Local memory is ordinary memory, and more than 64 registers halve the threads.
    {"ARM Mali", "ARM", "", {8, 8, 4}, 64},
    // Large work-groups take all registers of a core.
    {"Adreno", "QUALCOMM", "", {8, 8, 4}, 128},
    {"Apple", "Apple", "", {16, 16, 4}, 256},
};
constexpr TileChoice kOthers;

const Family* family_of(const DeviceInfo& device) {
  for (const Family& family : kFamilies) {
    if (device.vendor.find(family.vendor) != std::string::npos &&
        device.name.find(family.device) != std::string::npos && device.type != "cpu") {
      return &family;
    }
  }
  return nullptr;
}

}  // namespace

std::string_view vendor_family(const DeviceInfo& device) {
  const Family* family = family_of(device);
  return family == nullptr ? "other" : family->name;
}

TileChoice vendor_choice(const DeviceInfo& device) {
  const Family* family = family_of(device);
  if (family == nullptr) return kOthers;
  TileChoice choice = family->products;
  choice.items = family->items;
  return choice;
}

}  // namespace dala
