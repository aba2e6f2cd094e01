#include "nif/codec/codec.hpp"

#include <algorithm>
#include <cmath>

namespace dala::nif {
namespace {

bool decode_number(ErlNifEnv* env, ERL_NIF_TERM term, double& number) {
  ErlNifSInt64 integer = 0;
  if (enif_get_double(env, term, &number) != 0) return true;
  if (enif_get_int64(env, term, &integer) == 0) return false;
  number = static_cast<double>(integer);
  return true;
}

std::vector<double> decode_numbers(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& name) {
  std::vector<ERL_NIF_TERM> items;
  int arity = 0;
  const ERL_NIF_TERM* elements = nullptr;
  if (enif_get_tuple(env, term, &arity, &elements) != 0) {
    items.assign(elements,
                 elements + std::min<size_t>(static_cast<size_t>(arity), kMostNumbers + 1));
  } else {
    ERL_NIF_TERM head = 0;
    ERL_NIF_TERM tail = term;
    while (items.size() <= kMostNumbers && enif_get_list_cell(env, tail, &head, &tail) != 0) {
      items.push_back(head);
    }
  }
  if (items.size() > kMostNumbers) {
    throw Error(Reason::invalid_param,
                text("parameter ", name, " takes at most ", kMostNumbers, " numbers"));
  }
  std::vector<double> numbers;
  for (ERL_NIF_TERM item : items) {
    double number = 0;
    if (!decode_number(env, item, number)) {
      throw Error(Reason::invalid_param,
                  text("parameter ", name, " takes numbers, got ", shown(env, item)));
    }
    numbers.push_back(number);
  }
  return numbers;
}

ParamValue decode_value(ErlNifEnv* env, ERL_NIF_TERM term, const std::string& name) {
  ErlNifSInt64 integer = 0;
  if (enif_get_int64(env, term, &integer) != 0) return int64_t{integer};
  ErlNifUInt64 large = 0;
  if (enif_get_uint64(env, term, &large) != 0) return uint64_t{large};
  double real = 0;
  if (enif_get_double(env, term, &real) != 0) return real;
  ErlNifBinary binary;
  if (enif_inspect_binary(env, term, &binary) != 0) {
    if (binary.size > kMostText) {
      throw Error(Reason::invalid_param, text("parameter ", name, " is a text of ", binary.size,
                                              " bytes, the most is ", kMostText));
    }
    return std::string(reinterpret_cast<const char*>(binary.data), binary.size);
  }
  const std::string symbol = atom_name(env, term);
  if (symbol == "true" || symbol == "false") return symbol == "true";
  if (symbol == "nan") return std::nan("");
  if (symbol == "infinity") return INFINITY;
  if (symbol == "neg_infinity") return -INFINITY;
  if (!symbol.empty()) return symbol;
  if (enif_is_tuple(env, term) != 0 || enif_is_list(env, term) != 0) {
    return decode_numbers(env, term, name);
  }
  throw Error(Reason::invalid_param,
              text("parameter ", name, " takes a number, a flag, a name or a list of numbers, got ",
                   shown(env, term)));
}

}  // namespace
}  // namespace dala::nif

namespace fine {

using namespace dala;
using namespace dala::nif;

ERL_NIF_TERM Encoder<dala::Error>::encode(ErlNifEnv* env, const dala::Error& error) {
  ERL_NIF_TERM details = enif_make_new_map(env);
  for (const auto& [key, detail] : error.details) {
    const ERL_NIF_TERM value =
        std::visit([env](const auto& each) { return fine::encode(env, each); }, detail);
    enif_make_map_put(env, details, atom(env, key), value, &details);
  }
  return fields(env, "__struct__", to_atom("Elixir.Dala.Gpu.Compute.Error"), "__exception__", true,
                "reason", to_atom(to_string(error.reason)), "message", error.message, "details",
                Term(details));
}

ERL_NIF_TERM Encoder<Number>::encode(ErlNifEnv* env, const Number& number) {
  if (std::isfinite(number.value)) return enif_make_double(env, number.value);
  if (std::isnan(number.value)) return atom(env, "nan");
  return atom(env, number.value > 0 ? "infinity" : "neg_infinity");
}

ERL_NIF_TERM Encoder<TextOrNil>::encode(ErlNifEnv* env, const TextOrNil& text) {
  return text.text.empty() ? ERL_NIF_TERM(atom(env, "nil")) : fine::encode(env, text.text);
}

DType Decoder<DType>::decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  const auto dtype = parse_dtype(atom_name(env, term));
  if (dtype) return *dtype;
  throw std::invalid_argument("a dtype is one of " + dtype_names() + ", got " + shown(env, term));
}

ERL_NIF_TERM Encoder<DType>::encode(ErlNifEnv* env, const DType& dtype) {
  return atom(env, to_string(dtype));
}

Dims Decoder<Dims>::decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  Shape dimensions;
  ERL_NIF_TERM head = 0;
  ERL_NIF_TERM tail = term;
  while (enif_get_list_cell(env, tail, &head, &tail) != 0) {
    if (dimensions.size() == kMostDimensions) {
      throw dala::Error(Reason::shape_mismatch,
                        text("a shape has at most ", kMostDimensions, " dimensions"));
    }
    ErlNifSInt64 dimension = 0;
    if (enif_get_int64(env, head, &dimension) == 0) {
      throw std::invalid_argument("a shape is a tuple of non-negative integers, got " +
                                  shown(env, head));
    }
    dimensions.push_back(dimension);
  }
  return {std::move(dimensions)};
}

Params Decoder<Params>::decode(ErlNifEnv* env, const ERL_NIF_TERM& term) {
  size_t count = 0;
  if (enif_get_map_size(env, term, &count) != 0 && count > kMostParams) {
    throw dala::Error(Reason::invalid_param,
                      text("a call has at most ", kMostParams, " parameters, got ", count));
  }
  ErlNifMapIterator iterator;
  if (enif_map_iterator_create(env, term, &iterator, ERL_NIF_MAP_ITERATOR_FIRST) == 0) {
    throw std::invalid_argument("params are a map, got " + shown(env, term));
  }
  const auto destroy = [env](ErlNifMapIterator* each) { enif_map_iterator_destroy(env, each); };
  const std::unique_ptr<ErlNifMapIterator, decltype(destroy)> cleanup(&iterator, destroy);
  Params params;
  ERL_NIF_TERM key = 0;
  ERL_NIF_TERM value = 0;
  while (enif_map_iterator_get_pair(env, &iterator, &key, &value) != 0) {
    std::string name = atom_name(env, key);
    ErlNifBinary binary;
    if (name.empty() && enif_inspect_binary(env, key, &binary) != 0) {
      if (binary.size > kMostText) {
        throw dala::Error(Reason::invalid_param, text("the name of a parameter has ", binary.size,
                                                      " bytes, the most is ", kMostText));
      }
      name.assign(reinterpret_cast<const char*>(binary.data), binary.size);
    }
    if (name.empty()) {
      throw std::invalid_argument("a param's name is an atom or a string, got " + shown(env, key));
    }
    params.emplace(name, decode_value(env, value, name));
    enif_map_iterator_next(env, &iterator);
  }
  return params;
}

ERL_NIF_TERM Encoder<ParamValue>::encode(ErlNifEnv* env, const ParamValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return fine::encode(env, Number{*real});
  if (const auto* name = std::get_if<std::string>(&value)) return atom(env, *name);
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    return fine::encode(env, each(*numbers, [](double number) { return Number{number}; }));
  }
  if (const auto* flag = std::get_if<bool>(&value)) return fine::encode(env, *flag);
  if (const auto* whole = std::get_if<int64_t>(&value)) return fine::encode(env, *whole);
  return fine::encode(env, std::get<uint64_t>(value));
}

}  // namespace fine
