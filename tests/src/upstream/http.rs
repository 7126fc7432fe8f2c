//! As much of HTTP/1.1 as clients of upstream need: GET and HEAD, ranges, connections that stay.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom, Write};

use super::content::{Body, Content, find};
use super::{Fault, Served};

/// A request's head has some hundred bytes.
const MOST_HEAD: u64 = 64 << 10;

struct Request {
    method: String,
    host: String,
    path: String,
    from: u64,
}

/// Answers every request of a connection, until the client or a fault ends it.
pub(super) fn answer_all(stream: &mut (impl Read + Write), served: &Served) -> io::Result<()> {
    while let Some(request) = read(stream)? {
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
    let from = header("range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()).unwrap_or_default();
    Ok(Some(Request { method, host, path, from }))
}

/// Whether the connection stays.
fn answer(stream: &mut impl Write, served: &Served, request: &Request) -> io::Result<bool> {
    let address = format!("{}{}", request.host, request.path);
    let Some(Content { body, kind, digest }) = find(served, &request.host, &request.path) else {
        return plain(stream, "404 Not Found");
    };
    let fault = if request.method == "GET" { served.fault(&address) } else { None };
    let length = body.length();
    if request.from > 0 && request.from >= length {
        return plain(stream, "416 Range Not Satisfiable");
    }
    let (status, range) = match request.from {
        0 => ("200 OK", String::new()),
        from => ("206 Partial Content", format!("Content-Range: bytes {from}-{}/{length}\r\n", length - 1)),
    };
    let digest = digest.map(|digest| format!("Docker-Content-Digest: {digest}\r\n")).unwrap_or_default();
    let rest = length - request.from;
    write!(stream, "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {rest}\r\nAccept-Ranges: bytes\r\n{range}{digest}\r\n")?;
    if request.method != "GET" {
        return Ok(true);
    }
    match fault {
        Some(Fault::Cut(at)) => send(stream, body, request.from, at as u64).map(|()| false),
        Some(Fault::Wrong) => io::copy(&mut io::repeat(b'?').take(rest), stream).map(|_| true),
        None => send(stream, body, request.from, rest).map(|()| true),
    }
}

fn plain(stream: &mut impl Write, status: &str) -> io::Result<bool> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").map(|()| true)
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
