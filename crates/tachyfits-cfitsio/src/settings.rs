//! Environment variables of the library, read once.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Treatment of calls that can be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Serves the call.
    On,
    /// Forwards every call.
    Off,
    /// Serves the call, forwards it to CFITSIO too, and compares the results.
    Check,
}

/// Size below which reads are forwarded, because serving them gains nothing.
const LEAST: usize = 256 << 10;

/// Maximum number of threads, because they share the cores with another program.
const MOST_THREADS: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    /// Minimum size of the caller's array, in bytes, for serving a read.
    pub(crate) least: usize,
    /// File for the report.
    pub(crate) report: Option<PathBuf>,
    pub(crate) threads: usize,
}

impl Settings {
    /// Returns the settings of this process.
    pub(crate) fn get() -> &'static Settings {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| Settings::new(|name| std::env::var_os(name)))
    }

    /// Interprets environment variables. Invalid ones count as unset, because a foreign program has no way to report an
    /// error.
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
        // Invalid values mean the default.
        let odd = settings(&[("TACHYFITS_CFITSIO_LEAST", "-1"), ("TACHYFITS_THREADS", "0")]);
        assert_eq!(odd.least, LEAST);
        assert!(odd.threads > 0);
    }
}
