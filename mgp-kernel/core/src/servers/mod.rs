//! The servers behind the kernel: each with its connections (`upstream`), all of them together (`fleet`), those that
//! register themselves (`registration`), the tokens by which the kernel comes to them (`authorization`), and the
//! confinement of their programs (`confine`).

pub mod authorization;
pub mod confine;
pub(crate) mod events;
pub(crate) mod fan_out;
pub(crate) mod fleet;
pub(crate) mod task_table;
pub mod upstream;
