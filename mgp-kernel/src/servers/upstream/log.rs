//! The last lines that a server wrote to its standard error, and those of its standard output that are no messages.

use std::collections::VecDeque;
use std::sync::Arc;

use mgp_discovery::clients::line_without_secrets;
use parking_lot::Mutex;

/// The last lines that a server wrote, with whatever looks like a secret as `***`. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<StderrLines>>);

#[derive(Default)]
struct StderrLines {
    lines: VecDeque<Box<str>>,
    bytes: usize,
    /// The first line on standard output that was no message.
    first_stray: Option<Box<str>>,
}

impl StderrTail {
    /// Keeps a line, and drops the oldest ones when there are too many.
    pub(crate) fn push(&self, line: &str) {
        let line = line_without_secrets(line);
        let mut kept = self.0.lock();
        kept.bytes += line.len();
        kept.lines.push_back(line.into());
        while kept.lines.len() > MAX_LINES || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.lines.pop_front() else { break };
            kept.bytes -= oldest.len();
        }
    }

    /// Keeps a line of standard output that is no message.
    pub(super) fn push_stray(&self, line: &str) {
        self.push(&format!("(standard output) {line}"));
        self.0.lock().first_stray.get_or_insert_with(|| line_without_secrets(line).into());
    }

    /// Returns the first line on standard output that was no message.
    pub(super) fn first_stray(&self) -> Option<Box<str>> {
        self.0.lock().first_stray.clone()
    }

    /// Returns the last `count` lines, the oldest first.
    pub(crate) fn last(&self, count: usize) -> Vec<String> {
        let kept = self.0.lock();
        let skipped = kept.lines.len().saturating_sub(count);
        kept.lines.iter().skip(skipped).map(ToString::to_string).collect()
    }
}

const MAX_LINES: usize = 1_000;
const MAX_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept_within_both_bounds() {
        let log = StderrTail::default();
        (0..2_000).for_each(|number| log.push(&number.to_string()));
        let all = log.last(usize::MAX);
        assert_eq!((all.len(), &*all[0], &*all[999]), (1_000, "1000", "1999"));
        assert_eq!(log.last(2), ["1998", "1999"]);

        let text = "x".repeat(100 << 10);
        (0..5).for_each(|_| log.push(&text));
        assert_eq!(log.last(usize::MAX), [text.clone(), text]);
    }
}
