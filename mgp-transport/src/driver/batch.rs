//! The batches of requests whose answers go back together (revision 2025-03-26).

use std::collections::HashMap;

/// The id of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct BatchId(u64);

/// The batches with unanswered requests: the answers of a batch go back together.
#[derive(Debug, Default)]
pub(super) struct Batches {
    open: HashMap<BatchId, Answers>,
    next: u64,
}

#[derive(Debug, Default)]
struct Answers {
    awaited: usize,
    written: Vec<u8>,
}

impl Batches {
    /// Opens a batch; it stays open until [`answered`](Self::answered) was called once for each request,
    /// and once for the batch itself when all its requests are known.
    pub(super) fn open(&mut self) -> BatchId {
        let id = BatchId(self.next);
        self.next += 1;
        self.open.insert(id, Answers { awaited: 1, written: Vec::new() });
        id
    }

    /// Notes that one more answer belongs to the batch.
    pub(super) fn expect(&mut self, id: BatchId) {
        if let Some(answers) = self.open.get_mut(&id) {
            answers.awaited += 1;
        }
    }

    /// Adds an answer, or none for a request that was taken back; the last one returns the whole batch.
    pub(super) fn answered(&mut self, id: BatchId, write: impl FnOnce(&mut Vec<u8>)) -> Option<Vec<u8>> {
        let answers = self.open.get_mut(&id)?;
        let before = answers.written.len();
        answers.written.push(if before == 0 { b'[' } else { b',' });
        write(&mut answers.written);
        if answers.written.len() == before + 1 {
            answers.written.truncate(before);
        }
        answers.awaited -= 1;
        if answers.awaited > 0 {
            return None;
        }
        let mut written = self.open.remove(&id)?.written;
        if written.is_empty() {
            return None;
        }
        written.push(b']');
        Some(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_leave_together() {
        let mut batches = Batches::default();
        let id = batches.open();
        batches.expect(id);
        batches.expect(id);
        assert_eq!(batches.answered(id, |out| out.push(b'1')), None);
        assert_eq!(batches.answered(id, |_| {}), None);
        assert_eq!(batches.answered(id, |out| out.push(b'2')).as_deref(), Some(&b"[1,2]"[..]));
    }

    #[test]
    fn a_batch_without_answers_gets_none() {
        let mut batches = Batches::default();
        let id = batches.open();
        assert_eq!(batches.answered(id, |_| {}), None);
        assert!(batches.open.is_empty());
    }
}
