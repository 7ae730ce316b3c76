//! A local server with scripted responses and a log of the requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Request of a client.
#[derive(Clone, Debug)]
pub struct Query {
    /// Path with query.
    pub target: String,
    pub headers: Vec<(String, String)>,
    /// Number of the request, from 0.
    pub number: usize,
}

impl Query {
    pub fn header(&self, name: &str) -> Option<&str> {
        let same = |each: &&(String, String)| each.0.eq_ignore_ascii_case(name);
        self.headers.iter().find(same).map(|(_, value)| value.as_str())
    }

    /// Returns the range, both ends included.
    pub fn range(&self) -> Option<(usize, usize)> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()?))
    }
}

/// Response to a request.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// Number of bytes of the body after which the connection ends.
    pub cut: Option<usize>,
    pub delay: Duration,
}

impl Answer {
    pub fn status(status: &'static str) -> Answer {
        let (headers, body) = (Vec::new(), Vec::new());
        Answer { status, headers, body, cut: None, delay: Duration::ZERO }
    }

    /// Returns the response of a file server; `e_tag` is sent unchanged.
    pub fn part(query: &Query, content: &[u8], e_tag: Option<&str>) -> Answer {
        let size = content.len();
        let mut answer = Answer::status("206 Partial Content");
        answer.headers.extend(e_tag.map(|tag| ("ETag", tag.to_owned())));
        if let (Some(expected), Some(tag)) = (query.header("if-match"), e_tag)
            && expected != tag
        {
            return Answer::status("412 Precondition Failed");
        }
        match query.range() {
            None => {
                answer.status = "200 OK";
                answer.body = content.to_vec();
            }
            Some((first, _)) if first >= size => {
                answer.status = "416 Range Not Satisfiable";
                answer.headers.push(("Content-Range", format!("bytes */{size}")));
            }
            Some((first, last)) => {
                let end = size.min(last + 1);
                answer.headers.push(("Content-Range", format!("bytes {first}-{}/{size}", end - 1)));
                answer.body = content[first..end].to_vec();
            }
        }
        answer
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Answer {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn cut_after(mut self, bytes: usize) -> Answer {
        self.cut = Some(bytes);
        self
    }

    pub fn after(mut self, delay: Duration) -> Answer {
        self.delay = delay;
        self
    }
}

type Respond = dyn Fn(&Query) -> Answer + Send + Sync;

/// The server; its threads end with the process.
pub struct Server {
    address: String,
    log: Arc<Mutex<Vec<Query>>>,
    sent: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Server {
    pub fn new(respond: impl Fn(&Query) -> Answer + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let server =
            Server { address, log: Arc::default(), sent: Arc::default(), most: Arc::default() };
        let respond: Arc<Respond> = Arc::new(respond);
        let (log, sent, most) =
            (Arc::clone(&server.log), Arc::clone(&server.sent), Arc::clone(&server.most));
        thread::spawn(move || {
            let now = Arc::new(AtomicUsize::new(0));
            for stream in listener.incoming().flatten() {
                let (respond, log, sent, most, now) = (
                    Arc::clone(&respond),
                    Arc::clone(&log),
                    Arc::clone(&sent),
                    Arc::clone(&most),
                    Arc::clone(&now),
                );
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
                    let mut stream = stream;
                    while let Some(mut query) = read_request(&mut reader) {
                        {
                            let mut log = log.lock().expect("the log");
                            query.number = log.len();
                            log.push(query.clone());
                        }
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        let answer = respond(&query);
                        thread::sleep(answer.delay);
                        now.fetch_sub(1, Ordering::SeqCst);
                        sent.fetch_add(answer.body.len(), Ordering::SeqCst);
                        if !send(&mut stream, &answer) {
                            break;
                        }
                    }
                });
            }
        });
        server
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub fn log(&self) -> Vec<Query> {
        self.log.lock().expect("the log").clone()
    }

    /// Returns the number of bytes of all bodies.
    pub fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    /// Returns the maximum number of concurrent requests.
    pub fn most_at_a_time(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Query> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&count| count > 0)?;
    let target = line.split_whitespace().nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&count| count > 0)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None => break,
        }
    }
    Some(Query { target, headers, number: 0 })
}

/// Sends a response; returns whether the connection can be reused.
fn send(stream: &mut TcpStream, answer: &Answer) -> bool {
    let mut head =
        format!("HTTP/1.1 {}\r\nContent-Length: {}\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "\r\n";
    let body = &answer.body[..answer.cut.unwrap_or(answer.body.len())];
    stream.write_all(head.as_bytes()).is_ok()
        && stream.write_all(body).is_ok()
        && answer.cut.is_none()
}
