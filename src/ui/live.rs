//! The board at the lower end of a terminal.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rustix::termios::tcgetwinsize;

use super::board::Board;
use super::writer::draw_above;

/// Often enough for a clock with tenths of seconds that nobody reads exactly, and nothing for a processor.
const REDRAW: Duration = Duration::from_millis(200);

/// Rows of hosts at the most. A screen has 24 lines, and those above it are worth reading too.
const MOST_ROWS: usize = 12;

/// Draws a board again and again, until it is dropped. Lines longer than the terminal are cut off.
pub(super) struct Live {
    shared: Arc<Shared>,
    drawer: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    board: Board,
    began: Instant,
    bars: MultiProgress,
    /// All rows are one bar: one message, drawn at once.
    bar: ProgressBar,
    ended: bool,
}

impl Live {
    pub(super) fn start() -> Self {
        let bars = MultiProgress::new();
        draw_above(Some(bars.clone()));
        let bar = bars.add(ProgressBar::new_spinner());
        bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let state = State { board: Board::default(), began: Instant::now(), bars, bar, ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), wake: Condvar::new() });
        let own = Arc::clone(&shared);
        let drawer = thread::Builder::new().name("terminal".to_owned()).spawn(move || draw(&own)).ok();
        Self { shared, drawer }
    }

    /// A line above the board, which stays.
    pub(super) fn println(&self, text: &str) {
        let _ = lock(&self.shared).bars.println(text);
    }

    pub(super) fn with<T>(&self, work: impl Fn(&mut Board) -> T) -> T {
        work(&mut lock(&self.shared).board)
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, State> {
    // A panic while something was drawn is no reason to show nothing more.
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn draw(shared: &Shared) {
    let mut state = lock(shared);
    while !state.ended {
        state.redraw();
        state = shared.wake.wait_timeout(state, REDRAW).unwrap_or_else(PoisonError::into_inner).0;
    }
}

impl State {
    fn redraw(&mut self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut lines = self.board.rows(now, MOST_ROWS);
        lines.push(self.board.summary(now));
        let width = width();
        let cut: Vec<String> = lines.iter().map(|line| line.chars().take(width).collect()).collect();
        self.bar.set_message(cut.join("\n"));
    }
}

/// Columns of the terminal now: windows are resized. One is left free, because terminals differ in what they do at the last one.
fn width() -> usize {
    let columns = tcgetwinsize(std::io::stderr()).map_or(80, |size| usize::from(size.ws_col));
    // A terminal that does not know its size says 0.
    if columns == 0 { 79 } else { columns - 1 }
}

impl Drop for Live {
    fn drop(&mut self) {
        {
            let mut state = lock(&self.shared);
            state.ended = true;
            let _ = state.bars.clear();
        }
        draw_above(None);
        self.shared.wake.notify_all();
        let _ = self.drawer.take().map(JoinHandle::join);
    }
}
