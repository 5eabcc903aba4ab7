//! Servers as child processes, which never outlive their use.
//!
//! ```
//! use mgp_transport::child::ChildCommand;
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let (process, stdout, mut stdin) = ChildCommand::new("cat").spawn()?;
//! stdin.write_all(b"hello\n").await?;
//! let line = BufReader::new(stdout).lines().next_line().await?;
//! assert_eq!(line.as_deref(), Some("hello"));
//! assert!(process.shutdown().await.is_some_and(|status| status.success()));
//! # Ok(()) }
//! ```
//!
//! # No orphans
//!
//! A server is often a shell or a package runner that starts the real program, so every step is done to a process group
//! and never to a single process:
//!
//! * **Shutdown** closes stdin, waits, sends SIGTERM to the group, waits, sends SIGKILL to the group. A server
//!   that exits by itself has the rest of its group killed behind it.
//! * **Drop** sends SIGKILL to the group.
//! * **The death of this process**, even by SIGKILL, must not leave servers behind either. A closed stdin ends the
//!   well-behaved ones. The kernel's way for the others, `PR_SET_PDEATHSIG`, has to be set between fork and exec, which
//!   takes `unsafe`; set in the parent it is not inherited; it reaches one process and not its group; and it fires when
//!   the *thread* that forked ends, which a runtime's thread may do at any time. A guard process therefore stands by: a
//!   `/bin/sh` that reads a pipe only this process can write to, and sends SIGKILL to its own group when the pipe
//!   closes. The guard starts first and leads the group, which has three effects: no server ever runs unguarded; the
//!   group's number cannot be reused while this process holds the guard, so that no signal goes astray; and the guard
//!   needs to know no number at all.
//!
//! A process that leaves the group on purpose (`setsid`) is not followed, except by a program that adopts it: a
//! [keeper](ChildCommand::kept) in the place of the guard. Where there is no `/bin/sh`, servers run without a guard. On Windows a server has no group: `taskkill` ends it with its descendants, and only a closed stdin ends it when
//! this process dies.

#[cfg_attr(windows, path = "group_windows.rs")]
mod group;
mod pipes;
mod process;

pub use self::pipes::{ChildStdin, StderrTarget};
pub use self::process::{ChildCommand, ChildProcess, is_awaited};
