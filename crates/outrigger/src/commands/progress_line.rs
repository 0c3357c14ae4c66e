//! A line on a terminal that shows the progress of a command: a bar, bytes, rate and remaining time.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use tokio::time::Instant;

use super::size::Size;

const INTERVAL: Duration = Duration::from_millis(200);

/// Runs some work, and shows the line meanwhile if stderr is a terminal.
pub(super) async fn shown<T>(
    line: impl Fn(Duration) -> String,
    work: impl Future<Output = T>,
) -> T {
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let started = Instant::now();
    let mut ticks = tokio::time::interval(INTERVAL);
    tokio::pin!(work);
    loop {
        tokio::select! {
            result = &mut work => {
                write("\r\x1b[K");
                return result;
            }
            _ = ticks.tick() => write(&format!("\r\x1b[K{}", line(started.elapsed()))),
        }
    }
}

fn write(text: &str) {
    // Progress is optional: a failed write to stderr is ignored.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// `[###  ] 1.0 MiB of 2.0 MiB, 1.0 MiB/s, 1s left`, with `middle` after the bar. The rate is that of `moved` bytes.
pub(super) fn bytes_line(
    middle: &str,
    (done, expected): (u64, u64),
    moved: u64,
    elapsed: Duration,
) -> String {
    let millis = u64::try_from(elapsed.as_millis())
        .unwrap_or(u64::MAX)
        .max(1);
    let rate = moved.saturating_mul(1000) / millis;
    let left = expected.saturating_sub(done);
    let remaining = match rate {
        0 => String::new(),
        rate => format!(", {}s left", left.div_ceil(rate)),
    };
    format!(
        "{} {middle}{} of {}, {}/s{remaining}",
        bar(done, expected),
        Size::from(done),
        Size::from(expected),
        Size::from(rate)
    )
}

/// A bar of 20 characters.
fn bar(done: u64, expected: u64) -> String {
    const WIDTH: usize = 20;
    let filled = done.saturating_mul(WIDTH as u64) / expected.max(1);
    let filled = usize::try_from(filled).unwrap_or(WIDTH).min(WIDTH);
    format!("[{:<WIDTH$}]", "#".repeat(filled))
}
