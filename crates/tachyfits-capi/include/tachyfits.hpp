// tachyfits for C++17 and newer: FITS images, tables and headers, decoded inside the loop that uses them.
//
// One header on the C interface, `tachyfits.h`: link with -ltachyfits. Everything is counted from 0: pixels, rows,
// columns and HDUs; ranges are {first, count, step}; axis 0 is NAXIS1, the fastest. Undefined pixels (NaN and BLANK) are
// NaN when they are read as floats. Errors are exceptions of the type tachyfits::error.
//
//   tachyfits::file f("m31.fits");
//   double value = f.image(0).dvalue(10, 20);
//   auto a = f.image("SCI").read<float>({{0, 100}, {50, 100}});   // a(x, y)
//   auto pi = f.table("EVENTS").col("PI").read<int>();
//
// Objects hold the open file together: an image outlives the `file` that gave it. Files, images and tables may be copied
// (which costs nothing) and used by several threads; documents belong to one.
#ifndef TACHYFITS_HPP
#define TACHYFITS_HPP

#include "tachyfits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
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

namespace tachyfits {

/// What kind of error it is.
enum class kind {
    io = TACHYFITS_ERROR_IO,
    format = TACHYFITS_ERROR_FORMAT,
    usage = TACHYFITS_ERROR_USAGE,
    limit = TACHYFITS_ERROR_LIMIT,
    cancelled = TACHYFITS_ERROR_CANCELLED,
    internal = TACHYFITS_ERROR_INTERNAL
};

/// An error of the library: what() is the message, code() is stable, hint() says what to do.
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

/// Calls a function of C with room for its error; throws it. Returns false where a card is absent.
template <class Call> bool checked(Call call) {
    tachyfits_error e;
    e.kind = 0;
    const int outcome = call(&e);
    if (outcome > 0) throw error(e);
    return outcome == TACHYFITS_OK;
}

struct freer {
    void operator()(tachyfits_file *p) const noexcept { tachyfits_close(p); }
    void operator()(tachyfits_header *p) const noexcept { tachyfits_header_free(p); }
    void operator()(tachyfits_job *p) const noexcept { tachyfits_job_free(p); }
    void operator()(tachyfits_writer *p) const noexcept { tachyfits_abandon(p); }
    void operator()(tachyfits_editor *p) const noexcept { tachyfits_edit_abandon(p); }
    void operator()(char *p) const noexcept { tachyfits_text_free(p); }
};
template <class T> using handle = std::unique_ptr<T, freer>;
using shared_file = std::shared_ptr<tachyfits_file>;

inline shared_file shared(tachyfits_file *p) { return shared_file(p, freer()); }

/// The number of a type of C++ in the interface of C.
template <class T> constexpr int type_code() {
    using U = std::remove_cv_t<T>;
    if constexpr (std::is_same_v<U, float>) return TACHYFITS_FLOAT;
    else if constexpr (std::is_same_v<U, double>) return TACHYFITS_DOUBLE;
    else if constexpr (std::is_same_v<U, bool>) return TACHYFITS_BOOL;
    else if constexpr (std::is_same_v<U, std::complex<float>>) return TACHYFITS_COMPLEX_FLOAT;
    else if constexpr (std::is_same_v<U, std::complex<double>>) return TACHYFITS_COMPLEX_DOUBLE;
    else {
        static_assert(std::is_integral_v<U>, "pixels and cells are numbers, bool or complex");
        constexpr bool is_signed = std::is_signed_v<U>;
        if constexpr (sizeof(U) == 1) return is_signed ? TACHYFITS_INT8 : TACHYFITS_UINT8;
        else if constexpr (sizeof(U) == 2) return is_signed ? TACHYFITS_INT16 : TACHYFITS_UINT16;
        else if constexpr (sizeof(U) == 4) return is_signed ? TACHYFITS_INT32 : TACHYFITS_UINT32;
        else return is_signed ? TACHYFITS_INT64 : TACHYFITS_UINT64;
    }
}

/// Converts numbers without loss; an error names the first that does not fit.
template <class To, class From> To exact(From value, const char *what) {
    const To to = static_cast<To>(value);
    bool same = static_cast<From>(to) == value;
    if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
        const long double wide = value;
        same = wide >= static_cast<long double>(std::numeric_limits<To>::min()) &&
               wide <= static_cast<long double>(std::numeric_limits<To>::max()) &&
               std::trunc(value) == value;
    } else if constexpr (std::is_integral_v<To>) {
        same = same && ((to < To{}) == (value < From{}));
    }
    if (!same)
        throw error(kind::usage, "value-range",
                    std::string("invalid type for ") + what + ": expected a type that holds " +
                        std::to_string(value),
                    "read a wider type, or double");
    return to;
}

} // namespace detail

/// Pixels of one axis: the first, how many, and from one to the next.
struct range {
    std::uint64_t first = 0, count = 0;
    std::int64_t step = 1;
};

/// Ranges of all axes, NAXIS1 first; empty for everything.
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

    /// The struct of C, which refers to this object.
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
        detail::checked([&](auto *e) { return tachyfits_job_new(&p, e); });
        handle_.reset(p, detail::freer());
    }
    void cancel() const noexcept { tachyfits_job_cancel(handle_.get()); }
    const tachyfits_job *c() const noexcept { return handle_.get(); }

private:
    std::shared_ptr<tachyfits_job> handle_;
};

/// How to open, read or write.
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
        return o;
    }
    options with(std::uint32_t more) const {
        options o = *this;
        o.flags |= more;
        return o;
    }
};

/// An array in the order of FITS: a(x, y, z), the first index the fastest.
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
    template <class... Index> std::size_t place(Index... index) const {
        const std::array<std::uint64_t, sizeof...(Index)> at{static_cast<std::uint64_t>(index)...};
        std::uint64_t offset = 0, stride = 1;
        for (std::size_t n = 0; n < at.size(); n++) {
            if (at[n] >= length(n))
                throw error(kind::usage, "index",
                            "invalid index " + std::to_string(at[n]) + " of axis " +
                                std::to_string(n) + ": expected less than " +
                                std::to_string(length(n)),
                            "count from 0");
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

/// The cards of an HDU. Keywords count in either case; long strings are one card.
class header {
public:
    header() {
        tachyfits_header *p = nullptr;
        detail::checked([&](auto *e) { return tachyfits_header_new(&p, e); });
        handle_.reset(p);
    }
    explicit header(tachyfits_header *p) : handle_(p) {}
    header(const header &other) {
        tachyfits_header *p = nullptr;
        detail::checked([&](auto *e) { return tachyfits_header_copy(other.c(), &p, e); });
        handle_.reset(p);
    }
    header(header &&) noexcept = default;
    header &operator=(header other) noexcept {
        handle_ = std::move(other.handle_);
        return *this;
    }

    /// The value of a card; none where it is absent. T: bool, integers, floats, std::string.
    template <class T> std::optional<T> get(const std::string &keyword) const {
        if constexpr (std::is_same_v<T, std::string>) {
            std::size_t length = 0;
            if (!detail::checked([&](auto *e) {
                    return tachyfits_get_text(c(), keyword.c_str(), nullptr, 0, &length, e);
                }))
                return std::nullopt;
            std::string text(length + 1, '\0');
            detail::checked([&](auto *e) {
                return tachyfits_get_text(c(), keyword.c_str(), text.data(), text.size(), nullptr, e);
            });
            text.resize(length);
            return text;
        } else if constexpr (std::is_same_v<T, bool>) {
            int value = 0;
            if (!detail::checked(
                    [&](auto *e) { return tachyfits_get_logical(c(), keyword.c_str(), &value, e); }))
                return std::nullopt;
            return value != 0;
        } else if constexpr (std::is_integral_v<T>) {
            std::int64_t value = 0;
            if (!detail::checked(
                    [&](auto *e) { return tachyfits_get_i64(c(), keyword.c_str(), &value, e); }))
                return std::nullopt;
            return detail::exact<T>(value, keyword.c_str());
        } else {
            double value = 0;
            if (!detail::checked(
                    [&](auto *e) { return tachyfits_get_f64(c(), keyword.c_str(), &value, e); }))
                return std::nullopt;
            return static_cast<T>(value);
        }
    }
    /// As SFITSIO has them: NaN, 0 and "" where the card is absent.
    double dvalue(const std::string &keyword) const {
        return get<double>(keyword).value_or(std::numeric_limits<double>::quiet_NaN());
    }
    long long llvalue(const std::string &keyword) const {
        return get<long long>(keyword).value_or(0);
    }
    std::string svalue(const std::string &keyword) const {
        return get<std::string>(keyword).value_or("");
    }
    bool bvalue(const std::string &keyword) const { return get<bool>(keyword).value_or(false); }

    /// Sets a card, at its place or at the end.
    template <class T>
    header &update(const std::string &keyword, const T &value, const std::string &comment = "") {
        const char *key = keyword.c_str(), *text = comment.c_str();
        detail::checked([&](auto *e) {
            if constexpr (std::is_same_v<T, bool>)
                return tachyfits_set_logical(handle_.get(), key, value, text, e);
            else if constexpr (std::is_integral_v<T>)
                return tachyfits_set_i64(handle_.get(), key,
                                         detail::exact<std::int64_t>(value, key), text, e);
            else if constexpr (std::is_floating_point_v<T>)
                return tachyfits_set_f64(handle_.get(), key, static_cast<double>(value), text, e);
            else
                return tachyfits_set_text(handle_.get(), key, std::string(value).c_str(), text, e);
        });
        return *this;
    }
    /// Adds lines of COMMENT or HISTORY.
    header &append(const std::string &keyword, const std::string &text) {
        detail::checked([&](auto *e) {
            return tachyfits_add_commentary(handle_.get(), keyword.c_str(), text.c_str(), e);
        });
        return *this;
    }
    header &erase(const std::string &keyword) {
        detail::checked([&](auto *e) { return tachyfits_remove(handle_.get(), keyword.c_str(), e); });
        return *this;
    }
    std::size_t length() const noexcept { return tachyfits_cards(c()); }
    /// Keyword, value and comment of a card.
    std::tuple<std::string, std::string, std::string> card(std::size_t number) const {
        char *k = nullptr, *v = nullptr, *t = nullptr;
        if (!detail::checked([&](auto *e) { return tachyfits_card(c(), number, &k, &v, &t, e); }))
            throw error(kind::usage, "card", "invalid card " + std::to_string(number) +
                                                 ": expected less than " + std::to_string(length()),
                        "count cards from 0");
        detail::handle<char> keyword(k), value(v), comment(t);
        return {k, v, t};
    }
    /// All cards, 80 characters each, for WCSLIB.
    std::string text() const {
        char *p = nullptr;
        detail::checked([&](auto *e) { return tachyfits_header_text(c(), &p, e); });
        detail::handle<char> owner(p);
        return p;
    }
    const tachyfits_header *c() const noexcept { return handle_.get(); }

private:
    detail::handle<tachyfits_header> handle_;
};

/// An image of a file: read when it is asked for.
class image {
public:
    image(detail::shared_file file, std::size_t hdu) : file_(std::move(file)), hdu_(hdu) {
        facts_.bytes = sizeof facts_;
        detail::checked([&](auto *e) { return tachyfits_describe(c(), hdu_, &facts_, e); });
        shape_.resize(facts_.naxis);
        std::size_t naxis = 0;
        if (facts_.naxis)
            detail::checked([&](auto *e) {
                return tachyfits_axes(c(), hdu_, shape_.data(), shape_.size(), &naxis, e);
            });
    }

    /// Lengths of the axes, NAXIS1 first.
    const std::vector<std::uint64_t> &shape() const noexcept { return shape_; }
    std::uint64_t length(std::size_t axis) const { return axis < shape_.size() ? shape_[axis] : 1; }
    std::uint64_t size() const noexcept { return facts_.pixels; }
    const tachyfits_facts &facts() const noexcept { return facts_; }
    tachyfits::header header() const {
        tachyfits_header *p = nullptr;
        detail::checked([&](auto *e) { return tachyfits_header_of(c(), hdu_, &p, e); });
        return tachyfits::header(p);
    }

    /// Pixels of a section: physical values, NaN where undefined, for floats; integers must hold every value exactly.
    template <class T> array<T> read(const section &part = {}, const options &how = {}) const {
        array<T> pixels(shape_of(part));
        read_into(pixels.data(), pixels.size(), part, how);
        return pixels;
    }
    /// The same into memory of the caller, which has room for `count` pixels.
    template <class T>
    void read_into(T *out, std::size_t count, const section &part = {}, const options &how = {}) const {
        constexpr int type = detail::type_code<T>();
        if (type == TACHYFITS_FLOAT || type == TACHYFITS_DOUBLE || type == facts_.pixel_type) {
            read_as(type, out, count * sizeof(T), part, how);
            return;
        }
        switch (facts_.is_scaled ? TACHYFITS_DOUBLE : facts_.pixel_type) {
        case TACHYFITS_UINT8: return convert<std::uint8_t>(out, count, part, how);
        case TACHYFITS_INT8: return convert<std::int8_t>(out, count, part, how);
        case TACHYFITS_UINT16: return convert<std::uint16_t>(out, count, part, how);
        case TACHYFITS_INT16: return convert<std::int16_t>(out, count, part, how);
        case TACHYFITS_UINT32: return convert<std::uint32_t>(out, count, part, how);
        case TACHYFITS_INT32: return convert<std::int32_t>(out, count, part, how);
        case TACHYFITS_UINT64: return convert<std::uint64_t>(out, count, part, how);
        case TACHYFITS_INT64: return convert<std::int64_t>(out, count, part, how);
        default: return convert<double>(out, count, part, how);
        }
    }
    /// The physical value of one pixel; NaN where it is undefined.
    double dvalue(std::uint64_t x, std::uint64_t y = 0, std::uint64_t z = 0) const {
        section part(shape_.size(), range{0, 1, 1});
        const std::uint64_t at[] = {x, y, z};
        for (std::size_t n = 0; n < part.size() && n < 3; n++) part[n].first = at[n];
        double value = 0;
        read_into(&value, 1, part);
        return value;
    }

    statistics stats(const section &part = {}, const region *shape = nullptr,
                     const options &how = {}) const {
        tachyfits_stats s{};
        s.bytes = sizeof s;
        with(part, shape, how, [&](auto *ranges, auto *r, auto *o, auto *e) {
            return tachyfits_statistics(c(), hdu_, ranges, r, &s, o, e);
        });
        return {s.count, s.undefined, s.sum, s.mean, s.rms, s.std,
                s.min,   s.max,       s.min_position, s.max_position};
    }
    statistics stats(const region &shape) const { return stats({}, &shape); }
    /// Exact quantiles of fractions from 0 to 1.
    std::vector<double> quantiles(const std::vector<double> &fractions, const section &part = {},
                                  const region *shape = nullptr, const options &how = {}) const {
        std::vector<double> values(fractions.size());
        with(part, shape, how, [&](auto *ranges, auto *r, auto *o, auto *e) {
            return tachyfits_quantiles(c(), hdu_, ranges, r, fractions.data(), values.data(),
                                       values.size(), o, e);
        });
        return values;
    }
    double median(const section &part = {}) const { return quantiles({0.5}, part).front(); }
    /// Counts of equal bins, the upper edge included.
    std::vector<std::uint64_t> histogram(double low, double high, std::size_t bins,
                                         const section &part = {}, const region *shape = nullptr,
                                         const options &how = {}) const {
        std::vector<std::uint64_t> counts(bins);
        with(part, shape, how, [&](auto *ranges, auto *r, auto *o, auto *e) {
            return tachyfits_histogram(c(), hdu_, ranges, r, low, high, counts.data(),
                                       counts.size(), nullptr, o, e);
        });
        return counts;
    }
    /// Reduces axes by a statistic ("sum", "mean", "median", …); the other axes are those of the result.
    array<double> reduce(const std::string &statistic, const std::vector<std::size_t> &axes,
                         const section &part = {}, const region *shape = nullptr,
                         const options &how = {}) const {
        std::vector<std::uint64_t> kept;
        const auto lengths = shape_of(part);
        for (std::size_t n = 0; n < lengths.size(); n++) {
            bool reduced = false;
            for (auto axis : axes) reduced = reduced || axis == n;
            if (!reduced) kept.push_back(lengths[n]);
        }
        if (kept.empty()) kept.push_back(1);
        array<double> result(kept);
        with(part, shape, how, [&](auto *ranges, auto *r, auto *o, auto *e) {
            return tachyfits_reduce(c(), hdu_, ranges, r, axes.data(), axes.size(),
                                    statistic.c_str(), result.data(), result.size(), o, e);
        });
        return result;
    }
    array<double> sum(std::size_t axis) const { return reduce("sum", {axis}); }
    /// A number for each plane: the mean of the pixels in a shape, or another statistic.
    array<double> spectrum(const region &shape, const std::string &statistic = "mean") const {
        return reduce(statistic, {0, 1}, {}, &shape);
    }

    /// A section as an image of its own, with its coordinates; read when it is used.
    image cut(const section &part) const {
        tachyfits_file *p = nullptr;
        const auto ranges = c_ranges(part);
        detail::checked(
            [&](auto *e) { return tachyfits_cut(c(), hdu_, pointer(ranges), &p, e); });
        return image(detail::shared(p), 0);
    }
    /// Smoothed along an axis: "hanning", "boxcar" (width in pixels) or "gaussian" (its sigma); computed when it is read.
    image smooth(std::size_t axis, const std::string &kernel = "hanning", double width = 3) const {
        tachyfits_file *p = nullptr;
        detail::checked([&](auto *e) {
            return tachyfits_smooth(c(), hdu_, axis, kernel.c_str(), width, &p, e);
        });
        return image(detail::shared(p), 0);
    }

    const tachyfits_file *c() const noexcept { return file_.get(); }
    std::size_t hdu() const noexcept { return hdu_; }

private:
    std::vector<std::uint64_t> shape_of(const section &part) const {
        if (part.empty()) return shape_;
        std::vector<std::uint64_t> lengths;
        for (const auto &r : part) lengths.push_back(r.count);
        return lengths;
    }
    std::vector<tachyfits_range> c_ranges(const section &part) const {
        if (!part.empty() && part.size() != shape_.size())
            throw error(kind::usage, "section",
                        "invalid section of " + std::to_string(part.size()) +
                            " ranges: expected one for each axis, " + std::to_string(shape_.size()),
                        "NAXIS1 is the first");
        std::vector<tachyfits_range> ranges;
        for (const auto &r : part) ranges.push_back({r.first, r.count, r.step});
        return ranges;
    }
    static const tachyfits_range *pointer(const std::vector<tachyfits_range> &ranges) {
        return ranges.empty() ? nullptr : ranges.data();
    }
    template <class Call>
    void with(const section &part, const region *shape, const options &how, Call call) const {
        const auto ranges = c_ranges(part);
        const auto o = how.c();
        tachyfits_region r{};
        if (shape) r = shape->c();
        detail::checked([&](auto *e) { return call(pointer(ranges), shape ? &r : nullptr, &o, e); });
    }
    void read_as(int type, void *out, std::size_t bytes, const section &part,
                 const options &how) const {
        const auto ranges = c_ranges(part);
        const auto o = how.c();
        detail::checked([&](auto *e) {
            return tachyfits_read(c(), hdu_, pointer(ranges), type, out, bytes, &o, e);
        });
    }
    template <class From, class To>
    void convert(To *out, std::size_t count, const section &part, const options &how) const {
        std::vector<From> values(count);
        read_as(detail::type_code<From>(), values.data(), count * sizeof(From), part, how);
        for (std::size_t n = 0; n < count; n++) out[n] = detail::exact<To>(values[n], "pixels");
    }

    detail::shared_file file_;
    std::size_t hdu_;
    tachyfits_facts facts_{};
    std::vector<std::uint64_t> shape_;
};

/// A table of a file: read when it is asked for.
class table {
public:
    table(detail::shared_file file, std::size_t hdu) : file_(std::move(file)), hdu_(hdu) {
        facts_.bytes = sizeof facts_;
        detail::checked([&](auto *e) { return tachyfits_describe(c(), hdu_, &facts_, e); });
    }

    /// A column.
    class column {
    public:
        const tachyfits_column_facts &facts() const noexcept { return facts_; }
        std::string name() const { return facts_.name; }
        std::string unit() const { return facts_.unit; }
        std::uint64_t elements() const noexcept { return facts_.elements; }

        /// All cells, or those of some rows: numbers, bool, std::complex or std::string.
        template <class T>
        std::vector<T> read(std::uint64_t first = 0,
                            std::uint64_t rows = std::numeric_limits<std::uint64_t>::max(),
                            const options &how = {}) const {
            rows = std::min(rows, rows_ - std::min(first, rows_));
            const std::size_t count = static_cast<std::size_t>(rows * facts_.elements);
            if constexpr (std::is_same_v<T, std::string>) {
                return texts(first, rows, how);
            } else if constexpr (std::is_same_v<T, bool>) {
                const auto bytes = cells<unsigned char>(TACHYFITS_BOOL, count, first, rows, how);
                return std::vector<bool>(bytes.begin(), bytes.end());
            } else {
                constexpr int type = detail::type_code<T>();
                const bool is_float = type == TACHYFITS_FLOAT || type == TACHYFITS_DOUBLE;
                if (is_float || type == facts_.cell_type) return cells<T>(type, count, first, rows, how);
                return converted<T>(count, first, rows, how);
            }
        }
        double dvalue(std::uint64_t row, std::uint64_t element = 0) const {
            return read<double>(row, 1).at(static_cast<std::size_t>(element));
        }
        std::string svalue(std::uint64_t row) const {
            if (facts_.cell_type == TACHYFITS_TEXT) return read<std::string>(row, 1).front();
            std::string number = std::to_string(dvalue(row));
            return number;
        }

    private:
        friend class table;
        column(detail::shared_file file, std::size_t hdu, std::uint64_t rows, std::int32_t index)
            : file_(std::move(file)), hdu_(hdu), rows_(rows), index_(index) {
            facts_.bytes = sizeof facts_;
            detail::checked([&](auto *e) {
                return tachyfits_column_describe(file_.get(), hdu_, index_, &facts_, e);
            });
        }
        template <class T>
        std::vector<T> cells(int type, std::size_t count, std::uint64_t first, std::uint64_t rows,
                             const options &how) const {
            std::vector<T> values(count);
            tachyfits_column request{};
            request.bytes = sizeof request;
            request.column = index_;
            request.cell_type = type;
            request.values = values.data();
            request.room = count * sizeof(T);
            const auto o = how.c();
            detail::checked([&](auto *e) {
                return tachyfits_read_columns(file_.get(), hdu_, &request, 1, first, rows, &o, e);
            });
            return values;
        }
        std::vector<std::string> texts(std::uint64_t first, std::uint64_t rows,
                                       const options &how) const {
            const std::size_t each = static_cast<std::size_t>(facts_.cell_bytes / facts_.elements);
            const std::size_t count = static_cast<std::size_t>(rows * facts_.elements);
            const auto bytes = cells<char>(TACHYFITS_TEXT, count * each, first, rows, how);
            std::vector<std::string> found;
            for (std::size_t n = 0; n < count; n++) {
                const char *begin = bytes.data() + n * each;
                const void *end = each ? std::memchr(begin, 0, each) : nullptr;
                found.emplace_back(begin,
                                   end ? static_cast<const char *>(end) : begin + each);
            }
            return found;
        }
        template <class T>
        std::vector<T> converted(std::size_t count, std::uint64_t first, std::uint64_t rows,
                                 const options &how) const {
            switch (facts_.cell_type) {
            case TACHYFITS_UINT8: return from<std::uint8_t, T>(count, first, rows, how);
            case TACHYFITS_INT8: return from<std::int8_t, T>(count, first, rows, how);
            case TACHYFITS_UINT16: return from<std::uint16_t, T>(count, first, rows, how);
            case TACHYFITS_INT16: return from<std::int16_t, T>(count, first, rows, how);
            case TACHYFITS_UINT32: return from<std::uint32_t, T>(count, first, rows, how);
            case TACHYFITS_INT32: return from<std::int32_t, T>(count, first, rows, how);
            case TACHYFITS_UINT64: return from<std::uint64_t, T>(count, first, rows, how);
            case TACHYFITS_INT64: return from<std::int64_t, T>(count, first, rows, how);
            case TACHYFITS_FLOAT: return from<float, T>(count, first, rows, how);
            case TACHYFITS_DOUBLE: return from<double, T>(count, first, rows, how);
            // The library says which type the column has.
            default: return cells<T>(detail::type_code<T>(), count, first, rows, how);
            }
        }
        template <class From, class To>
        std::vector<To> from(std::size_t count, std::uint64_t first, std::uint64_t rows,
                             const options &how) const {
            if constexpr (std::is_arithmetic_v<To>) {
                const auto own = cells<From>(detail::type_code<From>(), count, first, rows, how);
                std::vector<To> values(own.size());
                for (std::size_t n = 0; n < own.size(); n++)
                    values[n] = detail::exact<To>(own[n], facts_.name);
                return values;
            } else {
                return cells<To>(detail::type_code<To>(), count, first, rows, how);
            }
        }

        detail::shared_file file_;
        std::size_t hdu_;
        std::uint64_t rows_;
        std::int32_t index_;
        tachyfits_column_facts facts_{};
    };

    /// Rows.
    std::uint64_t length() const noexcept { return facts_.rows; }
    std::uint64_t columns() const noexcept { return facts_.columns; }
    column col(const std::string &name) const {
        std::int32_t index = 0;
        detail::checked([&](auto *e) {
            return tachyfits_column_find(c(), hdu_, name.c_str(), &index, e);
        });
        return column(file_, hdu_, length(), index);
    }
    column col(std::int32_t index) const { return column(file_, hdu_, length(), index); }
    tachyfits::header header() const {
        tachyfits_header *p = nullptr;
        detail::checked([&](auto *e) { return tachyfits_header_of(c(), hdu_, &p, e); });
        return tachyfits::header(p);
    }
    /// Numbers of the rows that meet a condition, such as "PI > 30 && GRADE == 0".
    std::vector<std::uint64_t> rows_where(const std::string &condition, const options &how = {}) const {
        std::uint64_t *p = nullptr;
        std::size_t count = 0;
        const auto o = how.c();
        detail::checked([&](auto *e) {
            return tachyfits_rows_where(c(), hdu_, condition.c_str(), 0, length(), &p, &count, &o, e);
        });
        std::vector<std::uint64_t> rows(p, p + count);
        tachyfits_rows_free(p, count);
        return rows;
    }
    /// Columns of floats in one pass over the rows: `auto [ra, dec] = t.read<double>("RA", "DEC")`.
    template <class T, class... Names> auto read(const Names &...names) const {
        constexpr std::size_t n = sizeof...(names);
        const std::array<std::string, n> wanted{std::string(names)...};
        std::array<std::vector<T>, n> values;
        std::array<tachyfits_column, n> requests{};
        for (std::size_t i = 0; i < n; i++) {
            const column one = col(wanted[i]);
            values[i].resize(static_cast<std::size_t>(length() * one.elements()));
            requests[i].bytes = sizeof(tachyfits_column);
            requests[i].column = one.index_;
            requests[i].cell_type = detail::type_code<T>();
            requests[i].values = values[i].data();
            requests[i].room = values[i].size() * sizeof(T);
        }
        detail::checked([&](auto *e) {
            return tachyfits_read_columns(c(), hdu_, requests.data(), n, 0, length(), nullptr, e);
        });
        return values;
    }

    const tachyfits_file *c() const noexcept { return file_.get(); }
    std::size_t hdu() const noexcept { return hdu_; }

private:
    detail::shared_file file_;
    std::size_t hdu_;
    tachyfits_facts facts_{};
};

/// An open file. Copies share it.
class file {
public:
    explicit file(const std::string &path, const options &how = {}) {
        tachyfits_file *p = nullptr;
        const auto o = how.c();
        detail::checked([&](auto *e) { return tachyfits_open(path.c_str(), &o, &p, e); });
        file_ = detail::shared(p);
    }
    /// The bytes of a file.
    static file of_bytes(const void *bytes, std::size_t count, const std::string &name = "memory") {
        tachyfits_file *p = nullptr;
        detail::checked([&](auto *e) {
            return tachyfits_open_memory(static_cast<const std::uint8_t *>(bytes), count,
                                         name.c_str(), nullptr, &p, e);
        });
        return file(detail::shared(p));
    }

    /// HDUs.
    std::size_t length() const noexcept { return tachyfits_hdus(file_.get()); }
    /// The number of an HDU by EXTNAME; "Primary" is the first one.
    std::size_t index(const std::string &name, std::int64_t version = 0) const {
        if (name == "Primary" || name == "PRIMARY") return 0;
        std::size_t hdu = 0;
        detail::checked([&](auto *e) {
            return tachyfits_find(file_.get(), name.c_str(), version, &hdu, e);
        });
        return hdu;
    }
    tachyfits_facts facts(std::size_t hdu) const {
        tachyfits_facts f{};
        f.bytes = sizeof f;
        detail::checked([&](auto *e) { return tachyfits_describe(file_.get(), hdu, &f, e); });
        return f;
    }
    tachyfits::image image(std::size_t hdu) const { return {file_, hdu}; }
    tachyfits::image image(const std::string &name) const { return {file_, index(name)}; }
    tachyfits::table table(std::size_t hdu) const { return {file_, hdu}; }
    tachyfits::table table(const std::string &name) const { return {file_, index(name)}; }
    tachyfits::header header(std::size_t hdu = 0) const {
        tachyfits_header *p = nullptr;
        detail::checked([&](auto *e) { return tachyfits_header_of(file_.get(), hdu, &p, e); });
        return tachyfits::header(p);
    }
    tachyfits::header header(const std::string &name) const { return header(index(name)); }
    std::vector<std::string> warnings() const {
        std::vector<std::string> found;
        for (std::size_t n = 0;; n++) {
            detail::handle<char> text(tachyfits_warning(file_.get(), n));
            if (!text) return found;
            found.emplace_back(text.get());
        }
    }
    const tachyfits_file *c() const noexcept { return file_.get(); }

private:
    explicit file(detail::shared_file p) : file_(std::move(p)) {}
    detail::shared_file file_;
};

/// An image of an expression of images by name: `evaluate("a - b", {{"a", one}, {"b", other}})`; computed when it is read.
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
    tachyfits_file *p = nullptr;
    detail::checked([&](auto *e) {
        return tachyfits_evaluate(expression.c_str(), names.data(), files.data(), hdus.data(),
                                  names.size(), &p, e);
    });
    return image(detail::shared(p), 0);
}

/// A new file, HDU by HDU, which appears under its name with commit().
class writer {
public:
    explicit writer(const std::string &path, const options &how = {}) {
        tachyfits_writer *p = nullptr;
        const auto o = how.c();
        detail::checked([&](auto *e) { return tachyfits_create(path.c_str(), &o, &p, e); });
        handle_.reset(p);
    }
    template <class T>
    writer &append_image(const array<T> &pixels, const header &cards = {},
                         const char *compression = nullptr, const options &how = {}) {
        const auto o = how.c();
        detail::checked([&](auto *e) {
            return tachyfits_write_image(handle_.get(), cards.c(), detail::type_code<T>(),
                                         pixels.shape().size(), pixels.shape().data(),
                                         pixels.data(), pixels.size() * sizeof(T), compression, &o,
                                         e);
        });
        return *this;
    }
    /// An image or table of a file, also a computed image.
    template <class Hdu> writer &append_copy(const Hdu &from, const options &how = {}) {
        const auto o = how.c();
        detail::checked([&](auto *e) {
            return tachyfits_copy_hdu(handle_.get(), from.c(), from.hdu(), &o, e);
        });
        return *this;
    }
    void commit() {
        detail::checked([&](auto *e) { return tachyfits_commit(handle_.release(), e); });
    }
    tachyfits_writer *c() noexcept { return handle_.get(); }

private:
    detail::handle<tachyfits_writer> handle_;
};

} // namespace tachyfits

#endif
