//! The servers behind the kernel: each with its connections (`upstream`), all of them together (`fleet`), those that
//! register themselves (`registration`), and the confinement of their programs (`confine`).

pub(crate) mod confine;
pub(crate) mod fleet;
pub(crate) mod registration;
pub(crate) mod upstream;
