//! As much of HTTP/1.1 as clients of upstream need: GET and HEAD, ranges, connections that stay.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom, Write};
use std::thread;
use std::time::{Duration, Instant};

use super::Served;
use super::content::{Body, Content, find};
use super::fault::Fault;
use super::login::{Reply, reply};

/// A request's head has some hundred bytes, with a token some thousand.
const MOST_HEAD: u64 = 64 << 10;

pub(super) struct Request {
    pub(super) method: String,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) from: u64,
    /// Whether a part was asked for, be it from the beginning.
    is_part: bool,
    pub(super) authorization: Option<String>,
}

impl Request {
    /// What a redirect led here bears its first host in front: `/HOST/PATH`.
    fn origin(&self) -> (&str, &str) {
        let first = self.path.get(1..).and_then(|rest| rest.find('/')).map(|end| self.path.split_at(end + 1));
        match first {
            Some((host, path)) if host.contains('.') => (host.trim_start_matches('/'), path),
            _ => (&self.host, &self.path),
        }
    }
}

/// Answers every request of a connection, until the client or a fault ends it.
pub(super) fn answer_all(stream: &mut (impl Read + Write), served: &Served) -> io::Result<()> {
    while let Some(request) = read(stream)? {
        served.note(&request)?;
        if !answer(stream, served, &request)? {
            return stream.flush();
        }
        stream.flush()?;
    }
    Ok(())
}

/// Byte by byte: the next request may begin right behind this one.
fn read(stream: &mut impl Read) -> io::Result<Option<Request>> {
    let mut head = Vec::new();
    let mut reader = BufReader::with_capacity(1, stream.take(MOST_HEAD));
    while !head.ends_with(b"\r\n\r\n") {
        if reader.read_until(b'\n', &mut head)? == 0 {
            return Ok(None);
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut words = head.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let header = |name: &str| {
        head.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    let host = header("host").unwrap_or_default().split(':').next().unwrap_or_default().to_owned();
    let part: Option<u64> = header("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let (from, is_part) = (part.unwrap_or_default(), part.is_some());
    let authorization = header("authorization").map(str::to_owned);
    Ok(Some(Request { method, host, path, from, is_part, authorization }))
}

/// Whether the connection stays.
fn answer(stream: &mut impl Write, served: &Served, request: &Request) -> io::Result<bool> {
    match reply(served, request) {
        Some(Reply::Refused(headers)) => return plain(stream, "401 Unauthorized", &headers),
        Some(Reply::Token(body)) => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len())?;
            return stream.write_all(&body).map(|()| true);
        }
        None => {}
    }
    let (host, path) = request.origin();
    let Some(content) = find(served, host, path) else { return plain(stream, "404 Not Found", "") };
    let length = content.body.length();
    if request.from > 0 && request.from >= length {
        return plain(stream, "416 Range Not Satisfiable", "");
    }
    // Whoever was led elsewhere gets what is there.
    let is_asked = request.method == "GET" && host == request.host;
    let fault = if is_asked { served.fault(&format!("{host}{path}"), length - request.from) } else { None };
    match fault {
        Some(Fault::Status(429)) => plain(stream, "429 Too Many Requests", "Retry-After: 1\r\n"),
        Some(Fault::Status(status)) => plain(stream, &format!("{status} Fault"), ""),
        Some(Fault::Redirect(to)) => plain(stream, "307 Temporary Redirect", &format!("Location: https://{to}/{host}{path}\r\n")),
        fault => answer_with(stream, content, request, fault),
    }
}

fn answer_with(stream: &mut impl Write, content: Content, request: &Request, fault: Option<Fault>) -> io::Result<bool> {
    let Content { body, kind, digest } = content;
    let (length, rest) = (body.length(), body.length() - request.from);
    let (status, range) = match request.from {
        0 if !request.is_part => ("200 OK", String::new()),
        from => ("206 Partial Content", format!("Content-Range: bytes {from}-{}/{length}\r\n", length - 1)),
    };
    let digest = digest.map(|digest| format!("Docker-Content-Digest: {digest}\r\n")).unwrap_or_default();
    let promised = if let Some(Fault::Longer(more)) = fault { rest + more } else { rest };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {promised}\r\nAccept-Ranges: bytes\r\n{range}{digest}\r\n"
    )?;
    if request.method != "GET" {
        return Ok(true);
    }
    match fault {
        Some(Fault::Cut(at)) => send(stream, body, request.from, at).map(|()| false),
        Some(Fault::Longer(_)) => send(stream, body, request.from, rest).map(|()| false),
        Some(Fault::Wrong) => io::copy(&mut io::repeat(b'?').take(rest), stream).map(|_| true),
        Some(Fault::Slow(rate)) => {
            send(&mut Slow { stream, rate, began: Instant::now(), sent: 0 }, body, request.from, rest).map(|()| true)
        }
        _ => send(stream, body, request.from, rest).map(|()| true),
    }
}

fn plain(stream: &mut impl Write, status: &str, headers: &str) -> io::Result<bool> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n{headers}\r\n").map(|()| true)
}

fn send(stream: &mut impl Write, body: Body, from: u64, most: u64) -> io::Result<()> {
    match body {
        Body::Text(text) => {
            let rest = text.get(usize::try_from(from).unwrap_or(usize::MAX)..).unwrap_or_default();
            io::copy(&mut rest.take(most), stream).map(|_| ())
        }
        Body::File { path, offset, .. } => {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(offset + from))?;
            // A record of TLS holds 16 KiB.
            let mut reader = BufReader::with_capacity(256 << 10, file.take(most));
            io::copy(&mut reader, stream).map(|_| ())
        }
    }
}

/// Lets no more than so many bytes a second through.
struct Slow<'a, W> {
    stream: &'a mut W,
    rate: u64,
    began: Instant,
    sent: u64,
}

impl<W: Write> Write for Slow<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let due = Duration::from_millis(self.sent.saturating_mul(1000) / self.rate);
        thread::sleep(due.saturating_sub(self.began.elapsed()));
        let written = self.stream.write(bytes)?;
        self.sent += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
