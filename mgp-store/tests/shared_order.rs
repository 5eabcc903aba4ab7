//! Databases that share an order of changes in memory.

mod contract;

use mgp_store::testing::MemoryOrder as TestOrder;
