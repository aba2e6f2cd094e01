// The options of a layer in a Keras model's configuration.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/import/common/json.hpp"

namespace dala::model::tfjs {

// Options of a layer, or their defaults if absent or null.
class KerasConfig {
 public:
  explicit KerasConfig(const Json& layer);

  const std::string& kind() const { return kind_; }  // the class name
  const std::string& name() const { return name_; }
  const Json* find(const char* key) const;
  bool is_null(const char* key) const;  // present, but null
  int64_t integer(const char* key, int64_t fallback) const;
  double real(const char* key, double fallback) const;
  bool flag(const char* key, bool fallback) const;
  std::string text(const char* key, const std::string& fallback) const;
  std::vector<int64_t> integers(const char* key) const;  // one number, or a list
  // Two numbers, {y, x}, of one or two given.
  std::array<int64_t, 2> pair(const char* key, int64_t fallback) const;

 private:
  std::string kind_;
  std::string name_;
  const Json* config_ = nullptr;
};

}  // namespace dala::model::tfjs
