//! The servers behind the kernel: each with its connections (`upstream`), all of them together (`fleet`), those that
//! register themselves (`registration`), the tokens by which the kernel comes to them (`authorization`, `logins`, `agent_tokens`), and the confinement of their programs
//! (`confine`).

pub(crate) mod agent_tokens;
pub(crate) mod authorization;
pub(crate) mod confine;
pub(crate) mod fleet;
pub(crate) mod logins;
pub(crate) mod registration;
pub(crate) mod upstream;
