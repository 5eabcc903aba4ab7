//! The servers behind the kernel: each with its connections (`upstream`), all of them together (`fleet`), those that
//! register themselves (`registration`), the tokens by which the kernel comes to them (`authorization`), and the
//! confinement of their programs (`confine`).

pub(crate) mod authorization;
pub(crate) mod confine;
pub(crate) mod events;
pub(crate) mod fan_out;
pub(crate) mod fleet;
pub(crate) mod task_table;
pub(crate) mod upstream;
