// Uses tachyfits.hpp on the file that it writes; says what is wrong and returns 1.
#include "tachyfits.hpp"

#include <cstdio>
#include <iostream>

static int failures = 0;

static void expect(bool condition, const char *what) {
    if (condition) return;
    std::cout << "expected " << what << "\n";
    failures++;
}

int main(int argc, char **argv) try {
    if (argc != 2) return 2;
    const std::string path = argv[1];
    tachyfits::array<std::int16_t> pixels({4, 3, 2});
    for (std::size_t n = 0; n < pixels.size(); n++) pixels.data()[n] = static_cast<std::int16_t>(n);
    tachyfits::header cards;
    cards.update("OBJECT", "M31").update("EXPTIME", 2.5).update("FRAMES", 3).append("HISTORY", "made");
    tachyfits::writer writer(path, tachyfits::options().with(TACHYFITS_OVERWRITE));
    writer.append_image(pixels, cards).append_image(pixels, {}, "RICE_1");
    writer.commit();

    const tachyfits::file file(path);
    const auto image = file.image("Primary");
    expect(file.length() == 2 && image.shape() == std::vector<std::uint64_t>({4, 3, 2}), "two images");
    expect(file.header().svalue("OBJECT") == "M31" && file.header().dvalue("EXPTIME") == 2.5, "cards");
    expect(!file.header().get<int>("ABSENT") && *file.header().get<int>("FRAMES") == 3, "get");
    expect(image.dvalue(1, 2, 1) == 21, "one pixel");
    const auto part = file.image(1).read<float>({{1, 2, 1}, {2, 1, 1}, {0, 2, 1}});
    expect(part.size() == 4 && part(1, 0, 1) == 22, "a section of the compressed image");
    expect(image.read<int>()(3, 2, 1) == 23 && image.read<std::int16_t>()(0, 1) == 4, "integers");
    expect(image.stats().mean == 11.5 && image.median() == 11.5, "statistics");
    const auto shape = tachyfits::region::box(0, 0, 1, 1);
    expect(image.spectrum(shape).values() == std::vector<double>({0, 12}), "a spectrum");
    expect(image.sum(2)(0, 0) == 12, "a sum along z");
    expect(image.cut({{0, 2, 1}, {0, 2, 1}, {1, 1, 1}}).stats().min == 12, "a cut");
    const auto zero = tachyfits::evaluate("a - b", {{"a", image}, {"b", file.image(1)}});
    expect(zero.stats().max == 0, "an expression");
    try {
        image.read<std::uint8_t>({{0, 1, 1}});
        expect(false, "an error for two missing ranges");
    } catch (const tachyfits::error &e) {
        expect(e.kind() == tachyfits::kind::usage && !e.hint().empty(), "an error of usage");
    }
    try {
        tachyfits::file missing(path + ".missing");
        expect(false, "an error for a missing file");
    } catch (const tachyfits::error &e) {
        expect(e.kind() == tachyfits::kind::io, "an error of input");
    }
    std::cout << (failures ? "failed\n" : "passed\n");
    return failures != 0;
} catch (const tachyfits::error &e) {
    std::cerr << e.what() << " [" << e.code() << "]\n" << e.hint() << "\n";
    return 1;
}
