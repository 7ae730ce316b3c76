#!/bin/sh
# The day of day.py on the command line, with the same numbers.
set -e
places="--region circle(48.5,48.5,4) --region circle(28,34,4) --region circle(69,63,4)"
tachyfits smooth cube.fits --beam 40arcsec -o smooth.fits --quiet
noise=$(tachyfits stats smooth.fits --channels 1:6,55:60 --unit K | awk '$1 == "std" { print $2 }')
echo "noise $noise K"
tachyfits collapse smooth.fits --channels 7:54 --threshold "$(awk "BEGIN { printf \"%.17g\", 4 * $noise }")" \
  --moment 0,1,2 --unit K,km/s -o day.fits --quiet
tachyfits pv smooth.fits --path 'line(20,28,77,69)' --width 3 -o pv.fits --quiet
tachyfits fit smooth.fits $places --statistic flux --unit Jy,km/s
tachyfits figure day-moment?.fits pv.fits --columns 2 --figsize 7.1 --dpi 150 -o day.png --quiet
tachyfits match catalogue.fits other.fits --radius 30arcsec -o matched.parquet --quiet
