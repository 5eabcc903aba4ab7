//! Databases that share an order of changes in memory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod contract;

use mgp_store::testing::MemoryOrder as TestOrder;
