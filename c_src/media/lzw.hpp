// The LZW decoder of GIF: codes of a growing width, least significant bit first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dala::media {

// The table of strings is a tree: each entry is one symbol that follows another entry.
class LzwDecoder {
 public:
  static constexpr int kMaxWidth = 12;

  enum class Result { more, end, invalid };

  // `symbol_bits` is 1 to 8: codes below 1 << symbol_bits are symbols, the next two are "clear the
  // table" and "end".
  explicit LzwDecoder(int symbol_bits);

  // The width of the next code in bits, at most kMaxWidth.
  int width() const { return width_; }

  // Takes the next code, which is less than 1 << width(). On `more`, `symbols` are the symbols that
  // it stands for, none for "clear"; they are valid until the next call.
  Result take(unsigned code);
  std::span<const uint8_t> symbols() const { return {symbols_.data() + first_, count()}; }

 private:
  static constexpr size_t kEntries = size_t{1} << kMaxWidth;
  static constexpr unsigned kNone = kEntries;

  size_t count() const { return symbols_.size() - first_; }
  void reset();
  void unwind(unsigned code);
  void advance(unsigned code);

  unsigned clear_;
  int start_width_;
  int width_ = 0;
  unsigned next_ = 0;      // the entry that the next code adds
  unsigned previous_ = 0;  // the code before; kNone after "clear"
  std::array<uint16_t, kEntries> prefix_{};
  std::array<uint8_t, kEntries> suffix_{};
  // A string is unwound from its end. A prefix is always an earlier entry, so that no string is
  // longer than there are entries.
  std::array<uint8_t, kEntries> symbols_{};
  size_t first_ = kEntries;
};

}  // namespace dala::media
