// The libjpeg error manager: turns errors, and warnings about missing data, into jumps.
#pragma once

#include "media/jpeg_api.hpp"
#include "media/jump.hpp"

namespace dala::media {

class JpegErrors {
 public:
  explicit JpegErrors(const JpegApi& api);

  jpeg_error_mgr* manager() { return &manager_.base; }
  Jump& jump() { return manager_.jump; }

 private:
  struct Manager {
    jpeg_error_mgr base;  // must be first: libjpeg knows only this part
    Jump jump;
  };
  [[noreturn]] static void give_up(j_common_ptr info);
  static void warn(j_common_ptr info, int level);

  Manager manager_{};
};

}  // namespace dala::media
