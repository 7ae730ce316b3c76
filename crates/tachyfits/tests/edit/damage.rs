//! Edits that cannot be written or are interrupted: the file is unchanged or restored.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{fits, table_file};
use crate::tables::{commit, edit, file, open};
use tachyfits::table::ColumnInput;
use tachyfits::{Editor, OpenOptions, Rows, RunOptions};

/// Environment variable that names the edit and the file for a child process.
const CHILD: &str = "TACHYFITS_TEST_EDIT";

fn table_of_bytes(rows: u64) -> Vec<u8> {
    let cards = ["TFORM1  = '100B    '".to_owned()];
    table_file("BINTABLE", [100, rows], 0, &cards, &vec![1; 100 * rows as usize])
}

fn append(path: &Path, rows: u64) -> Result<(), tachyfits::Error> {
    let mut editor = Editor::open(path, &OpenOptions::default())?;
    let values = vec![2; 100 * rows as usize];
    editor.append_rows(1, &[ColumnInput::new(&values)], rows, &RunOptions::default())?;
    editor.commit(false, &RunOptions::default()).map(drop)
}

fn grow_header(path: &Path) -> Result<(), tachyfits::Error> {
    let mut editor = Editor::open(path, &OpenOptions::default())?;
    for number in 0..40 {
        editor.set(0, &format!("KEY{number}"), number, "")?;
    }
    editor.commit(false, &RunOptions::default()).map(drop)
}

/// Does nothing unless this process was started to edit.
#[test]
fn child() {
    let Ok(request) = std::env::var(CHILD) else { return };
    let (how, path) = request.split_once(':').unwrap();
    let result = match how {
        "append" => append(Path::new(path), 2000),
        _ => grow_header(Path::new(path)),
    };
    let error = result.expect_err("files may not be so large");
    assert_eq!(error.kind().as_str(), "io", "{error}");
    assert!(format!("{error:#}").contains("nothing was changed"), "{error}");
}

/// Starts this program with a file size limit in units of 1024 bytes; returns whether it ended by itself.
fn limited(how: &str, path: &Path, limit: u64, is_killed: bool) -> bool {
    let signal = if is_killed { "" } else { "trap '' XFSZ; " };
    let program = std::env::current_exe().unwrap();
    let script = format!("{signal}ulimit -f {limit}; exec \"$0\" --exact damage::child");
    let status = Command::new("bash")
        .args(["-c", &script])
        .arg(program)
        .env(CHILD, format!("{how}:{}", path.display()))
        .output()
        .unwrap();
    status.status.success()
}

#[test]
fn a_full_disk_leaves_the_file_as_it_was() {
    for how in ["append", "header"] {
        let before = table_of_bytes(3000);
        let (directory, path) = file(&before);
        assert!(limited(how, &path, before.len() as u64 / 1024 + 1, false), "{how}");
        assert_eq!(fs::read(&path).unwrap(), before, "{how}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{how}");
    }
}

#[test]
fn the_next_edit_restores_the_file_of_a_killed_process() {
    for how in ["append", "header"] {
        let before = table_of_bytes(3000);
        let (_directory, path) = file(&before);
        assert!(!limited(how, &path, before.len() as u64 / 1024 + 1, true), "{how}");
        drop(edit(&path));
        assert_eq!(fs::read(&path).unwrap(), before, "{how}");
        append(&path, 5).unwrap();
        assert_eq!(open(&path).table(1).unwrap().layout().rows, 3005);
    }
}

#[test]
fn cut_at_any_place_a_file_is_edited_or_refused() {
    let whole = table_of_bytes(40);
    for length in (2880..whole.len()).step_by(711) {
        let (_directory, path) = file(&whole[..length]);
        let Ok(mut editor) = Editor::open(&path, &OpenOptions::default()) else { continue };
        if editor.hdus() < 2 {
            continue;
        }
        let values = vec![2; 100];
        let input = ColumnInput::new(&values);
        let run = RunOptions::default();
        let appended = editor.append_rows(1, &[input], 1, &run);
        let updated = editor.update_cells(1, 0, &Rows::List(&[0]), &input, &run);
        assert_eq!(appended.is_ok(), length >= 5760 + 4000);
        assert_eq!(updated.is_ok(), appended.is_ok());
        let rows = if appended.is_ok() { 41 } else { 40 };
        commit(editor);
        assert_eq!(open(&path).table(1).unwrap().layout().rows, rows);
    }
}

#[test]
fn headers_of_any_bytes_are_edited_or_refused() {
    let mut numbers = crate::common::Numbers(11);
    let base = [fits(8, &[10], &[], &[0; 10]), table_of_bytes(4)[2880..].to_vec()].concat();
    for _ in 0..300 {
        let mut bytes = base.clone();
        for _ in 0..1 + numbers.below(12) {
            let at = numbers.below(2 * 2880 + 900) as usize;
            bytes[at % base.len()] = b" =/'0123456789ABTFNX\0\xff"[numbers.below(22) as usize];
        }
        let (_directory, path) = file(&bytes);
        let Ok(mut editor) = Editor::open(&path, &OpenOptions::default()) else { continue };
        let run = RunOptions::default();
        for hdu in 0..editor.hdus() {
            let _ = editor.set(hdu, "OBJECT", "M 31", "");
            let _ = editor.append_rows(hdu, &[ColumnInput::new(&[3; 100])], 1, &run);
            let _ = editor.delete_columns(hdu, &[0]);
            let _ = editor.remove(hdu);
        }
        let _ = editor.commit(false, &run);
    }
}
