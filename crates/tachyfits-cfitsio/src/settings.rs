//! The environment variables of the library, read once.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// How the library answers a call that it can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Serves it.
    On,
    /// Forwards every call.
    Off,
    /// Serves it and calls CFITSIO, and compares both.
    Check,
}

/// Reads of fewer bytes are forwarded: less would not gain anything.
const LEAST: usize = 256 << 10;

/// Threads that share the cores of a foreign program.
const MOST_THREADS: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    /// Bytes of the caller's array from which on a read is served.
    pub(crate) least: usize,
    /// The file that gets the report.
    pub(crate) report: Option<PathBuf>,
    pub(crate) threads: usize,
}

impl Settings {
    /// The settings of this process.
    pub(crate) fn get() -> &'static Settings {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| Settings::new(|name| std::env::var_os(name)))
    }

    /// Interprets variables; one that makes no sense counts as not set, because a foreign program has no place for an error.
    pub(crate) fn new(variable: impl Fn(&str) -> Option<OsString>) -> Settings {
        let text = |name: &str| {
            variable(name).map(|text| text.to_string_lossy().trim().to_ascii_lowercase())
        };
        let mode = match text("TACHYFITS_CFITSIO").as_deref() {
            Some("off" | "0" | "no") => Mode::Off,
            Some("check") => Mode::Check,
            _ => Mode::On,
        };
        let number = |name: &str| text(name).and_then(|text| text.parse::<usize>().ok());
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = number("TACHYFITS_THREADS").filter(|&threads| threads > 0);
        Settings {
            mode,
            least: number("TACHYFITS_CFITSIO_LEAST").unwrap_or(LEAST),
            report: variable("TACHYFITS_CFITSIO_REPORT")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
            threads: threads.unwrap_or_else(|| cores().min(MOST_THREADS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST, Mode, Settings};

    #[test]
    fn variables_choose_mode_and_limits() {
        let settings = |values: &'static [(&str, &str)]| {
            Settings::new(|name| {
                values.iter().find(|value| value.0 == name).map(|value| value.1.into())
            })
        };
        let plain = settings(&[]);
        assert_eq!((plain.mode, plain.least, plain.report), (Mode::On, LEAST, None));
        assert!((1..=4).contains(&plain.threads));
        let other = settings(&[
            ("TACHYFITS_CFITSIO", "Check"),
            ("TACHYFITS_CFITSIO_LEAST", "0"),
            ("TACHYFITS_CFITSIO_REPORT", "calls.txt"),
            ("TACHYFITS_THREADS", "7"),
        ]);
        assert_eq!((other.mode, other.least, other.threads), (Mode::Check, 0, 7));
        assert_eq!(other.report.unwrap().to_str(), Some("calls.txt"));
        assert_eq!(settings(&[("TACHYFITS_CFITSIO", "off")]).mode, Mode::Off);
        // Nonsense is the default.
        let odd = settings(&[("TACHYFITS_CFITSIO_LEAST", "-1"), ("TACHYFITS_THREADS", "0")]);
        assert_eq!(odd.least, LEAST);
        assert!(odd.threads > 0);
    }
}
