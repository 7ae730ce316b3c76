"""Names in other programs, and their equivalents here: the only register of such hints.

Code that refuses an unknown attribute, argument, command or option looks it up here. To add a hint,
add a line; the value is the equivalent call in that interface.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

#: Attributes of objects, by the kind of the object: astropy, spectral-cube, CASA, pandas, fitsio.
ATTRIBUTES: dict[str, dict[str, str]] = {
    "tachyfits": {
        "getdata": "tf.open(path)[0].read()",
        "getheader": "tf.open(path)[0].header",
        "getval": 'tf.open(path)[0].header["KEYWORD"]',
        "setval": 'with tf.edit(path) as editor: editor[0].header["KEYWORD"] = value',
        "writeto": "tf.write(path, data, header)",
        "append": "with tf.edit(path) as editor: editor.append(data)",
        "update": "with tf.edit(path) as editor:",
        "read": "tf.open(path)[0].read() for pixels, tf.open(path)[1].read() for rows",
        "load": "tf.open(path)",
        "FITS": "tf.open(path) to read, tf.edit(path) to change, tf.write(path, data) to make",
        "FITSDiff": "tf.diff(one, other)",
        "HDUList": "tf.open(path) to read; tf.write(path, [data, ...]) to make",
        "PrimaryHDU": "tf.write(path, array, header)",
        "ImageHDU": "tf.write(path, array, header)",
        "BinTableHDU": "tf.write(path, columns)",
        "SpectralCube": "tf.open(path)[0]",
        "WCS": "tf.open(path)[0].wcs",
        "plot": "from tachyfits import plot; or plane.plot(), spectrum.plot(), tf.figure([...])",
        "concat": "tf.write(path, np.concatenate([...]))",
        "imstat": "tf.open(path)[0].stats()",
        "read_csv": "pandas.read_csv(path), and tf.write(path, frame)",
    },
    "File": {
        "writeto": "file[0].write(path) copies an HDU, tf.edit(path) changes the file",
        "flush": "with tf.edit(path) as editor: writes at its end",
        "append": "with tf.edit(path) as editor: editor.append(data)",
        "insert": "with tf.edit(path) as editor: editor.insert(index, data)",
        "filename": "file.path",
        "index_of": 'file["NAME"].index',
        "fileinfo": "file.info()",
        "data": "file[0].read() for pixels, file[1].read() for rows",
        "header": "file[0].header",
        "hdus": "list(file)",
        "keys": "[hdu.name for hdu in file]",
        "read": "file[0].read() for pixels, file[1].read() for rows",
        "read_header": "file[0].header",
        "get_colnames": "file[1].names",
        "to_astropy": "file[1].to_astropy() for a table, file[0].plane().to_astropy() for an image",
        "to_pandas": "file[1].to_pandas()",
        "write": "file[0].write(path) copies an HDU",
    },
    "Image": {
        "section": "image[...]",
        "writeto": "image.write(path)",
        "values": "image.read()",
        "array": "image.read()",
        "value": "image.read()",
        "filled": "image.read()",
        "filled_data": "image.read()",
        "unmasked_data": "image.read()",
        "unitless_filled_data": "image.read()",
        "hdu": "image itself; image.write(path) writes it",
        "moment0": "image.moment(0)",
        "moment1": "image.moment(1)",
        "moment2": "image.moment(2)",
        "linewidth_sigma": "image.moment(2)",
        "linewidth_fwhm": "2.3548 * image.moment(2)",
        "spectral_slab": 'image.select(channels="100..250 km/s"), or image.cutout(channels=...)',
        "subcube": "image.cutout(region)",
        "subcube_from_ds9region": "image.select(region)",
        "subcube_from_regions": "image.select(regions)",
        "subcube_from_mask": "image.select(where=mask)",
        "minimal_subcube": "image.select(region).cutout()",
        "with_mask": "image.select(where=mask)",
        "mask": "np.isnan(image.read()); pixels are chosen by image.select(where=...)",
        "mask_out_bad_beams": "image.beams tells them; image.select(channels=...) chooses",
        "with_spectral_unit": 'image.moments(unit="km/s"); spectrum and moment take unit= too',
        "world": "image.wcs",
        "spatial_coordinate_map": "image.wcs",
        "convolve_to": "image.smooth(beam=beam)",
        "spectral_smooth": 'image.smooth("gaussian", width)',
        "spectral_smooth_median": "image.rebin(z=n, statistic='median')",
        "spatial_smooth": "image.smooth_sky(width)",
        "spectral_interpolate": "image.rebin(z=n)",
        "downsample_axis": "image.rebin(z=n)",
        "reproject": "reproject.reproject_interp(image.plane().to_astropy(), header)",
        "mad_std": "image.robust_rms()",
        "nanmean": "image.mean(); undefined pixels are left out",
        "nansum": "image.sum(); undefined pixels are left out",
        "nanstd": "image.std(); undefined pixels are left out",
        "nanmax": "image.max(); undefined pixels are left out",
        "average": "image.mean()",
        "quantile": "image.percentile(100 * q)",
        "statistics": "image.stats()",
        "describe": "image.stats()",
        "imstat": "image.stats()",
        "plot": "image.plane().plot(), image.collapse('max').plot() or image.spectrum().plot()",
        "quicklook": "image.plane().plot()",
        "imshow": "image.plane().plot()",
        "show": "image.view() in a notebook, image.plane().plot() for a picture",
        "plot_channel_maps": "tachyfits.plot.channel_figure(image, count=9)",
        "png": "image.plane().png(path)",
        "crop": "image.cutout(region)",
        "aperture_sum": "image.flux(region)",
        "velocity": 'image.spectrum(unit="km/s").axis.values',
        "velocity_axis": 'image.spectrum(unit="km/s").axis.values',
        "transpose": "image.reorder(axes), or image.read().transpose()",
        "T": "image.reorder(axes), or image.read().T",
        "astype": "image.read(dtype=...)",
        "byteswap": "image.read(), which is in native byte order",
        "to_astropy": "image.plane().to_astropy(), or image.to_spectral_cube()",
        "to_numpy": "image.read()",
        "to_value": "image.to(unit).read()",
        "copy": "image.read() for an array, image.write(path) for a file",
        "apply_numpy_function": "np.mean(image, axis=0) and the like, or tf.evaluate",
        "pixels": "image.read()",
        "columns": "another HDU is the table: file.table().columns",
    },
    "Table": {
        "data": "table.read()",
        "colnames": "table.names",
        "dtypes": "table.columns tells types and units",
        "dtype": "table.columns tells types and units",
        "loc": "table.read(columns, rows=slice(0, 10))",
        "iloc": "table.read(columns, rows=slice(0, 10))",
        "head": "table.read(rows=slice(0, 5))",
        "tail": "table.read(rows=slice(-5, None))",
        "query": 'table.read(where="MAG < 20")',
        "filter": 'table.read(where="MAG < 20")',
        "get_where": 'table.read(where="MAG < 20")',
        "field": "table['NAME']",
        "read_column": "table['NAME']",
        "read_columns": "table.read([...])",
        "read_rows": "table.read(rows=...)",
        "iterrows": "for rows in table.batches():",
        "nrows": "len(table)",
        "nrow": "len(table)",
        "get_nrows": "len(table)",
        "rows": "table.read() reads them, len(table) is how many",
        "groupby": "table.to_pandas().groupby(...)",
        "sort_values": "table.to_pandas().sort_values(...)",
        "sort": "table.to_astropy().sort(...)",
        "merge": "table.match(other, radius) on the sky; else table.to_pandas().merge(...)",
        "crossmatch": "table.match(other, radius)",
        "match_to_catalog_sky": "table.match(other, radius)",
        "search_around_sky": "table.match(other, radius)",
        "cone_search": "table.cone(ra, dec, radius)",
        "describe": "table.to_pandas().describe()",
        "to_csv": 'table.write("out.csv")',
        "to_parquet": 'table.write("out.parquet")',
        "to_table": "table.to_astropy()",
        "plot": "table.to_pandas().plot(...)",
        "stats": "another HDU has pixels: file.image().stats(); a column: table['NAME'].mean()",
        "mean": "table['NAME'].mean()",
        "wcs": "another HDU has pixels: file.image().wcs",
        "add_column": "with tf.edit(path) as editor: editor[1].add_column(name, values)",
    },
    "Plane": {
        "show": "plane.plot(), which returns a figure of matplotlib",
        "imshow": "plane.plot()",
        "quicklook": "plane.plot()",
        "savefig": "plane.png(path)",
        "writeto": "plane.write(path)",
        "hdu": "plane itself; plane.write(path) writes it",
        "value": "plane.values",
        "data": "plane.values",
        "array": "plane.values",
        "read": "plane.values",
        "to_hdu": "plane.write(path)",
        "stats": "plane.mean(), plane.std(), plane.max() and the like",
        "to_ccddata": "plane.to_astropy()",
        "to_nddata": "plane.to_astropy()",
        "cutout": "plane[region], such as plane['circle(10,20,5)']",
        "crop": "plane[region], such as plane['circle(10,20,5)']",
        "select": "cube.select(region) before the plane is made, or plane[region]",
        "convolve_to": "cube.smooth(beam=beam) before the plane is made",
    },
    "Spectrum": {
        "flux": "spectrum.values, in spectrum.unit",
        "value": "spectrum.values",
        "data": "spectrum.values",
        "spectral_axis": "spectrum.axis.values, in spectrum.axis.unit",
        "velocity": 'cube.spectrum(unit="km/s").axis.values',
        "wavelength": 'cube.spectrum(unit="um").axis.values',
        "frequency": 'cube.spectrum(unit="GHz").axis.values',
        "quicklook": "spectrum.plot()",
        "plotter": "spectrum.plot()",
        "savefig": "spectrum.png(path)",
        "to_csv": 'spectrum.write("out.csv")',
        "to_specutils": "spectrum.to_astropy()",
        "writeto": "spectrum.write(path)",
    },
    "Header": {
        "tofile": "header.to_astropy().tofile(path)",
        "totextfile": "header.to_astropy().totextfile(path)",
        "tostring": "header.to_astropy().tostring()",
        "add_history": 'with tf.edit(path) as editor: editor[0].header["HISTORY"] = text',
        "append": "with tf.edit(path) as editor: editor[0].header[keyword] = value",
        "insert": "with tf.edit(path) as editor: editor[0].header[keyword] = value",
        "set": "with tf.edit(path) as editor: editor[0].header[keyword] = value",
        "read": "header[keyword]",
    },
}  # fmt: skip

#: Arguments of calls: by name, or by "function.name" if the hint depends on the function.
ARGUMENTS: dict[str, str] = {
    "open.mode": 'tf.open reads; to change a file: with tf.edit(path) as editor:',
    "open.memmap": "leave it out, or say storage='mmap'",
    "open.lazy_load_hdus": "leave it out: only headers are read",
    "open.do_not_scale_image_data": 'image.read(dtype="raw") for stored values',
    "open.uint": "leave it out: unsigned integers are read as such",
    "open.ignore_missing_end": "damaged='warn' reads what is whole",
    "open.ignore_blank": "leave it out: BLANK pixels are undefined",
    "open.checksum": "hdu.checksum() compares checksums; tf.verify(path) checks a file",
    "open.ext": "index the file: tf.open(path)[1]",
    "open.hdu": "index the file: tf.open(path)[1]",
    "open.hdu_index": "index the file: tf.open(path)[1]",
    **{
        f"{name}.{argument}": f"image.select({argument}=...).{name}()"
        for name in ("std", "mean", "sum", "max", "min", "median", "mad", "reduce")
        for argument in ("channels", "region", "section", "where", "pol")
    },
    "write.clobber": "overwrite=True",
    "write.output_verify": "leave it out; tf.verify(path) checks a file",
    "write.hdr": "header=",
    "write.extname": "name=",
    "extname": "name=",
    "clobber": "overwrite=True",
    "colormap": "cmap=",
    "colour": "cmap= for planes",
    "color": "cmap= for planes",
    "vmin": "low=",
    "vmax": "high=",
    "norm": 'stretch="log" and the like',
    "size": "figsize=",
    "savepath": "plane.png(path)",
    "axis_number": "axis=",
    "operation": "statistic=",
    "method": "statistic=",
    "how": "statistic=, such as 'mean'",
    "func": "statistic=, such as 'mean'",
    "chans": 'channels=slice(40, 90) or channels="100..250 km/s"',
    "chan": "channels=",
    "spw": "channels=",
    "stokes": 'pol="I"',
    "box": "region=tf.Box(x, y, width, height), or section=",
    "mask": "where=mask",
    "includepix": 'select(where="> 3 mJy/beam") before it',
    "excludepix": 'select(where="< 3 mJy/beam") before it',
    "rest_value": 'rest="230.538 GHz"',
    "restfreq": 'rest="230.538 GHz"',
    "velocity_convention": 'convention="radio"',
    "spectral_unit": 'unit="km/s"',
    "fwhm": "width=",
    "sigma": "width=, the full width at half maximum: 2.3548 sigma",
    "usecols": "columns",
    "skiprows": "rows=slice(first, None)",
    "nrows": "rows=slice(0, n)",
    "query": 'where="MAG < 20"',
    "condition": 'where="MAG < 20"',
    "filter": 'where="MAG < 20"',
    "max_sep": "radius",
    "sep": "radius",
    "nan_policy": "leave it out: undefined pixels are ignored",
    "nthreads": "threads=",
    "n_jobs": "threads=",
    "parallel": "threads=",
}  # fmt: skip

#: Commands of CASA, MIRIAD, FTOOLS, CFITSIO, STILTS, Gnuastro and astropy.
COMMANDS: dict[str, str] = {
    "imstat": "stats FILE",
    "immoments": "collapse FILE --moment 0,1,2 -o OUT.fits",
    "moment": "collapse FILE --moment 0,1,2 -o OUT.fits",
    "moments": "collapse FILE --moment 0,1,2 -o OUT.fits",
    "imsubimage": "cutout FILE --section X1:X2,Y1:Y2 -o OUT.fits",
    "imsub": "cutout FILE --section X1:X2,Y1:Y2 -o OUT.fits",
    "subim": "cutout FILE --section X1:X2,Y1:Y2 -o OUT.fits",
    "fitscopy": "cutout FILE --section X1:X2,Y1:Y2 -o OUT.fits",
    "crop": "cutout FILE --section X1:X2,Y1:Y2 -o OUT.fits",
    "imsmooth": "smooth FILE --sky WIDTH -o OUT.fits",
    "convol": "smooth FILE --sky WIDTH -o OUT.fits",
    "convolve": "smooth FILE --sky WIDTH -o OUT.fits",
    "specsmooth": "smooth FILE --kernel hanning -o OUT.fits",
    "impv": "pv FILE --path 'X,Y X,Y' -o OUT.fits",
    "imhead": "header FILE",
    "prthd": "header FILE",
    "fitsheader": "header FILE",
    "listhead": "header FILE",
    "fkeyprint": "header FILE --keyword NAME",
    "fthedit": "header FILE --set NAME=VALUE",
    "modhead": "header FILE --set NAME=VALUE",
    "exportfits": "cutout FILE --section '*,*,*' -o OUT.fits",
    "importfits": "info FILE: FITS files are read as they are",
    "imview": "view FILE",
    "carta": "view FILE",
    "ds9": "view FILE",
    "immath": "math EXPRESSION a=FILE -o OUT.fits",
    "imarith": "math EXPRESSION a=FILE -o OUT.fits",
    "maths": "math EXPRESSION a=FILE -o OUT.fits",
    "imrebin": "rebin FILE NX NY NZ -o OUT.fits",
    "imbin": "rebin FILE NX NY NZ -o OUT.fits",
    "imtrans": "reorder FILE AXES -o OUT.fits",
    "transpose": "reorder FILE AXES -o OUT.fits",
    "specflux": "spectrum FILE --region REGION --statistic flux",
    "imspec": "spectrum FILE --region REGION",
    "fitsinfo": "info FILE",
    "fitsverify": "verify FILE",
    "ftverify": "verify FILE",
    "fitscheck": "checksum FILE",
    "ftchecksum": "checksum FILE",
    "fitsdiff": "diff ONE OTHER",
    "ftdiff": "diff ONE OTHER",
    "fpack": "compress FILE -o OUT.fits",
    "funpack": "decompress FILE -o OUT.fits",
    "ftlist": "table FILE",
    "tpipe": "table FILE --where CONDITION -o OUT.fits",
    "tcopy": "table FILE -o OUT.parquet",
    "ftselect": "table FILE --where CONDITION -o OUT.fits",
    "fselect": "table FILE --where CONDITION -o OUT.fits",
    "ftcopy": "table FILE --where CONDITION -o OUT.fits",
    "fitshistogram": "histogram FILE",
    "plot": "collapse FILE -o OUT.png, or spectrum, histogram and figure",
    "png": "collapse FILE -o OUT.png",
    "fits2png": "collapse FILE -o OUT.png",
    "ls": "info FILE",
    "list": "info FILE",
}  # fmt: skip

#: Options of commands: by name, or by "command --name" if the hint depends on the command.
OPTIONS: dict[str, str] = {
    "--box": "--section X1:X2,Y1:Y2, or --region 'box(X,Y,WIDTH,HEIGHT)'",
    "--chans": "--channels FIRST:LAST",
    "--chan": "--channels FIRST:LAST",
    "--spw": "--channels FIRST:LAST",
    "--stokes": "--pol I",
    "--velocity": "--channels '100..250 km/s'",
    "--moments": "--moment 0,1,2",
    "--stat": "--statistic NAME",
    "--out": "-o OUT",
    "--outfile": "-o OUT",
    "--clobber": "--overwrite",
    "--force": "--overwrite",
    "--ext": "--hdu NUMBER",
    "--extension": "--hdu NUMBER",
    "--extname": "--hdu NAME",
    "--key": "--keyword NAME",
    "--verbose": "--report, or tachyfits --version --verbose",
    "-v": "tachyfits --version",
    "--restfreq": "--rest '230.538 GHz'",
    "--fwhm": "--width PIXELS, or --sky WIDTH",
    "--sigma": "--width PIXELS, the full width at half maximum",
    "--query": "--where CONDITION",
    "--filter": "--where CONDITION",
    "--select": "--where CONDITION",
    "--cmd": "--where CONDITION and --columns NAMES",
    "--colormap": "--cmap NAME",
    "--vmin": "--low VALUE",
    "--vmax": "--high VALUE",
    "--size": "--figsize WIDTH",
    "--nproc": "--threads N",
    "--jobs": "--threads N",
    "--format": "-o OUT.csv: the ending says the format",
    "--ofmt": "-o OUT.csv: the ending says the format",
    "stats --mask": "tachyfits math 'where(mask, a, nan)' makes an image of the pixels to measure",
    "pv --pa": "--path 'X,Y X,Y', the ends of the cut",
    "pv --length": "--path 'X,Y X,Y', the ends of the cut",
    "cutout --size": "--region 'box(X,Y,WIDTH,HEIGHT)'",
    "cutout --center": "--region 'box(X,Y,WIDTH,HEIGHT)'",
}  # fmt: skip

_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")


def attribute_hint(kind: str, name: str) -> str:
    """Return the equivalent of another package's attribute; "" for an unknown name.

    >>> attribute_hint("Image", "moment0"), attribute_hint("Image", "_x")
    ('image.moment(0)', '')
    """
    return ATTRIBUTES.get(kind, {}).get(name, "")


def no_attribute(kind: str, name: str, hint: str = "", known: Iterable[str] = ()) -> str:
    """Return the message of an AttributeError.

    Parameters
    ----------
    kind
        The class.
    name
        The attribute.
    hint
        Hint if the register lacks the name.
    known
        Existing attributes: the message suggests the closest.

    >>> print(no_attribute("Image", "mena", known=["mean", "max"]))
    'Image' object has no attribute 'mena'
    hint: did you mean mean?
    """
    problem = f"'{kind}' object has no attribute {name!r}"
    if name.startswith("_"):
        return problem
    hint = attribute_hint(kind, name) or hint or closest(name, known)
    return f"{problem}\nhint: {hint}" if hint else problem


def closest(name: str, known: Iterable[str]) -> str:
    """Return a question about the closest spelling; "" without a match."""
    names = [each for each in known if not each.startswith("_")]
    alike = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    return f"did you mean {alike[0]}?" if alike else ""


def argument_hint(function: Callable[..., Any], message: str) -> str:
    """Return the equivalent of a function's unexpected argument; "" for another message.

    >>> argument_hint(closest, "closest() got an unexpected keyword argument 'clobber'")
    'use overwrite=True'
    >>> argument_hint(closest, "closest() got an unexpected keyword argument 'knwon'")
    'did you mean known=?'
    """
    match = _UNEXPECTED.search(message)
    if match is None:
        return ""
    name = match[1]
    if hint := name_hint(function.__name__, name):
        return hint
    parameters = [each for each in inspect.signature(function).parameters if each != "self"]
    alike = difflib.get_close_matches(name, parameters, n=1, cutoff=0.6)
    if alike:
        return f"did you mean {alike[0]}=?"
    return f"the arguments are {', '.join(parameters)}"


def name_hint(function: str, argument: str) -> str:
    """Return the equivalent of a function's argument; "" for an unknown one.

    >>> name_hint("write", "clobber")
    'use overwrite=True'
    """
    hint = ARGUMENTS.get(f"{function}.{argument}") or ARGUMENTS.get(argument, "")
    return f"use {hint}" if hint and " " not in hint.partition("=")[0] else hint


def command_hint(name: str) -> str:
    """Return the command line equivalent to another package's command; "" if there is none."""
    line = COMMANDS.get(name.lower(), "")
    return line and f"use tachyfits {line}"


def option_hint(command: str, option: str) -> str:
    """Return the equivalent of another program's option; "" for an unknown one."""
    hint = OPTIONS.get(f"{command} {option}") or OPTIONS.get(option, "")
    return hint and f"use {hint}"
