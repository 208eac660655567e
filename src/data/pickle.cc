// A stack machine for the few instructions that NumPy's arrays, SciPy's matrices and dicts of them need. Everything
// else is refused by name; nothing is ever called.
#include "data/pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "base/error.h"

namespace gneiss::data {
namespace {

using Kind = Pickle::Kind;
using Value = Pickle::Value;

enum Op : std::uint8_t {
  kAppend = 'a',
  kAppends = 'e',
  kBinBytes = 'B',
  kBinBytes8 = 0x8e,
  kBinGet = 'h',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kBinPut = 'q',
  kBinString = 'T',
  kBinUnicode = 'X',
  kBinUnicode8 = 0x8d,
  kBuild = 'b',
  kByteArray8 = 0x96,
  kEmptyDict = '}',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kFrame = 0x95,
  kGlobalOp = 'c',
  kLong1 = 0x8a,
  kLongBinGet = 'j',
  kLongBinPut = 'r',
  kMark = '(',
  kMemoize = 0x94,
  kNewFalse = 0x89,
  kNewObj = 0x81,
  kNewTrue = 0x88,
  kNoneOp = 'N',
  kProto = 0x80,
  kReduce = 'R',
  kSetItem = 's',
  kSetItems = 'u',
  kShortBinBytes = 'C',
  kShortBinString = 'U',
  kShortBinUnicode = 0x8c,
  kStackGlobal = 0x93,
  kStop = '.',
  kTupleOp = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87
};

/// Names of the instructions that are known but refused, for the message.
std::string_view refused_name(std::uint8_t op) {
  static constexpr std::pair<std::uint8_t, std::string_view> kNames[] = {
      {'0', "POP"},        {'1', "POP_MARK"},     {'2', "DUP"},
      {'F', "FLOAT"},      {'I', "INT"},          {'L', "LONG"},
      {'P', "PERSID"},     {'Q', "BINPERSID"},    {'S', "STRING"},
      {'V', "UNICODE"},    {'d', "DICT"},         {'g', "GET"},
      {'i', "INST"},       {'l', "LIST"},         {'o', "OBJ"},
      {'p', "PUT"},        {'G', "BINFLOAT"},     {0x82, "EXT1"},
      {0x83, "EXT2"},      {0x84, "EXT4"},        {0x8b, "LONG4"},
      {0x8f, "EMPTY_SET"}, {0x90, "ADDITEMS"},    {0x91, "FROZENSET"},
      {0x92, "NEWOBJ_EX"}, {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};
  for (const auto& [code, name] : kNames) {
    if (code == op) return name;
  }
  return "unknown";
}

/// What a pickle may name, under the modules of old and of today.
enum Global : std::int64_t {
  kCsrMatrix,
  kReconstruct,
  kNdarray,
  kDtype,
  kDefaultDict,
  kListType,
  kEncode,
  kBytesType,
  kFromBuffer
};
constexpr std::array<std::pair<std::string_view, Global>, 17> kGlobals = {{
    {"scipy.sparse.csr csr_matrix", kCsrMatrix},
    {"scipy.sparse._csr csr_matrix", kCsrMatrix},
    {"scipy.sparse._csr csr_array", kCsrMatrix},
    {"numpy.core.multiarray _reconstruct", kReconstruct},
    {"numpy._core.multiarray _reconstruct", kReconstruct},
    {"numpy.core.numeric _frombuffer", kFromBuffer},
    {"numpy._core.numeric _frombuffer", kFromBuffer},
    {"numpy ndarray", kNdarray},
    {"numpy dtype", kDtype},
    {"collections defaultdict", kDefaultDict},
    {"__builtin__ list", kListType},
    {"builtins list", kListType},
    {"_codecs encode", kEncode},
    {"__builtin__ bytes", kBytesType},
    {"builtins bytes", kBytesType},
    {"__builtin__ bytearray", kBytesType},
    {"builtins bytearray", kBytesType},
}};

// An array's state has 5 parts, a type's at most 12, a matrix's about 10; more would only serve to blow up memory.
constexpr std::size_t kMaxState = 64;
constexpr std::size_t kMaxName = 100;
constexpr std::string_view kPickleHint =
    "only the pickles of the Planetoid sets are read; export other data as .npz, .npy or text";

}  // namespace

/// The pickle machine: a stack, marks on it, and a memo.
class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, Pickle* pickle) : bytes_(bytes), pickle_(*pickle) {}

  void run() {
    if (bytes_.empty() || op_at(0) != kProto)
      fail("a pickle of protocol 2 to 5 begins with the byte 0x80; this does not");
    for (;;) {
      begin_ = at_;
      const std::uint8_t op = number<std::uint8_t>();
      if (op == kStop) break;
      step(op);
    }
    if (stack_.size() != 1 || !marks_.empty()) fail("the pickle does not end with one value");
    pickle_.root_ = stack_.back();
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(ErrorCode::kBadData, message, fmt::format("{}: byte {}", pickle_.where_, begin_),
                std::string(kPickleHint));
  }

  std::uint8_t op_at(std::size_t at) const { return static_cast<std::uint8_t>(bytes_[at]); }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail("the pickle is cut off");
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return text;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail("the pickle is cut off");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  void push(Kind kind, std::int64_t value) { stack_.push_back({kind, value}); }
  void push_object(Kind kind, std::vector<Value> items = {}, std::string_view text = {}) {
    push(kind, static_cast<std::int64_t>(pickle_.objects_.size()));
    pickle_.objects_.push_back({std::move(items), text});
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Value pop() {
    if (stack_.size() <= floor()) fail("the pickle takes a value from an empty stack");
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::vector<Value> pop_to_mark() {
    if (marks_.empty()) fail("the pickle refers to a mark that it has not set");
    std::vector<Value> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  std::vector<Value> pop_several(std::size_t count) {
    std::vector<Value> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  /// MEMOIZE: the next free slot.
  void memoize() { put(static_cast<std::uint32_t>(memo_.size())); }
  void put(std::uint32_t slot) {
    if (stack_.size() <= floor()) fail("the pickle stores a value from an empty stack");
    memo_[slot] = stack_.back();
  }
  void get(std::uint32_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) fail(fmt::format("the pickle reads memo slot {}, which is empty", slot));
    stack_.push_back(found->second);
  }

  void step(std::uint8_t op) {
    switch (op) {
      case kProto:
        return protocol();
      case kMark:
        return marks_.push_back(stack_.size());
      case kNoneOp:
        return push(Kind::kNone, 0);
      case kNewTrue:
        return push(Kind::kBool, 1);
      case kNewFalse:
        return push(Kind::kBool, 0);
      case kBinInt:
        return push(Kind::kInt, number<std::int32_t>());
      case kBinInt1:
        return push(Kind::kInt, number<std::uint8_t>());
      case kBinInt2:
        return push(Kind::kInt, number<std::uint16_t>());
      case kShortBinString:
        return push_object(Kind::kText, {}, take(number<std::uint8_t>()));
      case kShortBinUnicode:
      case kShortBinBytes:
        return push_object(Kind::kText, {}, take(number<std::uint8_t>()));
      case kBinUnicode:
      case kBinBytes:
        return push_object(Kind::kText, {}, take(number<std::uint32_t>()));
      case kBinUnicode8:
      case kBinBytes8:
      case kByteArray8:
        return push_object(Kind::kText, {}, take(number<std::uint64_t>()));
      case kBinString:
        return long_string();
      case kLong1:
        return long_integer();
      case kFrame:
        number<std::uint64_t>();  // the size of what follows, for readers that wait for it
        return;
      case kBinPut:
        return put(number<std::uint8_t>());
      case kLongBinPut:
        return put(number<std::uint32_t>());
      case kMemoize:
        return memoize();
      case kBinGet:
        return get(number<std::uint8_t>());
      case kLongBinGet:
        return get(number<std::uint32_t>());
      case kEmptyDict:
        return push_object(Kind::kDict);
      case kEmptyList:
        return push_object(Kind::kList);
      case kEmptyTuple:
        return push_object(Kind::kTuple);
      case kTupleOp:
        return push_object(Kind::kTuple, pop_to_mark());
      case kTuple1:
        return push_object(Kind::kTuple, pop_several(1));
      case kTuple2:
        return push_object(Kind::kTuple, pop_several(2));
      case kTuple3:
        return push_object(Kind::kTuple, pop_several(3));
      case kAppend:
        return extend(Kind::kList, pop_several(1));
      case kAppends:
        return extend(Kind::kList, pop_to_mark());
      case kSetItem:
        return extend(Kind::kDict, pop_several(2));
      case kSetItems:
        return extend(Kind::kDict, pop_to_mark());
      case kStackGlobal:
        return stack_global();
      case kGlobalOp:
        return global();
      case kReduce:
      case kNewObj:
        return construct();
      case kBuild:
        return build();
      default:
        fail(fmt::format("pickle instruction {} (0x{:02x}) is not on the list of allowed ones", refused_name(op), op));
    }
  }

  void protocol() {
    const int version = number<std::uint8_t>();
    if (version < 2 || version > 5) fail(fmt::format("pickle protocol {} is not read, only 2 to 5", version));
  }

  /// A whole number in as few bytes as it needs, the lowest first.
  void long_integer() {
    const std::string_view bytes = take(number<std::uint8_t>());
    if (bytes.size() > sizeof(std::int64_t)) fail("the pickle holds a whole number of more than 64 bits");
    std::uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
    push(Kind::kInt, static_cast<std::int64_t>(value));
  }

  void long_string() {
    const auto size = number<std::int32_t>();
    if (size < 0) fail(fmt::format("the pickle claims a string of {} bytes", size));
    push_object(Kind::kText, {}, take(static_cast<std::size_t>(size)));
  }

  void extend(Kind kind, const std::vector<Value>& items) {
    if (stack_.size() <= floor() || stack_.back().kind != kind)
      fail("the pickle adds elements to something that has none");
    if (kind == Kind::kDict && items.size() % 2 != 0) fail("the pickle adds a key without a value");
    auto& target = pickle_.objects_[static_cast<std::size_t>(stack_.back().number)].items;
    target.insert(target.end(), items.begin(), items.end());
  }

  void global() {
    const std::string_view module = line();
    push_global(fmt::format("{} {}", module, line()));
  }
  void stack_global() {
    const std::vector<Value> names = pop_several(2);
    if (names[0].kind != Kind::kText || names[1].kind != Kind::kText)
      fail("the pickle names an object by something else than text");
    push_global(fmt::format("{} {}", pickle_.object(names[0]).text.substr(0, kMaxName),
                            pickle_.object(names[1]).text.substr(0, kMaxName)));
  }
  void push_global(const std::string& name) {
    const auto* const found =
        std::find_if(kGlobals.begin(), kGlobals.end(), [&](const auto& each) { return each.first == name; });
    if (found == kGlobals.end())
      fail(fmt::format("the pickle asks for the Python object '{}', which is not on the list of allowed ones", name));
    push(Kind::kGlobal, found->second);
  }

  /// Python 3 writes bytes for Python 2 as text, each byte a character, to be encoded in Latin-1.
  void encode(const std::vector<Value>& arguments) {
    const bool latin = arguments.size() == 2 && arguments[0].kind == Kind::kText && arguments[1].kind == Kind::kText &&
                       pickle_.object(arguments[1]).text == "latin1";
    if (!latin) fail("the pickle encodes something else than text in Latin-1");
    const std::string_view text = pickle_.object(arguments[0]).text;
    encoded_bytes_ += text.size();
    if (encoded_bytes_ > bytes_.size()) fail("the pickle encodes the same text again and again");
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto c = static_cast<std::uint8_t>(text[i]);
      const bool two =
          (c == 0xc2 || c == 0xc3) && i + 1 < text.size() && (static_cast<std::uint8_t>(text[i + 1]) & 0xc0) == 0x80;
      if (c >= 0x80 && !two) fail("the pickle encodes text that has no form in Latin-1");
      bytes.push_back(static_cast<char>(two ? (c & 3) << 6 | (static_cast<std::uint8_t>(text[++i]) & 0x3f) : c));
    }
    pickle_.owned_.push_back(std::move(bytes));
    push_object(Kind::kText, {}, pickle_.owned_.back());
  }

  /// NumPy's form of an array since protocol 5: bytes, type, shape, order of the axes.
  void from_buffer(const std::vector<Value>& parts) {
    const bool good = parts.size() == 4 && parts[3].kind == Kind::kText;
    if (!good) fail("the pickle makes an array from parts that are none");
    const bool fortran = pickle_.object(parts[3]).text == "F";
    push_object(Kind::kArray, {{Kind::kInt, 1}, parts[2], parts[1], {Kind::kBool, fortran ? 1 : 0}, parts[0]});
  }

  /// REDUCE and NEWOBJ: callable and argument tuple become an object.
  void construct() {
    const Value arguments = pop();
    const Value callable = pop();
    if (callable.kind != Kind::kGlobal || arguments.kind != Kind::kTuple)
      fail("the pickle calls something that cannot be called");
    const std::vector<Value> items = pickle_.object(arguments).items;
    if (items.size() > kMaxState) fail("the pickle passes too many arguments");
    switch (callable.number) {
      case kCsrMatrix:
        return push_object(Kind::kMatrix);
      case kReconstruct:
        return push_object(Kind::kArray);
      case kDtype:
        return push_object(Kind::kType, items);
      case kDefaultDict:
        return push_object(Kind::kDict);
      case kEncode:
        return encode(items);
      case kBytesType:
        if (!items.empty()) fail("the pickle makes bytes from something");
        return push_object(Kind::kText);
      case kFromBuffer:
        return from_buffer(items);
      default:
        fail("the pickle calls a type that is only to be named");
    }
  }

  /// BUILD: hands an object its state.
  void build() {
    const Value state = pop();
    if (stack_.size() <= floor()) fail("the pickle takes a value from an empty stack");
    const Value target = stack_.back();
    const Kind expected = target.kind == Kind::kMatrix ? Kind::kDict : Kind::kTuple;
    const bool buildable = target.kind == Kind::kMatrix || target.kind == Kind::kArray || target.kind == Kind::kType;
    if (!buildable || state.kind != expected) fail("the pickle gives state to something that takes none");
    auto& items = pickle_.objects_[static_cast<std::size_t>(target.number)].items;
    const std::vector<Value> parts = pickle_.object(state).items;
    if (items.size() + parts.size() > kMaxState) fail("the pickle gives an object too much state");
    items.insert(items.end(), parts.begin(), parts.end());
  }

  std::span<const std::byte> bytes_;
  Pickle& pickle_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
  std::size_t encoded_bytes_ = 0;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint32_t, Value> memo_;
};

Pickle::Pickle(std::span<const std::byte> bytes, std::string where) : where_(std::move(where)) {
  PickleMachine(bytes, this).run();
}

std::span<const Value> Pickle::items(Value value) const {
  GNEISS_CHECK(value.kind == Kind::kTuple || value.kind == Kind::kList || value.kind == Kind::kDict,
               ErrorCode::kBadData,
               "{}: the pickle holds another kind of object than a list, tuple or dict where one is needed", where_);
  return object(value).items;
}

NpyArray Pickle::array(Value value) const {
  const auto need = [&](bool holds, std::string_view part) {
    if (!holds)
      throw Error(ErrorCode::kBadData, fmt::format("the pickle holds no NumPy array where one is needed ({})", part),
                  where_);
  };
  need(value.kind == Kind::kArray, "kind");
  const auto& state = object(value).items;  // version, shape, dtype, fortran, data
  need(state.size() == 5 && state[1].kind == Kind::kTuple && state[2].kind == Kind::kType &&
           state[4].kind == Kind::kText,
       "state");
  const auto& type = object(state[2]).items;  // name, align, copy, then version, byte order, …
  need(type.size() >= 5 && type[0].kind == Kind::kText && type[4].kind == Kind::kText, "dtype");
  NpyArray array;
  array.where = where_;
  parse_descr(std::string(object(type[4]).text) + std::string(object(type[0]).text), &array);
  for (const Value size : object(state[1]).items) {
    need(size.kind == Kind::kInt && size.number >= 0, "shape");
    array.shape.push_back(size.number);
  }
  array.fortran = state[3].number != 0;
  const std::string_view text = object(state[4]).text;
  attach_data({reinterpret_cast<const std::byte*>(text.data()), text.size()}, &array);
  return array;
}

Pickle::Matrix Pickle::matrix(Value value) const {
  const auto need = [&](bool holds, std::string_view part) {
    if (!holds)
      throw Error(ErrorCode::kBadData, fmt::format("the pickle holds no CSR matrix where one is needed ({})", part),
                  where_);
  };
  need(value.kind == Kind::kMatrix, "kind");
  const auto& state = object(value).items;
  const auto part = [&](std::string_view name) {
    for (std::size_t i = 0; i + 1 < state.size(); i += 2) {
      if (state[i].kind == Kind::kText && object(state[i]).text == name) return state[i + 1];
    }
    return Value{};
  };
  const Value shape = part("_shape").kind == Kind::kTuple ? part("_shape") : part("shape");
  need(shape.kind == Kind::kTuple && object(shape).items.size() == 2, "shape");
  const auto& sizes = object(shape).items;
  need(sizes[0].kind == Kind::kInt && sizes[1].kind == Kind::kInt && sizes[0].number >= 0 && sizes[1].number >= 0,
       "shape");
  return {sizes[0].number, sizes[1].number, array(part("indptr")), array(part("indices")), array(part("data"))};
}

}  // namespace gneiss::data
