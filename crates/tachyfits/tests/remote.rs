//! A storage defined outside the crates: a server of byte ranges with latency, faults and retries. Reading an
//! image, a spectrum or a table through it needs few requests, within its profile.

mod common;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{Numbers, fits, table_file};
use tachyfits::io::{Id, IoError, Profile, Request, Storage};
use tachyfits::verify::VerifyOptions;
use tachyfits::{
    FitsFile, OpenOptions, OutputPixels, ReadAs, Region, RunOptions, Statistic, Values, verify,
};
use tachyfits_io::conformance::storage_suite;

/// A simulated server.
#[derive(Debug, Default)]
struct Server {
    content: Vec<u8>,
    log: Mutex<Vec<Range<u64>>>,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    /// Number of remaining failures by offset of the request.
    faults: Mutex<HashMap<u64, usize>>,
    fails: AtomicUsize,
}

impl Server {
    /// Returns the number of requests since the last call, and their bytes.
    fn requests(&self) -> (usize, u64) {
        let log = std::mem::take(&mut *self.log.lock().unwrap());
        (log.len(), log.iter().map(|range| range.end - range.start).sum())
    }

    fn get(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_under_way.fetch_max(now, Ordering::SeqCst);
        thread::sleep(Duration::from_micros(200));
        self.log.lock().unwrap().push(range.clone());
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let mut faults = self.faults.lock().unwrap();
        let failures = faults.entry(range.start).or_insert(self.fails.load(Ordering::SeqCst));
        if *failures > 0 {
            *failures -= 1;
            return Err(io::Error::other("503 SlowDown"));
        }
        Ok(self.content[range.start as usize..range.end as usize].to_vec())
    }
}

/// Storage on a server: the requests of a call are sent concurrently, and again if they fail.
#[derive(Debug)]
struct Remote {
    id: Id,
    server: Arc<Server>,
    retries: usize,
}

impl Remote {
    fn new(content: Vec<u8>) -> (Arc<Server>, Remote) {
        let server = Arc::new(Server { content, ..Server::default() });
        let id = Id::new("http://example.org/cube.fits", Some("etag".to_owned()));
        (Arc::clone(&server), Remote { id, server, retries: 2 })
    }

    fn fill(&self, request: &mut Request<'_>) -> Result<(), IoError> {
        let (offset, expected) = (request.offset, request.buffer.len() as u64);
        let mut outcome = Ok(Vec::new());
        for _ in 0..=self.retries {
            outcome = self.server.get(offset..offset + expected);
            if outcome.is_ok() {
                break;
            }
        }
        let failed =
            |source| IoError::Read { name: self.name().to_owned(), offset, expected, source };
        request.buffer.copy_from_slice(&outcome.map_err(failed)?);
        Ok(())
    }
}

impl Storage for Remote {
    fn id(&self) -> &Id {
        &self.id
    }

    fn bytes(&self) -> u64 {
        self.server.content.len() as u64
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.read_ranges(&mut [Request { offset, buffer }])
    }

    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        for request in &*requests {
            self.check_within(request.offset, request.buffer.len() as u64)?;
        }
        let in_flight = self.profile().in_flight;
        let queue = Mutex::new(requests.iter_mut());
        let next = || queue.lock().unwrap().next();
        let send = || {
            while let Some(request) = next() {
                self.fill(request)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (1..in_flight).map(|_| scope.spawn(send)).collect();
            let result = send();
            threads.into_iter().map(|other| other.join().unwrap()).fold(result, Result::and)
        })
    }

    fn profile(&self) -> Profile {
        Profile { in_flight: 4, request_bytes: 1 << 20, ..Profile::NETWORK }
    }
}

/// Lengths of the columns, rows and channels of a cube of 4 MiB.
const AXES: [u64; 3] = [128, 128, 64];

fn cube() -> Vec<u8> {
    let mut numbers = Numbers(7);
    let pixels = AXES.iter().product::<u64>();
    let data: Vec<u8> =
        (0..pixels).flat_map(|_| (numbers.below(1000) as f32).to_be_bytes()).collect();
    fits(-32, &AXES, &[], &data)
}

/// Returns a cube on a server, and the same cube in memory.
fn cubes() -> (Arc<Server>, [tachyfits::Image; 2]) {
    let (server, remote) = Remote::new(cube());
    let options = OpenOptions::default();
    let remote_image = FitsFile::open(Arc::new(remote), &options).unwrap().image(0).unwrap();
    (server, [remote_image, common::image(cube())])
}

#[test]
fn a_storage_of_another_crate_conforms() {
    storage_suite(|content| Arc::new(Remote::new(content.to_vec()).1));
}

#[test]
fn opening_and_reading_an_image_takes_few_requests() {
    let (server, [far, near]) = cubes();
    let (requests, bytes) = server.requests();
    assert!(requests <= 4 && bytes <= 256 << 10, "{requests} requests for {bytes} bytes");
    for threads in [1, 3] {
        let options = RunOptions::default().threads(threads);
        let sums = [&far, &near].map(|image| image.total(&image.whole(), &options).unwrap().0);
        assert_eq!(sums[0].sum.value(), sums[1].sum.value());
        let (requests, bytes) = server.requests();
        assert!(requests <= 16 && bytes <= (4 << 20) + (64 << 10), "{requests}, {bytes}");
        let pixels = [&far, &near].map(|image| {
            let mut pixels = vec![0.0f32; image.whole().pixels() as usize];
            let out = OutputPixels::Float32(&mut pixels);
            image.read(&image.whole(), ReadAs::Float32, out, &options).unwrap();
            pixels
        });
        assert!(pixels[0] == pixels[1]);
        let (requests, bytes) = server.requests();
        assert!(requests <= 16 && bytes == 4 << 20, "{requests} requests for {bytes} bytes");
    }
    assert!((2..=4 * 4).contains(&server.most_under_way.load(Ordering::SeqCst)));
}

#[test]
fn many_headers_take_few_requests() {
    let extension = |axis: u64| {
        let cards = [
            "XTENSION= 'IMAGE   '",
            "BITPIX  =                    8",
            "NAXIS   =                    1",
        ];
        let cards = cards.map(str::to_owned).into_iter();
        let cards =
            cards.chain([format!("NAXIS1  = {axis:>20}"), "PCOUNT  =                    0".into()]);
        let cards = cards.chain(["GCOUNT  =                    1".into(), "END".into()]);
        let mut bytes: Vec<u8> =
            cards.flat_map(|card| format!("{card:<80}").into_bytes()).collect();
        bytes.resize(2880 + (axis as usize).next_multiple_of(2880), 0);
        bytes[..2880].iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        bytes
    };
    // Short data, which are read with the headers, and long data of one size, which are skipped.
    for (count, axis, most, most_bytes) in [(2000, 100, 24, 12 << 20), (60, 400_000, 24, 6 << 20)] {
        let mut content = common::header(8, &[], &[]);
        (0..count).for_each(|_| content.extend(extension(axis)));
        let (server, remote) = Remote::new(content);
        let file = FitsFile::open(Arc::new(remote), &OpenOptions::default()).unwrap();
        assert_eq!((file.hdus().len(), file.warnings().len()), (count + 1, 0));
        let (requests, bytes) = server.requests();
        // Predicted requests are sent four at a time.
        assert!(requests <= most * 4 && bytes <= most_bytes, "{requests} requests, {bytes} bytes");
    }
}

#[test]
fn a_spectrum_takes_one_request_of_few_bytes_for_each_channel() {
    let (server, [far, near]) = cubes();
    server.requests();
    let mean: Statistic = "mean".parse().unwrap();
    let region = [Region::circle(60.0, 70.0, 4.0).unwrap()];
    let options = RunOptions::default();
    let spectra = [&far, &near].map(|image| {
        let (reduced, _) =
            image.reduce(&[mean], &[0, 1], &image.whole(), Some(&region), 0, &options).unwrap();
        match reduced.values.into_iter().next() {
            Some(Values::Floats(values)) => values,
            _ => panic!("a mean is a float"),
        }
    });
    assert_eq!(spectra[0].len(), 64);
    assert_eq!(spectra[0], spectra[1]);
    let (requests, bytes) = server.requests();
    // The nine rows of a plane in the circle are read together, some planes including the rows between.
    assert!(requests <= 64 && bytes <= 2 << 20, "{requests} requests for {bytes} bytes");
}

#[test]
fn a_table_is_read_by_requests_of_many_rows() {
    let rows = 20_000u64;
    let data: Vec<u8> =
        (0..rows).flat_map(|row| [row as i32, -(row as i32)]).flat_map(i32::to_be_bytes).collect();
    let cards = ["TFORM1  = 'J'", "TTYPE1  = 'N'", "TFORM2  = 'J'", "TTYPE2  = 'M'"];
    let bytes = table_file("BINTABLE", [8, rows], 0, &cards.map(str::to_owned), &data);
    let (server, remote) = Remote::new(bytes);
    let table =
        FitsFile::open(Arc::new(remote), &OpenOptions::default()).unwrap().table(1).unwrap();
    let (requests, bytes) = server.requests();
    assert!(requests <= 6 && bytes <= 512 << 10, "{requests} requests for {bytes} bytes");
    let (rows_found, _) = table.rows_where("M < -19990", 0..rows, &RunOptions::default()).unwrap();
    assert_eq!(rows_found, (19_991..rows).collect::<Vec<_>>());
    let (requests, bytes) = server.requests();
    assert!(requests <= 4 && bytes <= 8 * rows, "{requests} requests for {bytes} bytes");
}

#[test]
fn requests_that_fail_are_sent_again_or_name_the_place() {
    let (server, [far, near]) = cubes();
    server.fails.store(1, Ordering::SeqCst);
    let options = RunOptions::default();
    let sums = [&far, &near].map(|image| image.total(&image.whole(), &options).unwrap().0);
    assert_eq!(sums[0].sum.value(), sums[1].sum.value());
    server.fails.store(9, Ordering::SeqCst);
    server.faults.lock().unwrap().clear();
    let error = far.total(&far.whole(), &options).unwrap_err();
    assert_eq!(error.code(), "io-read");
    let message = error.to_string();
    assert!(message.starts_with("http://example.org/cube.fits: cannot read "), "{message}");
    assert!(message.contains("503 SlowDown"), "{message}");
}

#[test]
fn a_remote_file_is_verified() {
    let (_, remote) = Remote::new(cube());
    let verification = verify(Arc::new(remote), &VerifyOptions::default(), &RunOptions::default());
    assert_eq!(verification.unwrap().findings, []);
}
