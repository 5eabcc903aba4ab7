//! The last lines that a server wrote to its standard error.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// The last lines that a server wrote to its standard error. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct StderrTail(Arc<Mutex<StderrLines>>);

#[derive(Default)]
struct StderrLines {
    lines: VecDeque<Box<str>>,
    bytes: usize,
}

impl StderrTail {
    /// Keeps a line, and drops the oldest ones when there are too many.
    pub(crate) fn push(&self, line: &str) {
        let mut kept = self.0.lock();
        kept.bytes += line.len();
        kept.lines.push_back(line.into());
        while kept.lines.len() > MAX_LINES || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.lines.pop_front() else { break };
            kept.bytes -= oldest.len();
        }
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
