// tachyfits for C++17 and newer: FITS images, tables and headers, decoded inside the loop that uses them.
//
// A single header on top of the C interface, `tachyfits.h`: link with -ltachyfits. Pixels, rows, columns and HDUs are
// counted from 0; ranges are {first, count, step}; axis 0 is NAXIS1, the fastest. Undefined pixels (NaN and BLANK) are
// NaN when read as floats. Errors are exceptions of the type tachyfits::error.
//
//   tachyfits::file f("m31.fits");
//   double value = f.image(0).dvalue(10, 20);
//   auto a = f.image("SCI").read<float>({{0, 100}, {50, 100}});   // a(x, y)
//   auto pi = f.table("EVENTS").col("PI").read<int>();
//
// A document is a whole file to be changed and written: its pixels stay on disk until they are changed.
//
//   tachyfits::document d("in.fits");
//   d.image("Primary").transpose_xy().assign(3.0, 1, 1);
//   d.append_image("SUM", a).write("out.fits.gz");
//
// Objects share the open file: an image may outlive the `file` that created it. Files, images and tables may be copied
// (cheaply) and used by several threads; documents, writers and editors belong to one thread.
//
// With the C++20 library, arrays convert to std::span; with C++23, to std::mdspan, and files open as std::expected.
#ifndef TACHYFITS_HPP
#define TACHYFITS_HPP

#include "tachyfits.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif
#ifdef __cpp_lib_expected
#include <expected>
#endif

namespace tachyfits {

/// Kind of an error.
enum class kind {
    io = TACHYFITS_ERROR_IO,
    format = TACHYFITS_ERROR_FORMAT,
    usage = TACHYFITS_ERROR_USAGE,
    limit = TACHYFITS_ERROR_LIMIT,
    cancelled = TACHYFITS_ERROR_CANCELLED,
    internal = TACHYFITS_ERROR_INTERNAL
};

/// An error of the library: what() is the message, code() is stable, hint() is advice.
class error : public std::runtime_error {
public:
    explicit error(const tachyfits_error &e)
        : std::runtime_error(e.message), kind_(static_cast<enum kind>(e.kind)), code_(e.code),
          hint_(e.hint) {}
    error(enum kind k, std::string code, const std::string &message, std::string hint)
        : std::runtime_error(message), kind_(k), code_(std::move(code)), hint_(std::move(hint)) {}

    enum kind kind() const noexcept { return kind_; }
    const std::string &code() const noexcept { return code_; }
    const std::string &hint() const noexcept { return hint_; }

private:
    enum kind kind_;
    std::string code_, hint_;
};

namespace detail {

/// Collects the error of a C call: `e = tachyfits_open(…, e)` throws it.
class call {
public:
    call() noexcept { error_.kind = 0; }
    operator tachyfits_error *() noexcept { return &error_; }
    void operator=(int outcome) {
        if (outcome > 0) throw error(error_);
        outcome_ = outcome;
    }
    /// Whether the requested card is absent.
    bool is_absent() const noexcept { return outcome_ == TACHYFITS_ABSENT; }

private:
    tachyfits_error error_;
    int outcome_ = TACHYFITS_OK;
};

inline error usage(const char *code, const std::string &message, const char *hint) {
    return error(kind::usage, code, message, hint);
}

inline void free_handle(tachyfits_file *p) noexcept { tachyfits_close(p); }
inline void free_handle(tachyfits_header *p) noexcept { tachyfits_header_free(p); }
inline void free_handle(tachyfits_job *p) noexcept { tachyfits_job_free(p); }
inline void free_handle(tachyfits_writer *p) noexcept { tachyfits_abandon(p); }
inline void free_handle(tachyfits_editor *p) noexcept { tachyfits_edit_abandon(p); }
inline void free_handle(char *p) noexcept { tachyfits_text_free(p); }

/// Owns a C pointer; <memory> would take long to compile.
template <class T> class handle {
public:
    handle() = default;
    explicit handle(T *p) noexcept : p_(p) {}
    handle(handle &&other) noexcept : p_(other.release()) {}
    handle &operator=(handle &&other) noexcept {
        reset(other.release());
        return *this;
    }
    ~handle() { reset(nullptr); }
    T *get() const noexcept { return p_; }
    T *release() noexcept { return std::exchange(p_, nullptr); }
    void reset(T *p) noexcept {
        if (p_) free_handle(p_);
        p_ = p;
    }
    explicit operator bool() const noexcept { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

/// An open file, shared by copies.
class shared_file {
public:
    shared_file() = default;
    explicit shared_file(tachyfits_file *p) noexcept : handle_(p) {}
    shared_file(const shared_file &other) {
        if (!other.handle_) return;
        call e;
        tachyfits_file *p = nullptr;
        e = tachyfits_file_copy(other.get(), &p, e);
        handle_.reset(p);
    }
    shared_file(shared_file &&) noexcept = default;
    shared_file &operator=(shared_file other) noexcept {
        handle_ = std::move(other.handle_);
        return *this;
    }
    const tachyfits_file *get() const noexcept { return handle_.get(); }

private:
    handle<tachyfits_file> handle_;
};

inline shared_file shared(tachyfits_file *p) { return shared_file(p); }

/// Whether a type is a complex number of floats, like std::complex; <complex> would take long to compile.
template <class T, class = void> struct is_complex : std::false_type {};
template <class T>
struct is_complex<T, std::void_t<typename T::value_type, decltype(std::declval<T>().real())>>
    : std::bool_constant<std::is_floating_point_v<typename T::value_type> &&
                         sizeof(T) == 2 * sizeof(typename T::value_type)> {};

/// Number of a C++ type in the C interface.
template <class T> constexpr int type_code() {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, float>) return TACHYFITS_FLOAT;
    else if constexpr (std::is_same_v<U, double>) return TACHYFITS_DOUBLE;
    else if constexpr (std::is_same_v<U, bool>) return TACHYFITS_BOOL;
    else if constexpr (is_complex<U>::value)
        return sizeof(U) == 8 ? TACHYFITS_COMPLEX_FLOAT : TACHYFITS_COMPLEX_DOUBLE;
    else {
        static_assert(std::is_integral_v<U>, "pixels and cells are numbers, bool or complex");
        constexpr bool is_signed = std::is_signed_v<U>;
        if constexpr (sizeof(U) == 1) return is_signed ? TACHYFITS_INT8 : TACHYFITS_UINT8;
        else if constexpr (sizeof(U) == 2) return is_signed ? TACHYFITS_INT16 : TACHYFITS_UINT16;
        else if constexpr (sizeof(U) == 4) return is_signed ? TACHYFITS_INT32 : TACHYFITS_UINT32;
        else return is_signed ? TACHYFITS_INT64 : TACHYFITS_UINT64;
    }
}

/// Calls `use` with a value of the type with this number.
template <class Use> auto with_type(int code, Use use) {
    switch (code) {
    case TACHYFITS_UINT8: return use(std::uint8_t());
    case TACHYFITS_INT8: return use(std::int8_t());
    case TACHYFITS_UINT16: return use(std::uint16_t());
    case TACHYFITS_INT16: return use(std::int16_t());
    case TACHYFITS_UINT32: return use(std::uint32_t());
    case TACHYFITS_INT32: return use(std::int32_t());
    case TACHYFITS_UINT64: return use(std::uint64_t());
    case TACHYFITS_INT64: return use(std::int64_t());
    case TACHYFITS_FLOAT: return use(float());
    default: return use(double());
    }
}

/// Converts numbers without loss; an error names the first number that does not fit.
template <class To, class From> To exact(From value, const char *what) {
    bool same = true;
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
        // 2^digits is the first number that is too large, and is exact as a float.
        constexpr From end = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
        same = value < end && value >= (std::is_signed_v<To> ? -end : From(0)) &&
               static_cast<From>(static_cast<To>(value)) == value;
    } else if constexpr (std::is_integral_v<To>) {
        const To to = static_cast<To>(value);
        same = static_cast<From>(to) == value && ((to < To{}) == (value < From{}));
    } else if constexpr (std::is_integral_v<From>) {
        // Floats represent all integers of up to `digits` bits.
        constexpr int digits = std::numeric_limits<To>::digits;
        if constexpr (std::numeric_limits<From>::digits > digits) {
            constexpr From most = From(1) << digits;
            same = value <= most && (!std::is_signed_v<From> || value >= From(0) - most);
        }
    }
    if (!same)
        throw usage("value-range",
                    std::string("invalid type for ") + what + ": expected a type that holds " +
                        std::to_string(value),
                    "read a wider type, or double");
    return static_cast<To>(value);
}

/// Formats the fewest digits that restore a number, but at least the digits that its type always preserves.
template <class T> std::string digits_of(T value) {
    if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else {
        char text[40];
#ifdef __cpp_lib_to_chars
        const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
        int digits = 0;
        for (const char *at = text; at != end && *at != 'e'; at++) digits += *at >= '0' && *at <= '9';
        digits = std::max(digits, std::numeric_limits<T>::digits10);
        return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr};
#else
        for (int digits = std::numeric_limits<T>::digits10;; digits++) {
            std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
            double same = 0;
            if (digits >= std::numeric_limits<T>::max_digits10 ||
                (std::sscanf(text, "%lf", &same) == 1 && static_cast<T>(same) == value))
                return text;
        }
#endif
    }
}

/// Whether a name ends in ".gz".
inline bool is_gzip(const std::string &path) {
    return path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0;
}

} // namespace detail

/// A range of pixels on one axis: first pixel, count and step.
struct range {
    std::uint64_t first = 0, count = 0;
    std::int64_t step = 1;
};

/// Ranges of all axes, NAXIS1 first; empty for the whole image.
using section = std::vector<range>;

/// A shape in the plane of NAXIS1 and NAXIS2; pixel centres are whole numbers from 0.
class region {
public:
    static region circle(double x, double y, double radius) {
        return region(TACHYFITS_CIRCLE, x, y, radius, radius, 0, {});
    }
    static region ellipse(double x, double y, double semi_x, double semi_y, double degrees = 0) {
        return region(TACHYFITS_ELLIPSE, x, y, semi_x, semi_y, degrees, {});
    }
    static region box(double x, double y, double width, double height, double degrees = 0) {
        return region(TACHYFITS_BOX, x, y, width, height, degrees, {});
    }
    static region polygon(std::vector<std::pair<double, double>> corners) {
        return region(TACHYFITS_POLYGON, 0, 0, 0, 0, 0, std::move(corners));
    }

    /// Returns the C struct, which refers to this object.
    tachyfits_region c() const {
        tachyfits_region r{};
        r.bytes = sizeof r;
        r.shape = shape_;
        r.x = x_, r.y = y_, r.a = a_, r.b = b_, r.angle = angle_;
        static_assert(sizeof(std::pair<double, double>) == 2 * sizeof(double));
        r.corners = corners_.empty() ? nullptr : &corners_.front().first;
        r.corner_count = corners_.size();
        return r;
    }

private:
    region(int shape, double x, double y, double a, double b, double angle,
           std::vector<std::pair<double, double>> corners)
        : shape_(shape), x_(x), y_(y), a_(a), b_(b), angle_(angle), corners_(std::move(corners)) {}
    int shape_;
    double x_, y_, a_, b_, angle_;
    std::vector<std::pair<double, double>> corners_;
};

/// Cancels operations from another thread.
class job {
public:
    job() {
        tachyfits_job *p = nullptr;
        detail::call e;
        e = tachyfits_job_new(&p, e);
        handle_.reset(p);
    }
    void cancel() const noexcept { tachyfits_job_cancel(handle_.get()); }
    const tachyfits_job *c() const noexcept { return handle_.get(); }

private:
    detail::handle<tachyfits_job> handle_;
};

/// Options for opening, reading and writing.
struct options {
    unsigned threads = 0;
    int storage = TACHYFITS_STORAGE_READ;
    std::uint32_t flags = 0;
    const tachyfits::job *job = nullptr;

    tachyfits_options c() const {
        tachyfits_options o{};
        o.bytes = sizeof o;
        o.threads = threads;
        o.storage = storage;
        o.flags = flags;
        o.job = job ? job->c() : nullptr;
        o.nulls = nullptr;
        o.encoding = nullptr;
        return o;
    }
    options with(std::uint32_t more) const {
        options o = *this;
        o.flags |= more;
        return o;
    }
};

/// Option to replace an existing file when the new one is complete: `d.write("out.fits", tachyfits::overwrite())`.
inline options overwrite() { return options().with(TACHYFITS_OVERWRITE); }

/// An array in FITS order: a(x, y, z), the first index varies fastest.
template <class T> class array {
public:
    array() = default;
    explicit array(std::vector<std::uint64_t> shape) : shape_(std::move(shape)) {
        std::uint64_t n = shape_.empty() ? 0 : 1;
        for (auto length : shape_) n *= length;
        values_.resize(static_cast<std::size_t>(n));
    }
    array(std::vector<std::uint64_t> shape, std::vector<T> values)
        : shape_(std::move(shape)), values_(std::move(values)) {}

    template <class... Index> T &operator()(Index... index) { return values_[place(index...)]; }
    template <class... Index> const T &operator()(Index... index) const {
        return values_[place(index...)];
    }
    T *data() noexcept { return values_.data(); }
    const T *data() const noexcept { return values_.data(); }
    std::size_t size() const noexcept { return values_.size(); }
    const std::vector<std::uint64_t> &shape() const noexcept { return shape_; }
    std::uint64_t length(std::size_t axis) const { return axis < shape_.size() ? shape_[axis] : 1; }
    auto begin() noexcept { return values_.begin(); }
    auto end() noexcept { return values_.end(); }
    auto begin() const noexcept { return values_.begin(); }
    auto end() const noexcept { return values_.end(); }
    const std::vector<T> &values() const noexcept { return values_; }
#ifdef __cpp_lib_span
    std::span<T> span() noexcept { return values_; }
    std::span<const T> span() const noexcept { return values_; }
#endif
#ifdef __cpp_lib_mdspan
    template <std::size_t Rank> auto mdspan() {
        std::array<std::size_t, Rank> lengths{};
        for (std::size_t n = 0; n < Rank; n++) lengths[n] = static_cast<std::size_t>(length(n));
        using extents = std::dextents<std::size_t, Rank>;
        return std::mdspan<T, extents, std::layout_left>(data(), extents(lengths));
    }
#endif

private:
    error outside(std::uint64_t index, std::size_t axis) const {
        return detail::usage("index",
                             "invalid index " + std::to_string(index) + " of axis " +
                                 std::to_string(axis) + ": expected less than " +
                                 std::to_string(length(axis)),
                             "count from 0");
    }
    template <class... Index> std::size_t place(Index... index) const {
        const std::array<std::uint64_t, sizeof...(Index)> at{static_cast<std::uint64_t>(index)...};
        std::uint64_t offset = 0, stride = 1;
        for (std::size_t n = 0; n < at.size(); n++) {
            if (at[n] >= length(n)) throw outside(at[n], n);
            offset += at[n] * stride;
            stride *= length(n);
        }
        return static_cast<std::size_t>(offset);
    }
    std::vector<std::uint64_t> shape_;
    std::vector<T> values_;
};

/// Statistics of pixels.
struct statistics {
    std::uint64_t count, undefined;
    double sum, mean, rms, std, min, max;
    std::int64_t min_position, max_position;
};

/// The cards of an HDU. The case of keywords is ignored; a long string is one card.
class header {
public:
    header() {
        detail::call e;
        tachyfits_header *p = nullptr;
        e = tachyfits_header_new(&p, e);
        handle_.reset(p);
    }
    explicit header(tachyfits_header *p) : handle_(p) {}
    /// Copies the header of an HDU.
    header(const tachyfits_file *file, std::size_t hdu) {
        detail::call e;
        tachyfits_header *p = nullptr;
        e = tachyfits_header_of(file, hdu, &p, e);
        handle_.reset(p);
    }
    header(const header &other) {
        detail::call e;
        tachyfits_header *p = nullptr;
        e = tachyfits_header_copy(other.c(), &p, e);
        handle_.reset(p);
    }
    header(header &&) noexcept = default;
    header &operator=(header other) noexcept {
        handle_ = std::move(other.handle_);
        return *this;
    }

    /// Returns the value of a card; empty if absent. T: bool, integers, floats, std::string.
    template <class T> std::optional<T> get(const std::string &keyword) const {
        detail::call e;
        const char *key = keyword.c_str();
        if constexpr (std::is_same_v<T, std::string>) {
            std::size_t length = 0;
            e = tachyfits_get_text(c(), key, nullptr, 0, &length, e);
            if (e.is_absent()) return std::nullopt;
            std::string text(length + 1, '\0');
            e = tachyfits_get_text(c(), key, text.data(), text.size(), nullptr, e);
            text.resize(length);
            return text;
        } else if constexpr (std::is_same_v<T, bool>) {
            int value = 0;
            e = tachyfits_get_logical(c(), key, &value, e);
            if (e.is_absent()) return std::nullopt;
            return value != 0;
        } else if constexpr (std::is_integral_v<T>) {
            std::int64_t value = 0;
            e = tachyfits_get_i64(c(), key, &value, e);
            if (e.is_absent()) return std::nullopt;
            return detail::exact<T>(value, key);
        } else {
            double value = 0;
            e = tachyfits_get_f64(c(), key, &value, e);
            if (e.is_absent()) return std::nullopt;
            return static_cast<T>(value);
        }
    }
    /// As in SFITSIO: NaN, 0, "" and false if the card is absent; svalue works for any card.
    double dvalue(const std::string &keyword) const {
        return get<double>(keyword).value_or(std::numeric_limits<double>::quiet_NaN());
    }
    long long llvalue(const std::string &keyword) const {
        return get<long long>(keyword).value_or(0);
    }
    std::string svalue(const std::string &keyword) const {
        const std::size_t at = index(keyword);
        return at < length() ? std::get<1>(card(at)) : std::string();
    }
    bool bvalue(const std::string &keyword) const { return get<bool>(keyword).value_or(false); }

    /// Sets a card, in place or at the end; without a comment the existing one stays.
    template <class T>
    header &update(const std::string &keyword, const T &value, const std::string &comment = "") {
        detail::call e;
        const char *key = keyword.c_str(), *text = comment.c_str();
        tachyfits_header *p = handle_.get();
        if constexpr (std::is_same_v<T, bool>)
            e = tachyfits_set_logical(p, key, value, text, e);
        else if constexpr (std::is_integral_v<T>)
            e = tachyfits_set_i64(p, key, detail::exact<std::int64_t>(value, key), text, e);
        else if constexpr (std::is_floating_point_v<T>)
            e = tachyfits_set_f64(p, key, static_cast<double>(value), text, e);
        else
            e = tachyfits_set_text(p, key, std::string(value).c_str(), text, e);
        return *this;
    }
    /// Adds lines of COMMENT or HISTORY.
    header &append(const std::string &keyword, const std::string &text) {
        detail::call e;
        e = tachyfits_add_commentary(handle_.get(), keyword.c_str(), text.c_str(), e);
        return *this;
    }
    header &erase(const std::string &keyword) {
        detail::call e;
        e = tachyfits_remove(handle_.get(), keyword.c_str(), e);
        return *this;
    }
    std::size_t length() const noexcept { return tachyfits_cards(c()); }
    /// Returns the number of the first card of a keyword; length() if absent.
    std::size_t index(const std::string &keyword) const {
        for (std::size_t n = 0; n < length(); n++)
            if (same(std::get<0>(card(n)), keyword)) return n;
        return length();
    }
    /// Returns keyword, value and comment of a card.
    std::tuple<std::string, std::string, std::string> card(std::size_t number) const {
        detail::call e;
        char *k = nullptr, *v = nullptr, *t = nullptr;
        e = tachyfits_card(c(), number, &k, &v, &t, e);
        if (e.is_absent())
            throw detail::usage("card",
                                "invalid card " + std::to_string(number) +
                                    ": expected less than " + std::to_string(length()),
                                "count cards from 0");
        detail::handle<char> keyword(k), value(v), comment(t);
        return {k, v, t};
    }
    /// Returns all cards, 80 characters each, for WCSLIB.
    std::string text() const {
        detail::call e;
        char *p = nullptr;
        e = tachyfits_header_text(c(), &p, e);
        detail::handle<char> owner(p);
        return p;
    }
    const tachyfits_header *c() const noexcept { return handle_.get(); }

private:
    static char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }
    static bool same(const std::string &one, const std::string &other) {
        if (one.size() != other.size()) return false;
        for (std::size_t n = 0; n < one.size(); n++)
            if (upper(one[n]) != upper(other[n])) return false;
        return true;
    }
    detail::handle<tachyfits_header> handle_;
};

/// An image of a file, read on use.
class image {
public:
    image(detail::shared_file file, std::size_t hdu) : file_(std::move(file)), hdu_(hdu) {
        detail::call e;
        facts_.bytes = sizeof facts_;
        e = tachyfits_describe(c(), hdu_, &facts_, e);
        shape_.resize(facts_.naxis);
        std::size_t naxis = 0;
        if (facts_.naxis)
            e = tachyfits_axes(c(), hdu_, shape_.data(), shape_.size(), &naxis, e);
    }

    /// Returns the lengths of the axes, NAXIS1 first.
    const std::vector<std::uint64_t> &shape() const noexcept { return shape_; }
    std::uint64_t length(std::size_t axis) const { return axis < shape_.size() ? shape_[axis] : 1; }
    std::uint64_t size() const noexcept { return facts_.pixels; }
    const tachyfits_facts &facts() const noexcept { return facts_; }
    tachyfits::header header() const { return tachyfits::header(c(), hdu_); }

    /// Reads pixels of a section: floats are physical values, NaN if undefined; integers must represent every value
    /// exactly.
    template <class T> array<T> read(const section &part = {}, const options &how = {}) const {
        array<T> pixels(shape_of(part));
        read_into(pixels.data(), pixels.size(), part, how);
        return pixels;
    }
    /// Reads pixels into memory of the caller, with space for `count` pixels.
    template <class T>
    void read_into(T *out, std::size_t count, const section &part = {}, const options &how = {}) const {
        constexpr int type = detail::type_code<T>();
        if constexpr (std::is_floating_point_v<T>)
            read_as(type, out, count * sizeof(T), part, how);
        else if (type == facts_.pixel_type && !facts_.is_scaled)
            read_as(type, out, count * sizeof(T), part, how);
        else
            convert(facts_.is_scaled ? TACHYFITS_DOUBLE : facts_.pixel_type, out, count, part, how);
    }
    /// Reads the stored numbers, without BSCALE, BZERO and BLANK.
    template <class T> array<T> read_stored(const section &part = {}, const options &how = {}) const {
        array<T> pixels(shape_of(part));
        const options stored = how.with(TACHYFITS_STORED);
        if (detail::type_code<T>() == facts_.stored_type)
            read_as(facts_.stored_type, pixels.data(), pixels.size() * sizeof(T), part, stored);
        else
            convert(facts_.stored_type, pixels.data(), pixels.size(), part, stored);
        return pixels;
    }
    /// Returns the physical value of one pixel; NaN if undefined.
    double dvalue(std::uint64_t x, std::uint64_t y = 0, std::uint64_t z = 0) const {
        double value = 0;
        read_into(&value, 1, pixel(x, y, z));
        return value;
    }
    /// Returns the stored number of one pixel, as double_value of SFITSIO.
    template <class T = double>
    T stored_value(std::uint64_t x, std::uint64_t y = 0, std::uint64_t z = 0) const {
        return read_stored<T>(pixel(x, y, z)).data()[0];
    }
    /// Reads pixels into memory with type and shape, in C order, for machine learning; call its deleter.
    DLManagedTensorVersioned *dlpack(int type = TACHYFITS_FLOAT, const section &part = {},
                                     const options &how = {}) const {
        const request q(*this, part, nullptr, how);
        detail::call e;
        DLManagedTensorVersioned *tensor = nullptr;
        e = tachyfits_read_dlpack(c(), hdu_, q.ranges(), type, &tensor, q.how(), e);
        return tensor;
    }

    statistics stats(const section &part = {}, const region *shape = nullptr,
                     const options &how = {}) const {
        const request q(*this, part, shape, how);
        detail::call e;
        tachyfits_stats s{};
        s.bytes = sizeof s;
        e = tachyfits_statistics(c(), hdu_, q.ranges(), q.region(), &s, q.how(), e);
        return {s.count, s.undefined, s.sum, s.mean, s.rms, s.std,
                s.min,   s.max,       s.min_position, s.max_position};
    }
    statistics stats(const region &shape) const { return stats({}, &shape); }
    /// Computes exact quantiles for fractions from 0 to 1.
    std::vector<double> quantiles(const std::vector<double> &fractions, const section &part = {},
                                  const region *shape = nullptr, const options &how = {}) const {
        const request q(*this, part, shape, how);
        detail::call e;
        std::vector<double> values(fractions.size());
        e = tachyfits_quantiles(c(), hdu_, q.ranges(), q.region(), fractions.data(), values.data(),
                                values.size(), q.how(), e);
        return values;
    }
    double median(const section &part = {}) const { return quantiles({0.5}, part).front(); }
    /// Counts pixels in equal bins, including the upper edge.
    std::vector<std::uint64_t> histogram(double low, double high, std::size_t bins,
                                         const section &part = {}, const region *shape = nullptr,
                                         const options &how = {}) const {
        const request q(*this, part, shape, how);
        detail::call e;
        std::vector<std::uint64_t> counts(bins);
        e = tachyfits_histogram(c(), hdu_, q.ranges(), q.region(), low, high, counts.data(),
                                counts.size(), nullptr, q.how(), e);
        return counts;
    }
    /// Reduces axes by a statistic ("sum", "mean", "median", …); the result has the other axes.
    array<double> reduce(const std::string &statistic, const std::vector<std::size_t> &axes,
                         const section &part = {}, const region *shape = nullptr,
                         const options &how = {}) const {
        const request q(*this, part, shape, how);
        std::vector<std::uint64_t> lengths;
        const auto whole = shape_of(part);
        for (std::size_t n = 0; n < whole.size(); n++) {
            bool reduced = false;
            for (auto axis : axes) reduced = reduced || axis == n;
            if (!reduced) lengths.push_back(whole[n]);
        }
        if (lengths.empty()) lengths.push_back(1);
        array<double> result(lengths);
        detail::call e;
        e = tachyfits_reduce(c(), hdu_, q.ranges(), q.region(), axes.data(), axes.size(),
                             statistic.c_str(), result.data(), result.size(), q.how(), e);
        return result;
    }
    array<double> sum(std::size_t axis) const { return reduce("sum", {axis}); }
    /// Computes a number for each plane: the mean of the pixels in a shape, or another statistic.
    array<double> spectrum(const region &shape, const std::string &statistic = "mean") const {
        return reduce(statistic, {0, 1}, {}, &shape);
    }

    /// Returns a section as a separate image, with its coordinates; read on use.
    image cut(const section &part) const {
        const request q(*this, part, nullptr, {});
        detail::call e;
        tachyfits_file *p = nullptr;
        e = tachyfits_cut(c(), hdu_, q.ranges(), &p, e);
        return image(detail::shared(p), 0);
    }
    /// Returns the image smoothed along an axis: "hanning", "boxcar" (width in pixels) or "gaussian" (its sigma);
    /// computed on reading.
    image smooth(std::size_t axis, const std::string &kernel = "hanning", double width = 3) const {
        detail::call e;
        tachyfits_file *p = nullptr;
        e = tachyfits_smooth(c(), hdu_, axis, kernel.c_str(), width, &p, e);
        return image(detail::shared(p), 0);
    }
    /// Returns the image with reordered axes: the new axis n is `order[n]`.
    image reorder(const std::vector<std::size_t> &order) const {
        detail::call e;
        tachyfits_file *p = nullptr;
        e = tachyfits_reorder(c(), hdu_, order.data(), order.size(), &p, e);
        return image(detail::shared(p), 0);
    }
    /// Returns the image with an axis reversed.
    image flip(std::size_t axis) const {
        section part = whole();
        if (axis < part.size() && part[axis].count > 0)
            part[axis] = {part[axis].count - 1, part[axis].count, -1};
        return cut(part);
    }
    /// Returns the image with x and y exchanged.
    image transpose_xy() const {
        std::vector<std::size_t> order;
        for (std::size_t n = 0; n < shape_.size(); n++) order.push_back(n < 2 ? 1 - n : n);
        return reorder(order);
    }
    /// Returns the image rotated by 90, -90 or 180 degrees, anticlockwise if x points right and y up.
    image rotate_xy(int degrees) const {
        switch (degrees) {
        case 0: return *this;
        case 90: case -270: return transpose_xy().flip(0);
        case -90: case 270: return transpose_xy().flip(1);
        case 180: case -180: return flip(0).flip(1);
        default:
            throw detail::usage("angle", "invalid angle " + std::to_string(degrees) +
                                             ": expected 90, -90 or 180",
                                "turn by right angles");
        }
    }
    /// Returns the same pixels with other cards, except those of structure and scaling.
    image with_header(const tachyfits::header &cards) const {
        detail::call e;
        tachyfits_file *p = nullptr;
        e = tachyfits_with_header(c(), hdu_, cards.c(), &p, e);
        return image(detail::shared(p), 0);
    }

    /// Reads all pixels as a type of the C interface, into memory of this size.
    void read_own(int type, void *out, std::size_t bytes) const { read_as(type, out, bytes, {}, {}); }

    const tachyfits_file *c() const noexcept { return file_.get(); }
    std::size_t hdu() const noexcept { return hdu_; }
    /// Returns the open file, which the image shares.
    const detail::shared_file &shared() const noexcept { return file_; }

private:
    /// C arguments for a section of the image.
    class request {
    public:
        request(const image &of, const section &part, const tachyfits::region *shape,
                const options &how)
            : o_(how.c()), has_region_(shape != nullptr) {
            if (!part.empty() && part.size() != of.shape_.size())
                throw detail::usage("section",
                                    "invalid section of " + std::to_string(part.size()) +
                                        " ranges: expected one for each axis, " +
                                        std::to_string(of.shape_.size()),
                                    "NAXIS1 is the first");
            for (const auto &r : part) ranges_.push_back({r.first, r.count, r.step});
            if (shape) region_ = shape->c();
        }
        const tachyfits_range *ranges() const { return ranges_.empty() ? nullptr : ranges_.data(); }
        const tachyfits_region *region() const { return has_region_ ? &region_ : nullptr; }
        const tachyfits_options *how() const { return &o_; }

    private:
        std::vector<tachyfits_range> ranges_;
        tachyfits_region region_{};
        tachyfits_options o_;
        bool has_region_;
    };

    std::vector<std::uint64_t> shape_of(const section &part) const {
        if (part.empty()) return shape_;
        std::vector<std::uint64_t> lengths;
        for (const auto &r : part) lengths.push_back(r.count);
        return lengths;
    }
    section whole() const {
        section part;
        for (auto length : shape_) part.push_back({0, length, 1});
        return part;
    }
    section pixel(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
        section part(shape_.size(), range{0, 1, 1});
        const std::uint64_t at[] = {x, y, z};
        for (std::size_t n = 0; n < part.size() && n < 3; n++) part[n].first = at[n];
        return part;
    }
    void read_as(int type, void *out, std::size_t bytes, const section &part,
                 const options &how) const {
        const request q(*this, part, nullptr, how);
        detail::call e;
        e = tachyfits_read(c(), hdu_, q.ranges(), type, out, bytes, q.how(), e);
    }
    template <class To>
    void convert(int type, To *out, std::size_t count, const section &part,
                 const options &how) const {
        detail::with_type(type, [&](auto own) {
            using From = decltype(own);
            std::vector<From> values(count);
            read_as(type, values.data(), count * sizeof(From), part, how);
            for (std::size_t n = 0; n < count; n++)
                if constexpr (std::is_floating_point_v<To>) out[n] = static_cast<To>(values[n]);
                else out[n] = detail::exact<To>(values[n], "pixels");
        });
    }

    detail::shared_file file_;
    std::size_t hdu_;
    tachyfits_facts facts_{};
    std::vector<std::uint64_t> shape_;
};

/// A table of a file, read on use.
class table {
public:
    table(detail::shared_file file, std::size_t hdu) : file_(std::move(file)), hdu_(hdu) {
        detail::call e;
        facts_.bytes = sizeof facts_;
        e = tachyfits_describe(c(), hdu_, &facts_, e);
    }

    /// A column of a table.
    class column {
    public:
        const tachyfits_column_facts &facts() const noexcept { return facts_; }
        std::string name() const { return facts_.name; }
        std::string unit() const { return facts_.unit; }
        std::string form() const { return facts_.form; }
        /// Returns the number of elements per cell; 0 for variable-length arrays.
        std::uint64_t elements() const noexcept { return facts_.elements; }
        bool is_text() const noexcept { return facts_.cell_type == TACHYFITS_TEXT; }

        /// Reads all cells, or those of some rows: numbers, bool, std::complex or std::string. Integers must represent
        /// every value.
        template <class T>
        std::vector<T> read(std::uint64_t first = 0,
                            std::uint64_t rows = std::numeric_limits<std::uint64_t>::max(),
                            const options &how = {}) const {
            rows = rows_from(first, rows);
            if constexpr (std::is_same_v<T, std::string>) {
                return texts(first, rows, how);
            } else if constexpr (std::is_same_v<T, bool>) {
                const auto bytes = cells<unsigned char>(TACHYFITS_BOOL, first, rows, how);
                return std::vector<bool>(bytes.begin(), bytes.end());
            } else {
                constexpr int type = detail::type_code<T>();
                if constexpr (std::is_integral_v<T>)
                    if (type != facts_.cell_type && facts_.cell_type <= TACHYFITS_DOUBLE)
                        return converted<T>(first, rows, how);
                return cells<T>(type, first, rows, how);
            }
        }
        /// Returns a byte for each element, 1 if it is null.
        std::vector<std::uint8_t> nulls(std::uint64_t first = 0,
                                        std::uint64_t rows = std::numeric_limits<std::uint64_t>::max(),
                                        const options &how = {}) const {
            rows = rows_from(first, rows);
            std::vector<std::uint8_t> flags(count(rows));
            std::vector<char> bytes(static_cast<std::size_t>(rows * facts_.cell_bytes));
            request(facts_.cell_type, bytes.data(), bytes.size(), flags.data(), first, rows, how);
            return flags;
        }
        /// Calls `use` with a vector of the cells in their own type: numbers, bool, std::string, or for complex numbers
        /// std::array<float, 2> or <double, 2>. `use` returns nothing.
        template <class Use>
        void visit(Use use, std::uint64_t first = 0,
                   std::uint64_t rows = std::numeric_limits<std::uint64_t>::max(),
                   const options &how = {}) const {
            rows = rows_from(first, rows);
            switch (facts_.cell_type) {
            case TACHYFITS_TEXT: return use(read<std::string>(first, rows, how));
            case TACHYFITS_BOOL: return use(read<bool>(first, rows, how));
            case TACHYFITS_COMPLEX_FLOAT:
                return use(cells<std::array<float, 2>>(facts_.cell_type, first, rows, how));
            case TACHYFITS_COMPLEX_DOUBLE:
                return use(cells<std::array<double, 2>>(facts_.cell_type, first, rows, how));
            default:
                return detail::with_type(facts_.cell_type, [&](auto own) {
                    use(cells<decltype(own)>(facts_.cell_type, first, rows, how));
                });
            }
        }
        /// Returns the elements of all cells, or of some rows, as text: numbers with the fewest digits, T and F,
        /// "(1,2)" for complex numbers; "" if null.
        template <class Text = std::string>
        std::vector<Text> svalues(std::uint64_t first = 0,
                                         std::uint64_t rows = std::numeric_limits<std::uint64_t>::max(),
                                         const options &how = {}) const {
            std::vector<Text> result;
            visit([&](const auto &values) {
                for (const auto &value : values) result.push_back(text_of(value));
            }, first, rows, how);
            if (facts_.is_nullable) {
                const auto flags = nulls(first, rows, how);
                for (std::size_t n = 0; n < flags.size(); n++)
                    if (flags[n]) result[n].clear();
            }
            return result;
        }
        double dvalue(std::uint64_t row, std::uint64_t element = 0) const {
            return read<double>(row, 1).at(static_cast<std::size_t>(element));
        }
        template <class Text = std::string>
        Text svalue(std::uint64_t row, std::uint64_t element = 0) const {
            return svalues<Text>(row, 1).at(static_cast<std::size_t>(element));
        }
        /// Reads the arrays of a variable-length column, as a number type that represents them.
        template <class T>
        std::vector<std::vector<T>> arrays(std::uint64_t first = 0,
                                           std::uint64_t rows = std::numeric_limits<std::uint64_t>::max(),
                                           const options &how = {}) const {
            rows = rows_from(first, rows);
            detail::call e;
            tachyfits_arrays raw{};
            const auto o = how.c();
            e = tachyfits_read_arrays(file_.get(), hdu_, index_, first, rows, &raw, &o, e);
            const struct owner {
                tachyfits_arrays *arrays;
                ~owner() { tachyfits_arrays_free(arrays); }
            } freed{&raw};
            std::vector<std::vector<T>> result(static_cast<std::size_t>(rows));
            if (raw.cell_type > TACHYFITS_DOUBLE)
                throw detail::usage("cell-type", "invalid type for " + name() + ": expected numbers",
                                    "see facts().form");
            detail::with_type(raw.cell_type, [&](auto own) {
                using From = decltype(own);
                const From *values = reinterpret_cast<const From *>(raw.values);
                for (std::size_t row = 0; row < result.size(); row++)
                    for (auto n = raw.offsets[row]; n < raw.offsets[row + 1]; n++)
                        result[row].push_back(detail::exact<T>(values[n], facts_.name));
            });
            return result;
        }

    private:
        friend class table;
        column(detail::shared_file file, std::size_t hdu, std::uint64_t rows, std::int32_t index)
            : file_(std::move(file)), hdu_(hdu), rows_(rows), index_(index) {
            detail::call e;
            facts_.bytes = sizeof facts_;
            e = tachyfits_column_describe(file_.get(), hdu_, index_, &facts_, e);
        }
        std::uint64_t rows_from(std::uint64_t first, std::uint64_t rows) const {
            const std::uint64_t rest = first < rows_ ? rows_ - first : 0;
            // The library reports rows beyond the end.
            return rows == std::numeric_limits<std::uint64_t>::max() ? rest : rows;
        }
        std::size_t count(std::uint64_t rows) const {
            return static_cast<std::size_t>(rows * facts_.elements);
        }
        void request(int type, void *values, std::size_t room, std::uint8_t *flags,
                     std::uint64_t first, std::uint64_t rows, const options &how) const {
            detail::call e;
            tachyfits_column r{};
            r.bytes = sizeof r;
            r.column = index_;
            r.cell_type = type;
            r.values = values;
            r.room = room;
            r.nulls = flags;
            const auto o = how.c();
            e = tachyfits_read_columns(file_.get(), hdu_, &r, 1, first, rows, &o, e);
        }
        template <class T>
        std::vector<T> cells(int type, std::uint64_t first, std::uint64_t rows,
                             const options &how) const {
            std::vector<T> values(count(rows));
            request(type, values.data(), values.size() * sizeof(T), nullptr, first, rows, how);
            return values;
        }
        std::vector<std::string> texts(std::uint64_t first, std::uint64_t rows,
                                       const options &how) const {
            const auto elements = facts_.elements ? facts_.elements : 1;
            const std::size_t each = static_cast<std::size_t>(facts_.cell_bytes / elements);
            std::vector<char> bytes(count(rows) * each);
            request(TACHYFITS_TEXT, bytes.data(), bytes.size(), nullptr, first, rows, how);
            std::vector<std::string> result;
            for (std::size_t n = 0; n < count(rows); n++) {
                const char *begin = bytes.data() + n * each;
                const void *end = each ? std::memchr(begin, 0, each) : nullptr;
                result.emplace_back(begin, end ? static_cast<const char *>(end) : begin + each);
            }
            return result;
        }
        template <class T>
        std::vector<T> converted(std::uint64_t first, std::uint64_t rows, const options &how) const {
            return detail::with_type(facts_.cell_type, [&](auto own) {
                std::vector<T> values;
                for (auto value : cells<decltype(own)>(facts_.cell_type, first, rows, how))
                    values.push_back(detail::exact<T>(value, facts_.name));
                return values;
            });
        }
        static std::string text_of(const std::string &text) { return text; }
        template <class T> static std::string text_of(const std::array<T, 2> &pair) {
            return "(" + detail::digits_of(pair[0]) + "," + detail::digits_of(pair[1]) + ")";
        }
        template <class T> static std::string text_of(const T &value) {
            if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
                return detail::digits_of(value);
            else
                return value ? "T" : "F";
        }

        detail::shared_file file_;
        std::size_t hdu_;
        std::uint64_t rows_;
        std::int32_t index_;
        tachyfits_column_facts facts_{};
    };

    /// Returns the number of rows.
    std::uint64_t length() const noexcept { return facts_.rows; }
    std::uint64_t columns() const noexcept { return facts_.columns; }
    std::int32_t index(const std::string &name) const {
        detail::call e;
        std::int32_t index = 0;
        e = tachyfits_column_find(c(), hdu_, name.c_str(), &index, e);
        return index;
    }
    column col(const std::string &name) const { return col(index(name)); }
    column col(std::int32_t index) const { return column(file_, hdu_, length(), index); }
    tachyfits::header header() const { return tachyfits::header(c(), hdu_); }
    /// Returns the numbers of the rows that satisfy a condition, such as "PI > 30 && GRADE == 0".
    std::vector<std::uint64_t> rows_where(const std::string &condition, const options &how = {}) const {
        detail::call e;
        std::uint64_t *p = nullptr;
        std::size_t count = 0;
        const auto o = how.c();
        e = tachyfits_rows_where(c(), hdu_, condition.c_str(), 0, length(), &p, &count, &o, e);
        std::vector<std::uint64_t> rows(p, p + count);
        tachyfits_rows_free(p, count);
        return rows;
    }
    /// Reads columns of one type in one pass over the rows: `auto [ra, dec] = t.read<double>("RA", "DEC")`.
    template <class T, class... Names> auto read(const Names &...names) const {
        constexpr std::size_t n = sizeof...(names);
        const std::array<std::string, n> requested{std::string(names)...};
        std::array<std::vector<T>, n> values;
        std::array<tachyfits_column, n> requests{};
        for (std::size_t i = 0; i < n; i++) {
            const column one = col(requested[i]);
            values[i].resize(static_cast<std::size_t>(length() * one.elements()));
            requests[i].bytes = sizeof(tachyfits_column);
            requests[i].column = one.index_;
            requests[i].cell_type = detail::type_code<T>();
            requests[i].values = values[i].data();
            requests[i].room = values[i].size() * sizeof(T);
        }
        detail::call e;
        e = tachyfits_read_columns(c(), hdu_, requests.data(), n, 0, length(), nullptr, e);
        return values;
    }
    /// Exports columns (all without names) of the rows that satisfy a condition, as an Arrow stream; call its release.
    ArrowArrayStream arrow(const std::vector<std::string> &names = {}, const std::string &condition = "",
                           std::uint64_t batch_rows = 0, const options &how = {}) const {
        std::vector<std::int32_t> numbers;
        for (const auto &name : names) numbers.push_back(index(name));
        detail::call e;
        ArrowArrayStream stream{};
        const auto o = how.c();
        e = tachyfits_export_arrow(c(), hdu_, numbers.empty() ? nullptr : numbers.data(),
                                   numbers.size(), condition.empty() ? nullptr : condition.c_str(),
                                   0, length(), batch_rows, &stream, &o, e);
        return stream;
    }

    const tachyfits_file *c() const noexcept { return file_.get(); }
    std::size_t hdu() const noexcept { return hdu_; }
    /// Returns the open file, which the table shares.
    const detail::shared_file &shared() const noexcept { return file_; }

private:
    detail::shared_file file_;
    std::size_t hdu_;
    tachyfits_facts facts_{};
};

/// An open file, shared by its copies.
class file {
public:
    /// Opens a file. A section after the name, counted from 1 as in FITS, selects one image: "m31.fits[1:100,*]", or
    /// "m31.fits[SCI][*,-*]" with the name or number of an HDU.
    explicit file(const std::string &path, const options &how = {});
    /// Opens the bytes of a file.
    static file of_bytes(const void *bytes, std::size_t count, const std::string &name = "memory") {
        detail::call e;
        tachyfits_file *p = nullptr;
        e = tachyfits_open_memory(static_cast<const std::uint8_t *>(bytes), count, name.c_str(),
                                  nullptr, &p, e);
        return file(detail::shared(p));
    }
#ifdef __cpp_lib_expected
    /// Opens a file, or returns the error.
    static std::expected<file, error> try_open(const std::string &path, const options &how = {}) {
        try {
            return file(path, how);
        } catch (const error &e) {
            return std::unexpected(e);
        }
    }
#endif

    /// Returns the number of HDUs.
    std::size_t length() const noexcept { return tachyfits_hdus(file_.get()); }
    /// Returns the index of an HDU by EXTNAME; "Primary" is the first one.
    std::size_t index(const std::string &name, std::int64_t version = 0) const {
        if (name == "Primary" || name == "PRIMARY") return 0;
        detail::call e;
        std::size_t hdu = 0;
        e = tachyfits_find(file_.get(), name.c_str(), version, &hdu, e);
        return hdu;
    }
    tachyfits_facts facts(std::size_t hdu) const {
        detail::call e;
        tachyfits_facts f{};
        f.bytes = sizeof f;
        e = tachyfits_describe(file_.get(), hdu, &f, e);
        return f;
    }
    tachyfits::image image(std::size_t hdu) const { return {file_, hdu}; }
    tachyfits::image image(const std::string &name) const { return {file_, index(name)}; }
    tachyfits::table table(std::size_t hdu) const { return {file_, hdu}; }
    tachyfits::table table(const std::string &name) const { return {file_, index(name)}; }
    tachyfits::header header(std::size_t hdu = 0) const { return {file_.get(), hdu}; }
    tachyfits::header header(const std::string &name) const { return header(index(name)); }
    std::vector<std::string> warnings() const {
        std::vector<std::string> texts;
        for (std::size_t n = 0;; n++) {
            detail::handle<char> text(tachyfits_warning(file_.get(), n));
            if (!text) return texts;
            texts.emplace_back(text.get());
        }
    }
    const tachyfits_file *c() const noexcept { return file_.get(); }
    const detail::shared_file &shared() const noexcept { return file_; }

private:
    explicit file(detail::shared_file p) : file_(std::move(p)) {}
    detail::shared_file file_;
};

namespace detail {

/// Opens the file of a name without a section.
inline shared_file opened(const std::string &path, const options &how) {
    call e;
    tachyfits_file *p = nullptr;
    const auto o = how.c();
    e = tachyfits_open(path.c_str(), &o, &p, e);
    return shared(p);
}

inline error bad_section(const std::string &text) {
    return usage("section", "invalid section '" + text + "': expected ranges such as 1:100, * or -*",
                 "write a range for each axis, counted from 1: x.fits[1:100,*]");
}

/// Parses a number of a section at `at`, and moves `at` past it.
inline std::int64_t section_number(const std::string &text, std::size_t &at) {
    std::int64_t value = 0;
    const std::size_t begin = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at - begin < 18; at++)
        value = 10 * value + (text[at] - '0');
    if (at == begin) throw bad_section(text);
    return value;
}

/// Parses a section such as "1:100:2,-*".
inline section section_of(const std::string &text, const std::vector<std::uint64_t> &shape) {
    section part;
    std::size_t at = 0;
    for (auto length : shape) {
        if (!part.empty() && (at >= text.size() || text[at++] != ',')) throw bad_section(text);
        range r{0, length, 1};
        const bool backwards = text.compare(at, 2, "-*") == 0;
        if (backwards || text.compare(at, 1, "*") == 0) {
            at += backwards ? 2 : 1;
            if (backwards && length > 0) r = {length - 1, length, -1};
        } else {
            const std::int64_t first = section_number(text, at);
            std::int64_t last = first, step = 1;
            if (text.compare(at, 1, ":") == 0) last = section_number(text, ++at);
            if (text.compare(at, 1, ":") == 0) step = section_number(text, ++at);
            const std::int64_t distance = last > first ? last - first : first - last;
            if (first < 1 || last < 1 || step < 1) throw bad_section(text);
            r = {static_cast<std::uint64_t>(first - 1),
                 static_cast<std::uint64_t>(distance / step + 1), last < first ? -step : step};
        }
        part.push_back(r);
    }
    if (at != text.size()) throw bad_section(text);
    return part;
}

} // namespace detail

inline file::file(const std::string &path, const options &how) {
    std::vector<std::string> brackets;
    std::string name = path;
    for (std::size_t open; !name.empty() && name.back() == ']' && brackets.size() < 2;
         name.erase(open)) {
        open = name.rfind('[');
        if (open == std::string::npos || open == 0) break;
        brackets.push_back(name.substr(open + 1, name.size() - open - 2));
    }
    if (brackets.empty()) {
        file_ = detail::opened(path, how);
        return;
    }
    try {
        // A file name may contain brackets.
        file_ = detail::opened(path, how);
        return;
    } catch (const error &e) {
        if (e.kind() != kind::io) throw;
    }
    file_ = detail::opened(name, how);
    const std::string &hdu = brackets.back();
    const bool is_number = hdu.find_first_not_of("0123456789") == std::string::npos;
    std::size_t at = 0;
    if (brackets.size() == 2)
        at = is_number ? static_cast<std::size_t>(detail::section_number(hdu, at = 0)) : index(hdu);
    const auto of = image(at);
    file_ = of.cut(detail::section_of(brackets.front(), of.shape())).shared();
}

/// Creates an image from an expression of named images: `evaluate("a - b", {{"a", one}, {"b", other}})`; computed on
/// reading.
inline image evaluate(const std::string &expression,
                      const std::vector<std::pair<std::string, image>> &inputs) {
    std::vector<const char *> names;
    std::vector<const tachyfits_file *> files;
    std::vector<std::size_t> hdus;
    for (const auto &input : inputs) {
        names.push_back(input.first.c_str());
        files.push_back(input.second.c());
        hdus.push_back(input.second.hdu());
    }
    detail::call e;
    tachyfits_file *p = nullptr;
    e = tachyfits_evaluate(expression.c_str(), names.data(), files.data(), hdus.data(),
                           names.size(), &p, e);
    return image(detail::shared(p), 0);
}

/// Columns of a new table, cell after cell: `new_table().add("RA", ra, "deg").add("NAME", names)`.
class new_table {
public:
    /// Adds a column of numbers, bool, std::complex or std::string, with `elements` values per cell.
    template <class T>
    new_table &add(const std::string &name, const std::vector<T> &values, const std::string &unit = "",
                   std::size_t elements = 1) {
        content c;
        c.name = name, c.unit = unit;
        std::size_t width = elements = elements ? elements : 1;
        if constexpr (std::is_same_v<T, std::string>) {
            if (elements > 1)
                throw detail::usage("elements", "invalid elements " + std::to_string(elements) +
                                                    " of text: expected 1",
                                    "write a column for each string");
            std::size_t longest = 1;
            for (const auto &text : values) longest = text.size() > longest ? text.size() : longest;
            for (const auto &text : values) {
                c.bytes += text;
                c.bytes.append(longest - text.size(), '\0');
            }
            width = longest;
        } else if constexpr (std::is_same_v<T, bool>) {
            for (bool value : values) c.bytes.push_back(value ? 1 : 0);
        } else if (!values.empty()) {
            c.bytes.assign(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
        }
        c.form = std::to_string(width) + letter<T>();
        const std::uint64_t rows = values.size() / elements;
        if (!columns_.empty() && rows != rows_)
            throw detail::usage("rows", "invalid column '" + name + "' of " + std::to_string(rows) +
                                            " cells: expected " + std::to_string(rows_),
                                "give all columns as many cells");
        rows_ = rows;
        columns_.push_back(std::move(c));
        return *this;
    }
    std::uint64_t length() const noexcept { return rows_; }

private:
    friend class writer;
    struct content {
        std::string name, form, unit, bytes;
    };
    template <class T> static char letter() {
        if constexpr (std::is_same_v<T, std::string>) return 'A';
        else
            switch (detail::type_code<T>()) {
            case TACHYFITS_BOOL: return 'L';
            case TACHYFITS_UINT8: return 'B';
            case TACHYFITS_INT8: return 'S';
            case TACHYFITS_UINT16: return 'U';
            case TACHYFITS_INT16: return 'I';
            case TACHYFITS_UINT32: return 'V';
            case TACHYFITS_INT32: return 'J';
            case TACHYFITS_UINT64: return 'W';
            case TACHYFITS_INT64: return 'K';
            case TACHYFITS_FLOAT: return 'E';
            case TACHYFITS_COMPLEX_FLOAT: return 'C';
            case TACHYFITS_COMPLEX_DOUBLE: return 'M';
            default: return 'D';
            }
    }
    std::vector<content> columns_;
    std::uint64_t rows_ = 0;
};

/// A new file, written HDU by HDU, which appears under its name with commit(). A name that ends in ".gz" compresses it.
class writer {
public:
    explicit writer(const std::string &path, const options &how = {}) {
        detail::call e;
        tachyfits_writer *p = nullptr;
        const auto o = how.with(detail::is_gzip(path) ? TACHYFITS_GZIP : 0u).c();
        e = tachyfits_create(path.c_str(), &o, &p, e);
        handle_.reset(p);
    }
    /// Creates a temporary file without a name, for open().
    writer() {
        detail::call e;
        tachyfits_writer *p = nullptr;
        e = tachyfits_create(nullptr, nullptr, &p, e);
        handle_.reset(p);
    }
    template <class T>
    writer &append_image(const array<T> &pixels, const header &cards = {},
                         const char *compression = nullptr, const options &how = {},
                         const tachyfits_encoding *encoding = nullptr) {
        detail::call e;
        auto o = how.c();
        o.encoding = encoding;
        e = tachyfits_write_image(handle_.get(), cards.c(), detail::type_code<T>(),
                                  pixels.shape().size(), pixels.shape().data(), pixels.data(),
                                  pixels.size() * sizeof(T), compression, &o, e);
        return *this;
    }
    writer &append_table(const new_table &table, const header &cards = {}, const options &how = {}) {
        detail::call e;
        std::vector<tachyfits_new_column> columns;
        std::vector<tachyfits_cells> cells;
        for (const auto &column : table.columns_) {
            tachyfits_new_column c{};
            c.bytes = sizeof c;
            c.name = column.name.c_str(), c.form = column.form.c_str(), c.unit = column.unit.c_str();
            columns.push_back(c);
            cells.push_back({column.bytes.data(), column.bytes.size(), nullptr, nullptr});
        }
        const auto o = how.c();
        e = tachyfits_begin_table(handle_.get(), cards.c(), columns.data(), columns.size(), e);
        e = tachyfits_write_rows(handle_.get(), cells.data(), cells.size(), table.rows_, &o, e);
        e = tachyfits_end_table(handle_.get(), e);
        return *this;
    }
    /// Copies an image or table of a file, which may be computed.
    template <class Hdu> writer &append_copy(const Hdu &from, const options &how = {}) {
        return append_copy(from.c(), from.hdu(), nullptr, how);
    }
    /// Copies an HDU of a file, with other cards if `cards` is not NULL.
    writer &append_copy(const tachyfits_file *from, std::size_t hdu, const header *cards,
                        const options &how = {}) {
        detail::call e;
        const auto o = how.c();
        e = tachyfits_copy_with_header(handle_.get(), from, hdu, cards ? cards->c() : nullptr, &o, e);
        return *this;
    }
    void commit() {
        detail::call e;
        e = tachyfits_commit(handle_.release(), e);
    }
    /// Completes the file and opens it.
    detail::shared_file open() {
        detail::call e;
        tachyfits_file *p = nullptr;
        e = tachyfits_commit_open(handle_.release(), &p, e);
        return detail::shared(p);
    }
    tachyfits_writer *c() noexcept { return handle_.get(); }

private:
    detail::handle<tachyfits_writer> handle_;
};

/// Changes of an existing file, committed together: all, or none.
class editor {
public:
    explicit editor(const std::string &path) {
        detail::call e;
        tachyfits_editor *p = nullptr;
        e = tachyfits_edit(path.c_str(), &p, e);
        handle_.reset(p);
    }
    /// Sets a card; without a comment the existing one stays.
    template <class T>
    editor &update(std::size_t hdu, const std::string &keyword, const T &value,
                   const std::string &comment = "") {
        detail::call e;
        const char *key = keyword.c_str(), *text = comment.c_str();
        tachyfits_editor *p = handle_.get();
        if constexpr (std::is_same_v<T, bool>)
            e = tachyfits_edit_logical(p, hdu, key, value, text, e);
        else if constexpr (std::is_integral_v<T>)
            e = tachyfits_edit_i64(p, hdu, key, detail::exact<std::int64_t>(value, key), text, e);
        else if constexpr (std::is_floating_point_v<T>)
            e = tachyfits_edit_f64(p, hdu, key, static_cast<double>(value), text, e);
        else
            e = tachyfits_edit_text(p, hdu, key, std::string(value).c_str(), text, e);
        return *this;
    }
    editor &erase(std::size_t hdu, const std::string &keyword) {
        detail::call e;
        e = tachyfits_edit_remove(handle_.get(), hdu, keyword.c_str(), e);
        return *this;
    }
    /// Replaces the pixels of a section: floats are physical values, integers must have the image's own type.
    template <class T>
    editor &assign(std::size_t hdu, const section &part, const array<T> &pixels) {
        detail::call e;
        std::vector<tachyfits_range> ranges;
        for (const auto &r : part) ranges.push_back({r.first, r.count, r.step});
        e = tachyfits_edit_pixels(handle_.get(), hdu, ranges.empty() ? nullptr : ranges.data(),
                                  ranges.size(), detail::type_code<T>(), pixels.data(),
                                  pixels.size() * sizeof(T), nullptr, e);
        return *this;
    }
    /// Replaces cells of a column from row `first`, in the column's own type.
    template <class T>
    editor &assign(std::size_t hdu, std::int32_t column, std::uint64_t first, std::uint64_t rows,
                   const std::vector<T> &values) {
        detail::call e;
        const tachyfits_cells cells{values.data(), values.size() * sizeof(T), nullptr, nullptr};
        e = tachyfits_edit_cells(handle_.get(), hdu, column, nullptr, first, rows, &cells, nullptr, e);
        return *this;
    }
    void commit(const options &how = {}) {
        detail::call e;
        const auto o = how.c();
        e = tachyfits_edit_commit(handle_.release(), &o, e);
    }
    tachyfits_editor *c() noexcept { return handle_.get(); }

private:
    detail::handle<tachyfits_editor> handle_;
};

class document;

/// An HDU of a document. Its pixels stay on disk until one of them is changed; sections, rotations and other changes of
/// the whole image are computed on reading or writing.
class document_hdu {
public:
    document_hdu(detail::shared_file file, std::size_t hdu) : file_(std::move(file)), hdu_(hdu) {}
    document_hdu(const document_hdu &) = delete;
    document_hdu &operator=(const document_hdu &) = delete;

    /// Returns the cards; their state at the time of writing is written, except those of structure and scaling.
    tachyfits::header &header() {
        if (!header_) header_.emplace(file_.get(), hdu_);
        return *header_;
    }
    /// Returns EXTNAME, or "Primary".
    std::string name() const {
        const auto cards = header_ ? *header_ : tachyfits::header(file_.get(), hdu_);
        const std::string extname = cards.svalue("EXTNAME");
        return extname.empty() && is_first_ ? "Primary" : extname;
    }
    /// TACHYFITS_HDU_…
    int kind() const { return stored().facts().kind; }
    bool is_table() const {
        return kind() == TACHYFITS_HDU_BINARY_TABLE || kind() == TACHYFITS_HDU_ASCII_TABLE;
    }

    // Reading.

    const std::vector<std::uint64_t> &shape() const { return pixels_ ? pixels_->shape : stored().shape(); }
    std::uint64_t length(std::size_t axis) const {
        return axis < shape().size() ? shape()[axis] : 1;
    }
    std::uint64_t x_length() const { return length(0); }
    std::uint64_t y_length() const { return length(1); }
    std::uint64_t z_length() const { return length(2); }
    /// Returns the present image, with its cards, for reading, measuring or an expression.
    tachyfits::image view() {
        settle();
        return header_ ? stored().with_header(*header_) : stored();
    }
    template <class T> array<T> read(const section &part = {}, const options &how = {}) {
        return current().read<T>(part, how);
    }
    double dvalue(std::uint64_t x, std::uint64_t y = 0, std::uint64_t z = 0) const {
        return pixels_ ? pixels_->at(place(x, y, z)) : stored().dvalue(x, y, z);
    }
    /// Returns the stored number, without BSCALE and BZERO.
    template <class T = double>
    T stored_value(std::uint64_t x, std::uint64_t y = 0, std::uint64_t z = 0) {
        return current().template stored_value<T>(x, y, z);
    }
    statistics stats(const section &part = {}) { return current().stats(part); }
    double median(const section &part = {}) { return current().median(part); }
    /// Returns a section as an image, with its coordinates.
    tachyfits::image copy(const section &part = {}) { return part.empty() ? view() : view().cut(part); }
    /// Combines the layers (axis 2) by a statistic: "mean", "median", "sum", "min", "max", …
    array<double> combine_layers(const std::string &statistic = "mean") {
        return current().reduce(statistic, {2});
    }

    // Changes of pixels: values of integer images are rounded to nearest on writing, and must fit.

    document_hdu &assign(double value, std::uint64_t x, std::uint64_t y = 0, std::uint64_t z = 0) {
        load().set(place(x, y, z), value);
        return *this;
    }
    document_hdu &fill(double value, const section &part = {}) {
        return apply([value](double) { return value; }, part);
    }
    /// Replaces every pixel of a section by the result of a function of its value.
    template <class Function> document_hdu &apply(Function function, const section &part = {}) {
        auto &pixels = load();
        each(part, [&](std::size_t at) { pixels.set(at, function(pixels.at(at))); });
        return *this;
    }
    /// Pastes an image at a position; pixels beyond the edges are ignored.
    template <class Image, class = decltype(std::declval<const Image &>().facts())>
    document_hdu &paste(const Image &from, std::uint64_t x = 0, std::uint64_t y = 0,
                        std::uint64_t z = 0) {
        const bool is_wide = load().type != TACHYFITS_DOUBLE;
        if (!is_wide) return paste(from.template read<double>(), x, y, z);
        if (pixels_->type == TACHYFITS_INT64)
            return paste(from.template read<std::int64_t>(), x, y, z);
        return paste(from.template read<std::uint64_t>(), x, y, z);
    }
    template <class T>
    document_hdu &paste(const array<T> &from, std::uint64_t x = 0, std::uint64_t y = 0,
                        std::uint64_t z = 0) {
        auto &pixels = load();
        const std::uint64_t width = from.length(0), height = from.length(1);
        const std::uint64_t first[] = {x, y, z};
        for (std::uint64_t n = 0; n < from.size(); n++) {
            const std::uint64_t at[] = {n % width, n / width % height, n / width / height};
            std::uint64_t to[3];
            bool inside = true;
            for (int axis = 0; axis < 3; axis++) {
                to[axis] = first[axis] + at[axis];
                inside = inside && to[axis] < length(static_cast<std::size_t>(axis));
            }
            if (inside) pixels.set(place(to[0], to[1], to[2]), from.data()[n]);
        }
        return *this;
    }
    /// Lengthens or shortens an axis; new pixels are 0. An axis after the last one may be added.
    document_hdu &resize(std::size_t axis, std::uint64_t length) {
        auto &pixels = load();
        auto shape = pixels.shape;
        if (axis > shape.size() || axis > 2)
            throw detail::usage("axis", "invalid axis " + std::to_string(axis) +
                                            ": expected 0, 1 or 2, at most the axis after the last one",
                                "add axes one after another");
        if (axis == shape.size()) shape.push_back(1);
        shape[axis] = length;
        const changed old = std::exchange(pixels, changed(pixels.type, shape));
        const std::uint64_t width = old.length(0), height = old.length(1);
        for (std::size_t n = 0; n < old.size(); n++) {
            const std::uint64_t at[] = {n % width, n / width % height, n / width / height};
            if (at[0] < this->length(0) && at[1] < this->length(1) && at[2] < this->length(2))
                pixels.take(place(at[0], at[1], at[2]), old, n);
        }
        return *this;
    }

    // Changes of the whole image, with its coordinates.

    document_hdu &crop(const section &part) { return become(view().cut(part)); }
    document_hdu &flip(std::size_t axis) { return become(view().flip(axis)); }
    document_hdu &transpose_xy() { return become(view().transpose_xy()); }
    document_hdu &rotate_xy(int degrees) { return become(view().rotate_xy(degrees)); }
    /// Stores pixels as a type: with BZERO and BSCALE for integers, unless they are 0 and 1.
    template <class T> document_hdu &convert_type(double zero = 0, double scale = 1) {
        load();
        encoding_.pixel_type = detail::type_code<T>();
        encoding_.zero = zero, encoding_.scale = scale;
        encoding_.is_scaled = zero < 0 || zero > 0 || scale < 1 || scale > 1;
        encoding_.has_blank = encoding_.has_blank && std::is_integral_v<T>;
        return *this;
    }
    /// Sets BLANK, the stored integer of undefined pixels.
    document_hdu &assign_blank(std::int64_t blank) {
        load();
        encoding_.has_blank = 1;
        encoding_.blank = blank;
        return *this;
    }

private:
    friend class document;

    /// Pixels in memory: physical values, or 64-bit integers that doubles cannot represent.
    struct changed {
        int type;
        std::vector<std::uint64_t> shape;
        array<double> real;
        array<std::int64_t> whole;
        array<std::uint64_t> natural;

        changed(int code, const std::vector<std::uint64_t> &lengths) : type(code), shape(lengths) {
            if (type == TACHYFITS_INT64) whole = array<std::int64_t>(lengths);
            else if (type == TACHYFITS_UINT64) natural = array<std::uint64_t>(lengths);
            else real = array<double>(lengths);
        }
        std::size_t size() const { return real.size() + whole.size() + natural.size(); }
        void *data() {
            if (type == TACHYFITS_INT64) return whole.data();
            return type == TACHYFITS_UINT64 ? static_cast<void *>(natural.data()) : real.data();
        }
        std::uint64_t length(std::size_t axis) const { return axis < shape.size() ? shape[axis] : 1; }
        double at(std::size_t n) const {
            if (type == TACHYFITS_INT64) return static_cast<double>(whole.data()[n]);
            if (type == TACHYFITS_UINT64) return static_cast<double>(natural.data()[n]);
            return real.data()[n];
        }
        template <class T> void set(std::size_t n, T value) {
            if (type == TACHYFITS_INT64) whole.data()[n] = detail::exact<std::int64_t>(value, "pixels");
            else if (type == TACHYFITS_UINT64)
                natural.data()[n] = detail::exact<std::uint64_t>(value, "pixels");
            else real.data()[n] = static_cast<double>(value);
        }
        void take(std::size_t n, const changed &from, std::size_t at) {
            if (type == TACHYFITS_INT64) whole.data()[n] = from.whole.data()[at];
            else if (type == TACHYFITS_UINT64) natural.data()[n] = from.natural.data()[at];
            else real.data()[n] = from.real.data()[at];
        }
        void append_to(writer &to, const tachyfits::header &cards, const tachyfits_encoding &as,
                       const options &how) const {
            if (type == TACHYFITS_INT64) to.append_image(whole, cards, nullptr, how, &as);
            else if (type == TACHYFITS_UINT64) to.append_image(natural, cards, nullptr, how, &as);
            else to.append_image(real, cards, nullptr, how, &as);
        }
    };

    const tachyfits::image &stored() const {
        if (!stored_) stored_.emplace(file_, hdu_);
        return *stored_;
    }
    std::size_t place(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
        const std::uint64_t at[] = {x, y, z};
        for (std::size_t axis = 0; axis < 3; axis++)
            if (at[axis] >= length(axis))
                throw detail::usage("index", "invalid index " + std::to_string(at[axis]) +
                                                 " of axis " + std::to_string(axis) +
                                                 ": expected less than " + std::to_string(length(axis)),
                                    "count from 0");
        return static_cast<std::size_t>((z * length(1) + y) * length(0) + x);
    }
    template <class Use> void each(const section &part, Use use) const {
        section all;
        for (std::size_t axis = 0; axis < 3; axis++)
            all.push_back(axis < part.size() ? part[axis] : range{0, part.empty() ? length(axis) : 1, 1});
        for (std::uint64_t k = 0; k < all[2].count; k++)
            for (std::uint64_t j = 0; j < all[1].count; j++)
                for (std::uint64_t i = 0; i < all[0].count; i++)
                    use(place(of(all[0], i), of(all[1], j), of(all[2], k)));
    }
    static std::uint64_t of(const range &r, std::uint64_t n) {
        return r.first + n * static_cast<std::uint64_t>(r.step ? r.step : 1);
    }
    /// Returns the pixels in memory, for changes.
    changed &load() {
        if (pixels_) {
            is_settled_ = false;
            return *pixels_;
        }
        const auto &f = stored().facts();
        if (f.kind != TACHYFITS_HDU_IMAGE || f.naxis > 3)
            throw detail::usage("image", "invalid HDU: expected an image of 1 to 3 axes",
                                "see kind() and shape()");
        const bool is_wide = f.pixel_type == TACHYFITS_INT64 || f.pixel_type == TACHYFITS_UINT64;
        if (is_wide && f.is_scaled)
            throw detail::usage("image", "invalid image of scaled 64-bit integers: their values are not exact",
                                "write them as floats: copy the values by read<double>()");
        encoding_ = {};
        encoding_.bytes = sizeof encoding_;
        encoding_.pixel_type = f.pixel_type;
        encoding_.is_scaled = f.is_scaled;
        encoding_.has_blank = f.has_blank;
        encoding_.scale = f.scale, encoding_.zero = f.zero, encoding_.blank = f.blank;
        changed pixels(is_wide ? f.pixel_type : TACHYFITS_DOUBLE, stored().shape());
        stored().read_own(pixels.type, pixels.data(), pixels.size() * sizeof(double));
        pixels_.emplace(std::move(pixels));
        is_settled_ = false;
        return *pixels_;
    }
    /// Writes changed pixels to a temporary file, so that the engine can read them.
    void settle() {
        if (!pixels_ || is_settled_) return;
        writer temporary;
        pixels_->append_to(temporary, header(), encoding_, {});
        file_ = temporary.open();
        hdu_ = 0;
        stored_.reset();
        is_settled_ = true;
    }
    const tachyfits::image &current() {
        settle();
        return stored();
    }
    document_hdu &become(const tachyfits::image &other) {
        file_ = other.shared();
        hdu_ = other.hdu();
        stored_.reset();
        pixels_.reset();
        // References to the header must stay valid.
        if (header_) *header_ = tachyfits::header(file_.get(), hdu_);
        return *this;
    }
    void append_to(writer &to, const options &how) {
        if (pixels_ && !is_settled_) pixels_->append_to(to, header(), encoding_, how);
        else to.append_copy(file_.get(), hdu_, header_ ? &*header_ : nullptr, how);
    }

    detail::shared_file file_;
    std::size_t hdu_;
    bool is_first_ = false;
    mutable std::optional<tachyfits::image> stored_;
    std::optional<tachyfits::header> header_;
    std::optional<changed> pixels_;
    bool is_settled_ = false;
    tachyfits_encoding encoding_{};
};

/// A whole file to be changed and written, as in SFITSIO; its pixels stay on disk until they are changed. write() may
/// replace the file that it was read from.
class document {
public:
    document() = default;
    explicit document(const std::string &path, const options &how = {}) {
        const file from(path, how);
        for (std::size_t n = 0; n < from.length(); n++) add(from.shared(), n);
    }
#ifdef __cpp_lib_expected
    /// Opens a file, or returns the error.
    static std::expected<document, error> try_open(const std::string &path, const options &how = {}) {
        try {
            return document(path, how);
        } catch (const error &e) {
            return std::unexpected(e);
        }
    }
#endif

    /// Returns the number of HDUs.
    std::size_t length() const noexcept { return hdus_.size(); }
    /// Returns the index of an HDU by EXTNAME; "Primary" is the first one.
    std::size_t index(const std::string &name) const {
        if (name == "Primary" || name == "PRIMARY") return 0;
        std::size_t n = 0;
        for (auto &one : hdus_) {
            if (one.name() == name) return n;
            n++;
        }
        throw detail::usage("no-such-hdu", "invalid HDU '" + name + "': expected an EXTNAME of the document",
                            "see hdu(n).name()");
    }
    document_hdu &hdu(std::size_t number) const {
        for (auto &one : hdus_)
            if (number-- == 0) return one;
        throw detail::usage("no-such-hdu", "invalid HDU " + std::to_string(number + length() + 1) +
                                                ": expected less than " + std::to_string(length()),
                            "count HDUs from 0");
    }
    document_hdu &image(std::size_t number) const { return hdu(number); }
    document_hdu &image(const std::string &name) const { return hdu(index(name)); }
    tachyfits::header &header(std::size_t number) const { return hdu(number).header(); }
    tachyfits::header &header(const std::string &name) const { return hdu(index(name)).header(); }
    /// Returns a table as stored in the file.
    tachyfits::table table(std::size_t number) const {
        const auto &of = hdu(number);
        return {of.file_, of.hdu_};
    }
    tachyfits::table table(const std::string &name) const { return table(index(name)); }

    /// Appends an image; a name other than "Primary" becomes its EXTNAME.
    template <class T>
    document &append_image(const std::string &name, const array<T> &pixels, tachyfits::header cards = {}) {
        writer temporary;
        temporary.append_image(pixels, cards);
        return append(temporary.open(), 0, name);
    }
    /// Appends an image of zeros.
    template <class T> document &append_image(const std::string &name, std::vector<std::uint64_t> shape) {
        return append_image(name, array<T>(std::move(shape)));
    }
    /// Appends an image of a file, or a computed image, which is read when the document is written.
    document &append_image(const std::string &name, const tachyfits::image &from) {
        return append(from.shared(), from.hdu(), name);
    }
    document &append_table(const std::string &name, const new_table &columns, tachyfits::header cards = {}) {
        writer temporary;
        temporary.append_table(columns, cards);
        // HDU 0 is empty.
        return append(temporary.open(), 1, name);
    }
    document &append_table(const std::string &name, const tachyfits::table &from) {
        return append(from.shared(), from.hdu(), name);
    }
    document &erase(std::size_t number) {
        hdu(number);
        auto at = hdus_.begin();
        for (std::size_t n = 0; n < number; n++) ++at;
        hdus_.erase(at);
        if (!hdus_.empty()) hdus_.front().is_first_ = true;
        return *this;
    }
    /// Writes the document as a file, which appears when complete; a name that ends in ".gz" compresses it. An existing
    /// file is an error without `tachyfits::overwrite()`.
    document &write(const std::string &path, const options &how = {}) {
        writer to(path, how);
        for (auto &one : hdus_) one.append_to(to, how);
        to.commit();
        return *this;
    }

private:
    void add(const detail::shared_file &file, std::size_t number) {
        hdus_.emplace_back(file, number);
        hdus_.back().is_first_ = hdus_.size() == 1;
    }
    document &append(const detail::shared_file &file, std::size_t number, const std::string &name) {
        add(file, number);
        if (!name.empty() && name != "Primary") hdus_.back().header().update("EXTNAME", name);
        return *this;
    }
    // References to HDUs must stay valid; const methods may load pixels.
    mutable std::list<document_hdu> hdus_;
};

} // namespace tachyfits

#endif
