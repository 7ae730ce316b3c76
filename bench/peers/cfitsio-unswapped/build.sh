#!/bin/sh
# CFITSIO from Debian's source package with its swapping of bytes switched off, as in appendix E of S. Eguchi 2013, and the
# program of ../cfitsio-paper with it. The package's lists and the build stay in the folder that the first word names.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$build/apt/lists/partial" "$build/apt/parts"
cd "$build"

if [ ! -f libcfitsio.a ]; then
    # The machine's own lists may leave sources out, and changing them takes root.
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    cat > apt/parts/source.sources <<EOF
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: $release
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
EOF
    options="-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$build/apt/parts -o Dir::State::Lists=$build/apt/lists"
    options="$options -o APT::Sandbox::User= -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache="
    apt-get -q $options update
    apt-get -q $options source --download-only --tar-only cfitsio
    rm -rf source && mkdir source
    tar -x --strip-components 1 -C source -f cfitsio_*.orig.tar.*
    cd source
    sed -i '/__x86_64__/,/BYTESWAPPED/ s/BYTESWAPPED TRUE/BYTESWAPPED FALSE/' fitsio2.h
    # The check at the start that the bytes are in the order that the header says.
    sed -i 's/(BYTESWAPPED == FALSE && u.cval\[1\] != 1)/0/' cfileio.c
    grep -q 'BYTESWAPPED FALSE' fitsio2.h
    CFLAGS="-O2 -w" ./configure --disable-curl --quiet
    make -s libcfitsio.a > ../make.log 2>&1 || { tail -n 5 ../make.log >&2; exit 1; }
    cp libcfitsio.a ..
    cd ..
fi
gcc -std=gnu11 -O2 -Wall -Wextra -fopenmp -DUNSWAPPED -I"$here/../common" -Isource -o image \
    "$here/../cfitsio-paper/image.c" libcfitsio.a -lz -lm
