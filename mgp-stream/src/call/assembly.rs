//! The client's side of chunk order: chunks come in as they arrive and go out in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use mgp_types::mgp::{StreamChunk, StreamProgress};

mgp_types::with_defaults! {
    /// Puts chunks in order: each chunk comes out once and in its place, and lost chunks are reported in their place.
    ///
    /// Nothing here waits or sends. Chunks that come before their turn are held, up to a number and a size; if there is no
    /// room for one more, the chunks missing before the first held one count as lost. Chunks that are known already are
    /// ignored, whether alike or not: the first one counts.
    ///
    /// ```
    /// use mgp_stream::call::{ChunkAssembly, StreamPart};
    /// use mgp_types::mcp::ContentBlock;
    /// use mgp_types::mgp::StreamChunk;
    ///
    /// let chunk = |index| StreamChunk::new(index, ContentBlock::text("part"));
    /// let mut assembly = ChunkAssembly::new();
    /// assembly.take(chunk(1), 4);
    /// assert!(assembly.pop().is_none());
    /// assert_eq!(assembly.missing(), [0]);
    /// assembly.take(chunk(0), 4);
    /// assembly.end(Some(3));
    /// let pieces: Vec<_> = std::iter::from_fn(|| assembly.pop()).collect();
    /// let gap = StreamPart::Gap { missing: 2..3 };
    /// assert_eq!(pieces, [StreamPart::Chunk(chunk(0)), StreamPart::Chunk(chunk(1)), gap]);
    /// ```
    #[derive(Debug)]
    pub struct ChunkAssembly {
        /// The pieces that can be taken out.
        ready: VecDeque<StreamPart> = VecDeque::new(),
        /// The number of the next chunk.
        next: u64 = 0,
        /// The number of chunks that exist, as far as is known.
        known: u64 = 0,
        /// The chunks that came before their turn.
        held: BTreeMap<u64, HeldChunk> = BTreeMap::new(),
        held_bytes: usize = 0,
        /// The numbers of the chunks that the server cannot send again.
        lost: BTreeSet<u64> = BTreeSet::new(),
        ended: bool = false,
        max_held: usize = MAX_AHEAD,
        max_held_bytes: usize = 1 << 20,
    }
}

/// A part of what a call streams, in order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamPart {
    /// A chunk of the result.
    Chunk(StreamChunk),
    /// The progress of the call.
    Progress(StreamProgress),
    /// Chunks that will not come. The final result has their content all the same.
    Gap {
        /// The numbers of the missing chunks.
        missing: Range<u64>,
    },
}

#[derive(Debug)]
struct HeldChunk {
    chunk: StreamChunk,
    bytes: usize,
}

const MAX_MISSING: usize = 256;
const MAX_AHEAD: usize = 1024;

impl ChunkAssembly {
    /// Creates an assembly that holds at most 1024 chunks and 1 MiB before their turn.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an assembly as [`new`](Self::new) does, whose first chunk has the number `first`: those before it came with
    /// an earlier call.
    pub fn starting_at(first: u64) -> Self {
        Self { next: first, known: first, ..Self::new() }
    }

    /// Takes in a chunk of `bytes` bytes.
    pub fn take(&mut self, chunk: StreamChunk, bytes: usize) {
        let index = chunk.index;
        if self.ended || index < self.next || self.held.contains_key(&index) {
            return;
        }
        self.note(index);
        if !self.is_near(index) {
            return;
        }
        self.lost.remove(&index);
        if index == self.next {
            self.next += 1;
            self.ready.push_back(StreamPart::Chunk(chunk));
        } else {
            self.held.insert(index, HeldChunk { chunk, bytes });
            self.held_bytes += bytes;
        }
        self.advance();
        while self.held.len() > self.max_held || self.held_bytes > self.max_held_bytes {
            self.give_up();
        }
    }

    /// Notes that a chunk with number `index` exists, without taking it in.
    pub fn note(&mut self, index: u64) {
        self.known = self.known.max(index.saturating_add(1));
    }

    /// Notes that the server cannot send these chunks again. A chunk that comes all the same before its turn is taken.
    pub fn lose(&mut self, indices: impl IntoIterator<Item = u64>) {
        for index in indices {
            // A number that no chunk reached yet can still come.
            if index < self.known
                && index >= self.next
                && self.is_near(index)
                && !self.held.contains_key(&index)
            {
                self.lost.insert(index);
            }
        }
        self.advance();
    }

    /// Notes that no chunk comes any more. Chunks that were sent and did not arrive are lost.
    pub fn end(&mut self, chunks_sent: Option<u64>) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.known = self.known.max(chunks_sent.unwrap_or(0));
        while self.next < self.known {
            self.give_up();
        }
    }

    /// Takes out the next piece, if one is ready.
    pub fn pop(&mut self) -> Option<StreamPart> {
        self.ready.pop_front()
    }

    /// Returns at most 256 of the first missing numbers: later chunks came, and these did not.
    pub fn missing(&self) -> Vec<u64> {
        let missing = |index: &u64| !self.held.contains_key(index) && !self.lost.contains(index);
        (self.next..self.known).filter(missing).take(MAX_MISSING).collect()
    }

    /// Returns the number of the chunk that all held chunks wait for, if later chunks came.
    pub fn waits_for(&self) -> Option<u64> {
        (self.next < self.known).then_some(self.next)
    }

    fn is_near(&self, index: u64) -> bool {
        index.checked_sub(self.next).is_some_and(|ahead| ahead <= MAX_AHEAD as u64)
    }

    /// Moves on over chunks that were held or are lost.
    fn advance(&mut self) {
        loop {
            if let Some(held) = self.held.remove(&self.next) {
                self.held_bytes -= held.bytes;
                self.next += 1;
                self.ready.push_back(StreamPart::Chunk(held.chunk));
                continue;
            }
            let start = self.next;
            while self.lost.remove(&self.next) {
                self.next += 1;
            }
            if start == self.next {
                return;
            }
            self.ready.push_back(StreamPart::Gap { missing: start..self.next });
        }
    }

    /// Gives up the missing chunks before the next held chunk, or before the end.
    fn give_up(&mut self) {
        let end = self.held.first_key_value().map_or(self.known, |(index, _)| *index);
        self.ready.push_back(StreamPart::Gap { missing: self.next..end });
        self.next = end;
        self.lost = self.lost.split_off(&end);
        self.advance();
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::mcp::ContentBlock;
    use proptest::prelude::*;

    use super::*;

    fn chunk(index: u64) -> StreamChunk {
        StreamChunk::new(index, ContentBlock::text(index.to_string()))
    }

    fn gap(missing: Range<u64>) -> StreamPart {
        StreamPart::Gap { missing }
    }

    fn with_limits(max_held: usize, max_held_bytes: usize) -> ChunkAssembly {
        ChunkAssembly { max_held, max_held_bytes, ..ChunkAssembly::new() }
    }

    fn pieces(assembly: &mut ChunkAssembly) -> Vec<StreamPart> {
        std::iter::from_fn(|| assembly.pop()).collect()
    }

    #[test]
    fn the_first_of_two_that_differ_counts() {
        let mut assembly = ChunkAssembly::new();
        let other = |index| StreamChunk::new(index, ContentBlock::text("other"));
        for chunk in [chunk(1), other(1), chunk(0), other(0), other(1)] {
            assembly.take(chunk, 1);
        }
        assert_eq!(pieces(&mut assembly), [StreamPart::Chunk(chunk(0)), StreamPart::Chunk(chunk(1))]);
    }

    #[test]
    fn what_the_server_lost_is_told_in_its_place() {
        let mut assembly = ChunkAssembly::new();
        for index in [0, 3, 5] {
            assembly.take(chunk(index), 1);
        }
        assert_eq!((assembly.missing(), assembly.waits_for()), (vec![1, 2, 4], Some(1)));
        assembly.lose([2, 4, 0, 3, 9, u64::MAX]);
        assert_eq!((assembly.missing(), assembly.waits_for()), (vec![1], Some(1)));
        // The chunk came after all.
        assembly.take(chunk(2), 1);
        assembly.take(chunk(1), 1);
        let expected = [0, 1, 2, 3].map(|index| StreamPart::Chunk(chunk(index)));
        assert_eq!(pieces(&mut assembly)[..4], expected);
        assert_eq!(assembly.waits_for(), None);
        assembly.take(chunk(9), 1);
        assembly.lose([6, 7, 8]);
        assert_eq!(pieces(&mut assembly), [gap(6..9), StreamPart::Chunk(chunk(9))]);
    }

    #[test]
    fn without_room_the_gap_is_given_up() {
        let mut assembly = with_limits(2, 100);
        for index in [2, 3] {
            assembly.take(chunk(index), 1);
        }
        assert!(assembly.pop().is_none());
        assembly.take(chunk(6), 1);
        assert_eq!(
            pieces(&mut assembly),
            [gap(0..2), StreamPart::Chunk(chunk(2)), StreamPart::Chunk(chunk(3))]
        );
        assembly.take(chunk(0), 1);
        assembly.take(chunk(8), 100);
        let rest = [gap(4..6), StreamPart::Chunk(chunk(6)), gap(7..8), StreamPart::Chunk(chunk(8))];
        // Giving up the first gap freed one byte of the two too many, or all of them.
        assert!(rest.starts_with(&pieces(&mut assembly)));
        assert!(assembly.held_bytes <= 100);
    }

    #[test]
    fn numbers_out_of_reach_take_no_room_and_are_told_at_the_end() {
        let mut assembly = ChunkAssembly::new();
        assembly.take(chunk(0), 1);
        for index in [u64::MAX, 1 << 40, 2000] {
            assembly.take(chunk(index), 1);
        }
        assert!(assembly.held.is_empty());
        assert_eq!(assembly.missing().len(), MAX_MISSING);
        assembly.end(None);
        assert_eq!(pieces(&mut assembly), [StreamPart::Chunk(chunk(0)), gap(1..u64::MAX)]);
        assembly.take(chunk(1), 1);
        assembly.end(Some(3));
        assert!(assembly.pop().is_none());
    }

    #[test]
    fn a_summary_that_counts_too_few_takes_nothing_away() {
        let mut assembly = ChunkAssembly::new();
        assembly.take(chunk(0), 1);
        assembly.take(chunk(2), 1);
        assembly.end(Some(1));
        assert_eq!(
            pieces(&mut assembly),
            [StreamPart::Chunk(chunk(0)), gap(1..2), StreamPart::Chunk(chunk(2))]
        );
    }

    proptest! {
        // covers: MGP-12.4-03
        #[test]
        fn any_order_comes_out_ordered_with_exact_gaps(
            arrivals in proptest::collection::vec(0_u64..60, 0..200),
            lost in proptest::collection::vec(0_u64..80, 0..10),
            at in 0_usize..200,
            sent in proptest::option::of(0_u64..80),
        ) {
            let mut assembly = ChunkAssembly::new();
            let mut out = Vec::new();
            for (turn, index) in arrivals.iter().enumerate() {
                if turn == at {
                    assembly.lose(lost.iter().copied());
                }
                assembly.take(chunk(*index), 1);
                if index % 3 == 0 {
                    out.extend(pieces(&mut assembly));
                }
            }
            assembly.end(sent);
            out.extend(pieces(&mut assembly));
            let known = arrivals.iter().map(|index| index + 1).max().unwrap_or(0).max(sent.unwrap_or(0));
            let mut next = 0;
            for piece in &out {
                match piece {
                    StreamPart::Chunk(chunk) => {
                        prop_assert_eq!(chunk.index, next);
                        next += 1;
                    }
                    StreamPart::Gap { missing: gap } => {
                        prop_assert!(gap.start == next && gap.end > gap.start);
                        // A gap is never told for a chunk that arrived before the server gave it up.
                        for index in gap.clone() {
                            let before = arrivals.iter().take(at).any(|came| *came == index);
                            let ever = arrivals.contains(&index);
                            prop_assert!(!before && (!ever || lost.contains(&index)), "{index}");
                        }
                        next = gap.end;
                    }
                    StreamPart::Progress(_) => prop_assert!(false, "no progress was put in"),
                }
            }
            prop_assert_eq!(next, known);
            prop_assert_eq!((assembly.held.len(), assembly.held_bytes, assembly.lost.len()), (0, 0, 0));
        }

        #[test]
        fn nothing_that_comes_breaks_its_bounds(
            turns in proptest::collection::vec((any::<u64>(), 0_u64..3000, 0_usize..400_000, 0_u8..8), 0..300),
        ) {
            let mut assembly = with_limits(20, 1 << 20);
            for (far, near, bytes, turn) in turns {
                match turn {
                    0 => assembly.lose([far, near]),
                    1 => assembly.take(chunk(far), bytes),
                    2 => drop(assembly.missing()),
                    _ => assembly.take(chunk(near), bytes),
                }
                prop_assert!(assembly.held.len() <= 20 && assembly.held_bytes <= 1 << 20);
                prop_assert!(assembly.lost.len() <= MAX_AHEAD + 1);
            }
            assembly.end(Some(u64::MAX));
            prop_assert_eq!(assembly.next, u64::MAX);
        }
    }
}
