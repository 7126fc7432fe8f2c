#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

use std::sync::{Arc, Mutex};

use kok_tasks::holder::HELD;

use super::*;
use crate::event::{Event, Sink};
use crate::failure::Kind;

/// What is told, in short.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Sink for Ear {
    fn take(&mut self, event: &Event) {
        let told = match &event.kind {
            EventKind::HostLost { host, because } => format!("{host} lost: {because}"),
            EventKind::HostBack { host, after_milliseconds, restarted } => {
                format!("{host} {} after {after_milliseconds}", if *restarted { "restarted" } else { "back" })
            }
            other => panic!("{other:?}"),
        };
        self.0.lock().unwrap().push(told);
    }
}

/// What a host says to each try, and how long it takes for it.
#[derive(Clone, Copy)]
enum Says {
    Lost(u64),
    /// The host has ended the channel, and the link is there.
    Cut,
    Refused,
    Exits(u32, u64),
    /// It is taken, and says this boot id.
    Boot(&'static str),
}

fn output(code: u32, stdout: &str) -> Output {
    Output {
        status: ExitStatus::Exited(code),
        stdout: stdout.as_bytes().to_vec(),
        stdout_truncated: false,
        stderr: Vec::new(),
        stderr_truncated: false,
        noise: Vec::new(),
    }
}

/// Sends to a host that says this, the last of it for ever; the exit code, what was told, and how often it was sent.
async fn send_to(says: &[Says]) -> (Option<ExitStatus>, Vec<String>, usize) {
    let (ear, tries) = (Ear::default(), Mutex::new(0));
    let events = Events::new(vec![Box::new(ear.clone())]);
    let sent = resend("w1", Some("boot 1"), &events, || async {
        let the_try = std::mem::replace(&mut *tries.lock().unwrap(), usize::MAX);
        *tries.lock().unwrap() = the_try + 1;
        match *says.get(the_try).or(says.last()).unwrap() {
            Says::Lost(seconds) => {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                Sent::from_result(Err(RunError::Unknown { host: "w1".to_owned(), reason: "cut".to_owned() }), || true).await
            }
            Says::Cut => Sent::from_result(Err(RunError::NotStarted { host: "w1".to_owned(), reason: "no".to_owned() }), || false).await,
            Says::Refused => Sent::Failed(Failure::new(Kind::Host, "no")),
            Says::Exits(code, seconds) => {
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                Sent::Answered(output(code, "boot 1\n"))
            }
            Says::Boot(id) => Sent::Answered(output(0, id)),
        }
    });
    let status = sent.await.ok().map(|output| output.status);
    let told = ear.0.lock().unwrap().clone();
    (status, told, tries.into_inner().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_link_that_breaks_is_tried_again_and_told_once() {
    let (status, told, tries) = send_to(&[Says::Lost(1), Says::Lost(2), Says::Exits(0, 0)]).await;
    assert_eq!((status, tries), (Some(ExitStatus::Exited(0)), 3));
    let [lost, back] = told.as_slice() else { panic!("{told:?}") };
    assert!(lost.starts_with("w1 lost: ") && lost.ends_with(": cut"), "{lost}");
    // From the first break on: two pauses, and the second try.
    assert_eq!(back, "w1 back after 3500");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_was_started_anew_is_told_as_such() {
    for (id, word) in [("boot 1\n", "back"), ("boot 2\n", "restarted")] {
        let (_, told, _) = send_to(&[Says::Lost(1), Says::Boot(id)]).await;
        assert_eq!(told.last().unwrap(), &format!("w1 {word} after 500"));
    }
    // Without a break there is nothing to tell.
    assert_eq!(send_to(&[Says::Boot("boot 2\n")]).await.1, Vec::<String>::new());
    // A refusal says no boot id.
    let (_, told, _) = send_to(&[Says::Lost(1), Says::Exits(HELD, 0)]).await;
    assert_eq!(told.last().unwrap(), "w1 back after 500");
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_the_break_may_still_keep_the_place() {
    let (status, told, tries) = send_to(&[Says::Lost(1), Says::Exits(BUSY, 0), Says::Exits(0, 0)]).await;
    assert_eq!((status, told.len(), tries), (Some(ExitStatus::Exited(0)), 2, 3));
    // Who was busy before is not one of ours.
    let (status, told, tries) = send_to(&[Says::Exits(BUSY, 0)]).await;
    assert_eq!((status, told.len(), tries), (Some(ExitStatus::Exited(BUSY)), 0, 1));
}

#[tokio::test(start_paused = true)]
async fn it_has_an_end_and_what_is_final_is_not_repeated() {
    let (status, told, tries) = send_to(&[Says::Lost(0)]).await;
    assert_eq!((status, told.len(), tries), (None, 1, BREAKS as usize));
    let began = Instant::now();
    let (status, _, tries) = send_to(&[Says::Lost(70)]).await;
    assert_eq!((status, tries), (None, 3));
    assert!(began.elapsed() < Duration::from_secs(220), "{:?}", began.elapsed());
    assert_eq!(send_to(&[Says::Refused]).await, (None, Vec::new(), 1));
}

#[tokio::test(start_paused = true)]
async fn a_take_that_was_cut_does_not_lose_against_itself() {
    // The longest that it waits for its own locks, each copy being told only that it is busy.
    let copies = std::iter::repeat_n(Says::Exits(BUSY, 20), 8);
    let says: Vec<_> = std::iter::once(Says::Lost(1)).chain(copies).chain([Says::Exits(0, 0)]).collect();
    let (status, told, tries) = send_to(&says).await;
    assert_eq!((status, told.len(), tries), (Some(ExitStatus::Exited(0)), 2, 10));
    // Whoever has the place for longer is not one of ours.
    let began = Instant::now();
    let (status, _, _) = send_to(&[Says::Lost(1), Says::Exits(BUSY, 20)]).await;
    assert_eq!(status, Some(ExitStatus::Exited(BUSY)));
    assert!((300..=OWN_SCRIPT.as_secs() + 30).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_broken_link_is_not_told_as_one_and_not_sent_again() {
    let began = Instant::now();
    assert_eq!(send_to(&[Says::Cut]).await, (None, Vec::new(), 1));
    assert!(began.elapsed() < NOTICE * 2);
    // A link that is found to be gone a moment later is one.
    let gone_at = Instant::now() + Duration::from_secs(3);
    let error = RunError::Unknown { host: "w1".to_owned(), reason: "cut".to_owned() };
    assert!(matches!(Sent::from_result(Err(error), || Instant::now() >= gone_at).await, Sent::Lost(_)));
}
