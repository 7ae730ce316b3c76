// Combines the primary images of files pixel by pixel: combine STATISTIC OUT FILE…; statistics are mean, median, sum, min, max.
#include <iostream>
#include <tachyfits.hpp>

int main(int argc, char **argv) try {
    if (argc < 4) throw std::invalid_argument("usage: combine STATISTIC OUT FILE...");
    const std::size_t count = static_cast<std::size_t>(argc) - 3;
    tachyfits::document layers(argv[3]), combined;
    auto &cube = layers.image("Primary").resize(2, count);
    for (std::size_t n = 1; n < count; n++)
        cube.paste(tachyfits::file(argv[3 + n]).image("Primary"), 0, 0, n);
    combined.append_image("Primary", cube.combine_layers(argv[1])).write(argv[2]);
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
