//! The progress of a copy on a terminal: one line with a bar, bytes, rate and remaining time.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use outrigger_oci::{Progress, Totals};
use tokio::time::Instant;

use crate::commands::size::Size;

const INTERVAL: Duration = Duration::from_millis(200);

/// Runs a copy, and shows its progress if stderr is a terminal. Without a number, images are not counted.
pub(super) async fn shown<T>(
    progress: &Arc<Progress>,
    images: Option<usize>,
    copy: impl Future<Output = T>,
) -> T {
    if !std::io::stderr().is_terminal() {
        return copy.await;
    }
    let started = Instant::now();
    let mut ticks = tokio::time::interval(INTERVAL);
    tokio::pin!(copy);
    loop {
        tokio::select! {
            result = &mut copy => {
                write("\r\x1b[K");
                return result;
            }
            _ = ticks.tick() => write(&format!("\r\x1b[K{}", line(progress.totals(), images, started.elapsed()))),
        }
    }
}

fn write(text: &str) {
    // Progress is optional: a failed write to stderr is ignored.
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

fn line(totals: Totals, images: Option<usize>, elapsed: Duration) -> String {
    let millis = u64::try_from(elapsed.as_millis())
        .unwrap_or(u64::MAX)
        .max(1);
    let rate = totals.sent.saturating_mul(1000) / millis;
    let left = totals.expected.saturating_sub(totals.done);
    let remaining = match rate {
        0 => String::new(),
        rate => format!(", {}s left", left.div_ceil(rate)),
    };
    let images = images.map(|images| format!("{}/{images} images, ", totals.images));
    format!(
        "{} {}{} of {}, {}/s{remaining}",
        bar(totals.done, totals.expected),
        images.unwrap_or_default(),
        Size::from(totals.done),
        Size::from(totals.expected),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_rate_and_remaining_time() {
        let totals = Totals {
            images: 1,
            expected: 30 << 20,
            done: 10 << 20,
            sent: 10 << 20,
            ..Totals::default()
        };
        let text = line(totals, Some(4), Duration::from_secs(2));
        let bar = "[######              ]";
        let expected = "1/4 images, 10.0 MiB of 30.0 MiB, 5.0 MiB/s, 4s left";
        assert_eq!(text, format!("{bar} {expected}"));
        assert_eq!(
            line(Totals::default(), Some(1), Duration::ZERO),
            "[                    ] 0/1 images, 0 B of 0 B, 0 B/s"
        );
        assert_eq!(
            line(Totals::default(), None, Duration::ZERO),
            "[                    ] 0 B of 0 B, 0 B/s"
        );
    }
}
