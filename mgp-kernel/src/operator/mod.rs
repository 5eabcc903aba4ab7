//! Operators: the gate that lets them in, and the proof that a person is there. What they can do is in [`admin`](crate::admin).

mod gate;
pub(crate) mod proof;

pub(crate) use self::gate::{OperatorGate, is_for_agents};
