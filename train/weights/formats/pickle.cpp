#include "train/weights/formats/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "train/weights/formats/memory_budget.h"

namespace shoal::train {

// Interprets the opcodes. A few bytes can copy a large memoized value, so a malicious pickle could
// use any amount of memory. Every allocation is therefore charged to a budget.
class Pickle::Machine {
  using Kind = PickleValue::Kind;
  static constexpr size_t kPointer = sizeof(void*);  // bytes

 public:
  Machine(std::deque<PickleValue>& values, const char* bytes, size_t size)
      : values_(values), at_(bytes), end_(bytes + size) {}

  const PickleValue* run() {
    while (true) {
      const auto opcode = number<uint8_t>();
      if (opcode == '.') return pop();
      step(opcode);
    }
  }
  const char* position() const { return at_; }

 private:
  [[noreturn]] static void damaged() { throw std::runtime_error("its pickle is damaged"); }

  const char* take(size_t bytes) {
    if (static_cast<size_t>(end_ - at_) < bytes) damaged();
    return std::exchange(at_, at_ + bytes);
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string_view text(size_t bytes) { return {take(bytes), bytes}; }
  std::string_view line() {
    const char* const newline = std::find(at_, end_, '\n');
    if (newline == end_) damaged();
    return {std::exchange(at_, newline + 1), newline};
  }

  void push(PickleValue* value) {
    budget_.spend(kPointer);
    stack_.push_back(value);
  }
  PickleValue* push(Kind kind) {
    budget_.spend(sizeof(PickleValue));
    push(&values_.emplace_back());
    stack_.back()->kind = kind;
    return stack_.back();
  }
  void push_integer(int64_t integer) { push(Kind::integer)->integer = integer; }
  void push_text(Kind kind, std::string_view text) {
    budget_.spend(text.size());
    push(kind)->text = text;
  }
  void push_name(std::string_view module, std::string_view name) {
    budget_.spend(module.size() + 1 + name.size());
    PickleValue* const value = push(Kind::name);
    value->text.append(module).append(" ").append(name);
  }
  void push_items(Kind kind, const std::vector<const PickleValue*>& items) {
    budget_.spend(items.size() * kPointer);
    push(kind)->items = items;
  }
  PickleValue* top() const {
    if (stack_.empty()) damaged();
    return stack_.back();
  }
  PickleValue* pop() {
    PickleValue* const value = top();
    if (!marks_.empty() && stack_.size() <= marks_.back()) damaged();
    stack_.pop_back();
    return value;
  }
  void mark() {
    budget_.spend(sizeof marks_[0]);
    marks_.push_back(stack_.size());
  }
  void remember(int64_t place) {
    constexpr size_t kMapNode = 64;  // bytes
    budget_.spend(kMapNode);
    memo_[place] = top();
  }
  std::vector<const PickleValue*> pop_to_mark() {
    if (marks_.empty()) damaged();
    const auto first = stack_.begin() + static_cast<int64_t>(marks_.back());
    marks_.pop_back();
    std::vector<const PickleValue*> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    return items;
  }
  void push_last(size_t count) {
    std::vector<const PickleValue*> items(count);
    for (auto item = items.rbegin(); item != items.rend(); ++item) *item = pop();
    push_items(Kind::sequence, items);
  }
  // Appends items to the dict or list on top of the stack. Does nothing for other values.
  void extend(const std::vector<const PickleValue*>& items) {
    PickleValue& into = *top();
    if (into.kind != Kind::dict && into.kind != Kind::sequence) return;
    budget_.spend(items.size() * kPointer);
    into.items.insert(into.items.end(), items.begin(), items.end());
  }
  // Pushes an OrderedDict. Python 2 passes its items as a sequence of pairs.
  void push_dict(const std::vector<const PickleValue*>& arguments) {
    push(Kind::dict);
    if (arguments.empty() || arguments[0]->kind != Kind::sequence) return;
    for (const PickleValue* pair : arguments[0]->items)
      if (pair->kind == Kind::sequence && pair->items.size() == 2) extend(pair->items);
  }
  void call() {
    const PickleValue *const arguments = pop(), *const callee = pop();
    if (callee->text == "collections OrderedDict") return push_dict(arguments->items);
    push_items(callee->kind == Kind::name ? Kind::call : Kind::other, arguments->items);
    budget_.spend(callee->text.size());
    stack_.back()->text = callee->text;
  }
  // LONG1: an integer of up to 255 bytes, little-endian, two's complement.
  void push_long() {
    const size_t bytes = number<uint8_t>();
    const char* const from = take(bytes);
    if (bytes > sizeof(int64_t)) return void(push(Kind::other));
    int64_t value = bytes > 0 && (from[bytes - 1] & 0x80) ? -1 : 0;
    std::memcpy(&value, from, bytes);
    push_integer(value);
  }
  void recall(int64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) damaged();
    push(found->second);
  }
  void step(uint8_t opcode);

  std::deque<PickleValue>& values_;
  const char *at_, *const end_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;  // the stack's size at each open MARK
  std::map<int64_t, PickleValue*> memo_;
  MemoryBudget budget_{"its pickle", kPickleMemory};
};

void Pickle::Machine::step(uint8_t opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      return void(take(1));
    case 0x95:  // FRAME
      return void(take(8));
    case '(':  // MARK
      return mark();
    case '0':  // POP
      return void(pop());
    case '}':  // EMPTY_DICT
      return void(push(Kind::dict));
    case ']':   // EMPTY_LIST
    case ')':   // EMPTY_TUPLE
    case 0x8f:  // EMPTY_SET
      return void(push(Kind::sequence));
    case 'N':  // NONE
      return void(push(Kind::other));
    case 'G':  // BINFLOAT, big-endian
      return void(push(Kind::real)->real =
                      std::bit_cast<double>(__builtin_bswap64(number<uint64_t>())));
    case 0x88:  // NEWTRUE
    case 0x89:  // NEWFALSE
      return push_integer(opcode == 0x88);
    case 'K':  // BININT1
      return push_integer(number<uint8_t>());
    case 'M':  // BININT2
      return push_integer(number<uint16_t>());
    case 'J':  // BININT
      return push_integer(number<int32_t>());
    case 0x8a:
      return push_long();
    case 'X':  // BINUNICODE
      return push_text(Kind::text, text(number<uint32_t>()));
    case 0x8d:  // BINUNICODE8
      return push_text(Kind::text, text(number<uint64_t>()));
    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
      return push_text(Kind::text, text(number<uint8_t>()));
    case 'C':  // SHORT_BINBYTES
      return take(number<uint8_t>()), void(push(Kind::other));
    case 'B':  // BINBYTES
      return take(number<uint32_t>()), void(push(Kind::other));
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      return take(number<uint64_t>()), void(push(Kind::other));
    case 'c': {  // GLOBAL
      const std::string_view module = line();
      return push_name(module, line());
    }
    case 0x93: {  // STACK_GLOBAL
      const PickleValue *const name = pop(), *const module = pop();
      return push_name(module->text, name->text);
    }
    case 'q':  // BINPUT
      return remember(number<uint8_t>());
    case 'r':  // LONG_BINPUT
      return remember(number<uint32_t>());
    case 0x94:  // MEMOIZE
      return remember(static_cast<int64_t>(memo_.size()));
    case 'h':  // BINGET
      return recall(number<uint8_t>());
    case 'j':  // LONG_BINGET
      return recall(number<uint32_t>());
    case 't':   // TUPLE
    case 0x91:  // FROZENSET
      return push_items(Kind::sequence, pop_to_mark());
    case 0x85:
    case 0x86:
    case 0x87:  // TUPLE1, TUPLE2, TUPLE3
      return push_last(opcode - 0x84u);
    case 'a':  // APPEND
      return extend({pop()});
    case 'e':   // APPENDS
    case 'u':   // SETITEMS
    case 0x90:  // ADDITEMS
      return extend(pop_to_mark());
    case 's': {  // SETITEM
      const PickleValue *const value = pop(), *const key = pop();
      return extend({key, value});
    }
    case 'b':  // BUILD: an object's attributes
      return void(pop());
    case 'Q': {  // BINPERSID
      const PickleValue* const id = pop();
      return push_items(Kind::persistent, id->items);
    }
    case 0x81:  // NEWOBJ
    case 'R':   // REDUCE
      return call();
    default:
      damaged();
  }
}

Pickle::Pickle(const char* bytes, size_t size) {
  Machine machine(values_, bytes, size);
  root_ = machine.run();
  bytes_ = static_cast<size_t>(machine.position() - bytes);
}

const PickleValue* PickleValue::find(const std::string& key) const {
  for (size_t i = 0; kind == Kind::dict && i + 1 < items.size(); i += 2)
    if (items[i]->kind == Kind::text && items[i]->text == key) return items[i + 1];
  return nullptr;
}

}  // namespace shoal::train
