//! `--openmetrics PORT`: the figures for Prometheus, by HTTP, to whoever on this host has the token.
//!
//! Any user of the host can reach a port. So an answer is given only to a request with the token, which is in a file that no
//! other user may read. Whoever has none learns nothing but that there is a server: not even which paths it has.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use super::token::Token;

/// A request is no longer than this.
const LONGEST: usize = 8 << 10;
/// So long may a request take to come.
const COMES: Duration = Duration::from_secs(2);
/// And so long an answer to be taken.
const GOES: Duration = Duration::from_secs(10);
/// So many requests are answered at a time. Others are turned away at once.
const MOST: usize = 16;

/// Answers requests for as long as this process lives, in threads of its own: who asks slowly keeps nobody waiting.
pub(super) struct Server {
    text: Shared,
    pub(super) port: u16,
}

/// What is answered at the moment.
type Shared = Arc<Mutex<Arc<str>>>;

impl Server {
    /// Takes a port of the loopback interface; 0 for one that is free. `token` says by which token requests are known there.
    pub(super) fn start(port: u16, token: impl FnOnce(u16) -> Result<Token>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).with_context(|| {
            format!("port {port} of 127.0.0.1 cannot be served; choose another one, or 0 for one that is free")
        })?;
        let port = listener.local_addr()?.port();
        let token = token(port)?;
        let text: Shared = Arc::new(Mutex::new("# EOF\n".into()));
        let answers = Arc::new(Answers { token: token.digest(), text: Arc::clone(&text) });
        thread::Builder::new()
            .name("openmetrics".into())
            .spawn(move || serve(&listener, &answers))?;
        Ok(Self { text, port })
    }

    /// What is answered from now on.
    pub(super) fn set(&self, text: &str) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text.into();
    }
}

fn serve(listener: &TcpListener, answers: &Arc<Answers>) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // There may be no descriptor left for a while.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        // What is dropped is closed.
        let one = One::of(&open);
        if open.load(Relaxed) > MOST {
            continue;
        }
        let answers = Arc::clone(answers);
        let answer = move || {
            let _one = one;
            // Who has gone meanwhile wants no answer.
            let _ = answers.to(&stream);
        };
        let _ = thread::Builder::new().name("openmetrics".into()).spawn(answer);
    }
}

/// One of the connections that are open.
struct One(Arc<AtomicUsize>);

impl One {
    fn of(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// What is asked for, or what is wrong with it: an answer's status and a sentence.
type Wrong = (&'static str, &'static str);

const NO_TOKEN: Wrong = (
    "401 Unauthorized",
    "the request has not the right token: send Authorization: Bearer TOKEN; mpi-tool has said which file it is in\n",
);
const MALFORMED: Wrong = ("400 Bad Request", "this is no request of HTTP/1.0 or HTTP/1.1\n");
const LONG: Wrong = ("431 Request Header Fields Too Large", "the request is longer than 8 KiB\n");
const SLOW: Wrong = ("408 Request Timeout", "the request has not come within 2 s\n");
const NO_SUCH_PATH: Wrong =
    ("404 Not Found", "there is nothing here; the figures are at /metrics\n");
const NO_SUCH_METHOD: Wrong = ("405 Method Not Allowed", "figures can only be asked for: GET\n");

struct Answers {
    /// The token's hash.
    token: [u8; 32],
    text: Shared,
}

impl Answers {
    /// Answers one request, and ends the connection.
    fn to(&self, stream: &TcpStream) -> io::Result<()> {
        let asked = request(stream)?.and_then(|request| self.judge(&request));
        let text = Arc::clone(&self.text.lock().unwrap_or_else(PoisonError::into_inner));
        let (status, kind, more, body, has_body) = match asked {
            Ok(has_body) => ("200 OK", OPENMETRICS, "", &*text, has_body),
            Err((status, sentence)) => {
                let more = match status {
                    "401 Unauthorized" => "WWW-Authenticate: Bearer\r\n",
                    "405 Method Not Allowed" => "Allow: GET, HEAD\r\n",
                    _ => "",
                };
                (status, "text/plain; charset=utf-8", more, sentence, true)
            }
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{more}Cache-Control: no-store\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let end = Instant::now() + GOES;
        send(stream, head.as_bytes(), end)?;
        if has_body {
            send(stream, body.as_bytes(), end)?;
        }
        stream.shutdown(Shutdown::Write)?;
        drain(stream);
        Ok(())
    }

    /// Is the answer to have a body? Or what is wrong with the request.
    fn judge(&self, request: &[u8]) -> Result<bool, Wrong> {
        let request = std::str::from_utf8(request).map_err(|_| MALFORMED)?;
        let mut lines = request.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, "HTTP/1.0" | "HTTP/1.1"] = words[..] else { return Err(MALFORMED) };
        let mut said = None;
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or(MALFORMED)?;
            if name.eq_ignore_ascii_case("authorization") && said.replace(value.trim()).is_some() {
                return Err(MALFORMED);
            }
        }
        let (scheme, token) = said.and_then(|said| said.split_once(' ')).ok_or(NO_TOKEN)?;
        // Of hashes, it does not matter how long the comparison takes: nobody can choose how they begin.
        if !scheme.eq_ignore_ascii_case("bearer") || digest(token.trim().as_bytes()) != self.token {
            return Err(NO_TOKEN);
        }
        if target.split('?').next() != Some("/metrics") {
            return Err(NO_SUCH_PATH);
        }
        match method {
            "GET" => Ok(true),
            "HEAD" => Ok(false),
            _ => Err(NO_SUCH_METHOD),
        }
    }
}

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The time until a moment, but never none at all, which would be without a limit.
fn until(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

/// Reads a request up to its empty line.
fn request(mut stream: &TcpStream) -> io::Result<Result<Vec<u8>, Wrong>> {
    let end = Instant::now() + COMES;
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    loop {
        if request.windows(4).any(|bytes| bytes == b"\r\n\r\n")
            || request.windows(2).any(|bytes| bytes == b"\n\n")
        {
            return Ok(Ok(request));
        }
        if request.len() > LONGEST {
            return Ok(Err(LONG));
        }
        if Instant::now() >= end {
            return Ok(Err(SLOW));
        }
        stream.set_read_timeout(Some(until(end)))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(Err(MALFORMED)),
            Ok(length) => request.extend_from_slice(&part[..length]),
            Err(error) if is_late(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Sends all until a moment, or fails.
fn send(mut stream: &TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        if Instant::now() >= end {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(until(end)))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(length) => bytes = &bytes[length..],
            Err(error) if is_late(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads what is still to come, a little of it: the kernel takes an answer back where a connection ends with something unread.
fn drain(mut stream: &TcpStream) {
    let end = Instant::now() + COMES;
    let (mut part, mut left) = ([0; 1024], 64_usize);
    while left > 0 && Instant::now() < end && stream.set_read_timeout(Some(until(end))).is_ok() {
        match stream.read(&mut part) {
            Ok(1..) => left -= 1,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(request: &str) -> Result<bool, &'static str> {
        let answers = Answers { token: digest(b"secret"), text: Arc::new(Mutex::new("".into())) };
        answers.judge(request.as_bytes()).map_err(|(status, _)| &status[..3])
    }

    /// RFC 9110 and RFC 6750 (the scheme is in any case).
    #[test]
    fn requests_are_known_by_the_token() {
        let with =
            |line: &str, token: &str| judge(&format!("{line}\r\nHost: x\r\n{token}\r\n\r\n"));
        let (get, token) = ("GET /metrics HTTP/1.1", "Authorization: Bearer secret");
        assert_eq!(with(get, token), Ok(true));
        assert_eq!(with(get, "AUTHORIZATION:bearer secret"), Ok(true));
        assert_eq!(with("GET /metrics?a=b HTTP/1.0", token), Ok(true));
        assert_eq!(with("HEAD /metrics HTTP/1.1", token), Ok(false));
        for wrong in [
            "X: y",
            "Authorization: Bearer secre",
            "Authorization: Bearer secret2",
            "Authorization: Bearer",
            "Authorization: Basic secret",
            "Authorization: secret",
        ] {
            assert_eq!(with(get, wrong), Err("401"), "{wrong}");
            // Who has no token does not learn which paths there are.
            assert_eq!(with("GET /other HTTP/1.1", wrong), Err("401"), "{wrong}");
        }
        assert_eq!(with("GET /other HTTP/1.1", token), Err("404"));
        assert_eq!(with("GET /metrics/ HTTP/1.1", token), Err("404"));
        assert_eq!(with("POST /metrics HTTP/1.1", token), Err("405"));
        let twice = format!("{token}\r\n{token}");
        for (line, token) in [
            (get, &*twice),
            ("GET /metrics", token),
            ("GET  /metrics HTTP/1.1", token),
            (get, "no colon"),
        ] {
            assert_eq!(with(line, token), Err("400"), "{line} {token}");
        }
    }
}
