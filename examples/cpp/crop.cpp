// Writes a part of the primary image, with its coordinates: crop IN X Y WIDTH HEIGHT OUT, counted from 0.
#include <iostream>
#include <tachyfits.hpp>

int main(int argc, char **argv) try {
    if (argc != 7) throw std::invalid_argument("usage: crop IN X Y WIDTH HEIGHT OUT");
    tachyfits::document d(argv[1]);
    d.image("Primary").crop({{std::stoul(argv[2]), std::stoul(argv[4])},
                             {std::stoul(argv[3]), std::stoul(argv[5])}});
    d.write(argv[6]);
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
