// Copies a square of the primary image and pastes it elsewhere: copy_paste IN OUT X Y SIZE TO_X TO_Y, counted from 0.
#include <iostream>
#include <tachyfits.hpp>

int main(int argc, char **argv) try {
    if (argc != 8) throw std::invalid_argument("usage: copy_paste IN OUT X Y SIZE TO_X TO_Y");
    tachyfits::document d(argv[1]);
    auto &image = d.image("Primary");
    const auto size = std::stoul(argv[5]);
    const auto part = image.copy({{std::stoul(argv[3]), size}, {std::stoul(argv[4]), size}});
    image.paste(part, std::stoul(argv[6]), std::stoul(argv[7]));
    d.write(argv[2]);
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
