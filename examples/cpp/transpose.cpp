// Exchanges x and y of the primary image, and its coordinates: transpose IN OUT.
#include <iostream>
#include <tachyfits.hpp>

int main(int argc, char **argv) try {
    if (argc != 3) throw std::invalid_argument("usage: transpose IN OUT");
    tachyfits::document d(argv[1]);
    d.image("Primary").transpose_xy();
    d.write(argv[2]);
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
