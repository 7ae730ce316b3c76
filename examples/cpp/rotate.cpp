// Turns the primary image anticlockwise by 90, -90 or 180 degrees: rotate ANGLE IN OUT.
#include <iostream>
#include <tachyfits.hpp>

int main(int argc, char **argv) try {
    if (argc != 4) throw std::invalid_argument("usage: rotate ANGLE IN OUT");
    tachyfits::document d(argv[2]);
    d.image("Primary").rotate_xy(std::stoi(argv[1]));
    d.write(argv[3]);
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
