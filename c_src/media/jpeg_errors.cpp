#include "media/jpeg_errors.hpp"

namespace dala::media {

JpegErrors::JpegErrors(const JpegApi& api) {
  api.jpeg_std_error(&manager_.base);
  manager_.base.error_exit = &JpegErrors::give_up;
  manager_.base.emit_message = &JpegErrors::warn;
  manager_.base.output_message = [](j_common_ptr) {};  // never to the terminal
}

void JpegErrors::give_up(j_common_ptr info) {
  auto* manager = reinterpret_cast<Manager*>(info->err);
  char message[JMSG_LENGTH_MAX];
  manager->base.format_message(info, message);
  manager->jump.give_up(message);
}

// libjpeg continues after a warning and fills missing data with grey. Only warnings that do not
// mean missing data are ignored; all others are errors.
void JpegErrors::warn(j_common_ptr info, int level) {
  if (level >= 0) return;  // trace message
  switch (info->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_BOGUS_PROGRESSION:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
      return;
    default:
      give_up(info);
  }
}

}  // namespace dala::media
