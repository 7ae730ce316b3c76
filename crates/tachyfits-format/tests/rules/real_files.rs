//! Real files, if available (see [`crate::shared`]).

use crate::build::walk;
use crate::hostile::ask_everything;
use crate::shared;

#[test]
fn real_files_are_walked_and_their_headers_kept() {
    let Some(folder) = shared::folder() else { return };
    let paths = shared::fits_files(&folder.join("data"));
    assert!(paths.len() >= 10, "the real files are not complete");
    for path in paths {
        let name = path.display();
        let file = shared::bytes(&path);
        let walked = walk(&file).whole();
        assert!(!walked.hdus.is_empty(), "{name}");
        assert!(walked.bytes_read < file.len() as u64 / 2 + 100_000, "{name}: data were read");
        for hdu in &walked.hdus {
            let header = hdu.header.to_bytes();
            assert!(file[hdu.header_offset as usize..].starts_with(&header), "{name}");
            assert_eq!(hdu.data_bytes, hdu.data_bytes_present, "{name}");
            ask_everything(hdu);
        }
    }
}

#[test]
fn a_real_cube_has_the_axes_its_header_shows() {
    let Some(folder) = shared::folder() else { return };
    let file = shared::bytes(&folder.join("data/cubes/ngc6946.fits"));
    let velocity = walk(&file).whole().hdus[0].linear_axis(3).unwrap();
    assert_eq!((velocity.ctype.as_str(), velocity.cunit.as_str()), ("VELO-HEL", "km/s"));
    assert!(!velocity.coupled && velocity.restfrq.is_none());

    assert_eq!(velocity.value(-20.0), -243.0);
}
