//! Servers that do not behave.
use super::harness::{LONG, a_target, keygen, open, public_key, refused, transport};
use crate::remote::{ConnectFault, Connection, Deadlines, RunError, Script, Target};
use kok_crds::Secret;
use russh::keys::PrivateKey;
use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, Response, Session};
use russh::{Channel, ChannelId, MethodKind, MethodSet};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers every connection with these bytes, again and again.
async fn babbler(text: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move { while stream.write_all(text).await.is_ok() {} });
        }
    });
    port
}

#[tokio::test]
async fn babbling_ends_at_the_deadline_and_is_harmless() {
    let dir = tempfile::tempdir().unwrap();
    keygen(&dir.path().join("key"), &["-t", "ed25519"]);
    std::fs::write(dir.path().join("known"), "").unwrap();
    let deadlines = Deadlines { handshake: Duration::from_secs(1), ..Deadlines::default() };
    let texts: [&[u8]; 4] = [b"a banner\r\n", &[b'x'; 4096], b"SSH-2.0-x\r\n\xff\xff\xff\xff\x1b[31m", &[0; 5000]];
    for text in texts {
        let target = Target {
            port: babbler(text).await,
            private_key_file: Some(dir.path().join("key")),
            known_hosts_file: Some(dir.path().join("known")),
            ..a_target()
        };
        let start = Instant::now();
        let error = Connection::open(&target, &deadlines, &transport()).await.err().unwrap();
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let shown = format!("{error} {:?}", error.because());
        assert!(!shown.contains('\u{1b}') && shown.len() < 1000, "{shown}");
        assert!(!matches!(&*error.fault, ConnectFault::LoginRefused { .. }));
    }
}

/// What a server does.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// Asks for the password, then for more.
    AsksTwice,
    /// Asks a question that shows the answer.
    AsksOpenly,
    /// Asks nothing, for ever.
    AsksNothing,
    /// Runs a command and says nothing about its end.
    NoStatus,
    /// Says that a command succeeded which wrote nothing.
    OnlyStatus,
    /// Refuses to run commands.
    NoCommands,
    /// Writes for ever.
    Endless,
}

struct Server {
    manner: Manner,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Handler for Server {
    type Error = russh::Error;

    async fn auth_none(&mut self, _: &str) -> Result<Auth, Self::Error> {
        match self.manner {
            Manner::AsksTwice | Manner::AsksOpenly | Manner::AsksNothing => Ok(Auth::Reject {
                proceed_with_methods: Some(MethodSet::from(&[MethodKind::KeyboardInteractive][..])),
                partial_success: false,
            }),
            _ => Ok(Auth::Accept),
        }
    }

    async fn auth_keyboard_interactive<'a>(&'a mut self, _: &str, _: &str, response: Option<Response<'a>>) -> Result<Auth, Self::Error> {
        let answers = response.into_iter().flatten().map(|answer| String::from_utf8_lossy(&answer).into_owned());
        self.heard.lock().unwrap().extend(answers);
        let prompts = match self.manner {
            Manner::AsksNothing => Vec::new(),
            manner => vec![(Cow::Borrowed("\u{1b}[2JPassword: "), manner == Manner::AsksOpenly)],
        };
        Ok(Auth::Partial { name: "".into(), instructions: "".into(), prompts: Cow::Owned(prompts) })
    }

    async fn channel_open_session(&mut self, _: Channel<Msg>, reply: ChannelOpenHandle, _: &mut Session) -> Result<(), Self::Error> {
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(&mut self, channel: ChannelId, _: &[u8], session: &mut Session) -> Result<(), Self::Error> {
        match self.manner {
            Manner::NoCommands => return session.channel_failure(channel),
            Manner::OnlyStatus => {
                session.channel_success(channel)?;
                session.exit_status_request(channel, 0)?;
            }
            Manner::Endless => {
                session.channel_success(channel)?;
                let handle = session.handle();
                tokio::spawn(async move { while handle.data(channel, vec![b'x'; 30_000]).await.is_ok() {} });
                return Ok(());
            }
            _ => session.channel_success(channel)?,
        }
        session.eof(channel)?;
        session.close(channel)
    }
}

/// A target for a server of this manner, and what the server was told.
async fn server(manner: Manner) -> (Target, Arc<Mutex<Vec<String>>>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    keygen(&dir.path().join("host"), &["-t", "ed25519"]);
    let key = PrivateKey::read_openssh_file(dir.path().join("host")).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    std::fs::write(dir.path().join("known"), format!("[127.0.0.1]:{port} {}", public_key(&dir.path().join("host")))).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    tokio::spawn(async move {
        let config = Arc::new(russh::server::Config {
            keys: vec![key],
            auth_rejection_time: Duration::ZERO,
            methods: MethodSet::from(&[MethodKind::None, MethodKind::KeyboardInteractive][..]),
            ..Default::default()
        });
        while let Ok((stream, _)) = listener.accept().await {
            let handler = Server { manner, heard: Arc::clone(&told) };
            if let Ok(session) = russh::server::run_stream(Arc::clone(&config), stream, handler).await {
                tokio::spawn(session);
            }
        }
    });
    let target = Target { port, known_hosts_file: Some(dir.path().join("known")), password: Some(Secret::new("hush")), ..a_target() };
    (target, heard, dir)
}

#[tokio::test]
async fn questions_are_bounded_and_only_hidden_ones_are_answered() {
    for (manner, expected) in [(Manner::AsksTwice, &["hush"][..]), (Manner::AsksOpenly, &[]), (Manner::AsksNothing, &[])] {
        let (target, heard, _dir) = server(manner).await;
        let start = Instant::now();
        let error = open(&target).await.err().unwrap();
        assert!(matches!(&*error.fault, ConnectFault::LoginRefused { .. }), "{error:?}");
        let because = error.because().unwrap();
        assert!(because.contains("asks") && !because.contains('\u{1b}') && !because.contains("hush"), "{because}");
        assert_eq!(heard.lock().unwrap().as_slice(), expected);
        assert!(start.elapsed() < Duration::from_secs(8));
    }
}

#[tokio::test]
async fn a_command_without_a_usable_end_is_never_success() {
    let run = async |manner| {
        let (target, _, dir) = server(manner).await;
        let connection = open(&target).await.unwrap_or_else(|error| panic!("{error}: {:?}", error.because()));
        let result = connection.run(Script::new("exit 0"), Duration::from_secs(2)).await;
        drop(dir);
        (result.unwrap_err(), connection)
    };
    let (error, _) = run(Manner::NoStatus).await;
    assert!(matches!(error, RunError::Unknown { .. }) && error.may_have_run(), "{error:?}");
    let (error, _) = run(Manner::OnlyStatus).await;
    assert!(matches!(error, RunError::NoShell { .. }), "{error:?}");
    let (error, _) = run(Manner::NoCommands).await;
    assert!(matches!(error, RunError::NotStarted { .. }), "{error:?}");
    let (error, connection) = run(Manner::Endless).await;
    assert!(matches!(error, RunError::Deadline { .. }), "{error:?}");
    // What nobody waits for is still read, so the connection is of use.
    let again = connection.run(Script::new("exit 0"), Duration::from_secs(1)).await.unwrap_err();
    assert!(matches!(again, RunError::Deadline { .. }), "{again:?}");
    tokio::time::timeout(LONG, connection.close()).await.unwrap();
}

#[tokio::test]
async fn an_address_that_is_kept_out_is_not_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    keygen(&dir.path().join("key"), &["-t", "ed25519"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"Not allowed at this time\r\n").await;
            // Reading what the client sent first, or the close would be a reset that takes the text with it.
            let _ = stream.read(&mut [0; 100]).await;
        }
    });
    let error = refused(&Target { port, private_key_file: Some(dir.path().join("key")), ..a_target() }).await;
    assert!(matches!(&*error.fault, ConnectFault::Penalty { .. }), "{error:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}
