//! The progress of a copy on a terminal.

use std::sync::Arc;
use std::time::Duration;

use outrigger_oci::{Progress, Totals};

use crate::commands::progress_line::{self, bytes_line};

/// Runs a copy, and shows its progress if stderr is a terminal. Without a number, images are not counted.
pub(super) async fn shown<T>(
    progress: &Arc<Progress>,
    images: Option<usize>,
    copy: impl Future<Output = T>,
) -> T {
    let shown = |elapsed| line(progress.totals(), images, elapsed);
    progress_line::shown(shown, copy).await
}

fn line(totals: Totals, images: Option<usize>, elapsed: Duration) -> String {
    let middle = images.map(|images| format!("{}/{images} images, ", totals.images));
    let bytes = (totals.done, totals.expected);
    bytes_line(&middle.unwrap_or_default(), bytes, totals.sent, elapsed)
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
