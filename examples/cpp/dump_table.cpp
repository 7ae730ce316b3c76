// Prints the cells of a table, a row a line: dump_table FILE [HDU]. Without an HDU it lists the tables.
#include <iostream>
#include <tachyfits.hpp>

int main(int argc, char **argv) try {
    if (argc < 2) throw std::invalid_argument("usage: dump_table FILE [HDU]");
    tachyfits::document d(argv[1]);
    if (argc < 3) {
        for (std::size_t n = 0; n < d.length(); n++)
            if (d.hdu(n).is_table()) std::cerr << n << " " << d.hdu(n).name() << "\n";
        return 0;
    }
    const auto table = d.table(std::stoul(argv[2]));
    std::vector<std::vector<std::string>> columns;
    for (std::uint64_t n = 0; n < table.columns(); n++)
        columns.push_back(table.col(static_cast<std::int32_t>(n)).svalues());
    for (std::uint64_t row = 0; row < table.length(); row++) {
        std::string line;
        for (const auto &cells : columns)
            for (std::size_t n = 0, each = cells.size() / table.length(); n < each; n++)
                line += (line.empty() ? "" : ",") + cells[row * each + n];
        std::cout << line << "\n";
    }
} catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
}
