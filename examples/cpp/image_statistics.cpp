// Prints statistics of the primary images of files: image_statistics FILE…
#include <iostream>
#include <tachyfits.hpp>

int main(int argc, char **argv) try {
    std::cout.precision(15);
    for (int n = 1; n < argc; n++) {
        const auto image = tachyfits::file(argv[n]).image("Primary");
        const auto s = image.stats();
        std::cout << "IMAGE = " << argv[n] << "\nNPIX = " << s.count << "\nMEAN = " << s.mean
                  << "\nSTD = " << s.std << "\nMIN = " << s.min << "\nMAX = " << s.max
                  << "\nMEDIAN = " << image.median() << "\n";
    }
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
