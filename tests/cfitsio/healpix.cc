// Write a map of HEALPix and read it again: its C++ library reads columns in chunks of rows.
//
//     healpix FILE
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fitshandle.h>
#include <healpix_map.h>
#include <healpix_map_fitsio.h>

template <typename T> static void print_map(const char *name, const Healpix_Map<T> &map) {
    std::uint64_t state = 1469598103934665603u;
    for (int pixel = 0; pixel < map.Npix(); pixel++) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &map[pixel], sizeof(T));
        state = (state ^ bits) * 1099511628211u;
    }
    std::printf("%s: %d pixels, %016llx\n", name, map.Npix(), static_cast<unsigned long long>(state));
}

int main(int count, char **arguments) {
    if (count < 2)
        return 2;
    Healpix_Map<double> map(256, RING, SET_NSIDE);
    for (int pixel = 0; pixel < map.Npix(); pixel++)
        map[pixel] = pixel % 97 == 0 ? Healpix_undef : 0.25 * pixel - 1000;
    fitshandle out;
    out.create(std::string("!") + arguments[1]);
    write_Healpix_map_to_fits(out, map, PLANCK_FLOAT64);
    out.close();
    const auto doubles = read_Healpix_map_from_fits<double>(arguments[1]);
    print_map("double", doubles);
    const auto floats = read_Healpix_map_from_fits<float>(arguments[1]);
    print_map("float", floats);
    fitshandle in;
    in.open(arguments[1]);
    in.goto_hdu(2);
    arr<double> part(100000);
    in.read_column(1, part, 12345);
    std::printf("part: %.17g %.17g\n", part[0], part[99999]);
    return 0;
}
