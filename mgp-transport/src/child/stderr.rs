//! The stderr of a server: its targets, and the task that reads its lines.

use std::fmt;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStderr;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// The target of a server's stderr.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Stderr {
    /// The stderr of this process.
    #[default]
    Inherit,
    /// No target; the text is discarded.
    Null,
    /// A function that gets each line; see [`Stderr::lines`].
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

impl Stderr {
    /// Hands each line to `take`, without its end. A line longer than 8 KiB comes in pieces.
    ///
    /// `take` must not block: the server may wait for room to write while it runs.
    pub fn lines(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Lines(Arc::new(take))
    }

    pub(super) fn to_stdio(&self) -> Stdio {
        match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::Lines(_) => Stdio::piped(),
        }
    }
}

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inherit => "Inherit",
            Self::Null => "Null",
            Self::Lines(_) => "Lines",
        })
    }
}

/// The handle of the task that reads stderr. After the handle is dropped, the task reads on for a moment, because the
/// last lines of a server that ends say why.
#[derive(Debug)]
pub(super) struct StderrReader {
    /// The sender whose drop tells the task that the handle is gone.
    _held: oneshot::Sender<()>,
}

/// Starts the task that reads a server's stderr. The task always reads to the end, because a server stops when the pipe
/// is full.
pub(super) fn read(pipe: ChildStderr, stderr: Stderr) -> Option<StderrReader> {
    let Stderr::Lines(take) = stderr else { return None };
    let (held, released) = oneshot::channel();
    let reading = async move {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut pipe).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => take(String::from_utf8_lossy(line.trim_ascii_end()).as_ref()),
            }
        }
    };
    tokio::spawn(async move {
        // A process that left the server's group may keep the pipe open for ever.
        let given_up = async {
            let _ = released.await;
            sleep(AFTER_THE_END).await;
        };
        tokio::select! {
            () = reading => {}
            () = given_up => {}
        }
    });
    Some(StderrReader { _held: held })
}

const AFTER_THE_END: Duration = Duration::from_secs(2);

const MAX_LINE_BYTES: u64 = 8 << 10;
