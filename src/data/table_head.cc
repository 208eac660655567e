// Method: each separator is tried on the first thousand rows. One under which all rows have equally many fields, two or
// more, can be it; among several the one with the larger share of numbers, then the one whose fields do not begin or
// end with another separator, then the less common one is it. The header is a first row of words over a column of
// numbers, or one of words that name columns.
#include "data/table_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/names.h"
#include "data/column_words.h"
#include "data/foreign_text.h"
#include "data/row_reader.h"
#include "data/text.h"

namespace gneiss::data {
namespace {

constexpr std::size_t kSampleRows = 1000;
constexpr std::size_t kSampleBytes = std::size_t{1} << 20;
constexpr std::array<char, 5> kSeparators = {'\t', ';', ',', '|', ' '};

[[noreturn]] void fail(const std::string& where, const std::string& message, const std::string& hint = {}) {
  throw Error(ErrorCode::kBadData, message, where, hint);
}

std::string separator_name(char separator) {
  if (separator == '\t') return "tab";
  if (separator == ' ') return "blank";
  return fmt::format("'{}'", separator);
}

/// A line with its number.
struct Line {
  std::int64_t number = 0;
  std::string text;
};

struct Sample {
  std::vector<Line> rows;
  std::vector<std::string> all;  ///< with comments
  std::vector<std::string> comments;
  bool whole_file = false;
};

Sample take_sample(const std::filesystem::path& path) {
  Sample sample;
  LineReader lines(path);
  std::string_view line;
  std::size_t bytes = 0;
  while (sample.rows.size() < kSampleRows && (bytes < kSampleBytes || sample.rows.size() < 2)) {
    if (!lines.next(&line)) {
      sample.whole_file = true;
      break;
    }
    if (looks_binary(line)) fail(lines.where(), "expected text, found control characters", "is this a table?");
    bytes += line.size() + 1;
    if (sample.all.size() < kSampleRows) sample.all.emplace_back(line);
    if (trim(line).empty()) continue;
    if (!is_comment_line(line)) {
      sample.rows.push_back({lines.line(), std::string(line)});
    } else if (sample.rows.empty()) {
      sample.comments.emplace_back(trim(trim(line).substr(1)));
    }
  }
  return sample;
}

/// The sample cut by one separator.
struct Trial {
  char separator = ' ';
  std::vector<std::vector<std::string>> rows;
  std::vector<std::int64_t> lines;
  bool broken = false;  ///< quotes do not fit this separator
  std::int64_t broken_line = 0;
  bool quoted_front = true;  ///< every row but the first begins with a quote
};

Trial try_separator(const std::vector<Line>& lines, char separator, bool whole_file) {
  Trial trial;
  trial.separator = separator;
  FieldSplitter splitter(separator);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::int64_t number = lines[i].number;
    const std::string_view first_line = lines[i].text;
    auto result = splitter.split(lines[i].text);
    while (result == FieldSplitter::Result::kOpen && i + 1 < lines.size()) result = splitter.extend(lines[++i].text);
    if (result == FieldSplitter::Result::kOpen && !whole_file && !trial.rows.empty()) break;  // beyond the sample
    if (result != FieldSplitter::Result::kDone) {
      trial.broken = true;
      trial.broken_line = number;
      return trial;
    }
    trial.quoted_front = trial.quoted_front && (trial.rows.empty() || trim(first_line).starts_with('"'));
    trial.rows.emplace_back(splitter.fields().begin(), splitter.fields().end());
    trial.lines.push_back(number);
  }
  return trial;
}

/// A header without a name for the first column, which holds R's row names: these are in quotes, and of edges numbers.
bool names_rows(const Trial& trial, TableKind kind) {
  const auto& header = trial.rows[0];
  const auto is_word = [](const std::string& field) { return field_type(field) == FieldType::kWord; };
  if (trial.rows.size() < 2 || !trial.quoted_front || !std::all_of(header.begin(), header.end(), is_word)) return false;
  for (std::size_t r = 1; r < trial.rows.size(); ++r) {
    if (trial.rows[r].size() != header.size() + 1) return false;
    if (kind == TableKind::kEdges && trial.rows[r][0] != std::to_string(r)) return false;
  }
  return true;
}

/// The first row whose length differs from the second one's; none where all agree.
std::optional<std::size_t> ragged_row(const Trial& trial, TableKind kind) {
  const std::size_t size = trial.rows.size() > 1 ? trial.rows[1].size() : trial.rows[0].size();
  for (std::size_t r = 1; r < trial.rows.size(); ++r) {
    if (trial.rows[r].size() != size) return r;
  }
  if (trial.rows[0].size() != size && !names_rows(trial, kind)) return 1;
  return std::nullopt;
}

/// How far a separator's fields look like fields.
struct Merit {
  double numbers = 0;              ///< share of fields that are numbers or empty, first row left out
  std::int64_t ends = 0;           ///< fields that begin or end with another separator
  bool commas_are_decimal = true;  ///< commas occur, in numbers like 0,5 only
};

Merit merit_of(const Trial& trial) {
  Merit merit;
  std::int64_t fields = 0;
  std::int64_t numbers = 0;
  bool commas = false;
  for (std::size_t r = trial.rows.size() > 1 ? 1 : 0; r < trial.rows.size(); ++r) {
    for (const std::string& field : trial.rows[r]) {
      const FieldType type = field_type(field);
      ++fields;
      numbers += type == FieldType::kWord ? 0 : 1;
      const auto other = [](char c) { return c == ',' || c == ';' || c == '|'; };
      merit.ends += !field.empty() && (other(field.front()) || other(field.back())) ? 1 : 0;
      if (field.find(',') == std::string::npos) continue;
      commas = true;
      merit.commas_are_decimal = merit.commas_are_decimal && type == FieldType::kComma;
    }
  }
  merit.commas_are_decimal = merit.commas_are_decimal && commas;
  merit.numbers = fields > 0 ? static_cast<double>(numbers) / static_cast<double>(fields) : 0;
  return merit;
}

/// The separator that serves best, or the first row's most telling one, under which some row is ragged or lone.
Trial choose_separator(const Sample& sample, TableKind kind) {
  std::vector<std::pair<Trial, Merit>> fitting;
  for (const char separator : kSeparators) {
    Trial trial = try_separator(sample.rows, separator, sample.whole_file);
    if (trial.broken || ragged_row(trial, kind) || trial.rows.back().size() < 2) continue;
    const Merit merit = merit_of(trial);
    fitting.emplace_back(std::move(trial), merit);
  }
  const bool decimal_commas = std::any_of(fitting.begin(), fitting.end(), [](const auto& each) {
    return each.first.separator != ',' && each.second.commas_are_decimal;
  });
  if (decimal_commas) std::erase_if(fitting, [](const auto& each) { return each.first.separator == ','; });
  const auto better = [](const auto& a, const auto& b) {
    if (a.second.numbers != b.second.numbers) return a.second.numbers > b.second.numbers;
    return a.second.ends < b.second.ends;
  };
  std::stable_sort(fitting.begin(), fitting.end(), better);
  if (!fitting.empty()) return std::move(fitting[0].first);
  for (const Line& line : sample.rows) {
    const char separator = find_separator(line.text);
    Trial trial = try_separator(sample.rows, separator, sample.whole_file);
    if (!trial.broken) return trial;
  }
  return try_separator(sample.rows, ' ', sample.whole_file);
}

char separator_option(const std::string& option) {
  static const std::vector<std::pair<std::string, char>> kNames = {
      {"comma", ','}, {"tab", '\t'}, {"semicolon", ';'}, {"space", ' '}, {"blank", ' '}, {"pipe", '|'}, {"\\t", '\t'}};
  for (const auto& [name, separator] : kNames) {
    if (option == name) return separator;
  }
  if (option.size() == 1 && std::find(kSeparators.begin(), kSeparators.end(), option[0]) != kSeparators.end())
    return option[0];
  throw Error(ErrorCode::kUsage, fmt::format("unknown separator '{}'", option), "--separator",
              "known: comma, tab, semicolon, space, pipe");
}

/// The option holds for all tables of a command, but not for feature and label files in which it does not occur.
bool forced_separator(const std::string& option, TableKind kind, const Sample& sample) {
  if (option.empty()) return false;
  const char separator = separator_option(option);
  return kind == TableKind::kEdges || std::any_of(sample.rows.begin(), sample.rows.end(), [&](const Line& line) {
           return trim(line.text).find(separator) != std::string_view::npos;
         });
}

void check_decimal_option(const std::string& option) {
  if (option.empty() || option == "point" || option == "comma" || option == "." || option == ",") return;
  throw Error(ErrorCode::kUsage, fmt::format("unknown decimal mark '{}'", option), "--decimal", "known: point, comma");
}

[[noreturn]] void fail_ragged(const TableHead& head, const Trial& trial, std::size_t row, bool whole_file) {
  const auto size = [&](std::size_t r) { return trial.rows[r].size(); };
  const std::size_t odd = row >= 2 && size(row) == size(0) ? 1 : row;
  const std::size_t expected = odd == 1 ? size(0) : size(1);
  const std::string where = fmt::format("{}:{}", head.where, trial.lines[odd]);
  const std::string shown = excerpt(join(trial.rows[odd], std::string(1, trial.separator)));
  const std::string separated = "separator " + separator_name(trial.separator);
  if (head.kind == TableKind::kEdges) {
    if (const auto foreign = foreign_rows(trial.rows, whole_file))
      fail(where, fmt::format("rows of different lengths: this looks like {}", foreign->format), foreign->remedy);
  }
  if (odd == 1 && field_type(trial.rows[0][0]) == FieldType::kWord) {
    fail(where, fmt::format("the header has {} fields and this row {} ({}): '{}'", size(0), size(1), separated, shown),
         "give every column a name; --separator says what stands between fields");
  }
  fail(where,
       fmt::format("expected {} fields as in the first row, got {} ({}): '{}'", expected, size(odd), separated, shown),
       "every row needs as many fields; a field that holds the separator goes in quotes; --separator overrules");
}

/// A separator at the end of each row makes a last field that is always empty. True if there was one.
bool drop_empty_last(std::vector<std::vector<std::string>>* rows) {
  const std::size_t size = rows->back().size();
  const auto ends_empty = [&](const auto& row) { return row.size() < size || row.back().empty(); };
  if (size < 3 || !std::all_of(rows->begin(), rows->end(), ends_empty)) return false;
  for (auto& row : *rows) {
    if (row.size() == size) row.pop_back();
  }
  return true;
}

ColumnFacts facts_of(const std::vector<std::vector<std::string>>& rows, std::size_t column, std::size_t from) {
  ColumnFacts facts;
  for (std::size_t r = from; r < rows.size(); ++r) {
    switch (column < rows[r].size() ? field_type(rows[r][column]) : FieldType::kMissing) {
      case FieldType::kMissing:
        ++facts.missing;
        break;
      case FieldType::kWhole:
        ++facts.whole;
        break;
      case FieldType::kReal:
        ++facts.real;
        break;
      case FieldType::kComma:
        ++facts.comma;
        break;
      case FieldType::kWord:
        ++facts.words;
        break;
    }
  }
  return facts;
}

/// 0, 1, 2, … as names: what pandas writes for columns without names.
bool counts_columns(const std::vector<std::string>& row, std::size_t from) {
  for (std::size_t c = from; c < row.size(); ++c) {
    if (row[c] != std::to_string(c - from)) return false;
  }
  return row.size() >= from + 2;
}

/// Do these words name columns of such a table?
bool names_columns(const std::vector<std::string>& row, TableKind kind) {
  std::vector<std::string> plain;
  std::transform(row.begin(), row.end(), std::back_inserter(plain), [](const auto& name) { return plain_name(name); });
  const auto any = [&](bool (*is)(const std::string&)) { return std::any_of(plain.begin(), plain.end(), is); };
  if (kind == TableKind::kEdges) {
    if (!end_pairs(row).empty()) return true;
    return is_source_word(plain[0]) || (plain.size() > 1 && is_target_word(plain[1])) || is_id_word(plain[0]);
  }
  if (row.size() == 1) {
    return kind == TableKind::kFeatures || is_label_word(plain[0]) || is_id_word(plain[0]) ||
           plain[0].ends_with("mask");
  }
  return is_leading_id_word(row[0]) || (is_index_word(plain[0]) && any(is_label_word)) ||
         (kind == TableKind::kLabels && any(is_label_word) && any(is_id_word));
}

/// A word of the first row stands in another row too.
bool recurs(const std::vector<std::vector<std::string>>& rows) {
  for (std::size_t r = 1; r < rows.size(); ++r) {
    for (const std::string& field : rows[r]) {
      if (!field.empty() && std::find(rows[0].begin(), rows[0].end(), field) != rows[0].end()) return true;
    }
  }
  return false;
}

bool names_u_and_v(const std::vector<std::string>& row) {
  if (row.size() != 2) return false;
  const std::string both = plain_name(row[0]) + plain_name(row[1]);
  return both == "uv" || both == "vu";
}

bool find_header(const std::vector<std::vector<std::string>>& rows, TableKind kind, const std::string& where) {
  const auto& first = rows[0];
  std::size_t words = 0;
  std::size_t numbers = 0;
  std::size_t over_numbers = 0;
  for (std::size_t c = 0; c < first.size(); ++c) {
    const FieldType type = field_type(first[c]);
    const ColumnFacts facts = facts_of(rows, c, 1);
    const std::int64_t values = facts.numbers() + facts.comma;
    words += type == FieldType::kWord;
    numbers += type != FieldType::kWord && type != FieldType::kMissing;
    over_numbers += type == FieldType::kWord && values > 0 && facts.words == 0;
  }
  const bool nameless_front = first[0].empty() && rows.size() > 1 && facts_of(rows, 0, 1).missing == 0;
  if (numbers == 0 && words > 0) {
    if (over_numbers > 0 || nameless_front) return true;
    // A lone letter is a node's name as often as a column's, but for u and v.
    const bool letters =
        std::all_of(first.begin(), first.end(), [](const std::string& name) { return plain_name(name).size() == 1; });
    if (kind == TableKind::kEdges && recurs(rows)) {
      if (letters || !names_columns(first, kind)) return false;
      fail(where,
           fmt::format("is the first row, '{}', a header or an edge? Its words are ids in other rows too",
                       excerpt(join(first, " "))),
           "--header or --no-header says which");
    }
    if (kind == TableKind::kEdges && letters && !names_u_and_v(first)) return false;
    return names_columns(first, kind) || (kind == TableKind::kFeatures && rows.size() > 1);
  }
  if (nameless_front && (counts_columns(first, 1) || (first.size() == 2 && first[1] == "0"))) return true;
  if (kind == TableKind::kFeatures && rows.size() > 1 && counts_columns(first, 0)) {
    for (std::size_t c = 0; c < first.size(); ++c) {
      if (facts_of(rows, c, 1).real > 0) return true;
    }
  }
  if (words == 0 || numbers == 0 || over_numbers == 0) return false;
  if (kind != TableKind::kEdges) return over_numbers == words && is_leading_id_word(first[0]);
  if (names_columns(first, kind)) return true;
  const auto word_over_numbers = [&](std::size_t c) {
    return c < first.size() && field_type(first[c]) == FieldType::kWord && facts_of(rows, c, 1).words == 0 &&
           facts_of(rows, c, 1).numbers() > 0;
  };
  if (!word_over_numbers(0) && !word_over_numbers(1)) return false;
  fail(where,
       fmt::format("the first row, '{}', is neither a header nor like the rows below", excerpt(join(first, " "))),
       "--header takes it for a header, --no-header for data; or mend the row");
}

/// One decimal mark for the table.
char find_decimal(const TableHead& head, const std::string& option) {
  if (option == "comma" || option == ",") return ',';
  if (option == "point" || option == ".") return '.';
  bool commas = false;
  bool points = false;
  std::string example;
  std::size_t at = 0;
  for (std::size_t c = 0; c < head.columns; ++c) {
    const ColumnFacts& facts = head.facts[c];
    if (facts.words > 0) continue;
    commas = commas || facts.comma > 0;
    for (std::size_t r = 0; r < head.rows.size(); ++r) {
      const std::string& field = head.rows[r][c];
      if (field_type(field) == FieldType::kComma && example.empty()) {
        example = field;
        at = r;
      }
      points = points || (field_type(field) == FieldType::kReal && field.find('.') != std::string::npos);
    }
  }
  if (!commas) return '.';
  if (head.separator == ',')
    fail(head.where_row(at),
         fmt::format("is '{}' a number with a decimal comma, or one with thousands?", excerpt(example)),
         "--decimal comma if 0,5 means a half; thousands must go without a mark");
  if (points)
    fail(head.where_row(at),
         fmt::format("some numbers have a decimal point and some a comma, such as '{}'", excerpt(example)),
         "write all numbers with a point, or say --decimal comma or --decimal point");
  return ',';
}

void name_columns(TableHead* head) {
  head->names.resize(head->columns);
  if (head->header || head->comments.empty()) return;
  const std::string& comment = head->comments.back();
  for (const char separator : {head->separator, '\t', ',', ' '}) {
    FieldSplitter splitter(separator);
    if (splitter.split(comment) != FieldSplitter::Result::kDone || splitter.fields().size() != head->columns) continue;
    const std::vector<std::string> names(splitter.fields().begin(), splitter.fields().end());
    if (head->kind != TableKind::kEdges || end_pairs(names).size() != 1) continue;
    head->names = names;
    head->named_by_comment = true;
    return;
  }
}

}  // namespace

bool is_missing_word(std::string_view field) {
  if (field.empty()) return true;
  if (field.size() > 4) return false;
  std::string word(field);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word == "nan" || word == "na" || word == "n/a" || word == "null" || word == "<na>" || word == "#n/a";
}

FieldType field_type(std::string_view field) {
  if (is_missing_word(field)) return FieldType::kMissing;
  const char c = field[0];
  const bool may_begin = (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == ',';
  if (!may_begin) {
    double value;
    const bool infinite = (c == 'i' || c == 'I') && parse_real(field, &value);
    return infinite ? FieldType::kReal : FieldType::kWord;
  }
  std::int64_t whole;
  if (parse_whole(field, &whole)) return FieldType::kWhole;
  double real;
  if (parse_real(field, &real)) return FieldType::kReal;
  const std::size_t comma = field.find(',');
  if (comma == std::string_view::npos || comma + 1 == field.size()) return FieldType::kWord;
  std::string pointed(field);
  pointed[comma] = '.';
  return field.find('.') == std::string_view::npos && parse_real(pointed, &real) ? FieldType::kComma : FieldType::kWord;
}

bool parse_number(std::string_view field, char decimal, double* value) {
  if (decimal == '.') return parse_real(field, value);
  if (field.find('.') != std::string_view::npos) return false;
  std::string pointed(field);
  std::replace(pointed.begin(), pointed.end(), ',', '.');
  return parse_real(pointed, value);
}

std::string TableHead::column_text(std::size_t column) const {
  if (!named() || names[column].empty()) return fmt::format("column {}", column + 1);
  return fmt::format("column {} '{}'", column + 1, excerpt(names[column]));
}

std::string TableHead::where_row(std::size_t row) const {
  return row < lines.size() ? fmt::format("{}:{}", where, lines[row]) : where;
}

std::string TableHead::summary() const {
  const std::string names_text = header ? "header" : named_by_comment ? "names in a comment" : "no header";
  return fmt::format("{}, {}{}", columns == 1 ? "one column" : "separator " + separator_name(separator), names_text,
                     decimal == ',' ? ", decimal comma" : "");
}

TableHead read_head(const std::filesystem::path& path, TableKind kind, const TableOptions& options) {
  check_decimal_option(options.decimal);
  TableHead head;
  head.where = path.string();
  head.kind = kind;
  if (const auto foreign = foreign_bytes(first_bytes(path, 512)))
    fail(head.where, foreign->format + " is no table", foreign->remedy);
  Sample sample = take_sample(path);
  head.comments = std::move(sample.comments);
  head.whole_file = sample.whole_file;
  if (!head.comments.empty()) {
    const std::string& first = head.comments[0];
    head.undirected =
        first.starts_with("sym") || std::any_of(head.comments.begin(), head.comments.end(),
                                                [](const auto& text) { return text.starts_with("Undirected graph"); });
    head.konect = first.starts_with("sym") || first.starts_with("asym") || first.starts_with("bip");
  }
  if (kind == TableKind::kEdges) {
    if (const auto foreign = foreign_text(sample.all); foreign && options.source_column.empty())
      fail(fmt::format("{}:{}", head.where, sample.rows.empty() ? 1 : sample.rows[0].number),
           fmt::format("this looks like {}, not like a list of edges", foreign->format), foreign->remedy);
    head.attributes = !sample.rows.empty() && std::all_of(sample.rows.begin(), sample.rows.end(), [](const Line& line) {
      return trim(line.text).ends_with('}') && line.text.find('{') != std::string::npos;
    });
    if (head.attributes) {
      for (Line& line : sample.rows) {
        head.attribute_texts.push_back(line.text.substr(line.text.find('{')));
        line.text.resize(line.text.find('{'));
        while (!line.text.empty() && (line.text.back() == ' ' || line.text.back() == ',' || line.text.back() == '\t'))
          line.text.pop_back();
      }
    }
  }
  if (sample.rows.empty()) return head;
  Trial trial = forced_separator(options.separator, kind, sample)
                    ? try_separator(sample.rows, separator_option(options.separator), sample.whole_file)
                    : choose_separator(sample, kind);
  head.separator = trial.separator;
  if (trial.broken)
    fail(fmt::format("{}:{}", head.where, trial.broken_line),
         "quotes do not fit: one is never closed, or something stands between a closing quote and the next separator",
         "a quote inside a quoted field is written twice: \"\"; --separator says what stands between fields");
  const bool no_header = !options.header.value_or(true);
  if (no_header && trial.rows.size() > 1 && trial.rows[0].size() != trial.rows[1].size())
    fail_ragged(head, trial, 1, sample.whole_file);
  if (const auto row = ragged_row(trial, kind)) fail_ragged(head, trial, *row, sample.whole_file);
  head.trailing = drop_empty_last(&trial.rows);
  head.columns = trial.rows.back().size();
  head.row_names = trial.rows[0].size() + 1 == head.columns;
  head.header = options.header.value_or(
      head.row_names || find_header(trial.rows, kind, fmt::format("{}:{}", head.where, trial.lines[0])));
  if (head.header) {
    head.names = std::move(trial.rows[0]);
    if (head.row_names) head.names.insert(head.names.begin(), "");
    trial.rows.erase(trial.rows.begin());
    trial.lines.erase(trial.lines.begin());
  }
  head.rows = std::move(trial.rows);
  head.lines = std::move(trial.lines);
  for (std::size_t c = 0; c < head.columns; ++c) head.facts.push_back(facts_of(head.rows, c, 0));
  head.decimal = find_decimal(head, options.decimal);
  if (head.decimal == ',') {
    for (ColumnFacts& facts : head.facts) {
      facts.real += facts.comma;
      facts.comma = 0;
    }
  }
  name_columns(&head);
  return head;
}

bool has_column(const TableHead& head, const std::string& column) {
  if (column.empty()) return false;
  if (head.named() && std::find(head.names.begin(), head.names.end(), column) != head.names.end()) return true;
  std::int64_t number = 0;
  return parse_int(column, &number) && number >= 1 && number <= static_cast<std::int64_t>(head.columns);
}

std::size_t find_column(const TableHead& head, const std::string& column, const char* flag) {
  std::size_t found = head.columns;
  for (std::size_t c = 0; c < head.columns; ++c) {
    if (!head.named() || head.names[c] != column) continue;
    if (found != head.columns)
      throw Error(ErrorCode::kUsage, fmt::format("--{} {}: two columns have that name", flag, column), head.where,
                  "give the column's number, from 1");
    found = c;
  }
  std::int64_t number = 0;
  if (found == head.columns && parse_int(column, &number) && number >= 1 &&
      number <= static_cast<std::int64_t>(head.columns))
    found = static_cast<std::size_t>(number - 1);
  if (found < head.columns) return found;
  throw Error(ErrorCode::kUsage, fmt::format("--{} {}: the table has no such column", flag, column), head.where,
              head.named() ? "its columns are: " + join(head.names, ", ")
                           : fmt::format("it has {} columns without names", head.columns));
}

bool counts_rows(const TableHead& head, std::size_t column, std::size_t least, std::int64_t* first) {
  if (head.rows.size() < least) return false;
  for (std::size_t r = 0; r < head.rows.size(); ++r) {
    std::int64_t value;
    if (!parse_whole(head.rows[r][column], &value)) return false;
    if (r == 0) *first = value;
    if (value != *first + static_cast<std::int64_t>(r)) return false;
  }
  return *first == 0 || *first == 1;
}

}  // namespace gneiss::data
