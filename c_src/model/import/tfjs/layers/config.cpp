#include "model/import/tfjs/layers/config.hpp"

#include "model/graph/problem.hpp"

namespace dala::model::tfjs {

KerasConfig::KerasConfig(const Json& layer) {
  const Json* kind = layer.find("class_name");
  config_ = layer.find("config");
  if (kind == nullptr || config_ == nullptr) reject("a layer has no class_name or no config");
  kind_ = kind->text("class_name");
  const Json* name = config_->find("name");
  if (name == nullptr) name = layer.find("name");
  if (name != nullptr && name->is_text()) name_ = name->text("the name of a layer");
  if (name_.empty()) name_ = kind_;
}

const Json* KerasConfig::find(const char* key) const {
  const Json* found = config_->find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool KerasConfig::is_null(const char* key) const {
  const Json* found = config_->find(key);
  return found != nullptr && found->is_null();
}

int64_t KerasConfig::integer(const char* key, int64_t fallback) const {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  const std::vector<int64_t> values = integers(key);
  if (values.size() != 1) reject(dala::text(key, " has ", values.size(), " values, expected 1"));
  return values[0];
}

double KerasConfig::real(const char* key, double fallback) const {
  const Json* found = find(key);
  return found == nullptr ? fallback : found->number(key);
}

bool KerasConfig::flag(const char* key, bool fallback) const {
  const Json* found = find(key);
  return found == nullptr ? fallback : found->boolean(key);
}

std::string KerasConfig::text(const char* key, const std::string& fallback) const {
  const Json* found = find(key);
  if (found == nullptr) return fallback;
  if (!found->is_text()) unsupported(dala::text(key, " that is not a name"));
  return found->text(key);
}

std::vector<int64_t> KerasConfig::integers(const char* key) const {
  const Json* found = find(key);
  if (found == nullptr) return {};
  if (found->is_number()) return {found->integer(key)};
  std::vector<int64_t> values;
  for (const Json& each : found->list(key)) values.push_back(each.integer(key));
  return values;
}

std::array<int64_t, 2> KerasConfig::pair(const char* key, int64_t fallback) const {
  const std::vector<int64_t> values = integers(key);
  if (values.empty()) return {fallback, fallback};
  if (values.size() > 2)
    reject(dala::text(key, " has ", values.size(), " values, expected 1 or 2"));
  const std::array<int64_t, 2> result{values.front(), values.back()};
  for (int64_t value : result) {
    if (value < 1 || value > (1 << 20)) {
      reject(dala::text(key, " has the value ", value, ", expected 1 to ", 1 << 20));
    }
  }
  return result;
}

}  // namespace dala::model::tfjs
