//! Objects of servers compared with their bytes in memory, with every fault that a server can have.

#![expect(clippy::single_range_in_vec_init, reason = "a list of ranges may have one")]

mod server;

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use server::{Answer, Query, Server};
use tachyfits_io::conformance::storage_suite;
use tachyfits_io::{
    CancelToken, Executor, IoError, Job, Latency, Notice, PipelineOptions, Request, Source,
    SourceOptions, Storage, StorageKind, Tasks, open, run,
};

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at ^ (at / 61) ^ (at / 4096 * 7)) as u8).collect()
}

/// Starts a server of one file, and opens the file.
fn served(
    bytes: usize,
    respond: impl Fn(&Query, &[u8]) -> Answer + Send + Sync + 'static,
) -> (Server, Vec<u8>, Result<Arc<dyn Storage>, IoError>) {
    let file = content(bytes);
    let copy = file.clone();
    let server = Server::new(move |query| respond(query, &copy));
    let storage = open(server.url("cube.fits"), StorageKind::Auto);
    (server, file, storage)
}

fn usual(query: &Query, file: &[u8]) -> Answer {
    Answer::part(query, file, Some("\"one\""))
}

/// Reads ranges with one call.
fn read(storage: &dyn Storage, ranges: &[Range<usize>]) -> Result<Vec<Vec<u8>>, IoError> {
    let mut parts: Vec<Vec<u8>> = ranges.iter().map(|range| vec![0; range.len()]).collect();
    let mut requests: Vec<Request<'_>> = ranges
        .iter()
        .zip(&mut parts)
        .map(|(range, buffer)| Request { offset: range.start as u64, buffer })
        .collect();
    storage.read_ranges(&mut requests).map(|()| parts)
}

fn io_kind(error: &IoError) -> Option<io::ErrorKind> {
    error.cause().map(io::Error::kind)
}

#[test]
fn a_server_is_a_storage_like_others() {
    let files: Arc<Mutex<HashMap<String, Vec<u8>>>> = Arc::default();
    let served = Arc::clone(&files);
    let server = Server::new(move |query| {
        let files = served.lock().expect("the files");
        Answer::part(query, &files[&query.target], Some("\"one\""))
    });
    storage_suite(|content| {
        let mut files = files.lock().expect("the files");
        let name = format!("file{}.bin", files.len());
        files.insert(format!("/{name}"), content.to_vec());
        drop(files);
        open(server.url(&name), StorageKind::Auto).expect("a storage")
    });
}

#[test]
fn opening_takes_one_request_and_ranges_go_at_a_time() {
    let (server, file, storage) =
        served(4 << 20, |query, file| usual(query, file).after(Duration::from_millis(30)));
    let storage = storage.expect("a storage");
    assert_eq!((server.log().len(), server.sent()), (1, 64 << 10));
    assert_eq!((storage.bytes(), storage.kind()), (4 << 20, "remote"));
    assert_eq!(storage.profile().latency, Latency::Network);
    assert_eq!(storage.id().version(), Some("\"one\" 4194304"));
    // The first bytes were read at opening.
    let ranges: Vec<Range<usize>> =
        (0..12).map(|n| n * 300_000).map(|start| start..start + 1000).collect();
    let parts = read(&*storage, &ranges).expect("the bytes");
    assert!(ranges.iter().zip(&parts).all(|(range, part)| file[range.clone()] == part[..]));
    assert_eq!((server.log().len(), server.sent()), (12, (64 << 10) + 11_000));
    assert!(server.most_at_a_time() >= 8);
    let versions =
        server.log().iter().skip(1).all(|query| query.header("if-match") == Some("\"one\""));
    assert!(versions);
}

#[test]
fn reads_that_follow_one_another_are_read_ahead() {
    let (server, file, storage) = served(6 << 20, usual);
    let storage = storage.expect("a storage");
    let mut bytes = vec![0; file.len()];
    for (n, part) in bytes.chunks_mut(8000).enumerate() {
        storage.read_exact_at(n as u64 * 8000, part).expect("the bytes");
    }
    assert_eq!(bytes, file);
    assert!(server.log().len() < 10, "{} requests", server.log().len());
}

#[test]
fn a_small_file_of_a_server_without_parts_is_downloaded() {
    let file = content(100_000);
    let copy = file.clone();
    let respond = move |_: &Query| Answer { body: copy.clone(), ..Answer::status("200 OK") };
    let server = Server::new(respond);
    let mut notices = Vec::new();
    let source = Source::from(server.url("cube.fits"));
    let storage = source.open(&SourceOptions::default(), &mut notices).expect("a storage");
    assert_eq!(notices, [Notice::Downloaded { bytes: 100_000 }]);
    assert_eq!(read(&*storage, &[5..99_999]).expect("the bytes")[0], file[5..99_999]);
}

#[test]
fn a_large_file_of_a_server_without_parts_is_refused_at_once() {
    let server = Server::new(|_| {
        Answer { body: vec![0; (64 << 20) + 1], ..Answer::status("200 OK") }.cut_after(1000)
    });
    let error = open(server.url("cube.fits"), StorageKind::Auto).expect_err("an error");
    assert_eq!(io_kind(&error), Some(io::ErrorKind::Unsupported), "{error}");
    assert!(error.to_string().contains("67108865 bytes"), "{error}");
}

#[test]
fn an_encoded_transfer_is_refused() {
    let (_server, _, storage) =
        served(1000, |query, file| usual(query, file).with("Content-Encoding", "gzip"));
    let error = storage.expect_err("an error");
    assert!(error.to_string().contains("Content-Encoding: gzip"), "{error}");
}

#[test]
fn another_version_is_an_error_and_never_mixed() {
    // Servers with If-Match, without it, and with only a time.
    let of_time = |query: &Query, file: &[u8]| {
        let day = if query.number == 0 { "Thu, 01" } else { "Fri, 02" };
        Answer::part(query, file, None)
            .with("Last-Modified", &format!("{day} Jan 2026 00:00:00 GMT"))
    };
    let of_tag = |query: &Query, file: &[u8]| {
        Answer::part(query, file, Some(if query.number == 0 { "\"one\"" } else { "\"two\"" }))
    };
    let ignoring = |query: &Query, file: &[u8]| {
        let query = Query {
            headers: vec![("range".to_owned(), query.header("range").expect("a range").to_owned())],
            ..query.clone()
        };
        Answer::part(&query, file, Some(if query.number == 0 { "\"one\"" } else { "\"two\"" }))
    };
    let responses: [fn(&Query, &[u8]) -> Answer; 3] = [of_time, of_tag, ignoring];
    for respond in responses {
        let (_server, _, storage) = served(200_000, respond);
        let error = read(&*storage.expect("a storage"), &[150_000..150_100]).expect_err("an error");
        assert_eq!(error.code(), "io-changed", "{error}");
    }
}

#[test]
fn a_shorter_file_of_a_server_without_versions_is_an_error() {
    let shrinking = |query: &Query, file: &[u8]| {
        Answer::part(query, &file[..if query.number == 0 { 200_000 } else { 180_000 }], None)
    };
    let (_server, _, storage) = served(200_000, shrinking);
    let error = read(&*storage.expect("a storage"), &[150_000..150_100]).expect_err("an error");
    assert_eq!(error.code(), "io-changed", "{error}");
}

#[test]
fn cut_answers_are_requested_again() {
    for tag in [Some("\"one\""), None] {
        let (server, file, storage) = served(400_000, move |query, file| {
            let answer = Answer::part(query, file, tag);
            if query.number == 1 { answer.cut_after(10_000) } else { answer }
        });
        let parts = read(&*storage.expect("a storage"), &[100_000..300_000]).expect("the bytes");
        assert_eq!(parts[0], file[100_000..300_000]);
        assert!(server.log().len() <= 4, "{:?}", server.log());
    }
}

#[test]
fn an_answer_that_is_always_cut_short_is_an_error() {
    let (_server, _, storage) = served(400_000, |query, file| {
        let answer = Answer::part(query, file, None);
        if query.number == 0 { answer } else { answer.cut_after(10) }
    });
    let error = read(&*storage.expect("a storage"), &[100_000..300_000]).expect_err("an error");
    assert_eq!(error.code(), "io-remote", "{error}");
}

#[test]
fn a_busy_server_gets_the_request_again() {
    let (server, file, storage) = served(200_000, |query, file| {
        if (1..4).contains(&query.number) {
            return Answer::status("503 Service Unavailable");
        }
        usual(query, file)
    });
    let parts = read(&*storage.expect("a storage"), &[100_000..100_010]).expect("the bytes");
    assert_eq!(parts[0], file[100_000..100_010]);
    assert_eq!(server.log().len(), 5);
}

#[test]
fn refusals_have_the_words_of_files_and_no_secrets() {
    let server = Server::new(|query| {
        Answer::status(match query.target.split('?').next() {
            Some("/missing.fits") => "404 Not Found",
            Some("/secret.fits") => "403 Forbidden",
            _ => "400 Bad Request",
        })
    });
    let try_to_open = |name: &str| {
        let url = server.url(name).replace("http://", "http://me:password@");
        open(url, StorageKind::Auto).expect_err("an error")
    };
    let missing = try_to_open("missing.fits?X-Amz-Signature=123456");
    assert_eq!(missing.code(), "io-not-found");
    let secret = try_to_open("secret.fits?X-Amz-Signature=123456");
    assert_eq!(io_kind(&secret), Some(io::ErrorKind::PermissionDenied));
    for error in [missing, secret, try_to_open("odd.fits?X-Amz-Signature=123456")] {
        let text = format!("{error:#} {error:?}");
        assert!(!text.contains("123456") && !text.contains("password"), "{text}");
    }
    // The query itself reaches the server.
    assert!(server.log()[0].target.ends_with("/missing.fits?X-Amz-Signature=123456"));
}

#[test]
fn names_and_redirections_are_those_of_the_url() {
    let file = content(1000);
    let copy = file.clone();
    let server = Server::new(move |query| match query.target.as_str() {
        "/here/a%20b+c.fits" => Answer::status("302 Found").with("Location", "/there/a%20b+c.fits"),
        "/there/a%20b+c.fits" => Answer::part(query, &copy, Some("\"one\"")),
        _ => Answer::status("404 Not Found"),
    });
    let storage = open(server.url("here/a%20b+c.fits"), StorageKind::Auto).expect("a storage");
    assert_eq!(read(&*storage, &[0..1000]).expect("the bytes")[0], file);
}

#[test]
fn gzip_content_is_read_once_from_beginning_to_end() {
    let file = content(3 << 20);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(&file).expect("memory");
    let packed = encoder.finish().expect("memory");
    let size = packed.len();
    let server = Server::new(move |query| Answer::part(query, &packed, Some("\"one\"")));
    let storage = open(server.url("cube.fits.gz"), StorageKind::Auto).expect("a storage");
    assert_eq!(read(&*storage, &[100..3 << 20]).expect("the bytes")[0], file[100..]);
    assert!(server.log().len() < 10 && server.sent() < size + (128 << 10));
}

/// The last bytes of a file of 200 000 bytes.
struct Last;

impl Tasks for Last {
    fn len(&self) -> u64 {
        1
    }

    fn ranges(&self, _index: u64, ranges: &mut Vec<Range<u64>>) {
        ranges.push(150_000..200_000);
    }
}

#[test]
fn a_wait_ends_when_the_work_is_cancelled() {
    let (_server, _, storage) = served(200_000, |query, file| {
        let delay = if query.number == 0 { 0 } else { 20 };
        usual(query, file).after(Duration::from_secs(delay))
    });
    let storage = storage.expect("a storage");
    let token = CancelToken::new();
    let canceller = token.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        canceller.cancel();
    });
    let started = Instant::now();
    let job = Job::on(&Executor::new(1)).with_token(token);
    let options = PipelineOptions::default().job(Some(&job));
    let outcome =
        run(&*storage, &Last, &options, || (), |(), _, _| Ok(()), |_, ()| Ok::<(), IoError>(()));
    assert!(matches!(outcome, Err(IoError::Cancelled)), "{outcome:?}");
    assert!(started.elapsed() < Duration::from_secs(10));
}
