#include "nif/boundary.hpp"

#include <algorithm>
#include <cmath>

namespace dala::nif {
namespace {

thread_local ErlNifEnv* t_env = nullptr;

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

Term encode_error(ErlNifEnv* env, const Error& problem) {
  ERL_NIF_TERM details = enif_make_new_map(env);
  for (const auto& [key, detail] : problem.details) {
    const Term value = std::holds_alternative<int64_t>(detail)
                           ? integer(env, std::get<int64_t>(detail))
                           : string(env, std::get<std::string>(detail));
    enif_make_map_put(env, details, atom(env, key), value, &details);
  }
  return map(env, {{"__struct__", atom(env, "Elixir.Dala.Gpu.Compute.Error")},
                   {"__exception__", atom(env, "true")},
                   {"reason", atom(env, to_string(problem.reason))},
                   {"message", string(env, problem.message)},
                   {"details", details}});
}

}  // namespace

ErlNifEnv* calling_env() { return t_env; }

Caller::Caller(ErlNifEnv* env) { t_env = env; }
Caller::~Caller() { t_env = nullptr; }

Term atom(ErlNifEnv* env, std::string_view name) {
  return enif_make_atom_len(env, name.data(), name.size());
}

Term string(ErlNifEnv* env, std::string_view text) {
  return fine::make_new_binary(env, text.data(), text.size());
}

Term integer(ErlNifEnv* env, int64_t number) { return enif_make_int64(env, number); }

Term unsigned_integer(ErlNifEnv* env, uint64_t number) { return enif_make_uint64(env, number); }

Term number(ErlNifEnv* env, double number) {
  if (std::isfinite(number)) return enif_make_double(env, number);
  if (std::isnan(number)) return atom(env, "nan");
  return atom(env, number > 0 ? "infinity" : "neg_infinity");
}

Term boolean(ErlNifEnv* env, bool flag) { return atom(env, flag ? "true" : "false"); }

Term list(ErlNifEnv* env, const std::vector<Term>& items) {
  const std::vector<ERL_NIF_TERM> terms(items.begin(), items.end());
  return enif_make_list_from_array(env, terms.data(), static_cast<unsigned>(terms.size()));
}

Term tuple(ErlNifEnv* env, std::initializer_list<Term> items) {
  const std::vector<ERL_NIF_TERM> terms(items.begin(), items.end());
  return enif_make_tuple_from_array(env, terms.data(), static_cast<unsigned>(terms.size()));
}

Term map(ErlNifEnv* env, std::initializer_list<std::pair<std::string_view, Term>> fields) {
  ERL_NIF_TERM result = enif_make_new_map(env);
  for (const auto& [key, value] : fields) {
    enif_make_map_put(env, result, atom(env, key), value, &result);
  }
  return result;
}

Term ok(ErlNifEnv* env, Term value) { return tuple(env, {atom(env, "ok"), value}); }

Term error(ErlNifEnv* env, const Error& problem) {
  return tuple(env, {atom(env, "error"), encode_error(env, problem)});
}

std::string shown(ErlNifEnv* env, ERL_NIF_TERM term) {
  ErlNifSInt64 small = 0;
  ErlNifUInt64 large = 0;
  ErlNifBinary binary;
  switch (enif_term_type(env, term)) {
    case ERL_NIF_TERM_TYPE_INTEGER:
      if (enif_get_int64(env, term, &small) == 0 && enif_get_uint64(env, term, &large) == 0) {
        return "an integer beyond 64 bits";
      }
      break;
    case ERL_NIF_TERM_TYPE_LIST:
      return enif_is_empty_list(env, term) != 0 ? "[]" : "a list";
    case ERL_NIF_TERM_TYPE_TUPLE:
      return "a tuple";
    case ERL_NIF_TERM_TYPE_MAP:
      return "a map";
    case ERL_NIF_TERM_TYPE_BITSTRING:
      if (enif_inspect_binary(env, term, &binary) == 0) return "a bitstring";
      if (binary.size > 100) return text("a binary of ", binary.size, " bytes");
      break;
    default:
      break;
  }
  return fine::format_term(env, term);
}

std::string atom_name(ErlNifEnv* env, ERL_NIF_TERM term) {
  char name[256 * 4];
  const int length = enif_get_atom(env, term, name, sizeof(name), ERL_NIF_LATIN1);
  return length > 0 ? std::string(name, static_cast<size_t>(length) - 1) : "";
}

DType decode_dtype(ErlNifEnv* env, ERL_NIF_TERM term) {
  const auto dtype = parse_dtype(atom_name(env, term));
  if (dtype) return *dtype;
  throw std::invalid_argument("a dtype is one of " + dtype_names() + ", got " + shown(env, term));
}

TensorType decode_type(ErlNifEnv* env, ERL_NIF_TERM shape, ERL_NIF_TERM dtype) {
  Shape dimensions;
  ERL_NIF_TERM head = 0;
  ERL_NIF_TERM tail = shape;
  while (enif_get_list_cell(env, tail, &head, &tail) != 0) {
    if (dimensions.size() == kMostDimensions) {
      throw Error(Reason::shape_mismatch,
                  text("a shape has at most ", kMostDimensions, " dimensions"));
    }
    ErlNifSInt64 dimension = 0;
    if (enif_get_int64(env, head, &dimension) == 0) {
      throw std::invalid_argument("a shape is a tuple of non-negative integers, got " +
                                  shown(env, head));
    }
    dimensions.push_back(dimension);
  }
  return checked_type(decode_dtype(env, dtype), std::move(dimensions));
}

Params decode_params(ErlNifEnv* env, ERL_NIF_TERM term) {
  size_t count = 0;
  if (enif_get_map_size(env, term, &count) != 0 && count > kMostParams) {
    throw Error(Reason::invalid_param,
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
        throw Error(Reason::invalid_param, text("the name of a parameter has ", binary.size,
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

Term encode_shape(ErlNifEnv* env, const Shape& shape) {
  std::vector<Term> items;
  for (int64_t dimension : shape) items.push_back(integer(env, dimension));
  return list(env, items);
}

Message::Message(ErlNifPid pid) : pid_(pid), env_(enif_alloc_env()) {}

Message::~Message() { enif_free_env(env_); }

std::shared_ptr<Message> Message::reply(ErlNifPid pid, ERL_NIF_TERM ref) {
  std::shared_ptr<Message> message(new Message(pid));
  message->ref_ = enif_make_copy(message->env_, ref);
  message->has_ref_ = true;
  return message;
}

std::shared_ptr<Message> Message::tagged(ErlNifPid pid, std::string_view tag) {
  std::shared_ptr<Message> message(new Message(pid));
  message->ref_ = atom(message->env_, tag);
  message->has_ref_ = true;
  return message;
}

std::shared_ptr<Message> Message::lost(ErlNifPid pid) { return tagged(pid, "dala_gpu_lost"); }

std::shared_ptr<Message> Message::note(ErlNifPid pid) { return tagged(pid, "dala_gpu_note"); }

std::shared_ptr<Message> Message::notification(ErlNifPid pid) {
  return std::shared_ptr<Message>(new Message(pid));
}

void Message::send(Term result) { deliver(tuple(env_, {ref_, result})); }

void Message::deliver(Term content) {
  State unsent = State::unsent;
  if (!state_.compare_exchange_strong(unsent, State::sending)) return;
  // The receiver may have ended; then the message is dropped.
  enif_send(calling_env(), &pid_, env_, content);
  state_.store(State::sent);
}

Message::State Message::revoke() {
  State state = State::unsent;
  return state_.compare_exchange_strong(state, State::revoked) ? State::revoked : state;
}

void Message::send_result(uint64_t id, const Error* problem) {
  const Term result = problem == nullptr ? atom(env_, "ok") : error(env_, *problem);
  if (has_ref_) {
    send(result);
    return;
  }
  deliver(tuple(env_, {atom(env_, "dala_gpu"), unsigned_integer(env_, id), result}));
}

ErlNifPid self(ErlNifEnv* env) {
  ErlNifPid pid;
  enif_self(env, &pid);
  return pid;
}

}  // namespace dala::nif
