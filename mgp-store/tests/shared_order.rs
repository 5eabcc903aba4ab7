//! Databases that share an order of changes in memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contract;

use mgp_store::testing::MemoryOrder as TestOrder;
use mgp_store::{OrderKey, StoreError};

#[test]
fn a_sealed_row_is_read_under_its_name_and_with_its_key_alone() {
    let [key, other] = ["secret", "another"].map(OrderKey::new);
    let sealed = key.seal_row(&[1; 32], b"token");
    assert!(!sealed.windows(5).any(|bytes| bytes == b"token"));
    assert_eq!(key.open_row(&[1; 32], sealed.clone()).unwrap(), b"token");
    let mut changed = sealed.clone();
    changed[20] ^= 1;
    for refused in [
        key.open_row(&[2; 32], sealed.clone()),
        other.open_row(&[1; 32], sealed),
        key.open_row(&[1; 32], changed),
        key.open_row(&[1; 32], Vec::new()),
    ] {
        assert!(matches!(refused, Err(StoreError::Damaged(_))), "{refused:?}");
    }
}
