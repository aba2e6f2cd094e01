#include "media/lzw.hpp"

namespace dala::media {

LzwDecoder::LzwDecoder(int symbol_bits) : clear_(1U << symbol_bits), start_width_(symbol_bits + 1) {
  reset();
}

void LzwDecoder::reset() {
  width_ = start_width_;
  next_ = clear_ + 2;
  previous_ = kNone;
  first_ = kEntries;
}

// Fills `symbols_` from its end with the string of an entry that exists.
void LzwDecoder::unwind(unsigned code) {
  first_ = kEntries;
  while (code > clear_) {
    symbols_[--first_] = suffix_[code];
    code = prefix_[code];
  }
  symbols_[--first_] = static_cast<uint8_t>(code);
}

// Codes grow with the table, also after the first code: with symbols of one bit, a table without
// strings has used up all codes of two bits. A full table stays as it is until "clear".
void LzwDecoder::advance(unsigned code) {
  previous_ = code;
  if (next_ == 1U << width_ && width_ < kMaxWidth) ++width_;
}

LzwDecoder::Result LzwDecoder::take(unsigned code) {
  if (code == clear_) {
    reset();
    return Result::more;
  }
  if (code == clear_ + 1) return Result::end;
  if (previous_ == kNone) {
    if (code > clear_) return Result::invalid;
    unwind(code);
    advance(code);
    return Result::more;
  }
  if (code > next_ || (code == next_ && next_ == kEntries)) return Result::invalid;
  // A code that is about to be added is the previous string followed by its own first symbol.
  const bool known = code < next_;
  unwind(known ? code : previous_);
  if (next_ < kEntries) {
    prefix_[next_] = static_cast<uint16_t>(previous_);
    suffix_[next_] = symbols_[first_];
    if (!known) unwind(code);
    ++next_;
  }
  advance(code);
  return Result::more;
}

}  // namespace dala::media
