// Changes the header of the primary HDU and copies the rest: edit_header IN OUT OBJECT.
#include <iostream>
#include <tachyfits.hpp>

int main(int argc, char **argv) try {
    if (argc != 4) throw std::invalid_argument("usage: edit_header IN OUT OBJECT");
    tachyfits::document d(argv[1]);
    auto &header = d.header("Primary");
    std::cout << header.svalue("OBJECT") << " " << header.dvalue("EXPTIME") << "\n";
    header.update("OBJECT", argv[3], "name").update("EXPTIME", 2 * header.dvalue("EXPTIME"));
    header.erase("OBSERVER").append("HISTORY", "edited by edit_header");
    d.write(argv[2]);
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
