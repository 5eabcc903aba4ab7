use std::collections::VecDeque;

use mgp_types::mgp::MEMBER;
use mgp_types::{Object, RawJson};

/// The latest chunks, to send them again. Numbers have no gaps here, so the place is the number.
#[derive(Debug, Default)]
pub(super) struct Resend {
    /// The parameters of the chunks as they were sent.
    chunks: VecDeque<RawJson>,
    /// The number of the first one.
    first: u64,
    bytes: usize,
}

impl Resend {
    /// Keeps the next chunk; the oldest ones make room.
    pub(super) fn push(&mut self, params: RawJson) {
        self.bytes += params.as_bytes().len();
        self.chunks.push_back(params);
        while self.chunks.len() > MAX_CHUNKS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.chunks.pop_front() else { break };
            self.bytes -= oldest.as_bytes().len();
            self.first += 1;
        }
    }

    /// The parameters that send the chunk again, if it is kept.
    pub(super) fn get(&self, index: u64) -> Option<Object> {
        let place = usize::try_from(index.checked_sub(self.first)?).ok()?;
        let mut params = Object::from_raw(self.chunks.get(place)?).ok()?;
        params.set(MEMBER, RawJson::from_written(br#"{"retransmit":true}"#.to_vec()));
        Some(params)
    }
}

const MAX_CHUNKS: usize = 256;
const MAX_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let mut resend = Resend::default();
        for index in 0..300 {
            resend.push(RawJson::parse(format!(r#"{{"index":{index}}}"#)).unwrap());
        }
        assert!(resend.get(43).is_none() && resend.get(300).is_none() && resend.get(u64::MAX).is_none());
        let again = resend.get(44).unwrap().to_raw();
        assert_eq!(again.as_bytes(), br#"{"index":44,"_mgp":{"retransmit":true}}"#);
        let large = RawJson::from_value(&"x".repeat(MAX_BYTES + 1)).unwrap();
        resend.push(large);
        assert!(resend.get(299).is_none() && resend.bytes == 0);
        resend.push(RawJson::parse(r#"{"index":301}"#).unwrap());
        assert!(resend.get(300).is_none() && resend.get(301).is_some());
    }
}
