// Uses tachyfits.hpp on the files that it writes; says what is wrong and returns 1.
#include "tachyfits.hpp"

#include <complex>
#include <cstdio>
#include <iostream>

static int failures = 0;

static void expect(bool condition, const char *what) {
    if (condition) return;
    std::cout << "expected " << what << "\n";
    failures++;
}

template <class Act> static void expect_error(enum tachyfits::kind kind, const char *what, Act act) {
    try {
        act();
        expect(false, what);
    } catch (const tachyfits::error &e) {
        expect(e.kind() == kind && !e.code().empty(), what);
    }
}

using pixels_of_plane = std::vector<double>;

static void use_images(const std::string &path) {
    tachyfits::array<std::int16_t> pixels({4, 3, 2});
    for (std::size_t n = 0; n < pixels.size(); n++) pixels.data()[n] = static_cast<std::int16_t>(n);
    tachyfits::header cards;
    cards.update("OBJECT", "M31").update("EXPTIME", 2.5).update("FRAMES", 3).append("HISTORY", "made");
    tachyfits::writer writer(path, tachyfits::overwrite());
    writer.append_image(pixels, cards).append_image(pixels, {}, "RICE_1");
    writer.commit();

    const tachyfits::file file(path);
    const auto image = file.image("Primary");
    expect(file.length() == 2 && image.shape() == std::vector<std::uint64_t>({4, 3, 2}), "two images");
    expect(file.header().svalue("OBJECT") == "M31" && file.header().dvalue("EXPTIME") == 2.5, "cards");
    expect(file.header().svalue("frames") == "3" && file.header().svalue("ABSENT").empty(), "svalue");
    expect(!file.header().get<int>("ABSENT") && *file.header().get<int>("FRAMES") == 3, "get");
    expect(image.dvalue(1, 2, 1) == 21 && image.stored_value(1, 2, 1) == 21, "one pixel");
    const auto part = file.image(1).read<float>({{1, 2, 1}, {2, 1, 1}, {0, 2, 1}});
    expect(part.size() == 4 && part(1, 0, 1) == 22, "a section of the compressed image");
    expect(image.read<int>()(3, 2, 1) == 23 && image.read<std::int16_t>()(0, 1) == 4, "integers");
    expect(image.stats().mean == 11.5 && image.median() == 11.5, "statistics");
    const auto shape = tachyfits::region::box(0, 0, 1, 1);
    expect(image.spectrum(shape).values() == pixels_of_plane({0, 12}), "a spectrum");
    expect(image.sum(2)(0, 0) == 12 && image.histogram(0, 24, 2)[1] == 12, "a sum and a histogram");
    expect(image.cut({{0, 2, 1}, {0, 2, 1}, {1, 1, 1}}).stats().min == 12, "a cut");
    const auto zero = tachyfits::evaluate("a - b", {{"a", image}, {"b", file.image(1)}});
    expect(zero.stats().max == 0, "an expression");
    expect(image.transpose_xy().dvalue(2, 1, 1) == 21, "x and y exchanged");
    expect(image.rotate_xy(90).dvalue(0, 1) == image.dvalue(1, 2), "a turn by 90 degrees");
    expect(image.rotate_xy(-90).dvalue(0, 0) == image.dvalue(3, 0), "a turn by -90 degrees");
    expect(image.rotate_xy(180).dvalue(0, 0, 1) == image.dvalue(3, 2, 1), "a turn by 180 degrees");
    expect(tachyfits::file(path + "[2:3,*,2]").image(0).dvalue(0, 2) == 21, "a section in the name");
    expect(tachyfits::file(path + "[1][-*,3:1:2,1:2]").image(0).dvalue(0, 1, 1) == 15, "a flipped one");
    auto *tensor = image.dlpack(TACHYFITS_FLOAT, {{0, 2, 1}, {0, 1, 1}, {1, 1, 1}});
    expect(static_cast<float *>(tensor->dl_tensor.data)[1] == 13, "a tensor");
    tensor->deleter(tensor);
    expect_error(tachyfits::kind::usage, "an error for two missing ranges",
                 [&] { image.read<std::uint8_t>({{0, 1, 1}}); });
    expect_error(tachyfits::kind::usage, "an error for an invalid section",
                 [&] { tachyfits::file(path + "[2:3]"); });
    expect_error(tachyfits::kind::usage, "an error for a pixel outside", [&] { part(2, 0, 0); });
    expect_error(tachyfits::kind::io, "an error of input", [&] { tachyfits::file(path + ".missing"); });
    expect_error(tachyfits::kind::usage, "an error for numbers that do not fit", [&] {
        tachyfits::array<double> large({1}, {300.5});
        tachyfits::document d;
        d.append_image("Primary", large).image(0).read<std::uint8_t>();
    });
#ifdef __cpp_lib_span
    double sum = 0;
    for (float value : part.span()) sum += value;
    expect(sum == 9 + 10 + 21 + 22, "a span");
#endif
#ifdef __cpp_lib_mdspan
    expect(tachyfits::array<float>(part).mdspan<3>()[1, 0, 1] == 22, "an mdspan");
#endif
#ifdef __cpp_lib_expected
    expect(tachyfits::file::try_open(path).value().length() == 2, "an expected file");
    expect(tachyfits::document::try_open(path + ".no").error().kind() == tachyfits::kind::io, "an error");
#endif
}

static void use_tables(const std::string &path) {
    using text = std::string;
    const std::vector<std::complex<float>> waves{{1, 2}, {3, -4.5F}, {0, 0}};
    tachyfits::new_table columns;
    columns.add("PI", std::vector<int>{10, 40, 31})
        .add("ENERGY", std::vector<float>{0.1F, 1.5F, 2.5F}, "keV")
        .add("NAME", std::vector<text>{"one", "two", "three"})
        .add("GOOD", std::vector<bool>{true, false, true})
        .add("XY", std::vector<double>{1, 2, 3, 4, 5, 6}, "pixel", 2)
        .add("WAVE", waves);
    expect_error(tachyfits::kind::usage, "an error for a short column",
                 [&] { columns.add("SHORT", std::vector<int>{1}); });
    tachyfits::document d;
    d.append_image("Primary", tachyfits::array<std::uint8_t>({2, 2}));
    d.append_table("EVENTS", columns).write(path, tachyfits::overwrite());

    const tachyfits::file file(path);
    const auto table = file.table("EVENTS");
    expect(table.length() == 3 && table.columns() == 6, "three rows");
    expect(table.col("PI").read<std::int64_t>() == std::vector<std::int64_t>({10, 40, 31}), "integers");
    expect(table.col("NAME").read<text>()[2] == "three" && table.col(2).svalue(0) == "one", "texts");
    expect(table.col("PI").svalue(1) == "40" && table.col("ENERGY").svalue(0) == "0.1", "numbers as text");
    expect(table.col("XY").dvalue(1, 1) == 4 && table.col("XY").svalue(2, 0) == "5", "cells of two");
    expect(table.col("GOOD").svalues() == std::vector<text>({"T", "F", "T"}), "logical values");
    expect(table.col("WAVE").svalue(1) == "(3,-4.5)", "a complex number as text");
    expect(table.col("WAVE").read<std::complex<float>>() == waves, "complex numbers");
    expect(table.col("ENERGY").unit() == "keV" && table.col("NAME").is_text(), "facts of columns");
    double sum = 0;
    for (std::int32_t n : {0, 1, 4})
        table.col(n).visit([&](const auto &values) {
            using value = typename std::decay_t<decltype(values)>::value_type;
            if constexpr (std::is_arithmetic_v<value>)
                for (auto one : values) sum += static_cast<double>(one);
        });
    expect(std::abs(sum - (81 + 4.1 + 21)) < 1e-6, "columns of unknown type");
    const auto [pi, energy] = table.read<double>("PI", "ENERGY");
    expect(pi[1] == 40 && energy[2] == 2.5, "two columns in one pass");
    expect(table.rows_where("PI > 30 && GOOD") == std::vector<std::uint64_t>({2}), "rows");
    auto stream = table.arrow({"NAME"}, "PI > 30");
    ArrowArray batch{};
    expect(stream.get_next(&stream, &batch) == 0 && batch.length == 2, "a batch of Arrow");
    batch.release(&batch);
    stream.release(&stream);
    expect_error(tachyfits::kind::usage, "an error for text as numbers",
                 [&] { table.col("NAME").read<double>(); });
    expect_error(tachyfits::kind::usage, "an error for a fraction as an integer",
                 [&] { table.col("ENERGY").read<int>(); });
    expect_error(tachyfits::kind::usage, "an error for rows beyond the end",
                 [&] { table.col("PI").read<int>(2, 5); });

    // A document may replace its own file; cards of the structure stay.
    tachyfits::document changed(path);
    changed.header("EVENTS").update("TFORM1", "1D").update("TUNIT1", "adu").erase("TTYPE2");
    changed.write(path, tachyfits::overwrite());
    const auto again = tachyfits::file(path).table("EVENTS");
    expect(again.col(0).form() == "1J" && again.col(0).unit() == "adu", "the form of the cells");
    expect(again.col("PI").read<int>()[1] == 40 && again.col(1).name() != "ENERGY", "the cells");
    expect(table.col("ENERGY").dvalue(1) == 1.5, "the table of the file that was replaced");

    tachyfits::editor(path).update(1, "OBSERVER", "someone").assign(1, 0, 1, 1, std::vector<int>{50})
        .assign(0, {{1, 1, 1}, {0, 1, 1}}, tachyfits::array<double>({1, 1}, {9})).commit();
    expect(tachyfits::file(path).table(1).col("PI").svalue(1) == "50", "an edited cell");
    expect(tachyfits::file(path).image(0).dvalue(1, 0) == 9, "an edited pixel");
    expect(tachyfits::file(path).header(1).svalue("OBSERVER") == "someone", "an edited header");
}

static void use_documents(const std::string &path) {
    const std::string out = path + ".fits.gz";
    tachyfits::document d;
    tachyfits::header cards;
    cards.update("OBJECT", "M31").update("CRPIX1", 1.0).update("CRVAL1", 10.0).update("CDELT1", 0.5);
    cards.update("CTYPE1", "OFFSET");
    tachyfits::array<float> pixels({4, 3});
    for (std::size_t n = 0; n < pixels.size(); n++) pixels.data()[n] = static_cast<float>(n);
    d.append_image("Primary", pixels, cards).append_image<std::int16_t>("COUNTS", {4, 3});
    auto &primary = d.header(0);
    d.image("Primary").transpose_xy().assign(30, 1, 1).header().update("OBSERVER", "someone");
    expect(d.image(0).shape() == std::vector<std::uint64_t>({3, 4}), "another shape");
    expect(primary.dvalue("CRVAL2") == 10, "coordinates that follow the pixels");
    expect(d.image(0).dvalue(1, 1) == 30 && d.image(0).dvalue(2, 3) == 11, "a changed pixel");
    expect(d.image(0).stats().max == 30 && d.image(0).median() == 6.5, "statistics of changed pixels");
    primary.update("OBJECT", "M33");
    d.image("COUNTS").fill(5).fill(2, {{1, 2, 1}, {0, 1, 1}}).apply([](double v) { return 10 * v; });
    d.image("COUNTS").paste(d.image(0).copy({{1, 2, 1}, {1, 2, 1}}), 3, 2);
    expect(d.image(1).dvalue(3, 2) == 30 && d.image(1).dvalue(1, 0) == 20, "filled and pasted pixels");
    d.append_image("PART", d.image(0).copy({{0, 2, 1}, {1, 2, 1}}));
    d.image(2).rotate_xy(180).crop({{0, 1, 1}, {0, 2, 1}});
    d.image(0).resize(2, 2).paste(pixels, 0, 0, 1);
    d.append_image("SUM", d.image(0).combine_layers("sum"));
    expect_error(tachyfits::kind::usage, "an error for an HDU that there is not", [&] { d.image("NO"); });
    expect_error(tachyfits::kind::usage, "an error for a pixel outside",
                 [&] { d.image(1).assign(1, 4, 0); });
    d.write(out, tachyfits::overwrite());

    const tachyfits::file file(out);
    expect(file.length() == 4 && file.header().svalue("OBJECT") == "M33", "the document as a file");
    expect(file.header().svalue("OBSERVER") == "someone", "a new card");
    expect(file.image("COUNTS").facts().pixel_type == TACHYFITS_INT16, "the type of the pixels");
    expect(file.image("COUNTS").sum(0).values() == pixels_of_plane({140, 200, 180}), "sums of the rows");
    expect(file.image("PART").read<float>().values() == std::vector<float>({6, 30}), "a turned part");
    expect(file.image(0).dvalue(1, 1, 0) == 30 && file.image(0).dvalue(2, 2, 1) == 10, "two layers");
    expect(file.image("SUM").dvalue(0, 0) == 0 && file.image("SUM").dvalue(1, 0) == 5, "the sum of layers");

    tachyfits::document again(out);
    again.image("COUNTS").convert_type<std::uint16_t>().assign_blank(-1).assign(65535, 0, 0);
    again.image(0).convert_type<std::int16_t>(100, 0.5).assign(100.5, 0, 0, 0);
    again.header("SUM").update("DATAMAX", 14.5).update("BSCALE", 7.0);
    again.header("COUNTS").update("DATAMAX", 50.0);
    again.erase(2).write(path, tachyfits::overwrite());
    const tachyfits::file last(path);
    expect(last.length() == 3 && last.image(1).facts().pixel_type == TACHYFITS_UINT16, "unsigned integers");
    expect(last.image(0).stored_value(0, 0) == 1 && last.image(0).dvalue(0, 0) == 100.5, "scaled integers");
    expect(last.header(2).dvalue("DATAMAX") == 14.5, "a card of pixels that did not change");
    expect(!last.header(2).get<double>("BSCALE"), "no card of scaling");
    expect(!last.header(1).get<double>("DATAMAX"), "no card of the old pixels");
    expect(again.image(0).stored_value(0, 0) == 1, "stored numbers of a changed image");
    expect_error(tachyfits::kind::usage, "an error for a value that does not fit", [&] {
        tachyfits::document wide(path);
        wide.image(1).assign(1e6, 0, 0);
        wide.write(path, tachyfits::overwrite());
    });
    expect(tachyfits::file(path).length() == 3, "the file as it was");
    tachyfits::document large;
    tachyfits::array<std::int64_t> wide({2}, {INT64_C(9007199254740993), 4});
    large.append_image("Primary", wide).image(0).assign(5, 1);
    expect(large.image(0).read<std::int64_t>().values() ==
               std::vector<std::int64_t>({INT64_C(9007199254740993), 5}), "64-bit integers");
    expect_error(tachyfits::kind::usage, "an error for a fraction", [&] { large.image(0).assign(0.5, 0); });
    std::remove(out.c_str());
}

int main(int argc, char **argv) try {
    if (argc != 2) return 2;
    const std::string path = argv[1];
    use_tables(path);
    use_documents(path);
    use_images(path);
    std::cout << (failures ? "failed\n" : "passed\n");
    return failures != 0;
} catch (const tachyfits::error &e) {
    std::cerr << e.what() << " [" << e.code() << "]\n" << e.hint() << "\n";
    return 1;
}
